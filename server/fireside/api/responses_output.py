"""The output items of a response as they grow, and the events that tell of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from fireside.api.responses_format import (
    FunctionCallItem,
    ItemStatus,
    OutputItem,
    OutputMessage,
    OutputText,
    ReasoningItem,
    SummaryText,
    TokenEntry,
)
from fireside.api.responses_items import new_id
from fireside.text.markup import (
    CallArguments,
    CallFinished,
    CallStarted,
    ContentText,
    MarkupEvent,
    Outcome,
    ReasoningText,
)

Event = tuple[str, dict[str, Any]]
"""Its type, and its other fields but for the sequence number."""


class OutputItems:
    """All output of one response. Text of one kind in a row is one item, and every call is one."""

    def __init__(self) -> None:
        self._items: list[_Message | _Thoughts | _Call] = []
        self._text: _Message | _Thoughts | None = None
        self._calls: dict[int, _Call] = {}

    @property
    def items(self) -> list[OutputItem]:
        """The items as far as they came; one that is not complete is incomplete."""
        return [item.so_far() for item in self._items]

    @property
    def reasoning(self) -> str:
        """All thoughts."""
        return "".join(item.text for item in self._items if isinstance(item, _Thoughts))

    @property
    def in_message(self) -> bool:
        """Whether text that comes next goes on with a message."""
        return isinstance(self._text, _Message)

    def add(self, piece: MarkupEvent, logprobs: Sequence[TokenEntry] = ()) -> list[Event]:
        """Take the next piece of the answer.

        Args:
            logprobs: of the tokens that it consists of, if it is text.
        """
        match piece:
            case ReasoningText(text):
                events, thoughts = self._open(_Thoughts)
                return [*events, *thoughts.add(text)]
            case ContentText(text):
                events, message = self._open(_Message)
                return [*events, *message.add(text, logprobs)]
            case CallStarted(index, call_id, name):
                closed = self._close()
                call = self._calls[index] = _Call(len(self._items), call_id, name)
                self._items.append(call)
                return [*closed, *call.begin()]
            case CallArguments(index, fragment):
                return self._calls[index].add(fragment)
            case CallFinished(index, outcome):
                whole = outcome is Outcome.COMPLETE
                return self._calls.pop(index).end("completed" if whole else "incomplete")

    def close(self, *, cut_off: bool) -> list[Event]:
        """The answer is over. An empty one is a message without text."""
        events = [] if self._items else self._open(_Message)[0]
        return [*events, *self._close("incomplete" if cut_off else "completed")]

    def _open(self, kind: type[T]) -> tuple[list[Event], T]:
        """The item that the next text goes to, with the events up to it."""
        if isinstance(self._text, kind):
            return [], self._text
        closed = self._close()
        item = kind(len(self._items))
        self._text = item
        self._items.append(item)
        return [*closed, *item.begin()], item

    def _close(self, status: ItemStatus = "completed") -> list[Event]:
        item, self._text = self._text, None
        return [] if item is None else item.end(status)


class _Message:
    def __init__(self, index: int) -> None:
        self.index = index
        self.id = new_id("msg")
        self._place = {"item_id": self.id, "output_index": index, "content_index": 0}
        self._pieces: list[str] = []
        self._logprobs: list[TokenEntry] = []
        self._status: ItemStatus = "incomplete"

    def so_far(self) -> OutputMessage:
        return OutputMessage(self.id, self._status, [self._part()])

    def begin(self) -> list[Event]:
        return [
            _added(self.index, OutputMessage(self.id, "in_progress", [])),
            ("response.content_part.added", {**self._place, "part": OutputText("")}),
        ]

    def add(self, text: str, logprobs: Sequence[TokenEntry]) -> list[Event]:
        self._pieces.append(text)
        self._logprobs += logprobs
        return [("response.output_text.delta", {**self._place, "delta": text, "logprobs": logprobs})]

    def end(self, status: ItemStatus) -> list[Event]:
        self._status = status
        part = self._part()
        done = {**self._place, "text": part.text, "logprobs": part.logprobs}
        return [
            ("response.output_text.done", done),
            ("response.content_part.done", {**self._place, "part": part}),
            _done(self.index, self.so_far()),
        ]

    def _part(self) -> OutputText:
        return OutputText("".join(self._pieces), self._logprobs)


class _Thoughts:
    def __init__(self, index: int) -> None:
        self.index = index
        self.id = new_id("rs")
        self._place = {"item_id": self.id, "output_index": index, "summary_index": 0}
        self._pieces: list[str] = []
        self._status: ItemStatus = "incomplete"

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def so_far(self) -> ReasoningItem:
        return ReasoningItem(self.id, self._status, [SummaryText(self.text)])

    def begin(self) -> list[Event]:
        return [
            _added(self.index, ReasoningItem(self.id, "in_progress", [])),
            ("response.reasoning_summary_part.added", {**self._place, "part": SummaryText("")}),
        ]

    def add(self, text: str) -> list[Event]:
        self._pieces.append(text)
        return [("response.reasoning_summary_text.delta", {**self._place, "delta": text})]

    def end(self, status: ItemStatus) -> list[Event]:
        self._status = status
        part = {**self._place, "part": SummaryText(self.text)}
        if status == "incomplete":
            part["status"] = status
        return [
            ("response.reasoning_summary_text.done", {**self._place, "text": self.text}),
            ("response.reasoning_summary_part.done", part),
            _done(self.index, self.so_far()),
        ]


T = TypeVar("T", _Message, _Thoughts)


class _Call:
    def __init__(self, index: int, call_id: str, name: str) -> None:
        self.index = index
        self.id = new_id("fc")
        self._place = {"item_id": self.id, "output_index": index}
        self._call_id = call_id
        self._name = name
        self._fragments: list[str] = []
        self._status: ItemStatus = "incomplete"

    def so_far(self) -> FunctionCallItem:
        return self._item(self._status)

    def begin(self) -> list[Event]:
        return [_added(self.index, self._item("in_progress"))]

    def add(self, fragment: str) -> list[Event]:
        self._fragments.append(fragment)
        return [("response.function_call_arguments.delta", {**self._place, "delta": fragment})]

    def end(self, status: ItemStatus) -> list[Event]:
        self._status = status
        item = self.so_far()
        done = {**self._place, "arguments": item.arguments}
        return [("response.function_call_arguments.done", done), _done(self.index, item)]

    def _item(self, status: ItemStatus) -> FunctionCallItem:
        return FunctionCallItem(self.id, status, self._call_id, self._name, "".join(self._fragments))


def _added(index: int, item: OutputItem) -> Event:
    return "response.output_item.added", {"output_index": index, "item": item}


def _done(index: int, item: OutputItem) -> Event:
    return "response.output_item.done", {"output_index": index, "item": item}
