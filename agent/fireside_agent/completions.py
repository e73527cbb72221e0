"""What the agent reads of OpenAI's streamed chat completions, with Fireside's additions to them."""

from typing import Any, get_args

import msgspec

from fireside_agent.protocol import Phase, Receipt

PHASES: frozenset[str] = frozenset(get_args(Phase))


class ModelRow(msgspec.Struct, frozen=True):
    """A row of `/v1/models`. `context_window` (tokens) is Fireside's."""

    id: str
    context_window: int | None = None


class ModelList(msgspec.Struct, frozen=True):
    data: list[ModelRow]


class Delta(msgspec.Struct, frozen=True):
    content: str | None = None


class Choice(msgspec.Struct, frozen=True):
    delta: Delta | None = None
    finish_reason: str | None = None


class ProgressDetails(msgspec.Struct, frozen=True):
    """`fireside` of a chunk with an empty delta. Counts are tokens."""

    phase: str
    queue_position: int | None = None
    eta_s: float | None = None
    prefill_done: int | None = None
    prefill_total: int | None = None


class PromptDetails(msgspec.Struct, frozen=True):
    cached_tokens: int | None = None


class AnswerDetails(msgspec.Struct, frozen=True):
    """`fireside` of the final usage."""

    lane: str | None = None
    queue_ms: float | None = None
    ttft_ms: float | None = None
    decode_tps: float | None = None
    seed: int | None = None
    resumed: int | None = None


class Usage(msgspec.Struct, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    lane: str | None = None
    fireside: AnswerDetails | None = None


class Chunk(msgspec.Struct, frozen=True):
    """One `data:` line of a streamed answer."""

    model: str | None = None
    choices: list[Choice] | None = None
    usage: Usage | None = None
    fireside: ProgressDetails | None = None

    @property
    def text(self) -> str:
        return "".join(choice.delta.content or "" for choice in self.choices or [] if choice.delta)

    @property
    def finish_reason(self) -> str | None:
        return next((choice.finish_reason for choice in self.choices or [] if choice.finish_reason), None)


def read_chunk(data: Any) -> Chunk:
    """Raises msgspec.ValidationError with the offending field's path."""
    return msgspec.convert(data, Chunk, strict=False)


def make_receipt(model: str, finish_reason: str, usage: Usage) -> Receipt:
    """What the server told about the finished answer; what it did not tell stays at its default."""
    details = usage.fireside or AnswerDetails()
    prompt = usage.prompt_tokens_details or PromptDetails()
    return Receipt(
        model=model,
        prompt_tokens=usage.prompt_tokens or 0,
        completion_tokens=usage.completion_tokens or 0,
        cached_tokens=prompt.cached_tokens or 0,
        finish_reason=finish_reason,
        lane=details.lane or usage.lane or "",
        queue_ms=details.queue_ms,
        ttft_ms=details.ttft_ms,
        decode_tps=details.decode_tps,
        seed=details.seed,
        resumed=details.resumed or 0,
    )


class SurrogateJoiner:
    """Joins characters that a server split between two chunks as halves of a surrogate pair.

    JSON can carry such halves, UTF-8 cannot: one that stays alone becomes U+FFFD.
    """

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return _whole(text.removesuffix(self._half))

    def flush(self) -> str:
        half, self._half = self._half, ""
        return _whole(half)


def _whole(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
