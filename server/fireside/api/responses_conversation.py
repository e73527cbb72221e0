"""The items of a response's input as the messages of a chat."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from fireside.api.chat_format import IncomingCall, IncomingFunction, IncomingMessage
from fireside.api.responses_items import CallItem, Item, MessageItem, ResultItem, ThoughtItem, text_of
from fireside.http.errors import BadRequest

_SYSTEM = ("system", "developer")


def messages_of(
    instructions: str | None, items: Sequence[Item], *, offset: int = 0, all_thoughts: bool = False
) -> list[IncomingMessage]:
    """The chat that items tell of; its first message has the instructions and the leading system texts.

    Thoughts go to the answer that they led to, for templates that show them, but only those after the last
    message of a user: what was thought in earlier turns is not replayed.

    Args:
        offset: so many items come from earlier responses, the rest is the body's `input`.
        all_thoughts: replay those of earlier turns too.

    Raises:
        BadRequest: a call's arguments are no object, or a result is of no call.
    """
    start = next((i for i, item in enumerate(items) if not _is_system(item)), len(items))
    leading = [text_of(item.content) for item in items[:start] if isinstance(item, MessageItem)]
    system = "\n\n".join(text for text in (instructions, *leading) if text)
    current = 0 if all_thoughts else _current_turn(items)
    chat = _Chat([IncomingMessage("system", system)] if system else [])
    for index, item in enumerate(items[start:], start):
        path = f"input[{index - offset}]"
        match item:
            case MessageItem():
                chat.message(item)
            case CallItem():
                chat.call(path, item)
            case ResultItem():
                chat.result(path, item)
            case ThoughtItem():
                if index >= current:
                    chat.thought(item)
    chat.close()
    return chat.messages


def _is_system(item: Item) -> bool:
    return isinstance(item, MessageItem) and item.role in _SYSTEM


def _current_turn(items: Sequence[Item]) -> int:
    """Where the last message of a user is."""
    users = (i for i, item in enumerate(items) if isinstance(item, MessageItem) and item.role == "user")
    return max(users, default=0)


@dataclass
class _Answer:
    """An assistant's message that may still get calls."""

    reasoning: str = ""
    content: list[str] = field(default_factory=list[str])
    calls: list[IncomingCall] = field(default_factory=list[IncomingCall])


class _Chat:
    """Messages, made of items one after the other."""

    def __init__(self, messages: list[IncomingMessage]) -> None:
        self.messages = messages
        self._names: dict[str, str] = {}
        """Of the functions called, by the call's id."""
        self._thoughts: list[str] = []
        self._answer: _Answer | None = None

    def message(self, item: MessageItem) -> None:
        text = text_of(item.content)
        if item.role != "assistant":
            self.close()
            self.messages.append(IncomingMessage(item.role, text))
        elif self._answer is not None and self._answer.calls:
            # Between a call and its result templates want no other message.
            self._answer.content.append(text)
        else:
            self.close()
            self._begin().content.append(text)

    def call(self, path: str, item: CallItem) -> None:
        answer = self._answer or self._begin()
        function = IncomingFunction(item.name, _arguments(path, item))
        answer.calls.append(IncomingCall(function, item.call_id))
        self._names[item.call_id] = item.name

    def result(self, path: str, item: ResultItem) -> None:
        self.close()
        if item.call_id not in self._names:
            raise BadRequest(
                f"{path}.call_id: there is no function_call with call_id {item.call_id!r} before it. Send "
                "the call too, or the previous_response_id of the response that made it.",
                param=f"{path}.call_id",
            )
        name = self._names[item.call_id]
        self.messages.append(
            IncomingMessage("tool", text_of(item.output), tool_call_id=item.call_id, name=name)
        )

    def thought(self, item: ThoughtItem) -> None:
        self.close()
        self._thoughts += [part.text for part in item.content or item.summary]

    def close(self) -> None:
        """No more calls come for the last answer."""
        if self._answer is not None:
            answer, self._answer = self._answer, None
            self.messages.append(
                IncomingMessage(
                    "assistant",
                    "".join(answer.content),
                    tool_calls=answer.calls or None,
                    reasoning=answer.reasoning or None,
                )
            )

    def _begin(self) -> _Answer:
        thoughts, self._thoughts = "\n\n".join(self._thoughts), []
        self._answer = _Answer(thoughts)
        return self._answer


def _arguments(path: str, call: CallItem) -> str:
    """A call's arguments, a JSON object. What a call has that was cut off is kept under a name of its own."""
    try:
        whole = not call.arguments.strip() or isinstance(json.loads(call.arguments), dict)
    except (ValueError, RecursionError):
        whole = False
    if whole:
        return call.arguments
    if call.status == "incomplete":
        return json.dumps({"_raw": call.arguments}, ensure_ascii=False)
    raise BadRequest(
        f"{path}.arguments: the arguments of the call of {call.name!r} must be the JSON text of an object.",
        param=f"{path}.arguments",
    )
