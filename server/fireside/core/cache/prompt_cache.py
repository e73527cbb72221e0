"""Keys and values of what has been read, kept for the next prompt that begins the same way."""

from __future__ import annotations

import copy
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from mlx_lm.models.cache import CacheList, ChunkedKVCache, KVCache, trim_prompt_cache
from numpy.typing import NDArray

from fireside.wire import CacheState

if TYPE_CHECKING:
    from fireside.core.cache.ssd_reader import Restore

LayerCaches = list[Any]
"""One of mlx-lm's caches for each layer of a model, all of them having read the same tokens."""

Tokens = NDArray[np.int32]


@dataclass(eq=False)
class Entry:
    """What a row had read, token for token. Only the time of its last use ever changes.

    Attributes:
        in_memory: it must not be put on the disk.
        owner: see `wire.Submit`.
    """

    namespace: str
    tokens: Tokens
    caches: LayerCaches
    nbytes: int
    in_memory: bool = False
    owner: str = ""
    used_at: float = field(default_factory=time.monotonic)


class Below(Protocol):
    """A slower and larger cache, which is told of what happens in this one."""

    @property
    def held_bytes(self) -> int:
        """Of memory that it has of its own."""
        ...

    def limit(self, held_bytes: int) -> None:
        """Hold no more than so many bytes of memory."""
        ...

    def read_anew(self, tokens: int, seconds: float) -> None:
        """The model has read a part of a prompt, with nothing else to do."""
        ...

    def longest(self, namespace: str, tokens: Tokens, longer_than: int) -> int:
        """Tokens of a prompt that `restore` would bring back; 0 where it would not."""
        ...

    def restore(self, namespace: str, tokens: Tokens, longer_than: int) -> Restore | None:
        """Begin to bring back what a prompt begins with, where that is worth it."""
        ...

    def added(self, entry: Entry) -> None:
        """An entry is new."""
        ...

    def superseded(self, entry: Entry) -> None:
        """An entry goes because a new one, of which it is told next, does all that it did."""
        ...

    def evicted(self, entry: Entry, *, keep: bool) -> None:
        """An entry goes because there is no room. `keep`: its memory may be held until it is written."""
        ...

    def forget(self, owner: str) -> None:
        """Remove all of an owner, what waits here included."""
        ...


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

    Attributes:
        below: where entries go on.
    """

    def __init__(self, max_bytes: int, smallest: int = 32) -> None:
        self._max_bytes = max_bytes
        self._smallest = smallest
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self.below: Below | None = None
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

    @property
    def entries(self) -> list[Entry]:
        """Those that are held, the least recently used first."""
        return list(self._entries.values())

    def read_anew(self, tokens: int, seconds: float) -> None:
        """Note how long the model took for a part of a prompt, while it had nothing else to do."""
        if self.below is not None:
            self.below.read_anew(tokens, seconds)

    def peek(self, namespace: str, tokens: Sequence[int] | Tokens) -> int:
        """Tokens that `restore` or `take` would give, without taking them."""
        tokens = np.asarray(tokens, np.int32)
        length = self._search(namespace, tokens)[1]
        return length if self.below is None else max(length, self.below.longest(namespace, tokens, length))

    def restore(self, namespace: str, tokens: Sequence[int] | Tokens) -> Restore | None:
        """Begin to bring back a longer prefix than `take` would give, where there is one below."""
        if self.below is None:
            return None
        tokens = np.asarray(tokens, np.int32)
        return self.below.restore(namespace, tokens, self._search(namespace, tokens)[1])

    def brought_back(self) -> None:
        """Count what `restore` began and what has come."""
        self._hits += 1

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
        entry.used_at = time.monotonic()
        caches = clone(entry.caches)
        trim_prompt_cache(caches, len(entry.tokens) - length)
        return [cut(cache) for cache in caches], length

    def put(
        self,
        namespace: str,
        tokens: Sequence[int] | Tokens,
        caches: LayerCaches,
        *,
        in_memory: bool = False,
        owner: str = "",
    ) -> None:
        """Keep what a row has read. `caches` belong to the prompt cache from now on."""
        nbytes = sum(cache.nbytes for cache in caches)
        entry = Entry(namespace, np.array(tokens, np.int32), caches, nbytes, in_memory, owner)
        if not len(entry.tokens) or entry.nbytes > self._max_bytes or self._covered(entry):
            return
        self._drop_covered_by(entry)
        self._number += 1
        self._entries[self._number] = entry
        self._bytes += entry.nbytes
        if self.below is not None:
            self.below.added(entry)
        self._evict(self._max_bytes, keep=True)

    def shrink(self, max_bytes: int) -> None:
        """Give up the least recently used entries until no more than so many bytes are held, below too.

        Their memory is needed now: what has not been written below is lost.
        """
        held = self.below.held_bytes if self.below is not None else 0
        if self._bytes + held > max(0, max_bytes):
            self._evict(max_bytes - held, keep=False)
            if self.below is not None:
                self.below.limit(max(0, max_bytes - self._bytes))

    def remove(self, entry: Entry) -> None:
        """Give up one entry, of which there is another copy."""
        for number in [number for number, held in self._entries.items() if held is entry]:
            self._remove(number)

    def forget(self, owner: str) -> None:
        """Remove all entries of an owner, here and below."""
        for number in [number for number, entry in self._entries.items() if entry.owner == owner]:
            self._remove(number)
        if self.below is not None:
            self.below.forget(owner)

    def _evict(self, max_bytes: int, *, keep: bool) -> None:
        while self._bytes > max(0, max_bytes):
            entry = self._remove(next(iter(self._entries)))
            self._evictions += 1
            if self.below is not None:
                self.below.evicted(entry, keep=keep)

    def _search(self, namespace: str, tokens: Tokens) -> tuple[int | None, int]:
        # Entries are in the order of their use: of several with as much to give the latest is taken.
        best, longest = None, min(self._smallest, len(tokens) - 1)
        for number, entry in self._entries.items():
            if entry.namespace != namespace:
                continue
            length = min(common_prefix(entry.tokens, tokens), len(tokens) - 1)
            usable = length == len(entry.tokens) or trimmable(entry.caches)
            if length >= max(1, longest) and usable:
                best, longest = number, length
        return best, longest if best is not None else 0

    def _covered(self, new: Entry) -> bool:
        """Whether an entry can already do all that the new one could; it counts as used then."""
        for number, entry in self._entries.items():
            if _covers(entry, new):
                self._entries.move_to_end(number)
                entry.used_at = time.monotonic()
                return True
        return False

    def _drop_covered_by(self, new: Entry) -> None:
        for number in [number for number, entry in self._entries.items() if _covers(new, entry)]:
            entry = self._remove(number)
            if self.below is not None:
                self.below.superseded(entry)

    def _remove(self, number: int) -> Entry:
        entry = self._entries.pop(number)
        self._bytes -= entry.nbytes
        return entry


def _covers(entry: Entry, other: Entry) -> bool:
    """Whether an entry serves every prompt that another one does, and may go wherever that one may."""
    return (
        entry.namespace == other.namespace
        and (other.in_memory or not entry.in_memory)
        and len(entry.tokens) >= len(other.tokens)
        and (len(entry.tokens) == len(other.tokens) or trimmable(entry.caches))
        and common_prefix(entry.tokens, other.tokens) == len(other.tokens)
    )


def trimmable(caches: LayerCaches) -> bool:
    """Whether caches can be cut to any part of what they have read.

    mlx-lm says so of its chunked ones too when they have let go of their beginning.
    """
    return all(_is_trimmable(cache) for cache in caches)


def _is_trimmable(cache: Any) -> bool:
    if isinstance(cache, CacheList):
        return trimmable(list(cache.caches))
    return cache.is_trimmable() and not (isinstance(cache, ChunkedKVCache) and cache.start_position)


def clone(caches: LayerCaches) -> LayerCaches:
    """Caches of their own for another row. The arrays are shared until one side writes."""
    return copy.deepcopy(caches)


def common_prefix(a: Tokens, b: Tokens) -> int:
    """How many tokens two sequences begin with together."""
    length = min(len(a), len(b))
    different = np.flatnonzero(a[:length] != b[:length])
    return int(different[0]) if len(different) else length


def cut(cache: Any) -> Any:
    """Let go of what lies behind a trimmed cache's end: it would be copied with the first write."""
    if type(cache) is KVCache and cache.keys is not None:
        keys, values = cache.keys_and_values()
        cache.state = (keys, values, cache.offset)
    return cache
