"""The rows that are being answered, one token each a step."""

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.generate import GenerationBatch, StopSequences
from mlx_lm.models.cache import BatchKVCache
from mlx_lm.sample_utils import greedy_sampler

from fireside.core.cache.prompt_cache import LayerCaches
from fireside.core.grammar import GrammarProcessor, Grammars
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
        self.grammars = Grammars()

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
            reporting={row.id for row in rows if row.top_logprobs is not None},
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

    def step(self) -> list[tuple[GenerationBatch.Response, GrammarProcessor | None]]:
        """The next token of every row, with what follows its grammar if it has one.

        A row that has ended comes with its caches and has left.
        """
        if self._batch is None:
            return []
        guards = self._batch.guards
        responses = self._batch.next()
        if not len(self._batch):
            self._batch = None
        self._steps += 1
        if self._steps % _CLEAR_EVERY == 0:
            mx.clear_cache()
        return list(zip(responses, guards, strict=True))

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
        if row.grammar is not None:
            processors.append(self.grammars.processor(row, row.grammar))
        elif row.thinking is not None:
            processors.append(BudgetProcessor(row.thinking, len(row.prompt)))
        return processors

    def _stop(self, ids: tuple[int, ...]) -> StopSequences:
        if ids not in self._stops:
            self._stops[ids] = StopSequences([[token] for token in ids])
        return self._stops[ids]


class _Batch(GenerationBatch):
    """A row that has been alone from its start keeps its own caches, which are faster than batched ones
    and can be of kinds that have no batched form.

    Args:
        reporting: the rows whose tokens come with log-probabilities.
    """

    def __init__(self, *args: Any, reporting: set[int], **kwargs: Any) -> None:
        self._alone = len(kwargs["uids"]) == 1
        self._reporting = reporting
        super().__init__(*args, **kwargs)

    def extend(self, batch: "_Batch") -> None:
        self._merge()
        batch._merge()
        self._reporting = (self._reporting | batch._reporting) & {*self.uids, *batch.uids}
        pairs = zip(self.prompt_cache, batch.prompt_cache, strict=True)
        # mlx-lm takes the other batch's caches as they are where its own are none.
        self.prompt_cache, batch.prompt_cache = [], [_joined(ours, theirs) for ours, theirs in pairs]
        super().extend(batch)

    def extract_cache(self, idx: int) -> LayerCaches:
        return list(self.prompt_cache) if self._alone else super().extract_cache(idx)

    @property
    def guards(self) -> list[GrammarProcessor | None]:
        """What follows each row's grammar, for those that have one."""
        last = [processors[-1] if processors else None for processors in self.logits_processors or ()]
        return [processor if isinstance(processor, GrammarProcessor) else None for processor in last]

    def _step(self) -> Any:
        """mlx-lm's step, but that log-probabilities are cut into rows only where a row reports them.

        With 32 rows that is 32 arrays a step, on a host that a GPU waits for.
        """
        inputs, likely = self._next_tokens, self._next_logprobs
        self._tell_guards(inputs)
        logits = self.model(inputs[:, None], cache=self.prompt_cache)[:, -1, :]
        _share_offsets(self.prompt_cache)
        contexts: list[mx.array] = []
        if any(self.logits_processors or ()):
            rows = [self._processed(index, logits, inputs, contexts) for index in range(len(self))]
            logits = mx.concatenate(rows)
        logprobs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
        self._next_tokens = self._drawn(logprobs)
        reported = {i: logprobs[i] for i, uid in enumerate(self.uids) if uid in self._reporting}
        self._next_logprobs = [reported.get(index) for index in range(len(self))]
        mx.async_eval(self._next_tokens, list(reported.values()), contexts)
        mx.eval(inputs, [row for row in likely if row is not None])
        tokens = cast("list[int]", inputs.tolist())
        for history, token in zip(self.tokens, tokens, strict=True):
            history.append(token)
        return tokens, likely or [None] * len(tokens)

    def _tell_guards(self, latest: mx.array) -> None:
        guards = self.guards
        if any(guards):
            # What joins or leaves makes the tokens a computation, which must not wait for that of the logits.
            mx.async_eval(latest)
            for index, guard in enumerate(guards):
                if guard is not None:
                    guard.latest = partial(_item, latest, index)

    def _processed(
        self, index: int, logits: mx.array, latest: mx.array, contexts: list[mx.array]
    ) -> mx.array:
        """One row's logits (1, vocab) after its processors; the ids that they see are added to `contexts`."""
        row = logits[index : index + 1]
        processors = self.logits_processors[index] if self.logits_processors else []
        if processors:
            context = self._token_context[index].update_and_fetch(latest[index : index + 1])
            contexts.append(context)
            for processor in processors:
                row = processor(context, row)
        return row

    def _drawn(self, logprobs: mx.array) -> mx.array:
        """A token a row, at once where all rows draw in the same way."""
        samplers = self.samplers or [self.fallback_sampler]
        if all(sampler is samplers[0] for sampler in samplers):
            return samplers[0](logprobs)
        return mx.concatenate([draw(logprobs[i : i + 1]) for i, draw in enumerate(samplers)])

    def _merge(self) -> None:
        if self._alone:
            self.prompt_cache = [type(cache).merge([cache]) for cache in self.prompt_cache]
            self._alone = False


def _item(tokens: Any, index: int) -> int:
    return cast("list[int]", tokens.tolist())[index]


def _share_offsets(caches: Sequence[Any]) -> None:
    """Let layers that have read the same tokens have one array of offsets.

    Each layer adds up its own, a kernel a layer and step; what is replaced here is never computed.
    """
    counting = [cache for cache in caches if type(cache) is BatchKVCache and not cache.empty()]
    for cache in counting[1:]:
        cache.offset = counting[0].offset


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
