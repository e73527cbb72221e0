"""Gauges that several engines write to."""

from __future__ import annotations

from prometheus_client import Gauge


class Levels:
    """What one engine adds to gauges that show the sum of all."""

    def __init__(self) -> None:
        self._added: dict[Gauge, float] = {}

    def set(self, gauge: Gauge, value: float) -> None:
        """This engine's part of the gauge is so much now."""
        gauge.inc(value - self._added.get(gauge, 0))
        self._added[gauge] = value

    def clear(self) -> None:
        """This engine has no part in any gauge any more."""
        for gauge in self._added:
            self.set(gauge, 0)
