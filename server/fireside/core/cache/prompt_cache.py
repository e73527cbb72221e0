"""Keys and values of what has been read, kept for the next prompt that begins the same way."""

import copy
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mlx_lm.models.cache import KVCache, can_trim_prompt_cache, trim_prompt_cache
from numpy.typing import NDArray

from fireside.wire import CacheState

LayerCaches = list[Any]
"""One of mlx-lm's caches for each layer of a model, all of them having read the same tokens."""

Tokens = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class _Entry:
    namespace: str
    tokens: Tokens
    caches: LayerCaches
    nbytes: int


class PromptCache:
    """The least recently used entries go first when more bytes than allowed are held.

    mlx-lm's own `LRUPromptCache` differs: it counts entries, does not note their use, and hands out a
    prompt's last token, of which the logits are still needed.

    An entry is what a row had read, token for token. Entries never change: rows get copies, which share
    the arrays until somebody writes to them. A prompt that begins like an entry but goes on differently
    can use it where every layer's cache can be trimmed; rotating caches that have wrapped and recurrent
    states cannot, and serve only prompts that contain all of their tokens.

    Args:
        max_bytes: of all entries; 0 keeps nothing.
        smallest: tokens in common that are worth taking, all but the last of a prompt apart. What every
            prompt begins with, a template's first words, says nothing and would keep any entry in use.
    """

    def __init__(self, max_bytes: int, smallest: int = 32) -> None:
        self._max_bytes = max_bytes
        self._smallest = smallest
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        self._number = 0
        self._bytes = self._hits = self._misses = self._evictions = 0

    @property
    def enabled(self) -> bool:
        return self._max_bytes > 0

    @property
    def state(self) -> CacheState:
        return CacheState(
            len(self._entries), self._bytes, self._max_bytes, self._hits, self._misses, self._evictions
        )

    def peek(self, namespace: str, tokens: Sequence[int] | Tokens) -> int:
        """Tokens that `take` would give, without taking them."""
        return self._search(namespace, np.asarray(tokens, np.int32))[1]

    def take(self, namespace: str, tokens: Sequence[int] | Tokens) -> tuple[LayerCaches, int] | None:
        """Copies of the caches that hold the longest usable prefix, and its length in tokens.

        Always shorter than the prompt: what follows its last token has to be computed.
        """
        number, length = self._search(namespace, np.asarray(tokens, np.int32))
        if number is None:
            self._misses += self.enabled
            return None
        self._hits += 1
        self._entries.move_to_end(number)
        entry = self._entries[number]
        caches = clone(entry.caches)
        trim_prompt_cache(caches, len(entry.tokens) - length)
        return [_cut(cache) for cache in caches], length

    def put(self, namespace: str, tokens: Sequence[int] | Tokens, caches: LayerCaches) -> None:
        """Keep what a row has read. `caches` belong to the prompt cache from now on."""
        entry = _Entry(namespace, np.array(tokens, np.int32), caches, sum(cache.nbytes for cache in caches))
        if not len(entry.tokens) or entry.nbytes > self._max_bytes or self._covered(entry):
            return
        self._drop_covered_by(entry)
        self._number += 1
        self._entries[self._number] = entry
        self._bytes += entry.nbytes
        self.shrink(self._max_bytes)

    def shrink(self, max_bytes: int) -> None:
        """Give up the least recently used entries until no more than so many bytes are held."""
        while self._bytes > max(0, max_bytes):
            self._remove(next(iter(self._entries)))
            self._evictions += 1

    def _search(self, namespace: str, tokens: Tokens) -> tuple[int | None, int]:
        # Entries are in the order of their use: of several with as much to give the latest is taken.
        best, longest = None, min(self._smallest, len(tokens) - 1)
        for number, entry in self._entries.items():
            if entry.namespace != namespace:
                continue
            length = min(common_prefix(entry.tokens, tokens), len(tokens) - 1)
            usable = length == len(entry.tokens) or can_trim_prompt_cache(entry.caches)
            if length >= max(1, longest) and usable:
                best, longest = number, length
        return best, longest if best is not None else 0

    def _covered(self, new: _Entry) -> bool:
        """Whether an entry can already do all that the new one could; it counts as used then."""
        for number, entry in self._entries.items():
            if _covers(entry, new):
                self._entries.move_to_end(number)
                return True
        return False

    def _drop_covered_by(self, new: _Entry) -> None:
        for number in [number for number, entry in self._entries.items() if _covers(new, entry)]:
            self._remove(number)

    def _remove(self, number: int) -> None:
        self._bytes -= self._entries.pop(number).nbytes


def _covers(entry: _Entry, other: _Entry) -> bool:
    """Whether an entry serves every prompt that another one does."""
    return (
        entry.namespace == other.namespace
        and len(entry.tokens) >= len(other.tokens)
        and (len(entry.tokens) == len(other.tokens) or can_trim_prompt_cache(entry.caches))
        and common_prefix(entry.tokens, other.tokens) == len(other.tokens)
    )


def clone(caches: LayerCaches) -> LayerCaches:
    """Caches of their own for another row. The arrays are shared until one side writes."""
    return copy.deepcopy(caches)


def common_prefix(a: Tokens, b: Tokens) -> int:
    """How many tokens two sequences begin with together."""
    length = min(len(a), len(b))
    different = np.flatnonzero(a[:length] != b[:length])
    return int(different[0]) if len(different) else length


def _cut(cache: Any) -> Any:
    """Let go of what lies behind a trimmed cache's end: it would be copied with the first write."""
    if type(cache) is KVCache and cache.keys is not None:
        keys, values = cache.keys_and_values()
        cache.state = (keys, values, cache.offset)
    return cache
