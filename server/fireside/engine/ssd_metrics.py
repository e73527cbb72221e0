"""What the SSD tier has done, as Prometheus metrics."""

from __future__ import annotations

from copy import copy

from prometheus_client import CollectorRegistry, Counter, Gauge

from fireside.engine.levels import Levels
from fireside.wire import SsdState

_COUNTERS = {
    "restores": ("fireside_ssd_cache_restores", "Prefixes that came back from the SSD tier."),
    "spills": ("fireside_ssd_cache_spills", "Entries that were written to the SSD tier."),
    "dropped_spills": ("fireside_ssd_cache_dropped_spills", "Entries that were to be written and were not."),
    "demotions": ("fireside_ssd_cache_demotions", "Entries that were left on the disk alone."),
    "quarantined": ("fireside_ssd_cache_quarantined", "Files that were found to be damaged."),
    "written_bytes": ("fireside_ssd_cache_written_bytes", "Bytes that were written to the SSD tier."),
}
_GAUGES = {
    "entries": ("fireside_ssd_cache_entries", "Entries of the served model in the SSD tier."),
    "bytes": ("fireside_ssd_cache_bytes", "Bytes of those entries."),
    "pending_spills": ("fireside_ssd_cache_pending_spills", "Entries that wait to be written."),
    "pending_spill_bytes": ("fireside_ssd_cache_pending_spill_bytes", "Bytes of those in memory."),
}


class TierMetrics:
    """Counters that run over all cores, out of those that begin anew with each."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counters = {field: Counter(*names, registry=registry) for field, names in _COUNTERS.items()}
        self._gauges = {field: Gauge(*names, registry=registry) for field, names in _GAUGES.items()}
        self._seen = SsdState()
        self._levels = Levels()

    def another(self) -> TierMetrics:
        """For another engine whose figures are added to these."""
        other = copy(self)
        other._seen, other._levels = SsdState(), Levels()
        return other

    def update(self, state: SsdState) -> None:
        """What a core says of its tier."""
        for field, counter in self._counters.items():
            counter.inc(max(0, getattr(state, field) - getattr(self._seen, field)))
        for field, gauge in self._gauges.items():
            self._levels.set(gauge, getattr(state, field))
        self._seen = state

    def core_died(self) -> None:
        """The next core counts from 0."""
        self._seen = SsdState()
        self._levels.clear()
