"""How deep a body may be nested, and that asking costs little."""

import json
import random
import time
from typing import Any

import msgspec
import pytest

from fireside.http.errors import BadRequest
from fireside.http.validation import decode

DEEPEST = 128


def nested(levels: int, chance: random.Random) -> Any:
    """Lists and objects of exactly so many levels, beside others and texts that look like some."""
    value: Any = chance.choice([[], {}])
    for _ in range(levels - 1):
        beside = chance.choice([1, "[[{", '"[\\', [], {"[": 1}])
        value = [value, beside] if chance.random() < 0.5 else {"]}": value, '"': beside}
    return value


@pytest.mark.parametrize("levels", [1, DEEPEST - 1, DEEPEST, DEEPEST + 1, 400])
def test_a_body_is_refused_from_a_depth_on(levels: int) -> None:
    for seed in range(50):
        body = json.dumps(nested(levels, random.Random(seed))).encode()
        if levels <= DEEPEST:
            decode(body, msgspec.Raw)
        else:
            with pytest.raises(BadRequest, match="levels deep"):
                decode(body, msgspec.Raw)


@pytest.mark.parametrize("part", [b"[],", b"[[[]]],", b'"[",', b'{"a":[1]},'])
def test_a_large_body_is_looked_through_in_no_time(part: bytes) -> None:
    body = b"[" * 200 + part * (8_000_000 // len(part))
    begun = time.process_time()
    with pytest.raises(BadRequest):
        decode(body, int)
    assert time.process_time() - begun < 3
