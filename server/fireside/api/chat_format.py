"""The shapes of `/v1/chat/completions`, in OpenAI's format."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fireside.api.answer_fields import AnswerFields

MAX_ANSWERS = 128
"""To one request."""

Role = Literal["system", "developer", "user", "assistant", "tool"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
ToolName = Annotated[str, Meta(min_length=1, pattern=r"^[^\x00-\x1f]*[^\x00-\x20][^\x00-\x1f]*$")]
"""Of a tool: not blank, and without control characters, with which no call is read."""


class IncomingFunction(msgspec.Struct, frozen=True):
    """What an earlier answer called; arguments are JSON text, or an object from lenient clients."""

    name: Annotated[str, Meta(min_length=1)]
    arguments: str | dict[str, Any] = ""


class IncomingCall(msgspec.Struct, frozen=True):
    function: IncomingFunction
    id: str = ""


class IncomingMessage(msgspec.Struct, frozen=True):
    """A message as clients send it; content is text, or parts of which the text ones count."""

    role: Role
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[IncomingCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    function_call: Any = None


class Thinking(msgspec.Struct, frozen=True):
    """Whether to think, as several model makers' own APIs have it; `adaptive` leaves it to the model."""

    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None


class ToolFunction(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is left out stays out: templates ask whether it is there."""

    name: ToolName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(msgspec.Struct, frozen=True):
    function: ToolFunction
    type: Literal["function"] = "function"


class ChatBody(AnswerFields, frozen=True, kw_only=True):
    """The request's body: what is acted upon, then what has no effect, then what is refused."""

    messages: Annotated[list[IncomingMessage], Meta(min_length=1)]
    n: Annotated[int, Meta(ge=1, le=MAX_ANSWERS)] | None = None
    tools: list[Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: Effort | None = None
    thinking: Thinking | None = None
    thinking_budget: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    """Tokens of the answer after which a thinking block that is still open is closed."""
    chat_template_kwargs: dict[str, Any] | None = None
    continue_final_message: bool | None = None
    logprobs: bool | None = None
    modalities: list[str] | None = None

    service_tier: str | None = None
    store: bool | None = None
    prediction: dict[str, Any] | None = None
    verbosity: Literal["low", "medium", "high"] | None = None

    functions: list[Any] | None = None
    function_call: str | dict[str, Any] | None = None
    audio: Any = None
    web_search_options: Any = None


class PromptDetails(msgspec.Struct, frozen=True):
    cached_tokens: int = 0


class FiresideUsage(msgspec.Struct, frozen=True):
    """How the answer was made; sent with `return_progress`. Times in ms, speed in tokens a second."""

    lane: str
    queue_ms: float
    computed: int
    from_ram: int
    from_ssd: int
    ttft_ms: float | None
    decode_tps: float | None
    model_hash: str | None
    adapter_hash: str | None
    seed: int
    resumed: int


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    lane: str
    prompt_tokens_details: PromptDetails
    fireside: FiresideUsage | None = None


class Progress(msgspec.Struct, frozen=True):
    """What a request waits for; in chunks with an empty delta, with `return_progress`."""

    phase: str
    queue_position: int | None = None
    eta_s: float | None = None
    prefill_done: int | None = None
    prefill_total: int | None = None


class FunctionDelta(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str | None = None
    arguments: str | None = None


class CallDelta(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of a tool call; id, type and name only in a call's first."""

    index: int
    function: FunctionDelta
    id: str | None = None
    type: str | None = None


class Delta(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of an answer; thoughts come under both names that clients know."""

    role: str | None = None
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[CallDelta] | None = None


class LikelyToken(msgspec.Struct, frozen=True):
    """A token and how likely it was; `bytes` is null where it is a part of a character."""

    id: int
    token: str
    bytes: list[int] | None
    logprob: float


class TokenEntry(LikelyToken, frozen=True):
    """A token of the answer: OpenAI's fields, and mlx-lm's `id` beside them."""

    top_logprobs: list[LikelyToken]


class ChoiceLogprobs(msgspec.Struct, frozen=True):
    """For every token generated, those of thoughts and calls included."""

    content: list[TokenEntry]


class ChunkChoice(msgspec.Struct, frozen=True):
    delta: Delta
    finish_reason: str | None = None
    index: int = 0
    logprobs: ChoiceLogprobs | msgspec.UnsetType = msgspec.UNSET


class Chunk(msgspec.Struct, frozen=True, omit_defaults=True):
    """A chunk; `usage` is null where the usage was asked for and comes later."""

    id: str
    object: str
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChunkChoice]
    usage: Usage | msgspec.UnsetType | None = msgspec.UNSET
    fireside: Progress | None = None


class Function(msgspec.Struct, frozen=True):
    name: str
    arguments: str


class Call(msgspec.Struct, frozen=True):
    id: str
    function: Function
    type: str = "function"


class Message(msgspec.Struct, frozen=True):
    """A whole answer; `content` is null where there are only tool calls."""

    content: str | None
    reasoning: str | msgspec.UnsetType = msgspec.UNSET
    reasoning_content: str | msgspec.UnsetType = msgspec.UNSET
    tool_calls: list[Call] | msgspec.UnsetType = msgspec.UNSET
    role: str = "assistant"
    refusal: None = None
    annotations: tuple[()] = ()


class Choice(msgspec.Struct, frozen=True):
    message: Message
    finish_reason: str
    index: int = 0
    logprobs: ChoiceLogprobs | msgspec.UnsetType = msgspec.UNSET


class Completion(msgspec.Struct, frozen=True):
    id: str
    object: str
    created: int
    model: str
    system_fingerprint: str
    choices: list[Choice]
    usage: Usage
