"""The rows of a core and the steps that move them on."""

import time
from collections import deque
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import msgspec
from mlx_lm.generate import GenerationBatch, generation_stream

from fireside.core.cache.prompt_cache import PromptCache
from fireside.core.cache.ssd_reader import SLICE_S
from fireside.core.chunks import SMALLEST, ChunkPlanner
from fireside.core.decoding import Decoder
from fireside.core.grammar import GrammarProcessor
from fireside.core.logprobs import logprobs_of
from fireside.core.prompts import Prompt, leave
from fireside.wire import Cancel, Forget, RowFailure, RowPrefill, RowToken, Step, Submit, Vocabulary


class Scheduler:
    """Continuous batching: a step is one token of every row that is answering and a chunk of prompts.

    A row waits, while another reads what its prompt begins with too; it reads its prompt, in turn with
    others; it is answered. Rows are as many as the app submits.

    Args:
        kv_budget: bytes for the rows and the prompt cache together; what rows take, the cache gives up.
        prefill_step: prompt tokens a step at most.
        block: see `Prompt`.
    """

    def __init__(
        self,
        model: nn.Module,
        vocab_size: int,
        prompt_cache: PromptCache,
        kv_budget: int,
        prefill_step: int,
        block: int = 1,
    ) -> None:
        self._model = model
        self._cache = prompt_cache
        self._kv_budget = kv_budget
        self._decoder = Decoder(model, vocab_size)
        self._block = block
        self._planner = ChunkPlanner(prefill_step, max(SMALLEST, block))
        self._waiting: list[Prompt] = []
        self._reading: deque[Prompt] = deque()
        self._answering: dict[int, Submit] = {}

    @property
    def busy(self) -> bool:
        return bool(self._waiting or self._reading or self._answering)

    def apply(self, request: Submit | Cancel | Vocabulary | Forget) -> None:
        """Take up or drop a row, forget an owner, or take what grammars are made of."""
        if isinstance(request, Submit):
            self._waiting.append(Prompt(request, self._block))
            if request.grammar is not None:
                self._decoder.grammars.prepare(request.grammar)
            return
        if isinstance(request, Vocabulary):
            self._decoder.grammars.learn(request)
            return
        with mx.stream(generation_stream):
            if isinstance(request, Forget):
                self._forget(request.owner)
            else:
                self._cancel(request.id)

    def step(self) -> Step:
        """One decode step of all rows, and one chunk of the prompts that are being read."""
        with mx.stream(generation_stream):
            return self._step()

    def _step(self) -> Step:
        decoding = len(self._decoder) > 0
        budget = self._planner.budget(decoding=decoding)
        tokens, failed = list[RowToken](), list[RowFailure]()
        for response, guard in self._decoder.step():
            token = self._token(response)
            if guard is None:
                tokens.append(token)
            else:
                self._guarded(token, guard, tokens, failed)
        prefill = self._begin()
        before = len(self._answering)
        read = self._read(budget, prefill)
        self._planner.measured(read, decoding=decoding)
        # The last token of a prompt is computed by the row's first decode step.
        computed = read + len(self._answering) - before
        kv_bytes = self._kv_bytes()
        self._cache.shrink(self._kv_budget - kv_bytes)
        return Step(tokens, prefill, kv_bytes, self._cache.state, computed, failed)

    def _begin(self) -> list[RowPrefill]:
        """Let rows start to read, those apart that gain by waiting."""
        begun: list[RowPrefill] = []
        still: list[Prompt] = []
        for prompt in self._waiting:
            if prompt.waits(self._reading, self._cache):
                still.append(prompt)
                continue
            prompt.begin(self._model, self._cache)
            self._reading.append(prompt)
            begun.append(prompt.progress)
        self._waiting = still
        return begun

    def _read(self, budget: int, report: list[RowPrefill]) -> int:
        """Read prompts in turn, each with what is left of the budget. Returns how many tokens were read."""
        left, complete = budget, list[Prompt]()
        patient = not len(self._decoder) and all(prompt.restoring for prompt in self._reading)
        until = time.monotonic() + SLICE_S
        for _ in range(len(self._reading)):
            prompt = self._reading[0]
            if prompt.restoring:
                prompt.bring_back(self._model, self._cache, until, patient=patient)
                if not prompt.restoring:
                    report.append(prompt.progress)
            if prompt.restoring:
                pass
            elif not prompt.complete:
                if left <= 0:
                    break
                left -= self._read_part(prompt, left)
                report.append(prompt.progress)
            self._reading.popleft()
            if prompt.complete:
                complete.append(prompt)
            else:
                self._reading.append(prompt)
        if complete:
            self._decoder.join(complete)
            self._answering.update((prompt.row.id, prompt.row) for prompt in complete)
        return budget - left

    def _read_part(self, prompt: Prompt, most: int) -> int:
        begin = time.perf_counter()
        count = prompt.read(self._model, self._cache, most)
        if not len(self._decoder):
            self._cache.read_anew(count, time.perf_counter() - begin)
        return count

    def _cancel(self, row_id: int) -> None:
        self._waiting = [prompt for prompt in self._waiting if prompt.row.id != row_id]
        for prompt in [prompt for prompt in self._reading if prompt.row.id == row_id]:
            self._reading.remove(prompt)
            prompt.give_up(self._cache)
        self._remove(row_id)

    def _forget(self, owner: str) -> None:
        """Remove what an owner's rows have left, and let those that are here leave nothing."""
        for prompt in (*self._waiting, *self._reading):
            prompt.row = _unkept(prompt.row, owner)
        self._answering = {number: _unkept(row, owner) for number, row in self._answering.items()}
        self._cache.forget(owner)
        mx.clear_cache()

    def _remove(self, row_id: int) -> None:
        """Take a row out that is answering; what it has read and written goes to the cache."""
        row = self._answering.pop(row_id, None)
        removed = self._decoder.remove(row_id) if row else None
        if row and removed:
            leave(self._cache, row, *removed)

    def _guarded(
        self, token: RowToken, guard: GrammarProcessor, tokens: list[RowToken], failed: list[RowFailure]
    ) -> None:
        """Report the token of a row with a grammar, and the end that the grammar brings."""
        if guard.failure is not None and token.finish is None:
            failed.append(RowFailure(token.id, guard.failure))
            self._remove(token.id)
        elif guard.complete and token.finish != "stop":
            # Only a stop token can come: there is no need to wait for it.
            self._remove(token.id)
            tokens += [msgspec.structs.replace(token, finish=None), RowToken(token.id, guard.stop_id, "stop")]
        else:
            tokens.append(token)

    def _token(self, response: GenerationBatch.Response) -> RowToken:
        row = self._answering[response.uid]
        finish: Any = response.finish_reason
        count = row.top_logprobs
        logprobs = None if count is None else logprobs_of(response.token, response.logprobs, count)
        if finish:
            del self._answering[row.id]
            if response.prompt_cache is not None and response.all_tokens is not None:
                leave(self._cache, row, response.all_tokens, response.prompt_cache)
        return RowToken(row.id, response.token, finish, logprobs)

    def _kv_bytes(self) -> int:
        reading = sum(prompt.nbytes for prompt in self._reading)
        return self._decoder.nbytes + reading


def _unkept(row: Submit, owner: str) -> Submit:
    return msgspec.structs.replace(row, kept=False) if row.owner == owner else row
