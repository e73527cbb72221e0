"""What one answer consists of, in the order in which it was written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a tool call ended."""

    COMPLETE = "complete"
    """Its arguments are whole: the fragments together are one JSON object."""
    TRUNCATED = "truncated"
    """The answer was cut off inside it."""
    MALFORMED = "malformed"
    """The model broke the format after the name was out."""


@dataclass(frozen=True)
class ReasoningText:
    """A piece of the model's thinking; never empty."""

    text: str


@dataclass(frozen=True)
class ContentText:
    """A piece of the answer proper; never empty."""

    text: str


@dataclass(frozen=True)
class CallStarted:
    """A tool call whose name is certain.

    Attributes:
        index: 0 for the answer's first call, rising by one.
        id: `call_` and 24 hexadecimal digits.
    """

    index: int
    id: str
    name: str


@dataclass(frozen=True)
class CallArguments:
    """A piece of the JSON text of a call's arguments; never empty."""

    index: int
    fragment: str


@dataclass(frozen=True)
class CallFinished:
    """The end of the call with this index. Every started call has exactly one."""

    index: int
    outcome: Outcome


MarkupEvent = ReasoningText | ContentText | CallStarted | CallArguments | CallFinished


def merged(events: Iterable[MarkupEvent]) -> list[MarkupEvent]:
    """The same events with neighbouring pieces of one text, or of one call's arguments, made one."""
    runs: list[tuple[MarkupEvent, list[str]]] = []
    for event in events:
        match event, runs[-1][0] if runs else None:
            case (ReasoningText(text), ReasoningText()) | (ContentText(text), ContentText()):
                runs[-1][1].append(text)
            case CallArguments(index, fragment), CallArguments(last) if index == last:
                runs[-1][1].append(fragment)
            case _:
                runs.append((event, [_piece(event)]))
    return [_with_piece(event, "".join(pieces)) for event, pieces in runs]


def _piece(event: MarkupEvent) -> str:
    match event:
        case ReasoningText(text) | ContentText(text):
            return text
        case CallArguments(_, fragment):
            return fragment
        case _:
            return ""


def _with_piece(event: MarkupEvent, piece: str) -> MarkupEvent:
    match event:
        case ReasoningText():
            return ReasoningText(piece)
        case ContentText():
            return ContentText(piece)
        case CallArguments(index):
            return CallArguments(index, piece)
        case _:
            return event
