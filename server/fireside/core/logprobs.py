"""How likely the tokens of a step were."""

import math
from typing import cast

import mlx.core as mx

from fireside.wire import Logprobs


def logprobs_of(token: int, logprobs: mx.array, count: int) -> Logprobs:
    """A token's report.

    Args:
        logprobs: of the whole vocabulary, shape (vocab,), float.
        count: of the likeliest tokens to name; 0 names none.
    """
    values = logprobs.astype(mx.float32)
    chosen = cast("float", values[token].item())
    if count < 1:
        return Logprobs(chosen, [])
    count = min(count, values.shape[0])
    likeliest = mx.argpartition(-values, count - 1)[:count]
    ids, likely = cast("list[int]", likeliest.tolist()), cast("list[float]", values[likeliest].tolist())
    # A token that cannot come at all, for a grammar's sake, is no likely one.
    pairs = [pair for pair in zip(ids, likely, strict=True) if pair[1] > -math.inf]
    return Logprobs(chosen, sorted(pairs, key=lambda pair: (-pair[1], pair[0])))
