"""A conversation as chat templates know it, whatever protocol it came by."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class FunctionCall:
    """A tool call of an earlier answer; `arguments` as parsed."""

    name: str
    arguments: dict[str, Any]
    id: str = ""


@dataclass(frozen=True)
class ChatMessage:
    """One message.

    Attributes:
        role: system, user, assistant or tool; a developer is a system to templates.
        content: "" where there is none.
        reasoning: what an assistant thought before it.
        call_id: of the call that a tool message answers; `name` is the tool's.
    """

    role: str
    content: str
    reasoning: str = ""
    calls: tuple[FunctionCall, ...] = field(default=())
    call_id: str | None = None
    name: str | None = None

    def as_dict(self, *, arguments_as_text: bool = False) -> dict[str, Any]:
        """The message in the form that templates are written for; arguments are a mapping, or JSON text."""
        message: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": _json(call.arguments) if arguments_as_text else call.arguments,
                    },
                }
                for call in self.calls
            ]
        if self.call_id is not None:
            message["tool_call_id"] = self.call_id
        if self.name is not None:
            message["name"] = self.name
        return message


def _json(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def one_system(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """All system messages as one at the start, their texts in order."""
    system, others = _apart(messages)
    return [ChatMessage("system", system), *others] if system else others


def no_system(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """The system texts in front of the first user's, and neighbours of one role joined."""
    system, others = _apart(messages)
    if system:
        first = next((i for i, message in enumerate(others) if message.role == "user"), None)
        if first is None:
            others.insert(0, ChatMessage("user", system))
        else:
            others[first] = replace(others[first], content=f"{system}\n\n{others[first].content}".strip())
    return list(_joined(others))


def _apart(messages: Iterable[ChatMessage]) -> tuple[str, list[ChatMessage]]:
    texts: list[str] = []
    others: list[ChatMessage] = []
    for message in messages:
        if message.role == "system":
            texts.append(message.content)
        else:
            others.append(message)
    return "\n\n".join(text for text in texts if text), others


def _joined(messages: Iterable[ChatMessage]) -> Iterator[ChatMessage]:
    last: ChatMessage | None = None
    for message in messages:
        if last is not None and _can_join(last, message):
            last = replace(last, content=f"{last.content}\n\n{message.content}".strip())
            continue
        if last is not None:
            yield last
        last = message
    if last is not None:
        yield last


def _can_join(one: ChatMessage, other: ChatMessage) -> bool:
    return one.role == other.role and one.role != "tool" and not (one.calls or other.calls or other.reasoning)
