"""What the tokens of an answer must be: the device computes a step's logits, the host its mask meanwhile."""

import hashlib
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

import mlx.core as mx
import numpy as np

from fireside.wire import Grammar, Submit, Vocabulary
from fireside.xgr import xgrammar

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]

_KEPT_BYTES = 64 << 20
"""Of grammars as text; following them takes about as much again."""
_WORD = 32
"""Tokens of one word of xgrammar's masks."""


class Grammars:
    """The model's tokens as grammars know them, and the grammars that rows had last, ready to be followed.

    Both are read on a thread of their own, while rows go on: a large grammar takes a tenth of a second.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="grammar")
        self._info: Future[Any] | None = None
        self._compiled: OrderedDict[bytes, tuple[Future[Any], int]] = OrderedDict()
        self._bytes = 0

    def learn(self, vocabulary: Vocabulary) -> None:
        """Take the vocabulary, for which all grammars are compiled that come later."""
        self._compiled.clear()
        self._bytes = 0
        self._info = self._thread.submit(_tokenizer_info, vocabulary.info)

    def prepare(self, grammar: Grammar) -> None:
        """Begin to read a grammar that is going to be followed."""
        if self._info is not None:
            self._load(grammar.compiled, self._info)

    def processor(self, row: Submit, grammar: Grammar) -> "GrammarProcessor":
        """A row's; it has failed already where its grammar cannot be followed."""
        try:
            if self._info is None:
                raise ValueError("the core was told of no vocabulary")
            compiled = self._load(grammar.compiled, self._info).result()
            matcher = xgrammar().GrammarMatcher(compiled, override_stop_tokens=row.stop_ids or None)
        except Exception as error:  # a row's grammar must never end a core, whatever is wrong with it
            processor = GrammarProcessor(row, grammar, None, 0)
            processor.failure = f"its grammar cannot be followed ({type(error).__name__}: {error})"
            return processor
        processor = GrammarProcessor(row, grammar, matcher, self._info.result().vocab_size)
        processor.replay(row.generated)
        return processor

    def _load(self, text: bytes, info: Future[Any]) -> Future[Any]:
        digest = hashlib.blake2b(text, digest_size=16).digest()
        known = self._compiled.get(digest)
        if known is not None:
            self._compiled.move_to_end(digest)
            return known[0]
        # The thread does one thing after the other, so that the vocabulary is there by then.
        compiled = self._thread.submit(lambda: _compiled_grammar(text, info.result()))
        self._compiled[digest] = compiled, len(text)
        self._bytes += len(text)
        while self._bytes > _KEPT_BYTES and len(self._compiled) > 1:
            self._bytes -= self._compiled.popitem(last=False)[1][1]
        return compiled


def _tokenizer_info(text: bytes) -> Any:
    return xgrammar().TokenizerInfo.deserialize_json(text.decode())


def _compiled_grammar(text: bytes, info: Any) -> Any:
    return xgrammar().CompiledGrammar.deserialize_json(text.decode(), info)


class GrammarProcessor:
    """A logits processor that gives a row's grammar the last word, and closes its thoughts if it must.

    An answer is its thoughts, if it has any, and then what the grammar says. It is followed on the host, from
    the ids alone, so that a row that is taken up again goes on as it would have.

    Args:
        matcher: an `xgrammar.GrammarMatcher`; None for a row that has failed.
        vocabulary: tokens that the grammar knows of; the model may have more, which never come.

    Attributes:
        latest: tells the token that the newest logits follow; set before each step. The array that the
            processor is called with has it too, but not before the step that is just being computed.
        complete: the answer is whole: nothing but its end can follow.
        stop_id: a token that ends the row; -1 if it has none.
        failure: why the grammar cannot be followed any more; nothing is masked then.
    """

    latest: Callable[[], int]

    def __init__(self, row: Submit, grammar: Grammar, matcher: Any, vocabulary: int) -> None:
        self._matcher = matcher
        self._vocabulary = vocabulary
        self._budget = row.thinking
        self._prompt = len(row.prompt)
        self._stop_ids = [token for token in row.stop_ids if 0 <= token < vocabulary]
        self._closing = deque(grammar.closing)
        self._recent: deque[int] = deque(maxlen=len(grammar.closing))
        self._thinking = grammar.opened and bool(grammar.closing)
        self._open_id = grammar.open_id if grammar.closing and not grammar.opened else -1
        self._close_seen = False
        self.stop_id = row.stop_ids[0] if row.stop_ids else -1
        self._seen = 0
        self.complete = False
        self.failure: str | None = None

    def replay(self, tokens: Sequence[int]) -> None:
        """Follow what the row has written before."""
        for token in tokens:
            self._advance(token)

    def __call__(self, tokens: mx.array, logits: mx.array) -> mx.array:
        """Ids so far (n,) int and logits (1, vocab) float in, logits of the same dtype out."""
        mx.async_eval(logits)
        if self.failure is None and tokens.shape[0] - self._prompt > self._seen:
            self._advance(self.latest())
        allowed = None if self.failure is not None else self._allowed(logits.shape[-1])
        if allowed is None:
            return logits
        if not allowed.any():
            if not self.complete:
                self.failure = "its grammar leaves no token to go on with"
            return logits
        return mx.where(mx.array(cast("Any", allowed))[None], logits, mx.array(-mx.inf, logits.dtype))

    def _advance(self, token: int) -> None:
        index, self._seen = self._seen, self._seen + 1
        if self._thinking:
            self._think(index, token)
        elif index == 0 and token == self._open_id:
            self._thinking = True
        elif not self._matcher.is_terminated() and not self._matcher.accept_token(token):
            self.failure = f"its grammar does not allow token {token} in place {index} of the answer"

    def _think(self, index: int, token: int) -> None:
        if self._forced(index) is not None:
            self._thinking = self._forced(index + 1) is not None
            return
        self._close_seen |= self._budget is not None and token == self._budget.close_id
        self._recent.append(token)
        self._thinking = self._recent != self._closing

    def _forced(self, index: int) -> int | None:
        """The token that the thinking budget puts into place `index` of the answer, if it does."""
        budget = self._budget
        if budget is None or self._close_seen or not 0 <= index - budget.tokens < len(budget.forced):
            return None
        return budget.forced[index - budget.tokens]

    def _allowed(self, size: int) -> Mask | None:
        """Which of the model's `size` tokens may come next; None for all."""
        if self._thinking:
            forced = self._forced(self._seen)
            return None if forced is None else np.arange(size) == forced
        if self._matcher.is_terminated():
            return None  # the row has ended: its logits are computed a step ahead, and in vain
        words = np.empty((1, -(-self._vocabulary // _WORD)), np.int32)
        self._matcher.fill_next_token_bitmask(words)
        allowed = np.zeros(size, np.bool_)
        known = min(size, self._vocabulary)
        allowed[:known] = np.unpackbits(words.view(np.uint8), count=known, bitorder="little")
        if self._seen == 0 and 0 <= self._open_id < size:
            allowed[self._open_id] = True
        elif self._matcher.is_completed():
            self.complete = np.count_nonzero(allowed) == np.count_nonzero(allowed[self._stop_ids])
        return allowed
