"""A prefix comes from the disk only where that is sooner than reading it anew."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fireside.core.cache.pace import Pace
from fireside.core.warmup import WarmUp
from support import random_models as models
from support.ssd_bench import Bench, row

PROMPT = [random.Random(5).randrange(models.VOCAB) for _ in range(300)]


def test_what_is_not_known_speaks_for_the_disk() -> None:
    assert Pace().worth(32, 1 << 40)


def test_a_small_chunk_says_nothing() -> None:
    pace = Pace()
    pace.read(255, 1e-9)
    assert pace.tokens_per_s is None


def test_the_newest_figures_count_most() -> None:
    pace = Pace()
    pace.read(1000, 1.0)
    pace.read(3000, 1.0)
    assert pace.tokens_per_s == 2000
    pace.restored(1000, 1.0)
    assert pace.bytes_per_s == 1000
    pace.restored(3000, 1.0)
    assert pace.bytes_per_s == 2000


@pytest.mark.parametrize(("nbytes", "worth"), [(999, True), (1001, False)])
def test_the_sooner_one_wins(nbytes: int, worth: bool) -> None:
    pace = Pace()
    pace.read(1000, 1.0)
    pace.restored(500, 1.0)
    assert pace.worth(2000, nbytes) == worth


@pytest.mark.parametrize(("seconds", "from_disk"), [(1000.0, True), (1e-9, False)])
def test_a_prompt_is_read_anew_where_that_is_sooner(tmp_path: Path, seconds: float, from_disk: bool) -> None:
    model = models.full_attention()
    before = Bench(model, tmp_path).finish(row(1, PROMPT))
    before.drain()
    after = Bench(model, tmp_path)
    after.cache.read_anew(256, seconds)
    after.finish(row(1, PROMPT))
    assert (after.progress(1).from_ssd > 0) == from_disk
    assert after.answers == before.answers


def test_the_warm_up_ends_with_a_chunk_that_compiles_nothing() -> None:
    found: list[tuple[int, float]] = []
    warm_up = WarmUp(models.full_attention(), models.VOCAB, 2, 64, read=lambda *each: found.append(each))
    while not warm_up.complete:
        warm_up.step()
    [(tokens, seconds)] = found
    assert tokens == 64
    assert 0 < seconds < 60
