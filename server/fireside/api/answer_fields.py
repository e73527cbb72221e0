"""What a body says of an answer, on every route that makes one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fireside.api.sampling import SamplingFields
from fireside.engine.owners import owner_of
from fireside.engine.requests import Priority
from fireside.http.errors import BadRequest, Forbidden

PriorityName = Literal["interactive", "normal", "background"]
"""`interactive` takes the place of a background request; only Fireside's own page may ask for it."""


Count = Annotated[int, Meta(ge=1, le=2**63 - 1)]


class StreamOptions(msgspec.Struct, frozen=True):
    """What a stream has besides the answer. Nothing is ever padded to hide its length."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class RequestFields(SamplingFields, frozen=True, kw_only=True):
    """The fields that all protocols have in common."""

    model: str | None = None
    stream: bool | None = None
    return_progress: bool | None = None
    priority: PriorityName | None = None
    deadline_s: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    """Seconds after which the request ends with 504 `deadline_exceeded`, wherever it is."""

    adapter: Any = None
    adapters: Any = None
    draft_model: str | None = None

    def refuse_missing_capabilities(self) -> None:
        """Refuse what no route can do yet.

        Raises:
            BadRequest: the field, by name.
        """
        for name in ("adapter", "adapters"):
            if getattr(self, name) is not None:
                raise BadRequest(f"{name}: adapters are not there yet; leave the field out.", param=name)
        # The name by which clients of mlx_lm.server ask for what the server was started with.
        if self.draft_model not in (None, "default_model"):
            raise BadRequest(
                "draft_model: draft models are not there yet; leave the field out.", param="draft_model"
            )

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


class AnswerFields(RequestFields, frozen=True, kw_only=True):
    """The fields that OpenAI's routes for text have in common, and ours on both.

    `user`, `metadata` and `safety_identifier` have no effect: they are notes of the client to a service that
    bills and watches. Nor have mlx_lm.server's `num_draft_tokens`, without a draft model, and `role_mapping`,
    with a chat template.
    """

    stream_options: StreamOptions | None = None
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    stop: str | list[str] | None = None
    top_logprobs: Annotated[int, Meta(ge=-1, le=11)] | None = None

    user: str | None = None
    metadata: dict[str, Any] | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    """Finds nothing sooner: it says under which name what is read can be forgotten."""
    prompt_cache_retention: Literal["in_memory", "in-memory", "24h"] | None = None
    """`in_memory`: nothing of prompt and answer goes to the SSD cache. OpenAI has had both spellings."""
    num_draft_tokens: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    role_mapping: dict[str, Any] | None = None

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with a chunk for the usage."""
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    @property
    def in_memory(self) -> bool:
        """Whether nothing of it may be put on the disk."""
        return self.prompt_cache_retention in ("in_memory", "in-memory")

    @property
    def owner(self) -> str:
        """What the engine knows `prompt_cache_key` by."""
        return owner_of(self.prompt_cache_key)

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
