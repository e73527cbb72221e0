"""The shapes of `/v1/completions`, in OpenAI's format; logprobs and usage are the chat route's."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fireside.api.chat_format import ChoiceLogprobs, PriorityName, Progress, StreamOptions, Usage
from fireside.api.sampling import SamplingFields

MAX_ANSWERS = 128
"""To one request, over all its prompts."""


class CompletionBody(SamplingFields, frozen=True, kw_only=True):
    """What of the request body is acted upon.

    Attributes:
        logprobs: true or false, as mlx-lm's server has it; OpenAI's number is `top_logprobs` here.
    """

    prompt: str | list[str | int | list[int]]
    model: str | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    stop: str | list[str] | None = None
    n: Annotated[int, Meta(ge=1, le=MAX_ANSWERS)] | None = None
    best_of: int | None = None
    echo: bool | None = None
    suffix: str | None = None
    logprobs: Any = None
    top_logprobs: Annotated[int, Meta(ge=-1, le=11)] | None = None
    return_progress: bool = False
    priority: PriorityName | None = None


class Choice(msgspec.Struct, frozen=True):
    """One answer, or a piece of it."""

    index: int
    text: str
    finish_reason: str | None = None
    logprobs: ChoiceLogprobs | msgspec.UnsetType = msgspec.UNSET


class Completion(msgspec.Struct, frozen=True, omit_defaults=True):
    """A whole answer, or a chunk of a stream: the shape is the same."""

    id: str
    object: str
    created: int
    model: str
    choices: list[Choice]
    usage: Usage | None = None
    fireside: Progress | None = None
