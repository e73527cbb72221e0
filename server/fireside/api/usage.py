"""What answers cost, in the shape of both completion routes."""

from __future__ import annotations

from collections.abc import Sequence

from fireside.api import chat_format as wire
from fireside.api.generation import End


def usage_of(ends: Sequence[End], details: bool, answers_each: int = 1) -> wire.Usage:
    """The usage of a request's answers; a prompt with several answers counts once.

    Args:
        ends: of all answers, those of one prompt side by side; not empty.
        details: whether the `fireside` object is wanted.
        answers_each: how many answers each prompt has.
    """
    prompt_tokens = sum(end.prompt_tokens for end in ends[::answers_each])
    completion_tokens = sum(end.completion_tokens for end in ends)
    return wire.Usage(
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        total_tokens=prompt_tokens + completion_tokens,
        lane=ends[0].lane,
        prompt_tokens_details=wire.PromptDetails(sum(end.cached_tokens for end in ends[::answers_each])),
        fireside=_fireside_usage(ends) if details else None,
    )


def _fireside_usage(ends: Sequence[End]) -> wire.FiresideUsage:
    """Of several answers the sums, the longest times, the lowest speed and the first one's seed."""
    timings = [end.timings for end in ends]
    first_tokens = [timing.ttft_ms for timing in timings if timing.ttft_ms is not None]
    speeds = [timing.decode_tps for timing in timings if timing.decode_tps is not None]
    return wire.FiresideUsage(
        lane=ends[0].lane,
        queue_ms=round(max(timing.queue_ms for timing in timings), 1),
        computed=sum(end.prompt_tokens - end.cached_tokens for end in ends),
        from_ram=sum(end.cached_tokens - end.from_ssd for end in ends),
        from_ssd=sum(end.from_ssd for end in ends),
        ttft_ms=round(max(first_tokens), 1) if first_tokens else None,
        decode_tps=round(min(speeds), 2) if speeds else None,
        model_hash=None,
        adapter_hash=None,
        seed=ends[0].seed,
        resumed=sum(timing.resumed for timing in timings),
    )
