"""When the SSD tier gets its turn: while the core is idle, and seldom between two steps."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import mlx.core as mx

from fireside import wire
from fireside.core.cache.prompt_cache import PromptCache
from fireside.core.cache.ssd_index import SHORTEST
from fireside.core.cache.ssd_tier import SsdTier

_STARVED_S = 10.0
"""Without an idle moment, after which pieces are made between two steps."""

_SHARE = 0.015
"""Of the time of a core that is never idle, that making pieces may take."""

_REPORT_EVERY_S = 0.25
_TRY_AGAIN_S = 1.0


@dataclass(frozen=True)
class _Drain:
    request: wire.Drain
    until: float
    before: wire.SsdState


class Upkeep:
    """Writes what waits, demotes what nobody uses, and tells the app of it.

    Args:
        demote_idle_s: an entry that was not used for so long, with no row in the core, is left on the disk
            alone; 0 turns that off.
        send: to the app.
    """

    def __init__(
        self, tier: SsdTier, cache: PromptCache, demote_idle_s: float, send: Callable[[wire.Up], None]
    ) -> None:
        self._tier = tier
        self._cache = cache
        self._demote_idle_s = demote_idle_s
        self._send = send
        self._idle_at = time.monotonic()
        self._demote_not_before = 0.0
        self._piece_not_before = 0.0
        self._reported: tuple[wire.SsdState, wire.CacheState] | None = None
        self._report_at = 0.0
        self._drains: list[_Drain] = []

    def drain(self, request: wire.Drain) -> None:
        """Write all of the prompt cache that is not on the disk; `Drained` tells the app when it is done."""
        before = self._tier.state
        for entry in self._cache.entries:
            self._tier.enqueue(entry)
        self._drains.append(_Drain(request, time.monotonic() + request.within_s, before))
        self._report(at_once=True)

    def wait_s(self) -> float | None:
        """How long an idle core may sleep before `idle` is due again; None: until the next request."""
        self._idle_at = now = time.monotonic()
        waits = [self._tier.wait_s(hurry=bool(self._drains)), self._until_demotion(now)]
        if self._report_due:
            waits.append(max(0.0, self._report_at - now))
        if self._drains and not self._tier.waiting:
            waits.append(0.0)
        return min((wait for wait in waits if wait is not None), default=None)

    def idle(self) -> None:
        """One short piece of work, while the core has nothing else to do."""
        if not self._tier.advance(hurry=bool(self._drains)) and not self._drains:
            self._demote()
        self._end_drains()
        self._report()

    def between_steps(self) -> None:
        """Nothing but a look, mostly."""
        begin = time.monotonic()
        if self._drains:
            self._tier.advance(hurry=True)
            self._end_drains()
        elif begin - self._idle_at > _STARVED_S and begin >= self._piece_not_before and self._tier.waiting:
            self._tier.advance()
            end = time.monotonic()
            self._piece_not_before = end + (end - begin) * (1 / _SHARE - 1)
        self._report()

    def _until_demotion(self, now: float) -> float | None:
        if not self._demote_idle_s:
            return None
        first = min((entry.used_at for entry in self._cache.entries), default=None)
        if first is None:
            return None
        return max(0.0, self._demote_not_before - now, first + self._demote_idle_s - now)

    def _demote(self) -> None:
        """Free the memory of what nobody has used; what is not on the disk yet is written first."""
        now = time.monotonic()
        if self._until_demotion(now) != 0.0:
            return
        freed = False
        for entry in self._cache.entries:
            if now - entry.used_at < self._demote_idle_s:
                continue
            if self._tier.has(entry):
                self._cache.remove(entry)
                self._tier.demoted()
                freed = True
            elif entry.in_memory or len(entry.tokens) < SHORTEST:
                self._cache.remove(entry)  # the model reads it anew
                freed = True
            else:
                self._tier.enqueue(entry)
                self._demote_not_before = now + _TRY_AGAIN_S
        if freed:
            mx.clear_cache()

    def _end_drains(self) -> None:
        now = time.monotonic()
        for drain in [each for each in self._drains if now >= each.until or not self._tier.waiting]:
            self._drains.remove(drain)
            demotions = self._demote_all() if drain.request.demote else 0
            after = self._tier.state
            self._send(
                wire.Drained(
                    id=drain.request.id,
                    written=after.spills - drain.before.spills,
                    written_bytes=after.spilled_bytes - drain.before.spilled_bytes,
                    dropped=after.dropped_spills - drain.before.dropped_spills,
                    left=after.pending_spills,
                    left_bytes=after.pending_spill_bytes,
                    demotions=demotions,
                )
            )

    def _demote_all(self) -> int:
        written = [entry for entry in self._cache.entries if self._tier.has(entry)]
        for entry in written:
            self._cache.remove(entry)
            self._tier.demoted()
        mx.clear_cache()
        return len(written)

    @property
    def _report_due(self) -> bool:
        return self._reported != (self._tier.state, self._cache.state)

    def _report(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if at_once or now >= self._report_at:
            self._report_at = now + _REPORT_EVERY_S
            state = self._tier.state, self._cache.state
            if state != self._reported:
                self._reported = state
                self._send(wire.Tier(*state))
