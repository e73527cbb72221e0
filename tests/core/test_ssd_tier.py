"""What was read in one run is not read again in the next one, and no answer shows it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import msgspec
import numpy as np
import pytest
from mlx_lm.generate import generate_step
from mlx_lm.utils import load_model

from fireside.core.cache import ssd_open
from fireside.core.cache.ssd_folder import Folder
from fireside.core.cache.ssd_index import Index
from fireside.core.cache.ssd_key import model_key
from fireside.core.cache.ssd_open import open_tier
from fireside.wire import Cancel, Drain, Drained, Sampling, SsdSettings, Submit, Tier
from support import random_models as models
from support.random_models import prompt
from support.server import POCKET
from support.ssd_bench import DEBOUNCE_S, Bench

pytestmark = pytest.mark.usefixtures("soon")

ANSWER = 12
MAKERS: dict[str, Callable[[], nn.Module]] = {
    "full": models.full_attention,
    "window": models.sliding_window,
    "hybrid": models.hybrid,
    "quantized": models.unmergeable,
}


@pytest.fixture(scope="module", params=MAKERS.values(), ids=list(MAKERS))
def model(request: pytest.FixtureRequest) -> nn.Module:
    make: Callable[[], nn.Module] = request.param
    return make()


def row(number: int, ids: Sequence[int], *, boundary: int = 0, namespace: str = "") -> Submit:
    return Submit(number, list(ids), [], ANSWER, [], Sampling(), boundary=boundary, namespace=namespace)


def reference(model: nn.Module, ids: Sequence[int]) -> list[int]:
    steps: Any = generate_step(mx.array(list(ids)), model, max_tokens=ANSWER)
    return [int(token) for token, _ in steps]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def test_the_next_turn_goes_on_after_a_restart(model: nn.Module, tmp_path: Path) -> None:
    first = prompt(1, 300)
    before = Bench(model, tmp_path).finish(row(1, first))
    told = before.drain()
    assert (told.written >= 1, told.dropped, told.left) == (True, 0, 0)
    second = [*first, *before.answers[1], *prompt(2, 9)]
    after = Bench(model, tmp_path).finish(row(2, second))
    report = after.progress(2)
    assert report.from_ssd == report.cached >= 300
    assert after.answers[2] == reference(model, second)
    assert after.tier.state.restores == 1


@pytest.mark.parametrize("kind", ["full", "quantized"])
def test_a_changed_message_uses_what_comes_before_it(kind: str, tmp_path: Path) -> None:
    model = MAKERS[kind]()
    first = prompt(1, 300)
    Bench(model, tmp_path).finish(row(1, first)).drain()
    other = [*first[:200], *prompt(3, 40)]
    after = Bench(model, tmp_path, verify=True).finish(row(2, other))
    assert after.progress(2).from_ssd == 200
    assert after.answers[2] == reference(model, other)


def test_a_boundary_serves_what_cannot_be_trimmed(tmp_path: Path) -> None:
    hybrid = models.hybrid()
    first = prompt(1, 300)
    Bench(hybrid, tmp_path).finish(row(1, first, boundary=280)).drain()
    others = {number: [*first[:280], *prompt(number, 30)] for number in (2, 3)}
    after = Bench(hybrid, tmp_path)
    for number, ids in others.items():
        after.finish(row(number, ids))
        assert after.answers[number] == reference(hybrid, ids)
    assert after.progress(2).from_ssd == 280
    # The second one finds in the memory what was brought back for the first.
    assert (after.progress(3).from_ssd, after.progress(3).cached) == (0, 280)


def test_memory_is_asked_first(full: nn.Module, tmp_path: Path) -> None:
    ids = prompt(1, 200)
    bench = Bench(full, tmp_path).finish(row(1, ids))
    bench.drain()
    bench.finish(row(2, [*ids, 5, 6]))
    assert (bench.progress(2).cached, bench.progress(2).from_ssd) == (200, 0)


def test_adapters_and_models_have_their_own(full: nn.Module, tmp_path: Path) -> None:
    ids = prompt(1, 200)
    Bench(full, tmp_path).finish(row(1, ids, namespace="a")).drain()
    assert Bench(full, tmp_path).finish(row(2, [*ids, 5])).progress(2).cached == 0
    assert Bench(full, tmp_path).finish(row(2, [*ids, 5], namespace="a")).progress(2).from_ssd == 200
    other = Bench(full, tmp_path, key="f" * 32).finish(row(2, [*ids, 5], namespace="a"))
    assert other.progress(2).cached == 0


def test_nothing_is_written_before_its_time_and_a_longer_one_takes_the_place(
    full: nn.Module, tmp_path: Path
) -> None:
    ids = prompt(1, 200)
    bench = Bench(full, tmp_path).finish(row(1, ids))
    bench.idle(DEBOUNCE_S / 2)
    assert names(tmp_path) == []
    for number in (2, 3):
        ids += [*bench.answers[number - 1], *prompt(number, 20)]
        bench.finish(row(number, ids))
        bench.drain() if number == 2 else bench.idle()
        assert [int(name.split("-")[1]) for name in names(tmp_path)] == [len(ids) + ANSWER]
    assert bench.tier.state.spills == 2


@pytest.mark.parametrize("kind", ["full", "window", "hybrid"])
def test_rows_go_on_while_another_comes_back(kind: str, tmp_path: Path) -> None:
    model = MAKERS[kind]()
    known = prompt(1, 300)
    Bench(model, tmp_path).finish(row(1, known, boundary=299)).drain()
    after = Bench(model, tmp_path)
    ids = {2: prompt(2, 80), 3: [*known, *prompt(3, 9)], 4: [*known, *prompt(4, 9)]}
    after.scheduler.apply(row(2, ids[2]))
    after.step()
    after.finish(row(3, ids[3]), row(4, ids[4]))
    assert after.answers == {number: reference(model, each) for number, each in ids.items()}
    assert after.progress(3).from_ssd + after.progress(4).from_ssd >= 299


def test_a_row_that_leaves_while_it_comes_back(full: nn.Module, tmp_path: Path) -> None:
    known = prompt(1, 300)
    Bench(full, tmp_path).finish(row(1, known)).drain()
    before = {*threading.enumerate()}
    after = Bench(full, tmp_path)
    after.scheduler.apply(row(2, [*known, 5]))
    after.scheduler._begin()
    after.scheduler.apply(Cancel(2))
    assert not after.scheduler.busy
    until = time.monotonic() + 5
    while any(thread.name == "ssd-reader" for thread in {*threading.enumerate()} - before):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert after.finish(row(3, [*known, 5])).answers[3] == reference(full, [*known, 5])


def test_what_is_too_much_is_dropped_the_oldest_first(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path)
    bench.finish(row(0, prompt(0, 200)))
    size = bench.cache.entries[0].nbytes
    bench = Bench(full, tmp_path, queue_bytes=2 * size)
    for number in range(4):
        bench.finish(row(number, prompt(number, 200)))
    assert (bench.tier.state.pending_spills, bench.tier.state.dropped_spills) == (2, 2)
    bench.idle()
    after = Bench(full, tmp_path)
    assert [after.cache.peek("", [*prompt(number, 200), 1]) for number in range(4)] == [0, 0, 200, 200]


def test_a_queue_of_nothing_keeps_the_newest(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path, queue_bytes=0)
    for number in range(3):
        bench.finish(row(number, prompt(number, 200)))
    bench.idle()
    assert (bench.tier.state.spills, bench.tier.state.dropped_spills) == (1, 2)


def test_what_the_memory_gives_up_is_written_without_write_behind_too(
    full: nn.Module, tmp_path: Path
) -> None:
    bench = Bench(full, tmp_path).finish(row(0, prompt(0, 200)))
    size = bench.cache.entries[0].nbytes
    bench = Bench(full, tmp_path, write_behind=False, cache_bytes=2 * size)
    for number in range(3):
        bench.finish(row(number, prompt(number, 200)))
    assert bench.tier.held_bytes == size
    bench.idle()
    assert (bench.tier.held_bytes, bench.tier.state.spills) == (0, 1)
    assert Bench(full, tmp_path).cache.peek("", [*prompt(0, 200), 1]) == 200


def test_rows_come_before_what_waits_to_be_written(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path).finish(row(0, prompt(0, 200)))
    size = bench.cache.entries[0].nbytes
    bench = Bench(full, tmp_path, cache_bytes=2 * size)
    for number in range(4):
        bench.finish(row(number, prompt(number, 200)))
    assert bench.tier.held_bytes == 2 * size
    for allowed in (3 * size, size):
        bench.cache.shrink(allowed)
        assert bench.cache.state.bytes + bench.tier.held_bytes <= allowed


def test_unused_entries_leave_the_memory_and_come_back(full: nn.Module, tmp_path: Path) -> None:
    ids = prompt(1, 200)
    bench = Bench(full, tmp_path, demote_idle_s=0.3).finish(row(1, ids), row(2, prompt(2, 20)))
    assert bench.cache.state.entries == 2
    bench.idle(6)
    # The short one is nowhere now: the model reads it as fast.
    assert (bench.cache.state.entries, bench.tier.state.demotions) == (0, 1)
    last = [message for message in bench.sent if isinstance(message, Tier)][-1]
    assert (last.cache.bytes, last.ssd.entries, last.ssd.pending_spills) == (0, 1, 0)
    bench.finish(row(3, [*ids, 5]))
    assert bench.progress(3).from_ssd == 200
    assert bench.answers[3] == reference(full, [*ids, 5])


def test_a_drain_reports_what_is_left(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path)
    for number in range(3):
        bench.finish(row(number, prompt(number, 200)))
    told = bench.drain(0.0, demote=True)
    assert (told.left, told.demotions, bench.cache.state.entries) == (3, 0, 3)
    told = bench.drain(demote=True)
    assert (told.written, told.left, told.demotions, bench.cache.state.entries) == (3, 0, 3, 0)
    assert told.written_bytes == sum((tmp_path / name).stat().st_size for name in names(tmp_path))


def test_a_drain_writes_what_nobody_would_have_written_yet(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path, write_behind=False).finish(row(1, prompt(1, 200)))
    assert not bench.tier.waiting
    assert bench.drain().written == 1


def test_a_drain_writes_the_newest_first(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path)
    for number in range(3):
        bench.finish(row(number, prompt(number, 200 + number)))
    bench.upkeep.drain(Drain(7, 10.0))
    while not bench.tier.state.spills:
        bench.upkeep.idle()
    [first] = tmp_path.glob("*.safetensors")
    assert int(first.name.split("-")[1]) == 202 + ANSWER


def test_what_was_just_used_stays_in_the_memory(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path, demote_idle_s=300).finish(row(1, prompt(1, 200)), row(2, prompt(2, 200)))
    bench.drain()
    old, new = bench.cache.entries
    old.used_at -= 301
    bench.idle(0.5)
    assert bench.cache.entries == [new]


def test_the_least_recently_used_file_goes_first(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path)
    for number in range(3):
        bench.finish(row(number, prompt(number, 200)))
        bench.drain()
    size = (tmp_path / names(tmp_path)[0]).stat().st_size
    for age, number in ((30, 0), (20, 1), (10, 2)):
        record = bench.index.find("", np.array(prompt(number, 200)[:199], np.int32))
        assert record is not None
        os.utime(tmp_path / record[0].name, times=(0, time.time() - age))
    bench = Bench(full, tmp_path, max_bytes=4 * size + size // 2)
    bench.finish(row(5, [*prompt(0, 200), 3]))  # which is used now
    bench.finish(row(6, prompt(6, 200)))
    bench.drain()
    after = Bench(full, tmp_path)
    assert [after.cache.peek("", [*prompt(n, 200), 1]) > 0 for n in (0, 1, 2, 6)] == [True, False, True, True]


def test_a_drain_is_answered_while_rows_go_on(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path).finish(row(1, prompt(1, 200)))
    assert bench.drain().written == 1
    bench.scheduler.apply(row(2, prompt(2, 20)))
    bench.upkeep.drain(Drain(7, 10.0))
    bench.step()
    assert [message for message in bench.sent if isinstance(message, Drained)] == [Drained(7, 0, 0, 0, 0, 0)]
    assert bench.scheduler.busy


def test_an_entry_that_leaves_the_memory_is_as_old_on_the_disk(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path).finish(row(0, prompt(0, 200)))
    [entry] = bench.cache.entries
    entry.used_at -= 500
    bench.drain()
    [name] = names(tmp_path)
    assert (tmp_path / name).stat().st_mtime == pytest.approx(time.time() - 500, abs=5)
    os.utime(tmp_path / name, times=(0, time.time() - 900))
    bench.cache._evict(0, keep=True)
    assert (tmp_path / name).stat().st_mtime == pytest.approx(time.time() - 500, abs=5)


def test_room_is_made_by_one_core_at_a_time(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path).finish(row(1, prompt(1, 200)))
    with Folder(tmp_path, 1 << 30).alone():
        assert bench.drain(0.2).left == 1
        assert list(tmp_path.iterdir()) == []
    assert bench.drain().left == 0
    assert len(names(tmp_path)) == 1


def test_a_tier_that_may_have_less_now_gives_up_the_rest(tmp_path: Path) -> None:
    settings = SsdSettings(str(tmp_path / "tier"), 1 << 30, 1 << 30, 0)
    model = load_model(POCKET)[0]
    bench = Bench(models.full_attention(), tmp_path / "tier", key=model_key(model, POCKET))
    for number in range(3):
        bench.finish(row(number, prompt(number, 200)))
        bench.drain()
    size = sum(path.stat().st_size for path in (tmp_path / "tier").iterdir())
    tier = open_tier(msgspec.structs.replace(settings, max_bytes=size - 1), model, POCKET)
    assert tier is not None
    assert tier.state.entries == len(names(tmp_path / "tier")) == 2


def test_a_start_does_not_wait_for_thousands_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    scan = Index.scan

    def slowly(self: Index) -> None:
        go_on.wait(10)
        scan(self)

    model = load_model(POCKET)[0]
    key = model_key(model, POCKET)
    Bench(models.full_attention(), tmp_path, key=key).finish(row(1, prompt(1, 200))).drain()
    monkeypatch.setattr(Index, "scan", slowly)
    monkeypatch.setattr(ssd_open, "_WAIT_S", 0.01)
    tier = open_tier(SsdSettings(str(tmp_path), 1 << 30, 1 << 30, 0), model, POCKET)
    assert tier is not None
    assert tier.longest("", np.array(prompt(1, 200), np.int32), 0) == 0
    go_on.set()
    until = time.monotonic() + 5
    while not tier.state.entries:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert tier.longest("", np.array(prompt(1, 200), np.int32), 0) == 199
