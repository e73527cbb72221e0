"""Who runs beside whom: the serial lane, the batched one, and priorities."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireside.engine.requests import GenerationRequest, Priority, Row
from fireside.engine.roster import Changes, Roster
from fireside.wire import Sampling

BACKGROUND, NORMAL, INTERACTIVE = Priority


def row(name: int, *, serial: bool = False, priority: Priority = NORMAL, tokens: int = 8) -> Row:
    return Row(GenerationRequest([name], tokens, (), Sampling(), serial=serial, priority=priority))


def names(rows: list[Row]) -> list[int]:
    return [r.request.prompt[0] for r in rows]


def roster(*rows: Row, max_rows: int = 4, batches: bool = True) -> Roster:
    """A roster with a core, to which these rows were added."""
    found = Roster(max_rows)
    found.core_up(batches)
    for r in rows:
        found.add(r)
    return found


def test_a_serial_row_waits_for_the_batch_runs_alone_and_lets_the_others_in_again() -> None:
    first, alone, late = row(0), row(1, serial=True), row(2)
    queue = roster(first, alone, late)
    assert names(queue.running) == [0]
    assert names(queue.finished(first).submit) == [1]
    assert (alone.lane, first.lane) == ("serial", "batched")
    assert queue.add(row(3)) == Changes()
    assert names(queue.finished(alone).submit) == [2, 3]


def test_after_a_serial_row_a_wave_of_batched_ones_goes_before_the_next() -> None:
    serial = [row(n, serial=True) for n in range(3)]
    batched = [row(10 + n) for n in range(6)]
    queue = roster(*serial, *batched)
    assert names(queue.finished(serial[0]).submit) == [10, 11, 12, 13]
    for r in batched[:3]:
        assert queue.finished(r) == Changes()
    assert names(queue.finished(batched[3]).submit) == [1]
    assert names(queue.finished(serial[1]).submit) == [14, 15]
    queue.finished(batched[4])
    assert names(queue.finished(batched[5]).submit) == [2]


def test_who_came_after_a_serial_row_does_not_slip_in_beside_who_came_before_it() -> None:
    queue = Roster(max_rows=4)
    for r in (row(0), row(1, serial=True), row(2)):
        queue.add(r)
    assert names(queue.core_up().submit) == [0]


@pytest.mark.parametrize(("max_rows", "batches"), [(1, True), (4, False)])
def test_where_rows_cannot_run_together_all_are_serial(max_rows: int, batches: bool) -> None:
    first, second = row(0), row(1)
    queue = roster(first, second, max_rows=max_rows, batches=batches)
    assert (names(queue.running), first.lane, queue.batches) == ([0], "serial", False)
    assert names(queue.finished(first).submit) == [1]


def test_the_more_important_row_enters_first() -> None:
    running = [row(n) for n in range(2)]
    queue = roster(*running, row(2, priority=BACKGROUND), row(3), row(4, priority=INTERACTIVE), max_rows=2)
    assert names(queue.waiting) == [4, 3, 2]
    assert names(queue.finished(running[0]).submit) == [4]


def test_an_interactive_row_takes_the_place_of_the_youngest_background_one() -> None:
    rows = [row(0, priority=BACKGROUND), row(1), row(2, priority=BACKGROUND)]
    queue = roster(*rows, row(3, priority=BACKGROUND), max_rows=3)
    left = rows[2].submission
    changes = queue.add(new := row(9, priority=INTERACTIVE))
    assert (changes.cancel, names(changes.submit)) == ([left], [9])
    assert names(queue.waiting) == [2, 3]
    assert names(queue.finished(new).submit) == [2]
    assert (rows[2].submissions, rows[2].strikes) == (2, 0)


@pytest.mark.parametrize("priority", [BACKGROUND, NORMAL])
def test_nobody_else_takes_anybody_s_place(priority: Priority) -> None:
    queue = roster(*(row(n, priority=BACKGROUND) for n in range(3)), max_rows=3)
    assert queue.add(row(9, priority=priority)) == Changes()
    busy = roster(*(row(n) for n in range(3)), max_rows=3)
    assert busy.add(row(9, priority=INTERACTIVE)) == Changes()


def test_an_interactive_row_joins_a_batch_with_room_and_sends_nobody_away() -> None:
    queue = roster(row(0, priority=BACKGROUND), max_rows=2)
    changes = queue.add(row(9, priority=INTERACTIVE))
    assert (changes.cancel, names(changes.submit)) == ([], [9])


def test_an_interactive_row_takes_the_place_of_a_serial_background_one() -> None:
    queue = roster(background := row(0, serial=True, priority=BACKGROUND))
    left = background.submission
    changes = queue.add(new := row(9, priority=INTERACTIVE))
    assert (changes.cancel, names(changes.submit)) == ([left], [9])
    assert names(queue.finished(new).submit) == [0]
    normal = roster(row(0, serial=True))
    assert normal.add(row(9, priority=INTERACTIVE)) == Changes()


def test_a_serial_interactive_row_sends_a_whole_background_batch_away_but_no_mixed_one() -> None:
    background = [row(n, priority=BACKGROUND) for n in range(2)]
    queue = roster(*background)
    changes = queue.add(new := row(9, serial=True, priority=INTERACTIVE))
    assert (len(changes.cancel), names(changes.submit)) == (2, [9])
    assert names(queue.finished(new).submit) == [0, 1]
    mixed = roster(row(0, priority=BACKGROUND), row(1))
    assert mixed.add(row(9, serial=True, priority=INTERACTIVE)) == Changes()
    assert names(mixed.running) == [0, 1]


def test_nobody_is_sent_away_while_a_crash_is_looked_into() -> None:
    rows = [row(n, priority=BACKGROUND) for n in range(2)]
    queue = roster(*rows, max_rows=2)
    queue.core_down()
    assert names(queue.core_up().submit) == [0]
    assert queue.add(row(9, priority=INTERACTIVE)) == Changes()
    queue.progressed(rows[0])
    changes = queue.progressed(rows[1])
    assert names(changes.submit) == [9]
    assert names(queue.waiting) == [0]


def test_a_serial_row_comes_back_alone_after_a_crash() -> None:
    queue = roster(alone := row(0, serial=True), row(1))
    queue.core_down()
    assert names(queue.core_up().submit) == [0]
    assert queue.progressed(alone) == Changes()
    assert alone.lane == "serial"


def test_the_queue_counts_who_waits_for_others_and_not_who_waits_for_a_core() -> None:
    rows = [row(n) for n in range(3)]
    queue = roster(*rows, max_rows=2)
    assert (queue.queued, queue.entered) == (1, 2)
    queue.core_down()
    assert queue.queued == 1
    queue.core_up()
    assert queue.queued == 1
    assert queue.entered == 2


@dataclass
class Waits:
    """What went before a row while it waited, in numbers of rows of the other lane."""

    ahead_batched: int
    ahead_serial: int
    serial_before: int = 0
    later_batched_before: int = 0


@dataclass
class Simulation:
    """A core that gives every running row a token a step."""

    queue: Roster
    waits: dict[Row, Waits] = field(default_factory=dict[Row, Waits])
    left: dict[Row, int] = field(default_factory=dict[Row, int])

    def offer(self, new: Row, tokens: int) -> None:
        running, waiting = self.queue.running, self.queue.waiting
        serial = [r for r in (*running, *waiting) if r.request.serial]
        batched = [r for r in waiting if not r.request.serial]
        self.waits[new] = Waits(len(batched), len(serial))
        self.left[new] = tokens
        self._note(self.queue.add(new))

    def step(self) -> None:
        for r in self.queue.running:
            self.left[r] -= 1
            if self.left[r] <= 0:
                del self.left[r]
                self._note(self.queue.finished(r))
            else:
                self._note(self.queue.progressed(r))
        self._note(self.queue.stepped())
        self.check()

    def check(self) -> None:
        running = self.queue.running
        assert len(running) <= 4
        assert len(running) == 1 or not any(r.request.serial for r in running)
        assert bool(running) == bool(self.left)

    def _note(self, changes: Changes) -> None:
        for entered in changes.submit:
            for other in self.queue.waiting:
                if entered.request.serial:
                    self.waits[other].serial_before += not other.request.serial
                elif other.request.serial and entered.arrived > other.arrived:
                    self.waits[other].later_batched_before += 1


arrivals = st.lists(st.tuples(st.booleans(), st.integers(1, 6), st.integers(0, 2)), min_size=1, max_size=60)


@settings(deadline=None)
@given(arrivals)
def test_neither_lane_starves_whatever_is_offered(offered: list[tuple[bool, int, int]]) -> None:
    sim = Simulation(roster())
    for number, (serial, tokens, pause) in enumerate(offered):
        sim.offer(row(number, serial=serial), tokens)
        for _ in range(pause):
            sim.step()
    for _ in range(sum(tokens for _, tokens, _ in offered)):
        sim.step()
    assert sim.left == {}
    for r, wait in sim.waits.items():
        assert wait.serial_before <= (0 if r.request.serial else wait.ahead_batched // 4 + 1)
        assert wait.later_batched_before <= 4 * wait.ahead_serial


def test_both_lanes_move_on_under_a_steady_stream_of_both() -> None:
    sim = Simulation(roster())
    waited = dict.fromkeys((True, False), 0)
    offered: dict[Row, int] = {}
    for step in range(4000):
        if step % 8 == 0:
            for serial in (True, False):
                sim.offer(new := row(step, serial=serial), 3)
                offered[new] = step
        sim.step()
        for r in [r for r in offered if r not in sim.left]:
            waited[r.request.serial] = max(waited[r.request.serial], step - offered.pop(r))
    assert len(sim.left) <= 3
    assert max(waited.values()) <= 12


mixed = st.lists(
    st.tuples(st.booleans(), st.integers(1, 6), st.integers(0, 2), st.sampled_from(list(Priority))),
    min_size=1,
    max_size=40,
)


@settings(deadline=None)
@given(mixed)
def test_everything_finishes_whatever_the_priorities(
    offered: list[tuple[bool, int, int, Priority]],
) -> None:
    sim = Simulation(roster())
    for number, (serial, tokens, pause, priority) in enumerate(offered):
        sim.offer(row(number, serial=serial, priority=priority), tokens)
        for _ in range(pause):
            sim.step()
    for _ in range(sum(tokens for _, tokens, _, _ in offered)):
        sim.step()
    assert sim.left == {}
    assert sim.queue.all == []
