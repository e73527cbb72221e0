"""How a route is described: as data, beside the types that its code reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Status = int | Literal["default"]
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a query, a path or a header.

    Attributes:
        type: anything that msgspec can describe; of a parameter in a path always a string.
        required: those in a path are by themselves.
    """

    name: str
    summary: str
    type: Any = str
    place: Literal["query", "path", "header"] = "query"
    required: bool = False


@dataclass(frozen=True)
class Answer:
    """What comes with one status.

    Attributes:
        summary: when it comes.
        type: of the JSON; None for what is not JSON, or has no body at all.
        media_types: other than JSON that the body may have.
        events: the JSON in the data of each event, where the answer may also be a stream of them.
        done: whether the stream ends with `[DONE]` instead.
        headers: the names of those of `openapi.HEADERS` that it may have.
    """

    summary: str
    type: Any = None
    media_types: tuple[str, ...] = ()
    events: Any = None
    done: bool = False
    headers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operation:
    """One method of one path.

    Attributes:
        path: as OpenAPI writes it, with parameters in braces.
        tag: the heading that it is under.
        description: more than the summary, in Markdown; may be empty.
        body: the type that the body is decoded to; None where there is none.
        body_required: whether an empty body is refused.
        media_types: that the body may have instead of JSON, or beside it where there is a `body`.
        example: of a body; must be right.
        answers: by status; those that are no errors, or `default` for whatever it may be.
        errors: statuses that come with an error as their body.
        error: the type of that body; None for the one that most routes have.
        model: asks the model, and so has the errors and headers of all that do.
        open: needs no key where keys are needed.
    """

    method: Method
    path: str
    tag: str
    summary: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    body_required: bool = True
    media_types: tuple[str, ...] = ()
    example: Any = None
    answers: Mapping[Status, Answer] = field(default_factory=dict[Status, Answer])
    errors: tuple[int, ...] = ()
    error: Any = None
    model: bool = False
    open: bool = False

    @property
    def takes_body(self) -> bool:
        return self.body is not None or bool(self.media_types)


class ForeignParameter(Protocol):
    """What is read of a parameter that somebody else describes."""

    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def type(self) -> Any: ...
    @property
    def required(self) -> bool: ...


class ForeignRoute(Protocol):
    """What is read of a route of somebody who does not know this package, as the agent does not."""

    @property
    def method(self) -> Method: ...
    @property
    def path(self) -> str: ...
    @property
    def tag(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def answer(self) -> Any: ...
    @property
    def parameters(self) -> Iterable[ForeignParameter]: ...
    @property
    def body(self) -> Any: ...
    @property
    def body_required(self) -> bool: ...
    @property
    def body_types(self) -> tuple[str, ...]: ...
    @property
    def answer_types(self) -> tuple[str, ...]: ...
    @property
    def status(self) -> int: ...
    @property
    def errors(self) -> tuple[int, ...]: ...


def operation_of(route: ForeignRoute) -> Operation:
    """A foreign route in our words."""
    return Operation(
        route.method,
        route.path,
        route.tag,
        route.summary,
        parameters=tuple(
            Parameter(
                each.name,
                each.summary,
                each.type,
                "path" if f"{{{each.name}}}" in route.path else "query",
                each.required,
            )
            for each in route.parameters
        ),
        body=route.body,
        body_required=route.body_required,
        media_types=route.body_types,
        answers={route.status: Answer("Done.", route.answer, route.answer_types)},
        errors=route.errors,
    )
