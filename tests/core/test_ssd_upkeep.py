"""The SSD tier beside rows: what a core that is never idle writes, and what that costs it."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import mlx.nn as nn
import msgspec
import pytest

from fireside.core.cache import ssd_upkeep
from fireside.core.cache.ssd_tier import SsdTier
from fireside.wire import Tier
from support.random_models import prompt
from support.ssd_bench import DEBOUNCE_S, Bench, row

pytestmark = pytest.mark.usefixtures("soon")


def test_a_busy_core_writes_nothing_at_first_and_a_little_in_the_end(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path).finish(row(1, prompt(1, 200)))
    bench.upkeep._idle_at = time.monotonic()
    time.sleep(DEBOUNCE_S)
    bench.scheduler.apply(row(2, prompt(2, 20)))
    for _ in range(4):
        bench.step()
    assert bench.tier.state.written_bytes == 0
    bench.upkeep._idle_at -= 10
    while bench.scheduler.busy:
        bench.step()
    until = time.monotonic() + 5
    while not bench.tier.state.written_bytes and time.monotonic() < until:
        time.sleep(0.01)
    assert bench.tier.state.written_bytes > 0


def test_a_core_that_stays_busy_tells_what_has_become_of_the_last_entry(
    full: nn.Module, tmp_path: Path
) -> None:
    bench = Bench(full, tmp_path).finish(row(1, prompt(1, 200)))
    time.sleep(DEBOUNCE_S)
    bench.upkeep._idle_at -= 20
    bench.scheduler.apply(msgspec.structs.replace(row(2, prompt(2, 20)), max_tokens=100_000))
    until = time.monotonic() + 10
    told = (0, 0)
    while told != (1, 0) and time.monotonic() < until:
        bench.step()
        reports = [message.ssd for message in bench.sent if isinstance(message, Tier)]
        told = (reports[-1].spills, reports[-1].pending_spills) if reports else told
    assert bench.scheduler.busy
    assert told == (1, 0)


def test_writing_beside_answers_takes_little_of_a_cores_time(
    full: nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, now, taken = Bench(full, tmp_path), 1000.0, 0.0

    def advance(**_: bool) -> bool:
        nonlocal now, taken
        now += 0.008
        taken += 0.008
        return True

    monkeypatch.setattr(ssd_upkeep, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(SsdTier, "waiting", True)
    monkeypatch.setattr(bench.tier, "advance", advance)
    bench.upkeep._idle_at = now
    while now < 1010:
        bench.upkeep.between_steps()
        now += 0.03
    assert taken == 0
    while now < 1110:
        bench.upkeep.between_steps()
        now += 0.03
    assert 1.3 < taken < 1.6
