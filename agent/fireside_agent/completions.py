"""What the agent reads of OpenAI's streamed chat completions, with Fireside's additions to them."""

from typing import Any, get_args

import msgspec

from fireside_agent.messages import Receipt, SamplingChoice
from fireside_agent.protocol import Phase

PHASES: frozenset[str] = frozenset(get_args(Phase))


class ModelRow(msgspec.Struct, frozen=True):
    """A row of `/v1/models`. All but the id is Fireside's; `context_window` is in tokens.

    Attributes:
        reasoning: it can think.
        thinking: it does unless it is told otherwise.
    """

    id: str
    context_window: int | None = None
    reasoning: bool = False
    thinking: bool = False
    vision: bool = False
    audio: bool = False
    gen_defaults: SamplingChoice | None = None


class ModelList(msgspec.Struct, frozen=True):
    data: list[ModelRow]


class FunctionDelta(msgspec.Struct, frozen=True):
    name: str | None = None
    arguments: str | None = None


class CallDelta(msgspec.Struct, frozen=True):
    """A piece of a call. The id and the name come once, the arguments in pieces."""

    index: int | None = None
    id: str | None = None
    function: FunctionDelta | None = None


class Delta(msgspec.Struct, frozen=True):
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    """The other name that servers give it."""
    tool_calls: list[CallDelta] | None = None


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
    computed: int | None = None
    from_ram: int | None = None
    from_ssd: int | None = None
    model_hash: str | None = None
    adapter_hash: str | None = None


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
    def reasoning(self) -> str:
        deltas = [choice.delta for choice in self.choices or [] if choice.delta]
        return "".join(delta.reasoning or delta.reasoning_content or "" for delta in deltas)

    @property
    def calls(self) -> list[CallDelta]:
        return [
            call for choice in self.choices or [] if choice.delta for call in choice.delta.tool_calls or []
        ]

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
        model=_whole(model),
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
        computed=details.computed,
        from_ram=details.from_ram,
        from_ssd=details.from_ssd,
        model_hash=details.model_hash or "",
        adapter_hash=details.adapter_hash or "",
    )


class CallCollector:
    """Puts the pieces of calls together.

    A server may leave out indices or ids, or use one id twice: a piece with a name where its index has
    one, or with another id than its index has, begins a new call. The ids serve for nothing else.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[int | None, str, list[str], list[str]]] = []

    def feed(self, piece: CallDelta) -> None:
        name = (piece.function and piece.function.name) or ""
        arguments = (piece.function and piece.function.arguments) or ""
        current = self._find(piece, name)
        if current is None:
            current = (piece.index, piece.id or "", list[str](), list[str]())
            self._parts.append(current)
        current[2].append(name)
        current[3].append(arguments)

    def calls(self) -> list[tuple[str, str]]:
        """Name and arguments of each, in the order in which they began."""
        return [(_whole("".join(names)), _whole("".join(arguments))) for *_, names, arguments in self._parts]

    def _find(self, piece: CallDelta, name: str) -> tuple[int | None, str, list[str], list[str]] | None:
        for part in reversed(self._parts):
            index, call_id, names, _ = part
            begins = bool(name and "".join(names)) or bool(piece.id and call_id and piece.id != call_id)
            if piece.index == index and not begins:
                return part
        return None


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
