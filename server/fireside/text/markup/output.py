"""Where the readers put what they found: text without the white space of markup, and calls."""

from __future__ import annotations

import re
import secrets
from enum import Enum, auto

from fireside.text.markup.events import (
    CallArguments,
    CallFinished,
    CallStarted,
    ContentText,
    MarkupEvent,
    Outcome,
    ReasoningText,
)
from fireside.text.markup.source import Malformed, Source

_NO_NAME = re.compile(r"\s*|.*[\x00-\x1f\ud800-\udfff].*", re.DOTALL)


class _Edge(Enum):
    """What was directly before the content that comes now, as long as that is only white space."""

    NONE = auto()
    BEGIN = auto()
    REASONING = auto()
    CALL = auto()


class Output:
    """The events of one answer.

    Templates put newlines around thinking and white space between calls. They belong to the markup: newlines
    at both ends of a thinking block and behind it are dropped, and so is white space that has only markup on
    both sides. Everything else goes through unchanged.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._events: list[MarkupEvent] = []
        self._edge = _Edge.BEGIN
        self._space: list[str] = []
        self._newlines: list[str] = []
        self._blank_reasoning = True
        self._only_content = True
        self._calls = 0
        self._open = False

    @property
    def call_open(self) -> bool:
        """Whether a call was started and is not finished."""
        return self._open

    @property
    def calls(self) -> int:
        """How many calls were started."""
        return self._calls

    @property
    def blank_reasoning(self) -> bool:
        """Whether the thinking block that is being read has said nothing yet."""
        return self._blank_reasoning

    def take(self) -> list[MarkupEvent]:
        """The events since the last time."""
        events, self._events = self._events, []
        return events

    def begin_reasoning(self) -> None:
        """A thinking block begins."""
        self._blank_reasoning = True
        self._newlines.clear()

    def end_reasoning(self) -> None:
        """A thinking block is over."""
        self._edge = _Edge.REASONING
        self._only_content = False

    def reasoning(self, text: str) -> None:
        """Thinking."""
        if self._blank_reasoning:
            text = text.lstrip("\n")
        said = text.rstrip("\n")
        if said:
            self._blank_reasoning = False
            self._only_content = False
            self._space.clear()
            self._events.append(ReasoningText("".join((*self._newlines, said))))
            self._newlines.clear()
        if len(said) < len(text):
            self._newlines.append(text[len(said) :])

    def content(self, text: str) -> None:
        """Text of the answer proper."""
        if not text:
            return
        if self._edge is not _Edge.NONE:
            if not text.strip():
                self._space.append(text)
                return
            text = "".join((*self._space, text))
            self._space.clear()
            if self._edge is _Edge.REASONING:
                text = text.lstrip("\n")
            self._edge = _Edge.NONE
        self._events.append(ContentText(text))

    def start_call(self, name: str) -> None:
        """A call's name is certain. From now on its text cannot become content any more.

        Raises:
            Malformed: the name is blank or contains control characters.
        """
        if _NO_NAME.fullmatch(name):
            raise Malformed(f"{name!r} is no tool's name")
        self._source.forget()
        self._space.clear()
        self._newlines.clear()
        self._open = True
        self._events.append(CallStarted(self._calls, f"call_{secrets.token_hex(12)}", name))
        self._calls += 1

    def arguments(self, fragment: str) -> None:
        """The next piece of the JSON text of the started call's arguments."""
        self._events.append(CallArguments(self._calls - 1, fragment))

    def finish_call(self, outcome: Outcome = Outcome.COMPLETE) -> None:
        """The started call is over. What follows can become content again, should it not be a call."""
        self._events.append(CallFinished(self._calls - 1, outcome))
        self._open = False
        self._only_content = False
        self._edge = _Edge.CALL
        self._source.record()

    def finish(self) -> None:
        """The answer is over."""
        if self._only_content and self._space:
            self._events.append(ContentText("".join(self._space)))
