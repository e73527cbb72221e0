"""The shapes of `/v1/completions`, in OpenAI's format; logprobs and usage are the chat route's."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fireside.api.answer_fields import AnswerFields
from fireside.api.chat_format import MAX_ANSWERS, ChoiceLogprobs, Progress, Usage


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
    """A whole answer, or a chunk of a stream: the shape is the same.

    `usage` is null where a stream's usage was asked for and comes later.
    """

    id: str
    object: str
    created: int
    model: str
    system_fingerprint: str
    choices: list[Choice]
    usage: Usage | msgspec.UnsetType | None = msgspec.UNSET
    fireside: Progress | None = None
