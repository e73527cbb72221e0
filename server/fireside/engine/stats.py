"""What the engine tells `/stats`, in the words of that route."""

from __future__ import annotations

import msgspec

from fireside.engine.admission import Admission
from fireside.engine.status import Mode, Phase
from fireside.wire import CacheState, Ready, WarmUp

_FLOAT32 = 4
"""Bytes of a number."""


class EngineStats(msgspec.Struct, frozen=True, kw_only=True):
    """The engine; null where there is none yet to ask.

    Attributes:
        restarts: how often the core had to be replaced.
        pid: of the core.
        weights: how they run.
        blas: the library that multiplies matrices on a CPU.
    """

    mode: Mode
    phase: Phase
    restarts: int
    pid: int | None
    device: str | None
    weights: str | None
    weights_bytes: int | None
    blas: dict[str, str | float | int] | None
    versions: dict[str, str] | None
    warnings: list[str]
    warm_up: WarmUp | None


def prompt_cache_stats(cache: CacheState, demotions: int = 0) -> dict[str, int]:
    """`/stats.prompt_cache`: sizes in bytes, counters since the core's start."""
    return {
        "entries": cache.entries,
        "bytes": cache.bytes,
        "max_bytes": cache.max_bytes,
        "hits": cache.hits,
        "misses": cache.misses,
        "evictions": cache.evictions,
        "demotions": demotions,
    }


def kv_mode(ready: Ready, admission: Admission | None) -> str:
    """The type of keys and values, which is that of what the weights compute in."""
    if ready.weights in ("float32", "float16"):
        return ready.weights
    plan = admission and admission.plan
    return "float32" if plan and plan.target.weights.width == _FLOAT32 else "bf16"
