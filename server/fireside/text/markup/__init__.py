"""One answer's markup: reasoning, content and tool calls out of the decoded text."""

from fireside.text.markup.answer import AnswerParser
from fireside.text.markup.events import (
    CallArguments,
    CallFinished,
    CallStarted,
    ContentText,
    MarkupEvent,
    Outcome,
    ReasoningText,
    merged,
)
from fireside.text.markup.spec import READERS, CallFormat, MarkupSpec

__all__ = [
    "READERS",
    "AnswerParser",
    "CallArguments",
    "CallFinished",
    "CallFormat",
    "CallStarted",
    "ContentText",
    "MarkupEvent",
    "MarkupSpec",
    "Outcome",
    "ReasoningText",
    "merged",
]
