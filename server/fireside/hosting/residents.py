"""Which model has to go when another one needs its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Resident:
    """A model that runs.

    Attributes:
        used_at: when somebody last asked for it, in seconds of any clock.
        pinned: it stays whatever comes.
        busy: it is answering somebody.
    """

    id: str
    used_at: float
    pinned: bool = False
    busy: bool = False


def least_needed(residents: Iterable[Resident]) -> str | None:
    """The one to stop first: the least recently used, one that answers nobody before one that does.

    None where all are pinned.
    """
    free = [resident for resident in residents if not resident.pinned]
    return min(free, key=lambda resident: (resident.busy, resident.used_at)).id if free else None


def left_alone(residents: Iterable[Resident], now: float, idle_s: float) -> list[str]:
    """Those that nobody has asked for so many seconds."""
    return [
        resident.id
        for resident in residents
        if not resident.pinned and not resident.busy and now - resident.used_at >= idle_s
    ]
