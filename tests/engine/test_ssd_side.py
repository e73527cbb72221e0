"""The SSD tier as the app sees it."""

from __future__ import annotations

import asyncio
import time
from collections import namedtuple
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from fireside import framing, wire
from fireside.engine import ssd
from fireside.engine.ssd import Flushing, SsdSide, usual_max_bytes
from fireside.engine.ssd_metrics import TierMetrics

SETTINGS = wire.SsdSettings("/tier", 10, 20, 300.0)
STATE = wire.SsdState(entries=2, bytes=5, max_bytes=10, restores=1, spills=4, written_bytes=7, demotions=3)
DONE = wire.Drained(1, written=2, written_bytes=3_000_000, dropped=0, left=0, left_bytes=0)

F075 = {
    "dir", "entries", "bytes", "max_bytes", "restores", "spills", "restore_ms_last", "demotions",
    "pending_spills", "pending_spill_bytes", "dropped_spills",
}  # fmt: skip


def side(state: wire.SsdState | None = STATE) -> SsdSide:
    made = SsdSide(SETTINGS)
    made.state = state
    return made


def test_messages_cross() -> None:
    for down in (wire.Start(4, None, "/m", "/c", 8, SETTINGS), wire.Drain(1, 10.0, True)):
        assert framing.unpack_down(framing.pack(down)[framing.HEADER_SIZE :]) == down
    for up in (wire.Tier(STATE, wire.CacheState(1, 2, 3)), DONE):
        assert framing.unpack_up(framing.pack(up)[framing.HEADER_SIZE :]) == up


@pytest.mark.parametrize(
    ("free", "expected"), [(10**12, 10**10), (10**11, 5 * 10**9), (0, 0)], ids=["plenty", "some", "full"]
)
def test_what_the_tier_takes_unasked(
    free: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(ssd.shutil, "disk_usage", lambda _: usage(0, 0, free))
    assert usual_max_bytes(tmp_path / "not" / "there") == expected
    (tmp_path / f"{'a' * 32}-64-{'b' * 32}.safetensors").write_bytes(bytes(1000))
    (tmp_path / "model.safetensors").write_bytes(bytes(5000))  # which is not the tier's
    assert usual_max_bytes(tmp_path) == min(10**10, int(0.05 * (free + 1000)))


def test_stats_have_their_names() -> None:
    stats = side().stats
    assert stats is not None
    assert stats.keys() >= F075
    assert side(None).stats is None
    assert SsdSide(None).stats is None


async def test_a_drain_is_answered() -> None:
    tier, sent = side(), list[wire.Down]()
    drain = asyncio.create_task(tier.drain(sent.append, 5.0, demote=True))
    await asyncio.sleep(0)
    assert sent == [wire.Drain(1, 5.0, True)]
    tier.drained(wire.Drained(9, 0, 0, 0, 0, 0))
    assert not drain.done()
    tier.drained(DONE)
    assert await drain == DONE


async def test_a_drain_ends_without_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await side(None).drain(lambda _: None, 5.0) is None
    tier = side()
    drain = asyncio.create_task(tier.drain(lambda _: None, 5.0))
    await asyncio.sleep(0)
    tier.core_down()
    assert await drain is None
    monkeypatch.setattr(ssd, "_ANSWER_WITHIN_S", 0.05)
    assert await side().drain(lambda _: None, 0.0) is None


async def test_a_flush_tells_what_it_does(capsys: pytest.CaptureFixture[str]) -> None:
    async def quick(_within_s: float) -> wire.Drained | None:
        return DONE

    async def slow(within_s: float) -> wire.Drained | None:
        assert flushing.until > time.monotonic() + within_s
        await asyncio.sleep(0.4)
        return wire.Drained(1, 1, 2_000_000, 1, 1, 500)

    async def without(_within_s: float) -> wire.Drained | None:
        return None

    flushing = Flushing()
    await flushing.run(without)
    assert capsys.readouterr().err == ""
    await flushing.run(quick)
    assert capsys.readouterr().err == "Prompt cache: 2 entries written to the disk (3.0 MB).\n"
    await flushing.run(slow)
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("Writing the prompt cache")
    assert told[1].startswith("Prompt cache: 1 entry written to the disk (2.0 MB); 2 could not be written")
    assert flushing.until < time.monotonic() + 5


def test_counters_go_on_with_the_next_core() -> None:
    registry = CollectorRegistry()
    metrics = TierMetrics(registry)
    metrics.update(STATE)
    metrics.update(STATE)
    metrics.core_died()
    assert "fireside_ssd_cache_entries 0.0" in generate_latest(registry).decode()
    metrics.update(wire.SsdState(entries=1, spills=2))
    text = generate_latest(registry).decode()
    assert "fireside_ssd_cache_spills_total 6.0" in text
    assert "fireside_ssd_cache_entries 1.0" in text
