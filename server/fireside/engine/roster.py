"""Which rows are in the core, which wait, and which one brought it down.

A crash does not say which row caused it. So the rows that were running come back one at a time, each
alone until it has produced a token; one that does is cleared, and once all are cleared they go on
together. A crash counts against a row only if it ran alone and had made no progress; the second such
crash ends the row. The other rows never pay more than the time.
"""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass, field

from fireside.engine.requests import Row

MAX_STRIKES = 2


@dataclass
class Changes:
    """What the core is to be told after something happened."""

    submit: list[Row] = field(default_factory=list[Row])
    cancel: list[int] = field(default_factory=list[int])
    """Numbers of submissions."""


class Roster:
    """Policy without sockets or clocks. One core, up to `max_rows` rows in it.

    `core_up` and `core_down` bracket the life of a core; nothing is submitted outside of it.
    """

    def __init__(self, max_rows: int) -> None:
        self._max_rows = max_rows
        self._up = False
        self._waiting: deque[Row] = deque()
        self._suspects: deque[Row] = deque()
        self._cleared: deque[Row] = deque()
        self._numbers = itertools.count()
        self._running: dict[int, Row] = {}
        self._trial: Row | None = None

    @property
    def running(self) -> list[Row]:
        return list(self._running.values())

    @property
    def waiting(self) -> list[Row]:
        """Rows outside the core, in the order in which they will enter it."""
        return [*self._suspects, *self._cleared, *self._waiting]

    @property
    def all(self) -> list[Row]:
        return self.running + self.waiting

    def get(self, submission: int) -> Row | None:
        """A row that is in the core, by the number of its submission."""
        return self._running.get(submission)

    def add(self, row: Row) -> Changes:
        """A new row: into the core if there is room, else behind those that wait."""
        self._waiting.append(row)
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
        submission = row.submission
        del self._running[submission]
        self._cleared.append(row)
        changes = self._fill()
        changes.cancel.append(submission)
        return changes

    def core_up(self) -> Changes:
        """A core is ready."""
        self._up = True
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

    def _drop(self, row: Row) -> bool:
        """Forget a row wherever it is; tells whether it was in the core."""
        self._trial = None if self._trial is row else self._trial
        for line in (self._waiting, self._suspects, self._cleared):
            if row in line:
                line.remove(row)
        return self._running.pop(row.submission, None) is not None

    def _fill(self) -> Changes:
        """Submit as many rows as may run now: one while somebody is under suspicion."""
        changes = Changes()
        while self._up and (row := self._next()) is not None:
            row.submitted(next(self._numbers))
            self._running[row.submission] = row
            changes.submit.append(row)
        return changes

    def _next(self) -> Row | None:
        if self._trial is not None or len(self._running) >= self._max_rows:
            return None
        if self._suspects:
            self._trial = self._suspects.popleft()
            return self._trial
        for line in (self._cleared, self._waiting):
            if line:
                return line.popleft()
        return None
