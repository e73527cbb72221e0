"""What a body says of an answer, on every route that makes one."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fireside.api.sampling import SamplingFields
from fireside.engine.requests import Priority
from fireside.http.errors import Forbidden

PriorityName = Literal["interactive", "normal", "background"]
"""`interactive` takes the place of a background request; only Fireside's own page may ask for it."""


class StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool = False


class AnswerFields(SamplingFields, frozen=True, kw_only=True):
    """The fields that OpenAI's routes for text have in common, and ours on both."""

    model: str | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    stop: str | list[str] | None = None
    top_logprobs: Annotated[int, Meta(ge=-1, le=11)] | None = None
    return_progress: bool = False
    priority: PriorityName | None = None
    deadline_s: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    """Seconds after which the request ends with 504 `deadline_exceeded`, wherever it is."""

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with a chunk for the usage."""
        return self.stream_options is not None and self.stream_options.include_usage

    @property
    def answer_tokens(self) -> int | None:
        """How long the answer may get; None where nothing is said."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def stops(self) -> list[str]:
        """The texts that end the answer."""
        return [self.stop] if isinstance(self.stop, str) else self.stop or []

    def likeliest(self, logprobs: bool | None) -> int | None:
        """How many of the likeliest tokens each token comes with; None: no logprobs.

        `top_logprobs` above 0 asks for logprobs by itself, as in mlx-lm's server.
        """
        count = max(0, self.top_logprobs or 0)
        return count if logprobs or count else None

    def priority_for(self, own: bool) -> Priority:
        """The priority.

        Args:
            own: the request is Fireside's own.

        Raises:
            Forbidden: a foreign request wants to be interactive.
        """
        if self.priority == "interactive" and not own:
            raise Forbidden(
                "priority: only Fireside's own page is interactive. "
                "Leave it out, or say normal or background.",
                param="priority",
                code="priority_not_allowed",
            )
        return Priority[(self.priority or "normal").upper()]
