"""What the engine has done, as Prometheus metrics."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from copy import copy
from typing import Literal, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder

from fireside.engine.levels import Levels
from fireside.engine.ssd_metrics import TierMetrics
from fireside.wire import CacheState, SsdState

Outcome = Literal["stop", "length", "cancelled", "error"]
"""How a request ended. `cancelled`: its client left, or a stop text in the answer ended it."""

_LANES = ("batched", "serial", "serial+spec")
_OUTCOMES: tuple[Outcome, ...] = ("stop", "length", "cancelled", "error")

# From one step of a small model on a GPU to a batch that is held up by a long prompt.
_GAP_BUCKETS = (
    0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10,
)  # fmt: skip
# From an exact hit of the prompt cache to a long prompt on a CPU.
_TTFT_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 20, 40, 80, 160, 320)
# From a free row to a full queue.
_WAIT_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Ended(Protocol):
    """What a request knows of its end."""

    @property
    def outcome(self) -> Outcome: ...
    @property
    def lane(self) -> str: ...


class Metrics:
    """Counts for one engine; those of several engines may go together, see `another`.

    Counters run from the app's start, over all its cores. Times are seconds. Not for two threads at once
    to write, except that `text` may be asked from anywhere.
    """

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._running = Gauge("fireside_rows_running", "Rows in the core.", registry=registry)
        self._queued = Gauge("fireside_rows_queued", "Rows that wait for their turn.", registry=registry)
        self._submitted = Counter("fireside_requests_submitted", "Requests taken.", registry=registry)
        self._rejected = Counter(
            "fireside_requests_rejected", "Requests refused with 429: the queue was full.", registry=registry
        )
        self._finished = Counter(
            "fireside_requests_finished",
            "Requests that ended, by how they did and by the lane that they ran in.",
            ["reason", "lane"],
            registry=registry,
        )
        self._prompt = Counter(
            "fireside_prompt_tokens",
            "Tokens of prompts: computed, or found in the prompt cache.",
            ["source"],
            registry=registry,
        )
        self._generated = Counter("fireside_generated_tokens", "Tokens of answers.", registry=registry)
        self._wait = Histogram(
            "fireside_queue_wait_seconds",
            "From a request's arrival to its first step.",
            registry=registry,
            buckets=_WAIT_BUCKETS,
        )
        self._ttft = Histogram(
            "fireside_time_to_first_token_seconds",
            "From a request's arrival to its first token, the wait included.",
            registry=registry,
            buckets=_TTFT_BUCKETS,
        )
        self._gap = Histogram(
            "fireside_inter_token_seconds",
            "Between two tokens of one answer.",
            registry=registry,
            buckets=_GAP_BUCKETS,
        )
        self._hits = Counter(
            "fireside_prompt_cache_hits", "Prompts of which the cache had a part.", registry=registry
        )
        self._misses = Counter(
            "fireside_prompt_cache_misses", "Prompts of which the cache had nothing.", registry=registry
        )
        self._entries = Gauge(
            "fireside_prompt_cache_entries", "Entries of the prompt cache.", registry=registry
        )
        self._bytes = Gauge("fireside_prompt_cache_bytes", "Bytes of the prompt cache.", registry=registry)
        self._kv = Gauge("fireside_kv_bytes", "Bytes of the keys and values of all rows.", registry=registry)
        self._tier = TierMetrics(registry)
        self._restarts = Counter("fireside_core_restarts", "Cores that ended unasked.", registry=registry)
        self._seen = (0, 0)
        self._rows, self._memory = Levels(), Levels()
        # What has not happened yet is there as a zero, so that a rate can be taken of the first time.
        for reason in _OUTCOMES:
            for lane in _LANES:
                self._finished.labels(reason, lane)
        for source in ("computed", "cached"):
            self._prompt.labels(source)

    def another(self) -> Metrics:
        """For another engine: counters go on together, and gauges show the sum."""
        other = copy(self)
        other._seen, other._tier = (0, 0), self._tier.another()
        other._rows, other._memory = Levels(), Levels()
        return other

    @contextmanager
    def request(self, ended: Ended) -> Generator[None]:
        """A request was taken, and runs or waits; when this is left, `ended` tells how it ended."""
        self._submitted.inc()
        try:
            yield
        finally:
            self._finished.labels(ended.outcome, ended.lane).inc()

    def rejected(self) -> None:
        """A request was refused because too many wait."""
        self._rejected.inc()

    def started(self, waited_s: float) -> None:
        """A request went into the core for the first time."""
        self._wait.observe(waited_s)

    def computed(self, tokens: int) -> None:
        """Tokens of prompts were read."""
        self._prompt.labels("computed").inc(tokens)

    def cached(self, tokens: int) -> None:
        """Tokens of a prompt were found in the prompt cache."""
        self._prompt.labels("cached").inc(tokens)

    def first_token(self, ttft_s: float) -> None:
        """A request's first token came; not to be told by `token` too."""
        self._ttft.observe(ttft_s)
        self._generated.inc()

    def token(self, gap_s: float) -> None:
        """A further token came, so long after the one before."""
        self._gap.observe(gap_s)
        self._generated.inc()

    def rows(self, running: int, queued: int) -> None:
        """How many rows there are now."""
        self._rows.set(self._running, running)
        self._rows.set(self._queued, queued)

    def step(self, kv_bytes: int, cache: CacheState) -> None:
        """What a core says of its memory after a step; the cache's counters run from that core's start."""
        self._memory.set(self._kv, kv_bytes)
        hits, misses = self._seen
        self._hits.inc(max(0, cache.hits - hits))
        self._misses.inc(max(0, cache.misses - misses))
        self._seen = cache.hits, cache.misses
        self._memory.set(self._entries, cache.entries)
        self._memory.set(self._bytes, cache.bytes)

    def tier(self, ssd: SsdState, cache: CacheState) -> None:
        """What a core says of its caches between steps; the counters run from that core's start."""
        self._tier.update(ssd)
        self._memory.set(self._entries, cache.entries)
        self._memory.set(self._bytes, cache.bytes)

    def core_died(self) -> None:
        """A core ended unasked; what it had in memory is gone, and the next one counts from 0."""
        self._restarts.inc()
        self._forget_memory()

    def closed(self) -> None:
        """The engine has ended for good."""
        self._forget_memory()
        self._rows.clear()

    def _forget_memory(self) -> None:
        self._seen = 0, 0
        self._tier.core_died()
        self._memory.clear()

    def text(self, accept: str = "") -> tuple[bytes, str]:
        """All metrics in an exposition format, and its content type.

        Args:
            accept: the reader's `Accept` header; OpenMetrics where it asks for that.
        """
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type
