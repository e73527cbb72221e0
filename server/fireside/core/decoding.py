"""The rows that are being answered, one token each a step."""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.generate import GenerationBatch, StopSequences
from mlx_lm.models.cache import BatchKVCache
from mlx_lm.sample_utils import greedy_sampler

from fireside.core.cache.prompt_cache import LayerCaches
from fireside.core.prompts import Prompt
from fireside.core.sampling import LogitsProcessor, make_processors, make_sampler
from fireside.core.thinking import BudgetProcessor
from fireside.wire import Submit

_CLEAR_EVERY = 512
"""Steps, as mlx-lm does, so that buffers of sizes that are past do not pile up."""


class Decoder:
    """Rows join and leave between two steps without disturbing each other.

    mlx-lm's `BatchGenerator` also reads prompts, all of them in one padded batch and in chunks of one
    size; here prompts come with their caches filled, see `Prompt`.
    """

    def __init__(self, model: nn.Module, vocab_size: int) -> None:
        self._model = model
        self._vocab_size = vocab_size
        self._batch: _Batch | None = None
        self._stops: dict[tuple[int, ...], StopSequences] = {}
        self._steps = 0

    def __len__(self) -> int:
        return len(self._batch) if self._batch else 0

    @property
    def nbytes(self) -> int:
        """Of the rows' keys and values."""
        return sum(cache.nbytes for cache in self._batch.prompt_cache) if self._batch else 0

    def join(self, prompts: Sequence[Prompt]) -> None:
        """Take up rows whose prompts have been read, all but the last token."""
        if len(prompts) > 1:
            caches = [
                type(layer[0]).merge(list(layer)) for layer in zip(*(p.caches for p in prompts), strict=True)
            ]
        else:
            caches = prompts[0].caches
        rows = [prompt.row for prompt in prompts]
        batch = _Batch(
            self._model,
            uids=[row.id for row in rows],
            inputs=mx.array([int(prompt.tokens[-1]) for prompt in prompts]),
            prompt_cache=caches,
            tokens=[prompt.tokens[:-1].tolist() for prompt in prompts],
            samplers=[make_sampler(row.sampling, len(row.generated), self._vocab_size) for row in rows],
            fallback_sampler=greedy_sampler,
            logits_processors=[self._processors(row) for row in rows],
            stop_sequences=[self._stop(tuple(row.stop_ids)) for row in rows],
            max_tokens=[row.max_tokens - len(row.generated) for row in rows],
        )
        if self._batch is None:
            self._batch = batch
        else:
            self._batch.extend(batch)

    def step(self) -> list[GenerationBatch.Response]:
        """The next token of every row. A row that has ended comes with its caches and has left."""
        if self._batch is None:
            return []
        responses = self._batch.next()
        if not len(self._batch):
            self._batch = None
        self._steps += 1
        if self._steps % _CLEAR_EVERY == 0:
            mx.clear_cache()
        return responses

    def remove(self, row_id: int) -> tuple[list[int], LayerCaches] | None:
        """Take a row out. Returns what it has read and written, and the caches that hold exactly that."""
        batch = self._batch
        if batch is None or row_id not in batch.uids:
            return None
        index = batch.uids.index(row_id)
        tokens, caches = batch.tokens[index], batch.extract_cache(index)
        keep = [i for i in range(len(batch)) if i != index]
        if keep:
            batch.filter(keep)
        else:
            self._batch = None
        return tokens, caches

    def _processors(self, row: Submit) -> list[LogitsProcessor]:
        processors = make_processors(row.sampling, self._vocab_size)
        if row.thinking is not None:
            processors.append(BudgetProcessor(row.thinking, len(row.prompt)))
        return processors

    def _stop(self, ids: tuple[int, ...]) -> StopSequences:
        if ids not in self._stops:
            self._stops[ids] = StopSequences([[token] for token in ids])
        return self._stops[ids]


class _Batch(GenerationBatch):
    """A row that has been alone from its start keeps its own caches, which are faster than batched ones
    and can be of kinds that have no batched form."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._alone = len(kwargs["uids"]) == 1
        super().__init__(*args, **kwargs)

    def extend(self, batch: "_Batch") -> None:
        self._merge()
        batch._merge()
        pairs = zip(self.prompt_cache, batch.prompt_cache, strict=True)
        # mlx-lm takes the other batch's caches as they are where its own are none.
        self.prompt_cache, batch.prompt_cache = [], [_joined(ours, theirs) for ours, theirs in pairs]
        super().extend(batch)

    def extract_cache(self, idx: int) -> LayerCaches:
        return list(self.prompt_cache) if self._alone else super().extract_cache(idx)

    def _merge(self) -> None:
        if self._alone:
            self.prompt_cache = [type(cache).merge([cache]) for cache in self.prompt_cache]
            self._alone = False


def _joined(ours: Any, theirs: Any) -> Any:
    """One layer's batched cache with the rows of two.

    Where all rows get longer, because a long one joins, mlx-lm pads each side, joins them, and makes room
    for the next token: three copies of everything, while all rows wait. Here it is one.
    """
    if type(ours) is not BatchKVCache or type(theirs) is not BatchKVCache or ours.empty() or theirs.empty():
        ours.extend(theirs)
        return ours
    sides: list[Any] = [cache.state for cache in (ours, theirs)]
    length = max(used for *_, used in sides)
    room = (length // BatchKVCache.step + 1) * BatchKVCache.step
    keys = _stacked([(keys, used) for keys, _, _, _, used in sides], length, room)
    values = _stacked([(values, used) for _, values, _, _, used in sides], length, room)
    offsets = mx.concatenate([offset for _, _, offset, _, _ in sides])
    padding = mx.concatenate([padding + (length - used) for _, _, _, padding, used in sides])
    ours.state = (keys, values, offsets, padding, length)
    return ours


def _stacked(parts: list[tuple[mx.array, int]], length: int, room: int) -> mx.array:
    """Arrays (rows, heads, used or more, head_dim) below one another, each ending at `length`."""
    rows = sum(part.shape[0] for part, _ in parts)
    _, heads, _, width = parts[0][0].shape
    whole = mx.zeros((rows, heads, room, width), parts[0][0].dtype)
    first = 0
    for part, used in parts:
        last = first + part.shape[0]
        whole[first:last, :, length - used : length] = part[..., :used, :]
        first = last
    return whole
