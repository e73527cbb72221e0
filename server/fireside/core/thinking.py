"""Ending a thinking block that gets too long."""

import mlx.core as mx

from fireside.wire import ThinkingBudget


class BudgetProcessor:
    """A logits processor that closes a thinking block after its budget of tokens.

    It looks at the row's ids and their number alone, and on the device: the latest token is not known
    on the host yet when the next one is drawn. So a row that is taken up again is closed at the same place.

    Args:
        prompt_tokens: that come before the answer.
    """

    def __init__(self, budget: ThinkingBudget, prompt_tokens: int) -> None:
        self._budget = budget
        self._start = prompt_tokens
        self._end = prompt_tokens + budget.tokens

    def __call__(self, tokens: mx.array, logits: mx.array) -> mx.array:
        """Ids so far (n,) int and logits (1, vocab) float in, logits of the same dtype out."""
        index = tokens.shape[0] - self._end
        if not 0 <= index < len(self._budget.forced):
            return logits
        thoughts = tokens[self._start : self._end]
        open_ = ~mx.any(thoughts == self._budget.close_id)
        if not self._budget.opened:
            open_ = open_ & mx.any(thoughts == self._budget.open_id)
        ids = mx.arange(logits.shape[-1])
        forced = mx.where(ids == self._budget.forced[index], 0.0, -mx.inf).astype(logits.dtype)
        return mx.where(open_, forced[None], logits)
