"""The shapes of `/v1/chat/completions`, in OpenAI's format."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fireside.api.sampling import SamplingFields

Role = Literal["system", "developer", "user", "assistant", "tool"]


class StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool = False


class IncomingMessage(msgspec.Struct, frozen=True):
    """A message as clients send it; content is text, or parts of which the text ones count."""

    role: Role
    content: str | list[dict[str, Any]] | None = None


class ChatBody(SamplingFields, frozen=True, kw_only=True):
    """What of the request body is acted upon."""

    messages: Annotated[list[IncomingMessage], Meta(min_length=1)]
    model: str | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    stop: str | list[str] | None = None
    n: Literal[1] | None = None
    return_progress: bool = False


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


class Delta(msgspec.Struct, frozen=True, omit_defaults=True):
    role: str | None = None
    content: str | None = None


class ChunkChoice(msgspec.Struct, frozen=True):
    delta: Delta
    finish_reason: str | None = None
    index: int = 0


class Chunk(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    object: str
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: Usage | None = None
    fireside: Progress | None = None


class Message(msgspec.Struct, frozen=True):
    content: str
    role: str = "assistant"


class Choice(msgspec.Struct, frozen=True):
    message: Message
    finish_reason: str
    index: int = 0


class Completion(msgspec.Struct, frozen=True):
    id: str
    object: str
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
