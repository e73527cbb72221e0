"""What the readers of other programs' exports share."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from fireside_agent.attachments.store import CheckedFile
from fireside_agent.errors import AgentError
from fireside_agent.export.json_format import Document, find_circle
from fireside_agent.export.records import YEAR_10000, MessageRecord, SessionRecord
from fireside_agent.messages import SessionSettings
from fireside_agent.store.sessions import make_title

_MILLISECONDS = 1e11
"""A time beyond this (the year 5138) is in milliseconds."""


class SkippedError(AgentError):
    """A chat that is left out, and why; the others of its file are imported."""


@dataclass(frozen=True, slots=True)
class ForeignChat:
    """A chat of another program in our terms, with the files that came inside it."""

    document: Document
    files: list[CheckedFile] = field(default_factory=list[CheckedFile])


def as_time(value: Any, otherwise: float) -> float:
    """A time in seconds since the epoch from seconds or milliseconds, or `otherwise` if it is neither."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return otherwise
    seconds = value / 1000 if value > _MILLISECONDS else float(value)
    return seconds if 0 <= seconds < YEAR_10000 else otherwise


def as_list(value: object) -> list[object]:
    """`value` if it is a list, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_object(value: object) -> dict[str, Any]:
    """`value` if it is a JSON object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def parents_first(parents: Mapping[str, str | None], children: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Every node after its parent, siblings in the order of `children`, others after those as they come.

    Raises:
        SkippedError: a node is its own ancestor.
    """
    if find_circle(dict(parents)) is not None:
        raise SkippedError("its messages follow each other in a circle")
    below: dict[str | None, dict[str, None]] = {}
    for parent in parents:
        below[parent] = {child: None for child in children.get(parent, ()) if parents.get(child) == parent}
    for node, parent in parents.items():
        below.setdefault(parent if parent in parents else None, {})[node] = None
    waiting = list(below.get(None, ()))[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(below[node]))


def new_document(
    title: str,
    created_at: float,
    modified_at: float,
    messages: list[MessageRecord],
    leaf_id: str | None,
    instructions: str = "",
    marks: Mapping[str, bool] | None = None,
) -> Document:
    """A chat in our terms. Its title is taken for the person's, so that no model gives it another.

    Raises:
        SkippedError: there are no messages.
    """
    if not messages:
        raise SkippedError("it has no messages")
    session = SessionRecord(
        id="imported",
        title=make_title(title),
        titled_by="person",
        created_at=created_at,
        modified_at=max(created_at, modified_at),
        leaf_id=leaf_id or messages[-1].id,
        settings=SessionSettings(instructions=instructions),
        pinned=bool(marks and marks.get("pinned")),
        archived=bool(marks and marks.get("archived")),
    )
    return Document(
        format="fireside-session",
        version=1,
        exported_at=0,
        session=session,
        messages=messages,
        summaries=[],
        attachments=[],
    )


def decode_as(data: "bytes | msgspec.Raw", kind: Any, program: str) -> Any:
    """`data` as `kind`.

    Raises:
        SkippedError: it is not what `program` writes.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise SkippedError(f"it is not as {program} writes it: {error}") from error
