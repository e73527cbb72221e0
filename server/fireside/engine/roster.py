"""Which rows are in the core, which wait, and which one brought it down.

The queue is by priority, then by arrival, and a row that had to leave keeps its place by arrival.

* Lanes. Batched rows run together, a serial row alone. A serial row at the head of the queue lets nobody
  in: the running rows finish, it runs, and after it a wave of up to `max_rows` batched rows goes before
  the next serial row, also those that came later. So of `max_rows` rows a batched one waits for one serial
  answer, and a serial row is overtaken by one wave for each serial row before it: neither class can starve
  the other. All this is among rows of one priority.
* Priority. An interactive request takes the place of background rows where it could not start beside
  them: of the youngest if the batch is full, of the serial row that is running, of all if it must run alone
  and nobody else is there. Nobody else takes anybody's place.
* Memory. `KvAccountant` says who may join, and who must leave once the rows outgrow the budget.
* Crashes. A crash does not say which row caused it. So the rows that were running come back one at a time,
  each alone until it has produced a token; one that does is cleared and waits, and once all are cleared
  they go on. A crash counts against a row only if it ran alone and had made no progress; the second such
  crash ends the row. The other rows never pay more than the time.
"""

from __future__ import annotations

import itertools
from bisect import insort
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from fireside.catalog.fit_accounts import KvAccountant, KvRow
from fireside.engine.requests import Priority, Row

MAX_STRIKES = 2


@dataclass
class Changes:
    """What the core is to be told after something happened; the cancelled submissions first."""

    submit: list[Row] = field(default_factory=list[Row])
    cancel: list[int] = field(default_factory=list[int])
    """Numbers of submissions."""

    def __bool__(self) -> bool:
        return bool(self.submit or self.cancel)


class Roster:
    """Policy without sockets or clocks. One core, up to `max_rows` rows in it.

    `core_up` and `core_down` bracket the life of a core; nothing is submitted outside of it.
    """

    def __init__(self, max_rows: int, accountant: KvAccountant | None = None) -> None:
        self._max_rows = max_rows
        self._accountant = accountant
        self._up = False
        self._batches = True
        self._waiting: list[Row] = []
        self._suspects: deque[Row] = deque()
        self._arrivals = itertools.count()
        self._numbers = itertools.count()
        self._running: dict[int, Row] = {}
        self._trial: Row | None = None
        self._serial_ran = False
        self._entered = 0

    @property
    def running(self) -> list[Row]:
        return list(self._running.values())

    @property
    def waiting(self) -> list[Row]:
        """Rows outside the core, in the order in which they will enter it."""
        return [*self._suspects, *self._waiting]

    @property
    def all(self) -> list[Row]:
        return self.running + self.waiting

    @property
    def queued(self) -> int:
        """Rows that wait for others to end; not those that only wait for a core."""
        if self._up and not self._suspects and self._trial is None:
            return len(self._waiting)
        return max(0, len(self.all) - self._max_rows)

    @property
    def entered(self) -> int:
        """Rows that ever entered a core, each counted once."""
        return self._entered

    @property
    def batches(self) -> bool:
        """Whether rows can run together."""
        return self._batches and self._max_rows > 1

    def limit(self, accountant: KvAccountant | None) -> None:
        """Keep the rows within a budget from now on; None for no budget."""
        self._accountant = accountant

    def get(self, submission: int) -> Row | None:
        """A row that is in the core, by the number of its submission."""
        return self._running.get(submission)

    def add(self, row: Row) -> Changes:
        """A new row: into the core if it may, else into the queue.

        Raises:
            ValueError: it could not be finished within the budget even alone.
        """
        row.arrived = next(self._arrivals)
        if self._accountant is not None:
            (account,) = _accounts([row])
            whole = self._accountant.charge([account], account.limit)
            if whole > self._accountant.budget_bytes:
                raise ValueError(
                    f"A row of {account.limit} tokens takes {whole} bytes of keys and values, the budget is"
                    f" {self._accountant.budget_bytes}. Check requests with `admit` first."
                )
        self._queue(row)
        return self._fill()

    def remove(self, row: Row) -> Changes:
        """A row is not wanted any more. Removing it twice is harmless."""
        submission = row.submission
        was_running = self._drop(row)
        changes = self._fill()
        if was_running:
            changes.cancel.append(submission)
        return changes

    def finished(self, row: Row) -> Changes:
        """The core has ended a row by itself."""
        self._drop(row)
        return self._fill()

    def progressed(self, row: Row) -> Changes:
        """A row produced a token: it is no suspect any more."""
        row.strikes = 0
        if row.progressed:
            return Changes()
        row.progressed = True
        if row is not self._trial:
            return Changes()
        self._trial = None
        if not self._suspects:
            return self._fill()
        leaving = Changes()
        self._leave(row, leaving)
        changes = self._fill()
        changes.cancel += leaving.cancel
        return changes

    def stepped(self) -> Changes:
        """The rows have grown by a step: some may have to leave, so that the others can grow on."""
        return self._fill()

    def core_up(self, batches: bool = True) -> Changes:
        """A core is ready.

        Args:
            batches: False if its rows can only run one at a time.
        """
        self._up = True
        self._batches = batches
        return self._fill()

    def core_down(self) -> list[Row]:
        """The core died. Returns the rows that are given up."""
        self._up = False
        self._trial = None
        rows = self.running
        self._running.clear()
        given_up: list[Row] = []
        if len(rows) == 1 and not rows[0].progressed:
            rows[0].strikes += 1
            if rows[0].strikes >= MAX_STRIKES:
                given_up.append(rows.pop())
        self._suspects.extendleft(reversed(rows))
        return given_up

    def _fill(self) -> Changes:
        """Submit as many rows as may run now: one while somebody is under suspicion."""
        changes = Changes()
        if not self._up or self._trial is not None:
            return changes
        if self._suspects:
            self._trial = self._suspects.popleft()
            self._enter(self._trial, changes)
            return changes
        self._preempt(changes)
        while self._admit(changes):
            self._preempt(changes)
        return changes

    def _preempt(self, changes: Changes) -> None:
        """Send background rows back to the queue where they keep an interactive request from starting."""
        if not self._waiting or self._waiting[0].request.priority < Priority.INTERACTIVE:
            return
        rows = self.running
        background = [row for row in rows if row.request.priority is Priority.BACKGROUND]
        if self._is_serial(self._waiting[0]) or self._alone(rows):
            leaving = background if len(background) == len(rows) else []
        else:
            full = len(rows) >= self._max_rows
            leaving = sorted(background, key=lambda row: row.arrived)[-1:] if full else []
        for row in leaving:
            self._leave(row, changes)

    def _admit(self, changes: Changes) -> bool:
        """Let in who may join now, and let go who must leave for lack of memory. Tells whether one joined."""
        candidates = self._candidates()
        if self._accountant is None:
            joining, leaving = candidates, list[Row]()
        elif not candidates and len(self._running) < 2:
            return False
        else:
            rows = {row.arrived: row for row in (*self._running.values(), *candidates)}
            decision = self._accountant.decide(_accounts(self._running.values()), _accounts(candidates))
            joining = [rows[number] for number in decision.join]
            leaving = [rows[number] for number in decision.suspend]
        for row in leaving:
            self._leave(row, changes)
        for row in joining:
            self._waiting.remove(row)
            self._enter(row, changes)
        return bool(joining)

    def _candidates(self) -> list[Row]:
        """Who may join as far as lanes and the number of rows go, in the order of the queue."""
        rows = self.running
        free = self._max_rows - len(rows)
        if not self._waiting or free <= 0 or self._alone(rows):
            return []
        head = self._waiting[0]
        if not rows and self._serial_ran and (wave := self._wave(head.request.priority)):
            return wave
        if self._is_serial(head):
            return [] if rows else [head]
        batched = itertools.takewhile(lambda row: not self._is_serial(row), self._waiting)
        return list(itertools.islice(batched, free))

    def _wave(self, priority: Priority) -> list[Row]:
        """The batched rows whose turn it is after a serial one."""
        batched = (
            row for row in self._waiting if row.request.priority is priority and not self._is_serial(row)
        )
        return list(itertools.islice(batched, self._max_rows))

    def _is_serial(self, row: Row) -> bool:
        return row.request.serial or not self.batches

    def _alone(self, rows: list[Row]) -> bool:
        """Whether a row is running that nobody may join."""
        return len(rows) == 1 and self._is_serial(rows[0])

    def _enter(self, row: Row, changes: Changes) -> None:
        self._serial_ran = self._is_serial(row)
        self._entered += row.submissions == 0
        row.submitted(next(self._numbers), "serial" if self._serial_ran else "batched")
        self._running[row.submission] = row
        changes.submit.append(row)

    def _leave(self, row: Row, changes: Changes) -> None:
        """Back to the queue, to be resumed later."""
        del self._running[row.submission]
        changes.cancel.append(row.submission)
        self._queue(row)

    def _queue(self, row: Row) -> None:
        insort(self._waiting, row, key=lambda other: (-other.request.priority, other.arrived))

    def _drop(self, row: Row) -> bool:
        """Forget a row wherever it is; tells whether it was in the core."""
        self._trial = None if self._trial is row else self._trial
        for line in (self._waiting, self._suspects):
            if row in line:
                line.remove(row)
        return self._running.pop(row.submission, None) is not None


def _accounts(rows: Iterable[Row]) -> list[KvRow]:
    return [
        KvRow(
            id=row.arrived,
            tokens=len(row.request.prompt) + len(row.generated),
            limit=len(row.request.prompt) + row.request.max_tokens,
            priority=row.request.priority,
            arrived=row.arrived,
        )
        for row in rows
    ]
