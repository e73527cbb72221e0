"""What the engine tells `/stats`, in the words of that route."""

from __future__ import annotations

from fireside.engine.admission import Admission
from fireside.wire import CacheState, Ready

_FLOAT32 = 4
"""Bytes of a number."""


def prompt_cache_stats(cache: CacheState) -> dict[str, int]:
    """`/stats.prompt_cache`: sizes in bytes, counters since the core's start."""
    return {
        "entries": cache.entries,
        "bytes": cache.bytes,
        "max_bytes": cache.max_bytes,
        "hits": cache.hits,
        "misses": cache.misses,
        "evictions": cache.evictions,
        "demotions": 0,
    }


def kv_mode(ready: Ready, admission: Admission | None) -> str:
    """The type of keys and values, which is that of what the weights compute in."""
    if ready.weights in ("float32", "float16"):
        return ready.weights
    plan = admission and admission.plan
    return "float32" if plan and plan.target.weights.width == _FLOAT32 else "bf16"
