"""What the prompt cache keeps, finds, and gives up."""

from __future__ import annotations

import random

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import ArraysCache, KVCache, RotatingKVCache

from fireside.core.cache.prompt_cache import LayerCaches, PromptCache


def read(tokens: list[int]) -> LayerCaches:
    """Two layers that have read these tokens; the keys are the tokens themselves."""
    layers = [KVCache(), KVCache()]
    keys = mx.array(tokens, mx.float32).reshape(1, 1, -1, 1)
    for layer in layers:
        layer.update_and_fetch(keys, keys)
    return layers


def content(caches: LayerCaches) -> list[int]:
    keys, _ = caches[0].keys_and_values()
    return [int(key) for key in keys.reshape(-1).tolist()]


def size(tokens: int) -> int:
    return sum(layer.nbytes for layer in read(list(range(tokens))))


def test_the_longest_usable_prefix_is_found_whatever_was_put() -> None:
    rng = random.Random(1)
    for _ in range(200):
        cache = PromptCache(1 << 30, smallest=1)
        stored = [[rng.randrange(3) for _ in range(rng.randint(1, 9))] for _ in range(6)]
        for tokens in stored:
            cache.put("", tokens, read(tokens))
        asked = [rng.randrange(3) for _ in range(rng.randint(1, 9))]
        best = max(
            (
                n
                for tokens in stored
                for n in range(len(asked))
                if tokens[:n] == asked[:n] and n <= len(tokens)
            ),
            default=0,
        )
        assert cache.peek("", asked) == best
        found = cache.take("", asked)
        assert (found[1] if found else 0) == best
        if found:
            assert content(found[0]) == asked[:best]


def test_the_last_token_is_never_taken_from_the_cache() -> None:
    cache = PromptCache(1 << 30, smallest=1)
    cache.put("", [1, 2, 3], read([1, 2, 3]))
    found = cache.take("", [1, 2, 3])
    assert found is not None
    assert content(found[0]) == [1, 2]


def test_what_is_taken_can_be_written_to_and_the_entry_stays() -> None:
    cache = PromptCache(1 << 30, smallest=1)
    cache.put("", [1, 2, 3], read([1, 2, 3]))
    for ending in ([9], [8, 8], [7] * 300):
        found = cache.take("", [1, 2, 3, *ending])
        assert found is not None
        new = mx.array(ending, mx.float32).reshape(1, 1, -1, 1)
        for layer in found[0]:
            layer.update_and_fetch(new, new)
        assert content(found[0]) == [1, 2, 3, *ending]
    found = cache.take("", [1, 2, 0])
    assert found is not None
    zero = mx.zeros((1, 1, 1, 1))
    found[0][0].update_and_fetch(zero, zero)
    assert content(found[0]) == [1, 2, 0]
    again = cache.take("", [1, 2, 3, 4])
    assert again is not None
    assert content(again[0]) == [1, 2, 3]


def test_the_least_recently_used_entry_goes_first() -> None:
    cache = PromptCache(3 * size(4), smallest=1)
    for first in (1, 2, 3):
        cache.put("", [first] * 4, read([first] * 4))
    assert cache.take("", [1] * 5) is not None
    cache.put("", [4] * 4, read([4] * 4))
    assert [cache.peek("", [first] * 5) for first in (1, 2, 3, 4)] == [4, 0, 4, 4]
    assert cache.state.evictions == 1
    assert cache.state.bytes == 3 * size(4) == cache.state.max_bytes


def test_what_every_prompt_begins_with_keeps_nothing_in_use() -> None:
    header = list(range(20))
    prompts = [[*header, *[100 + i] * 30] for i in range(4)]
    cache = PromptCache(3 * size(50))
    for tokens in prompts[:3]:
        assert cache.take("", tokens) is None
        cache.put("", tokens, read(tokens))
    assert (cache.state.hits, cache.state.misses) == (0, 3)
    assert cache.take("", [*prompts[0], 7]) is not None
    cache.put("", prompts[3], read(prompts[3]))
    assert [bool(cache.peek("", [*tokens, 7])) for tokens in prompts] == [True, False, True, True]


def test_a_short_prompt_is_found_again_when_it_is_the_same() -> None:
    cache = PromptCache(1 << 30)
    cache.put("", [1, 2, 3, 4], read([1, 2, 3, 4]))
    assert [cache.peek("", tokens) for tokens in ([1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 9, 9])] == [3, 3, 0]


def test_of_entries_that_give_as_much_the_latest_is_used() -> None:
    cache = PromptCache(2 * size(4), smallest=1)
    cache.put("", [1, 1, 2, 2], read([1, 1, 2, 2]))
    cache.put("", [1, 1, 3, 3], read([1, 1, 3, 3]))
    assert cache.take("", [1, 1, 4]) is not None
    cache.put("", [5] * 4, read([5] * 4))
    assert cache.peek("", [1, 1, 3, 3, 3]) == 4


def test_an_entry_that_is_larger_than_the_cap_is_not_kept() -> None:
    cache = PromptCache(size(1) - 1)
    cache.put("", [1], read([1]))
    assert cache.state.entries == cache.state.bytes == 0
    off = PromptCache(0)
    off.put("", [1], read([1]))
    assert not off.enabled
    assert off.take("", [1, 2]) is None
    assert off.state.misses == 0


def test_an_entry_that_another_covers_takes_no_room() -> None:
    cache = PromptCache(1 << 30, smallest=1)
    cache.put("", [1, 2], read([1, 2]))
    cache.put("", [1, 2, 3, 4], read([1, 2, 3, 4]))
    assert cache.state.entries == 1
    cache.put("", [1, 2, 3], read([1, 2, 3]))
    cache.put("other", [1, 2, 3], read([1, 2, 3]))
    assert cache.state.entries == 2
    assert cache.state.bytes == size(4) + size(3)


def test_counters_tell_hits_from_misses() -> None:
    cache = PromptCache(1 << 30, smallest=1)
    assert cache.take("", [1, 2]) is None
    cache.put("", [1, 2], read([1, 2]))
    cache.take("", [1, 2, 3])
    cache.peek("", [1, 2, 3])
    assert (cache.state.hits, cache.state.misses) == (1, 1)


def test_shrinking_gives_up_only_what_it_must() -> None:
    cache = PromptCache(1 << 30, smallest=1)
    for first in range(4):
        cache.put("", [first] * 4, read([first] * 4))
    cache.shrink(2 * size(4) + 1)
    assert cache.state.entries == 2
    cache.shrink(-5)
    assert cache.state.bytes == 0


@pytest.mark.parametrize("kind", ["wrapped window", "recurrent"])
def test_what_cannot_be_trimmed_serves_only_prompts_that_contain_it(kind: str) -> None:
    tokens = list(range(10))
    layer: RotatingKVCache | ArraysCache
    if kind == "recurrent":
        layer = ArraysCache(1)
        layer[0] = mx.zeros((1, 4))
    else:
        layer = RotatingKVCache(max_size=4)
        keys = mx.array(tokens, mx.float32).reshape(1, 1, -1, 1)
        layer.update_and_fetch(keys, keys)
    cache = PromptCache(1 << 30, smallest=1)
    cache.put("", tokens, [layer])
    assert cache.peek("", tokens) == 0
    assert cache.peek("", [*tokens[:6], 77, 78]) == 0
    assert cache.peek("", [*tokens, 77]) == 10


def test_a_prefix_that_cannot_be_derived_is_kept_beside_the_longer_one() -> None:
    def state() -> LayerCaches:
        layer = ArraysCache(1)
        layer[0] = mx.zeros((1, 4))
        return [layer]

    cache = PromptCache(1 << 30, smallest=1)
    cache.put("", [1, 2], state())
    cache.put("", [1, 2, 3, 4], state())
    assert cache.state.entries == 2
    assert cache.peek("", [1, 2, 9]) == 2


def test_searching_among_thousands_of_entries_is_quick_to_the_right_one() -> None:
    cache = PromptCache(1 << 40, smallest=1)
    shared = list(range(500))
    for first in range(300):
        tokens = [*shared, first, *range(50)]
        cache.put("", tokens, read(tokens[-4:]))
    assert cache.peek("", np.array([*shared, 250, *range(50), 1])) == 551
