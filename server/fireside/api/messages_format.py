"""The shapes of `/v1/messages`, in Anthropic's format."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fireside.api.answer_fields import RequestFields
from fireside.api.chat_format import FiresideUsage, Progress, ToolName


class Block(msgspec.Struct, frozen=True):
    """A piece of a message, of any type: which fields it has depends on `type`, and unknown ones are none."""

    type: str
    text: str | None = None
    thinking: str | None = None
    source: str | dict[str, Any] | None = None
    title: str | None = None
    context: str | None = None
    citations: Any = None
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    tool_use_id: str | None = None
    content: str | list[Block] | dict[str, Any] | None = None
    is_error: bool | None = None


class IncomingMessage(msgspec.Struct, frozen=True):
    role: Literal["user", "assistant", "system"]
    content: str | list[Block]


class IncomingTool(msgspec.Struct, frozen=True):
    """A tool; those that Anthropic's own servers run have a type and no schema."""

    name: ToolName | None = None
    input_schema: dict[str, Any] | None = None
    description: str | None = None
    type: str | None = None
    strict: bool | None = None


class IncomingToolChoice(msgspec.Struct, frozen=True):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class Thinking(msgspec.Struct, frozen=True):
    """Whether to think. `adaptive` leaves it to the model; what is `omitted` is thought but not sent."""

    type: Literal["enabled", "disabled", "adaptive"]
    budget_tokens: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    display: Literal["summarized", "omitted"] | None = None


class OutputFormat(msgspec.Struct, frozen=True):
    schema: dict[str, Any]
    type: Literal["json_schema"]


class OutputConfig(msgspec.Struct, frozen=True):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: OutputFormat | None = None


class ConversationBody(RequestFields, frozen=True, kw_only=True):
    """What of the body makes the prompt; the whole body of `/v1/messages/count_tokens`.

    `cache_control` (everywhere), `metadata`, `service_tier`, `inference_geo`, `speed`, `diagnostics` and
    `user_profile_id` have no effect: they are about Anthropic's service. All prompts are cached here.
    """

    messages: Annotated[list[IncomingMessage], Meta(min_length=1)]
    system: str | list[Block] | None = None
    tools: list[IncomingTool] | None = None
    tool_choice: IncomingToolChoice | None = None
    thinking: Thinking | None = None
    output_config: OutputConfig | None = None
    output_format: OutputFormat | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    container: Any = None
    mcp_servers: Any = None
    context_management: Any = None


class MessagesBody(ConversationBody, frozen=True, kw_only=True):
    """What of the request body is acted upon: Anthropic's fields, and ours as on the chat route."""

    max_tokens: Annotated[int, Meta(ge=1)]
    stop_sequences: list[Annotated[str, Meta(min_length=1)]] | None = None


class TextBlock(msgspec.Struct, tag="text"):
    text: str


class ThinkingBlock(msgspec.Struct, tag="thinking"):
    """Thoughts. Nothing needs to be signed here: the signature is always empty."""

    thinking: str
    signature: str = ""


class ToolUseBlock(msgspec.Struct, tag="tool_use"):
    id: str
    name: str
    input: dict[str, Any]


ContentBlock = TextBlock | ThinkingBlock | ToolUseBlock


class Usage(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Tokens. Those of the prompt are the input and both caches' together."""

    input_tokens: int
    cache_creation_input_tokens: int | None
    cache_read_input_tokens: int | None
    output_tokens: int
    lane: str | None = None
    fireside: FiresideUsage | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True, tag="message"):
    """A whole answer, or the frame of a streamed one."""

    id: str
    role: Literal["assistant"] = "assistant"
    model: str
    content: list[ContentBlock]
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage


class TokenCount(msgspec.Struct, frozen=True):
    input_tokens: int


class TextDelta(msgspec.Struct, frozen=True, tag="text_delta"):
    text: str


class ThinkingDelta(msgspec.Struct, frozen=True, tag="thinking_delta"):
    thinking: str


class SignatureDelta(msgspec.Struct, frozen=True, tag="signature_delta"):
    signature: str = ""


class InputJsonDelta(msgspec.Struct, frozen=True, tag="input_json_delta"):
    partial_json: str


Delta = TextDelta | ThinkingDelta | SignatureDelta | InputJsonDelta


class MessageStart(msgspec.Struct, frozen=True, tag="message_start"):
    message: Message


class BlockStart(msgspec.Struct, frozen=True, tag="content_block_start"):
    index: int
    content_block: ContentBlock


class BlockDelta(msgspec.Struct, frozen=True, tag="content_block_delta"):
    index: int
    delta: Delta


class BlockStop(msgspec.Struct, frozen=True, tag="content_block_stop"):
    index: int


class Ping(msgspec.Struct, frozen=True, omit_defaults=True, tag="ping"):
    """Means nothing, but that the answer is still being worked on; with `return_progress` how."""

    fireside: Progress | None = None


class Stop(msgspec.Struct, frozen=True):
    stop_reason: str
    stop_sequence: str | None = None


class MessageDelta(msgspec.Struct, frozen=True, tag="message_delta"):
    delta: Stop
    usage: Usage


class MessageStop(msgspec.Struct, frozen=True, tag="message_stop"):
    pass


BlockEvent = BlockStart | BlockDelta | BlockStop
Event = MessageStart | BlockEvent | Ping | MessageDelta | MessageStop
