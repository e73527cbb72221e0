"""The shapes of `/v1/completions`, in OpenAI's format; logprobs and usage are the chat route's."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fireside.api.answer_fields import AnswerFields
from fireside.api.chat_format import ChoiceLogprobs, Progress, Usage

MAX_ANSWERS = 128
"""To one request, over all its prompts."""


class CompletionBody(AnswerFields, frozen=True, kw_only=True):
    """What of the request body is acted upon.

    Attributes:
        logprobs: true or false, as mlx-lm's server has it; OpenAI's number is `top_logprobs` here.
    """

    prompt: str | list[str | int | list[int]]
    n: Annotated[int, Meta(ge=1, le=MAX_ANSWERS)] | None = None
    best_of: int | None = None
    echo: bool | None = None
    suffix: str | None = None
    logprobs: Any = None


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
