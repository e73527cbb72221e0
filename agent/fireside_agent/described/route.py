"""How a route is described: as data, for whoever makes a description of all routes out of it."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Parameter:
    """A parameter; those in a path are named in it, all others are of the query."""

    name: str
    summary: str
    type: Any = str
    required: bool = False


@dataclass(frozen=True)
class Route:
    """One method of one path.

    Attributes:
        path: with parameters in braces.
        body: the type that the body is decoded to; None where there is none, or none of JSON.
        body_types: media types that the body may have beside JSON, or instead of it.
        answer: the type of the answer's JSON; None where there is none.
        answer_types: media types of an answer that is not JSON.
        status: of an answer that is no error.
        errors: statuses that come with the usual error, beyond those of a wrong body.
    """

    method: Literal["GET", "POST", "PUT", "DELETE", "PATCH"]
    path: str
    tag: str
    summary: str
    answer: Any = None
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    body_required: bool = True
    body_types: tuple[str, ...] = ()
    answer_types: tuple[str, ...] = ()
    status: int = 200
    errors: tuple[int, ...] = ()
