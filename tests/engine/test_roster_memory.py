"""Rows within a budget of keys and values: who joins, who leaves, and that all of them finish."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireside.catalog.fit_accounts import KvAccountant
from fireside.engine.requests import GenerationRequest, Priority, Row
from fireside.engine.roster import Roster
from fireside.wire import Sampling

BACKGROUND, NORMAL, INTERACTIVE = Priority


def row(prompt: int, answer: int, priority: Priority = NORMAL, *, serial: bool = False) -> Row:
    return Row(GenerationRequest([0] * prompt, answer, (), Sampling(), priority=priority, serial=serial))


def budget(tokens: int, reserve: int = 10) -> KvAccountant:
    """One byte a token."""
    return KvAccountant(lambda count: count, tokens, reserve, padded=False, displaces_from=2)


def roster(tokens: int, *rows: Row, max_rows: int = 8) -> Roster:
    found = Roster(max_rows, budget(tokens))
    found.core_up()
    for r in rows:
        found.add(r)
    return found


def grow(r: Row, tokens: int = 1) -> None:
    r.generated.extend([1] * tokens)


def test_a_row_joins_only_if_all_have_room_to_grow() -> None:
    first, second, third = (row(40, 50) for _ in range(3))
    queue = roster(120, first, second, third)
    assert queue.running == [first, second]
    assert queue.finished(first).submit == [third]


def test_who_fits_does_not_overtake_who_does_not() -> None:
    queue = roster(100, first := row(50, 50), long := row(60, 20), small := row(1, 1))
    assert queue.running == [first]
    assert queue.waiting == [long, small]


def test_when_memory_runs_short_the_youngest_of_the_lowest_priority_leaves_and_resumes() -> None:
    old, young = row(40, 50), row(40, 50)
    queue = roster(110, old, young)
    for _ in range(15):
        grow(old)
        grow(young)
    left = young.submission
    changes = queue.stepped()
    assert (changes.cancel, changes.submit) == ([left], [])
    assert (queue.running, queue.waiting) == ([old], [young])
    assert queue.stepped().submit == []
    assert queue.finished(old).submit == [young]
    assert (young.resumed, young.strikes, young.lane) == (1, 0, "batched")
    assert young.message().generated == [1] * 15


def test_a_normal_row_waits_for_the_memory_of_a_background_one_an_interactive_does_not() -> None:
    background = row(60, 40, BACKGROUND)
    queue = roster(100, background)
    assert not queue.add(row(50, 10))
    left = background.submission
    changes = queue.add(urgent := row(50, 10, INTERACTIVE))
    assert (changes.cancel, changes.submit) == ([left], [urgent])


def test_a_suspended_row_is_no_suspect() -> None:
    old, young = row(40, 50), row(40, 50)
    queue = roster(110, old, young)
    grow(old, 15)
    grow(young, 15)
    queue.stepped()
    queue.core_down()
    assert queue.core_up().submit == [old]
    assert [r.strikes for r in (old, young)] == [1, 0]


def test_what_could_never_fit_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="91 tokens"):
        roster(90).add(row(50, 41))
    assert roster(90, exact := row(50, 40)).running == [exact]


requests = st.lists(
    st.tuples(
        st.integers(1, 60),
        st.integers(1, 40),
        st.sampled_from(list(Priority)),
        st.booleans(),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=16,
)


@settings(deadline=None)
@given(requests, st.integers(100, 300), st.integers(1, 6), st.integers(1, 12))
def test_all_finish_within_the_budget_and_every_return_is_worth_it(
    asked: list[tuple[int, int, Priority, bool, int]], size: int, max_rows: int, reserve: int
) -> None:
    queue = Roster(max_rows, budget(size, reserve))
    queue.core_up()
    grown: dict[Row, int] = {}

    def step() -> None:
        for r in queue.running:
            grow(r)
            grown[r] += 1
            if len(r.generated) == r.request.max_tokens:
                queue.finished(r)
            else:
                queue.progressed(r)
        before = {r: r.submissions for r in grown}
        queue.stepped()
        running = queue.running
        assert sum(len(r.request.prompt) + len(r.generated) for r in running) <= size
        assert bool(running) == bool(queue.all)
        assert all(r.submissions - before[r] <= 1 for r in grown)

    for prompt, answer, priority, serial, pause in asked:
        grown[new := row(prompt, answer, priority, serial=serial)] = 0
        queue.add(new)
        for _ in range(pause):
            step()
    for _ in range(sum(answer for _, answer, *_ in asked) + 1):
        step()
    assert queue.all == []
    preempting = sum(priority is INTERACTIVE for _, _, priority, *_ in asked)
    for r in grown:
        # Each return but those after a preemption lets the row grow by the reserve, or to its end.
        assert r.submissions <= 1 + preempting + r.request.max_tokens // reserve + 1
