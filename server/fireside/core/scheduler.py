"""The rows of a core and the steps that move them on."""

from typing import Any

import mlx.nn as nn
from mlx_lm.generate import BatchGenerator, GenerationBatch, PromptProcessingBatch, StopSequences

from fireside.core.logprobs import logprobs_of
from fireside.core.sampling import make_processors, make_sampler
from fireside.wire import Cancel, RowPrefill, RowToken, Step, Submit


class Scheduler:
    """Continuous batching over mlx-lm's `BatchGenerator`: rows join and leave between two steps.

    Args:
        max_rows: that decode at the same time; more wait in the generator's queue.
        prefill_step: prompt tokens a step at most, the bound on how long running rows wait.
    """

    def __init__(self, model: nn.Module, vocab_size: int, max_rows: int, prefill_step: int) -> None:
        self._generator = BatchGenerator(
            model,
            completion_batch_size=max_rows,
            prefill_batch_size=max_rows,
            prefill_step_size=prefill_step,
        )
        self._vocab_size = vocab_size
        self._ids: dict[int, int] = {}
        self._top_logprobs: dict[int, int] = {}
        self._stops: dict[tuple[int, ...], StopSequences] = {}

    @property
    def busy(self) -> bool:
        return bool(self._ids)

    def apply(self, request: Submit | Cancel) -> None:
        """Take up or forget a row."""
        if isinstance(request, Submit):
            self._insert(request)
        else:
            self._cancel(request.id)

    def step(self) -> Step:
        """One decode step of all rows, and one chunk of the prompts that are being read."""
        prompts, tokens = self._generator.next()
        return Step(
            tokens=[self._token(response) for response in tokens],
            prefill=[self._prefill(response) for response in prompts],
            kv_bytes=self._generator.prompt_cache_nbytes,
        )

    def _insert(self, row: Submit) -> None:
        (uid,) = self._generator.insert(
            [row.prompt + row.generated],
            max_tokens=[row.max_tokens - len(row.generated)],
            samplers=[make_sampler(row.sampling, len(row.generated), self._vocab_size)],
            logits_processors=[make_processors(row.sampling, self._vocab_size)],
            stop_sequences=[self._stop(tuple(row.stop_ids))],
        )
        self._ids[uid] = row.id
        if row.top_logprobs is not None:
            self._top_logprobs[uid] = row.top_logprobs

    def _cancel(self, row_id: int) -> None:
        for uid in [uid for uid, known in self._ids.items() if known == row_id]:
            self._generator.remove([uid])
            del self._ids[uid]
            self._top_logprobs.pop(uid, None)

    def _stop(self, ids: tuple[int, ...]) -> StopSequences:
        if ids not in self._stops:
            self._stops[ids] = StopSequences([[token] for token in ids])
        return self._stops[ids]

    def _token(self, response: GenerationBatch.Response) -> RowToken:
        finish: Any = response.finish_reason
        count = self._top_logprobs.get(response.uid)
        logprobs = None if count is None else logprobs_of(response.token, response.logprobs, count)
        row_id = self._ids[response.uid]
        if finish:
            del self._ids[response.uid]
            self._top_logprobs.pop(response.uid, None)
        return RowToken(row_id, response.token, finish, logprobs)

    def _prefill(self, response: PromptProcessingBatch.Response) -> RowPrefill:
        done, total = response.progress
        return RowPrefill(self._ids[response.uid], done, total)
