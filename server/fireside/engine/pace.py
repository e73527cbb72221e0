"""How fast rows come free."""

from __future__ import annotations

from fireside.engine.requests import Row

_WEIGHT = 0.2
"""Of the latest row in the running mean."""


class Pace:
    """Tells from the rows that have finished when a waiting one will start.

    Attributes:
        rows: that run at the same time.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._row_s: float | None = None

    def finished(self, row: Row) -> None:
        """Take note of how long a row was in the core."""
        if row.started_at is None or row.last_token_at is None:
            return
        seconds = row.last_token_at - row.started_at
        self._row_s = seconds if self._row_s is None else self._row_s + _WEIGHT * (seconds - self._row_s)

    def until_start(self, position: int) -> float | None:
        """Seconds until the row at a place in the queue starts; None before the first has finished."""
        return None if self._row_s is None else self._row_s * (position + 1) / self.rows
