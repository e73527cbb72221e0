"""One request against a memory plan: how long its answer may get, or why it cannot be taken."""

from dataclasses import dataclass

from fireside.catalog.fit import MemoryPlan, RefusalCode, gigabytes

COMPLETION_TOKENS = 512
"""What a raw completion without `max_tokens` asks for."""


@dataclass(frozen=True)
class Fit:
    """The request can be taken.

    Attributes:
        max_tokens: that the answer may have, at least 1.
        requested: what was asked for, None where nothing was.
        bytes: that the row holds if its answer gets that long.
    """

    max_tokens: int
    requested: int | None
    bytes: int

    @property
    def clamped(self) -> bool:
        """Whether the answer may have fewer tokens than were asked for."""
        return self.requested is not None and self.max_tokens < self.requested

    @property
    def warning(self) -> str | None:
        """For the `Warning` header: ASCII, short; None where nothing was changed."""
        if not self.clamped:
            return None
        return (
            f"max_tokens {self.requested} is more than fits; the answer ends after {self.max_tokens} tokens"
        )


@dataclass(frozen=True)
class Refusal:
    """The request can never be taken under this plan.

    Attributes:
        message: what was asked, what is there and what to do.
        max_context: tokens of prompt and answer that can be had.
        needed_bytes: at the peak, weights included; of the row alone for `memory_admission`.
        available_bytes: for that.
    """

    code: RefusalCode
    message: str
    prompt_tokens: int
    max_tokens: int
    max_context: int
    needed_bytes: int
    available_bytes: int


def fit_request(
    plan: MemoryPlan,
    prompt_tokens: int,
    max_tokens: int | None = None,
    default_tokens: int | None = None,
    *,
    clamp: bool = True,
) -> Fit | Refusal:
    """Check a request before any work is done for it.

    Args:
        max_tokens: as the request says, at least 1; None for `default_tokens`.
        default_tokens: None for all that fits after the prompt.
        clamp: shorten an answer that does not fit instead of refusing it; a prompt is never shortened.
    """
    wanted = 1 if clamp or max_tokens is None else max_tokens
    total = prompt_tokens + wanted
    if total > plan.max_safe_context:
        return _over_context(plan, prompt_tokens, wanted)
    if total > plan.max_row_context:
        return _over_kv_budget(plan, prompt_tokens, wanted)
    rest = plan.max_row_context - prompt_tokens
    asked = max_tokens if max_tokens is not None else default_tokens
    answer = rest if asked is None else min(asked, rest)
    return Fit(answer, max_tokens, plan.row_bytes(prompt_tokens + answer))


def _over_context(plan: MemoryPlan, prompt: int, answer: int) -> Refusal:
    total, most = prompt + answer, plan.max_safe_context
    needed, usable = plan.needed_bytes(total), plan.memory.usable_bytes
    if plan.limit == "model":
        narrowest = min(plan.models, key=lambda model: model.window)
        there = f"{narrowest.name} reads {most:,} tokens at most."
        remedy = "Shorten the conversation or use a model with a larger context window."
    else:
        there = (
            f"{most:,} tokens are the most that fit safely: the weights take"
            f" {gigabytes(plan.weights_bytes)} of {plan.memory}, and with so many tokens"
            f" {gigabytes(needed)} would be needed."
        )
        more = "raise --memory-budget" if plan.memory.budget_bytes is not None else "close other programs"
        remedy = f"Shorten the conversation, {more} or use a smaller model."
    message = f"{_asked(prompt, answer)}; {there} {remedy}"
    return Refusal("context_over_budget", message, prompt, answer, most, needed, usable)


def _over_kv_budget(plan: MemoryPlan, prompt: int, answer: int) -> Refusal:
    needed = plan.row_bytes(prompt + answer)
    message = (
        f"{_asked(prompt, answer)}, which takes {gigabytes(needed)} of keys and values; --kv-budget is"
        f" {gigabytes(plan.kv_budget_bytes)}, enough for {plan.max_row_context:,} tokens."
        " Shorten the conversation or raise --kv-budget."
    )
    return Refusal(
        "memory_admission",
        message,
        prompt,
        answer,
        plan.max_row_context,
        needed,
        plan.kv_budget_bytes,
    )


def _asked(prompt: int, answer: int) -> str:
    tokens = "token" if answer == 1 else "tokens"
    return f"The prompt has {prompt:,} tokens, with {answer:,} {tokens} of answer {prompt + answer:,}"
