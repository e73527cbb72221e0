"""Chunks that keep other rows' tokens coming."""

from __future__ import annotations

import time

import pytest

from fireside.core.chunks import DECODE_STEPS, LONGEST_GAP_S, ChunkPlanner


class Clock:
    """A machine whose steps take `decode` seconds; if they read, `fixed` more and `cost` a prompt token."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, decode: float, cost: float, fixed: float = 0.0
    ) -> None:
        self.now = 0.0
        self.decode = decode
        self.cost = cost
        self.fixed = fixed
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def step(self, planner: ChunkPlanner, *, decoding: bool, reads: bool) -> tuple[int, float]:
        """One step. Returns the tokens that it read and how long it took."""
        began = self.now
        tokens = planner.budget(decoding=decoding) if reads else 0
        if not reads:
            planner.budget(decoding=decoding)
        self.now += (self.decode if decoding else 0.0) + tokens * self.cost + (self.fixed if tokens else 0.0)
        planner.measured(tokens, decoding=decoding)
        return tokens, self.now - began


@pytest.mark.parametrize(("decode", "cost"), [(0.005, 0.0001), (0.06, 0.003), (0.2, 0.002), (0.001, 1e-6)])
def test_gaps_stay_within_the_bound_and_the_bound_is_used(
    monkeypatch: pytest.MonkeyPatch, decode: float, cost: float
) -> None:
    clock, planner = Clock(monkeypatch, decode, cost), ChunkPlanner(512)
    for _ in range(5):
        clock.step(planner, decoding=True, reads=False)
    steps = [clock.step(planner, decoding=True, reads=True) for _ in range(20)]
    longest = max(LONGEST_GAP_S, DECODE_STEPS * decode)
    assert max(seconds for _, seconds in steps) <= longest
    tokens, seconds = steps[-1]
    assert tokens == 512 or seconds > longest / 4


def test_chunks_grow_where_every_chunk_costs_the_same_for_the_most_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, planner = Clock(monkeypatch, decode=0.05, cost=0.0002, fixed=0.02), ChunkPlanner(512)
    for _ in range(5):
        clock.step(planner, decoding=True, reads=False)
    steps = [clock.step(planner, decoding=True, reads=True) for _ in range(10)]
    assert steps[-1][0] == 64
    assert max(seconds for _, seconds in steps) <= LONGEST_GAP_S


def test_chunks_shrink_on_the_way_into_a_long_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, planner = Clock(monkeypatch, decode=0.01, cost=0.0002), ChunkPlanner(512)
    for _ in range(5):
        clock.step(planner, decoding=True, reads=False)
    longest, read, tokens = 0.0, 0, 0
    while read < 8000:
        tokens, seconds = clock.step(planner, decoding=True, reads=True)
        longest, read = max(longest, seconds), read + tokens
        clock.cost = 0.0002 + read * 1.5e-7
    assert longest <= LONGEST_GAP_S
    assert tokens < 512


def test_a_machine_that_becomes_slower_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, planner = Clock(monkeypatch, 0.01, 0.0005), ChunkPlanner(2048)
    for _ in range(5):
        clock.step(planner, decoding=True, reads=False)
    before = [clock.step(planner, decoding=True, reads=True)[0] for _ in range(5)][-1]
    clock.cost *= 8
    after = [clock.step(planner, decoding=True, reads=True) for _ in range(8)][-1]
    assert after[0] < before
    assert after[1] <= LONGEST_GAP_S


def test_alone_a_prompt_is_read_in_large_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, planner = Clock(monkeypatch, 0.01, 0.0005), ChunkPlanner(512)
    assert clock.step(planner, decoding=False, reads=True)[0] == 512
    assert clock.step(planner, decoding=False, reads=True)[0] == 512


def test_sizes_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, planner = Clock(monkeypatch, 0.02, 0.0011), ChunkPlanner(2048)
    sizes = {clock.step(planner, decoding=True, reads=True)[0] for _ in range(30)}
    assert all(tokens & (tokens - 1) == 0 for tokens in sizes)
