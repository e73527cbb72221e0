"""Prompts on their way into a row's caches."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx_lm.models.cache import KVCache, make_prompt_cache, trim_prompt_cache

from fireside.core.cache.prompt_cache import LayerCaches, PromptCache, Tokens, clone, common_prefix, trimmable
from fireside.core.cache.ssd_reader import Restore
from fireside.wire import RowPrefill, Submit

SMALLEST_SNAPSHOT = 256
"""Tokens of a prefix that is worth a copy of its own, or waiting for another row that is reading it."""


class Prompt:
    """One row's prompt, and how much of it has been read.

    Everything but the last token is read here; what follows that one is the first decode step's business.

    Args:
        block: where it is more than 1, chunks begin and end at multiples of so many tokens, and a part of a
            block is filled up and forgotten again, where every layer's cache can do that. Then few shapes of
            attention exist, for a device that has to be prepared for each.
    """

    def __init__(self, row: Submit, block: int = 1) -> None:
        self.row = row
        self._block = block
        self.tokens: Tokens = np.array(row.prompt + row.generated, np.int32)
        self.caches: LayerCaches = []
        self.done = 0
        self.cached = 0
        self.from_ssd = 0
        self._restore: Restore | None = None
        self._stops: set[int] = set()
        self._awaited: tuple[Prompt, int] | None = None
        boundary = min(row.boundary, self.target)
        if boundary >= SMALLEST_SNAPSHOT:
            self._stops.add(boundary)

    @property
    def target(self) -> int:
        """Tokens to read."""
        return len(self.tokens) - 1

    @property
    def complete(self) -> bool:
        return self.done == self.target and self._restore is None

    @property
    def progress(self) -> RowPrefill:
        return RowPrefill(self.row.id, self.done, len(self.tokens), self.cached, self.from_ssd)

    @property
    def restoring(self) -> bool:
        """Whether a part of it is still on its way from the disk."""
        return self._restore is not None

    @property
    def nbytes(self) -> int:
        """Of the keys and values so far."""
        arriving = self._restore.nbytes if self._restore is not None else 0
        return arriving + sum(layer.nbytes for layer in self.caches)

    def waits(self, reading: Collection[Prompt], cache: PromptCache) -> bool:
        """Whether another row is reading what this prompt begins with too, and is worth waiting for.

        That row then stops where the two part and leaves a copy there. If it is past that place already, it
        leaves one now, where its caches can be trimmed to it.
        """
        if self._awaited is not None:
            other, shared = self._awaited
            if other in reading and other.done < shared:
                return True
        self._awaited = self._find_shared(reading, cache) if cache.enabled else None
        return self._awaited is not None

    def _find_shared(self, reading: Collection[Prompt], cache: PromptCache) -> tuple[Prompt, int] | None:
        worth = cache.peek(self.row.namespace, self.tokens) + SMALLEST_SNAPSHOT
        for other in reading:
            if other.row.namespace != self.row.namespace:
                continue
            shared = min(common_prefix(other.tokens, self.tokens), self.target, other.target)
            if shared < worth:
                continue
            if other.done < shared:
                other.stop_at(shared)
                return other, shared
            if trimmable(other.caches):
                other.keep(cache)
        return None

    def begin(self, model: nn.Module, cache: PromptCache) -> None:
        """Start from what the prompt cache has, or let it be brought back from the disk."""
        self._restore = cache.restore(self.row.namespace, self.tokens)
        if self._restore is None:
            found = cache.take(self.row.namespace, self.tokens)
            self.caches, self.cached = found if found else (make_prompt_cache(model), 0)
            self.done = self.cached

    def bring_back(self, model: nn.Module, cache: PromptCache, until: float, *, patient: bool) -> None:
        """Take over what has come from the disk. What cannot be had is read by the model instead.

        Args:
            until: when to go on with other things, on the clock of `time.monotonic`.
            patient: nothing else is to be done: wait for more for a moment.
        """
        restore = self._restore
        if restore is None:
            return
        restore.advance(until, patient=patient)
        if restore.caches is not None:
            cache.brought_back()
            self.caches = restore.caches
            self.done = self.cached = self.from_ssd = restore.length
            self._restore = None
            if not restore.record.trimmable:
                # What the row leaves when it ends serves nobody who goes on differently.
                record = restore.record
                cache.put(record.namespace, record.tokens, clone(self.caches), owner=record.owner)
        elif restore.done:
            self.begin(model, cache)

    def give_up(self, cache: PromptCache) -> None:
        """The row has left: keep what has been read."""
        if self._restore is not None:
            self._restore.cancel()
            self._restore = None
        self.keep(cache)

    def stop_at(self, position: int) -> None:
        """Keep a copy of the caches when exactly so many tokens have been read."""
        self._stops.add(position)

    def read(self, model: nn.Module, cache: PromptCache, most: int) -> int:
        """Read the next tokens, up to `most`, or one block if that is more, and up to the next stop.

        Returns:
            How many.
        """
        block = self._block if all(type(layer) is KVCache for layer in self.caches) else 1
        begin = self.done - self.done % block
        ahead = [stop for stop in self._stops if stop > self.done]
        end = min(begin + max(most - most % block, block), self.target, *ahead)
        filling = -(end - begin) % block
        chunk = np.pad(self.tokens[begin:end], (0, filling), mode="edge")
        trim_prompt_cache(self.caches, self.done - begin)
        model(mx.array(chunk)[None], cache=self.caches)
        trim_prompt_cache(self.caches, filling)
        mx.eval([layer.state for layer in self.caches])
        mx.clear_cache()
        count, self.done = end - self.done, end
        if self.done in self._stops:
            self.keep(cache)
        return count

    def keep(self, cache: PromptCache) -> None:
        """Give a copy of what has been read to the prompt cache."""
        if cache.enabled:
            leave(cache, self.row, self.tokens[: self.done], clone(self.caches))


def leave(cache: PromptCache, row: Submit, tokens: Sequence[int] | Tokens, caches: LayerCaches) -> None:
    """Give what a row has read to the prompt cache, on the row's terms. `caches` belong to it from now on."""
    if row.kept:
        cache.put(row.namespace, tokens, caches, in_memory=row.in_memory, owner=row.owner)
