"""ChatGPT's `conversations.json`: a list of chats, each a tree of nodes, many of them without a message.

A turn of a reasoning model with tools is a chain there: thoughts, a message to a tool, the tool's message,
the answer. Here the thoughts belong to what follows them, and the tool's output to the call.
"""

from dataclasses import dataclass, replace
from typing import Any

import msgspec

from fireside_agent.export.foreign import (
    ForeignChat,
    as_list,
    as_object,
    as_time,
    decode_as,
    new_document,
    parents_first,
)
from fireside_agent.export.json_format import Document
from fireside_agent.export.records import MessageRecord
from fireside_agent.messages import Receipt, ToolCall

PROGRAM = "ChatGPT"

_UNSEEN = frozenset({"reasoning_recap", "model_editable_context"})
_NO_RESULT = "ChatGPT's export has no result."


class Author(msgspec.Struct, frozen=True):
    role: str
    name: str | None = None


class GptMessage(msgspec.Struct, frozen=True):
    author: Author
    content: dict[str, Any]
    create_time: float | None = None
    metadata: dict[str, Any] | None = None
    recipient: str | None = "all"
    status: str | None = None


class Node(msgspec.Struct, frozen=True):
    message: GptMessage | None = None
    parent: str | None = None
    children: list[str] = []


class Conversation(msgspec.Struct, frozen=True):
    mapping: dict[str, Node]
    title: str | None = None
    create_time: float | None = None
    update_time: float | None = None
    current_node: str | None = None
    default_model_slug: str | None = None
    is_archived: bool | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a node's children go on: after which of our messages, with which thoughts not yet told."""

    message_id: str | None = None
    thoughts: str = ""


def read(data: "bytes | msgspec.Raw") -> ForeignChat:
    """One chat of the list.

    Raises:
        SkippedError: it holds nothing, or is not as ChatGPT writes it.
    """
    conversation: Conversation = decode_as(data, Conversation, PROGRAM)
    return ForeignChat(_Reader(conversation).document())


class _Reader:
    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._created_at = as_time(conversation.create_time, 0.0)
        self._messages: dict[str, MessageRecord] = {}
        self._places: dict[str, _Place] = {}
        self._instructions = ""

    def document(self) -> Document:
        conversation = self._conversation
        mapping = conversation.mapping
        parents = {name: node.parent for name, node in mapping.items()}
        for name in parents_first(parents, {name: node.children for name, node in mapping.items()}):
            before = self._places.get(mapping[name].parent or "", _Place())
            self._places[name] = self._read(name, mapping[name], before)
        leaf = self._places.get(conversation.current_node or "", _Place()).message_id
        return new_document(
            conversation.title or "",
            self._created_at,
            as_time(conversation.update_time, self._created_at),
            list(self._messages.values()),
            leaf,
            self._instructions,
            {"archived": bool(conversation.is_archived)},
        )

    def _read(self, name: str, node: Node, before: _Place) -> _Place:
        message = node.message
        if message is None:
            return before
        kind = str(message.content.get("content_type", ""))
        role = message.author.role
        if role == "system" or kind == "user_editable_context":
            self._instructions = self._instructions or _text(message).strip()
            return before
        if kind in _UNSEEN:
            return before
        if kind == "thoughts":
            return self._think(name, node, message, before)
        if role == "tool":
            return self._take_result(name, message, before)
        text = _text(message)
        if role not in ("user", "assistant") or (not text.strip() and role == "assistant"):
            return before
        return self._add(name, message, before, text)

    def _think(self, name: str, node: Node, message: GptMessage, before: _Place) -> _Place:
        thoughts = "\n\n".join(part for part in (before.thoughts, _text(message)) if part.strip())
        if node.children:
            return replace(before, thoughts=thoughts)
        return self._add(name, message, replace(before, thoughts=thoughts), "")  # nothing came of it

    def _take_result(self, name: str, message: GptMessage, before: _Place) -> _Place:
        """A tool's message: the result of the call before it, or, without one, a call of its own."""
        text = _text(message)
        caller = self._messages.get(before.message_id or "")
        if caller is None:
            return before
        if caller.tools:
            call = caller.tools[-1]
            earlier = "" if call.result == _NO_RESULT else call.result
            result = "\n".join(part for part in (earlier, text) if part)
            tools = [*caller.tools[:-1], msgspec.structs.replace(call, result=result or _NO_RESULT)]
        elif text.strip() and caller.role == "assistant":
            tools = [_call(name, message.author.name or "tool", "", text)]
        else:
            return before
        self._messages[caller.id] = msgspec.structs.replace(caller, tools=tools)
        return before

    def _add(self, name: str, message: GptMessage, before: _Place, text: str) -> _Place:
        role = "user" if message.author.role == "user" else "assistant"
        parent = self._messages.get(before.message_id or "")
        created_at = as_time(message.create_time, parent.created_at if parent else self._created_at)
        metadata = message.metadata or {}
        slug = metadata.get("model_slug") or self._conversation.default_model_slug or ""
        addressee = message.recipient or "all"
        to_tool = role == "assistant" and addressee != "all"
        self._messages[name] = MessageRecord(
            id=name,
            parent_id=before.message_id,
            role=role,
            status="aborted" if message.status == "in_progress" else "done",
            text="" if to_tool else text,
            created_at=created_at,
            modified_at=created_at,
            reasoning=before.thoughts if role == "assistant" else "",
            tools=[_call(name, addressee, text, _NO_RESULT)] if to_tool else [],
            receipt=Receipt(model=str(slug)) if role == "assistant" and slug else None,
        )
        return _Place(name)


def _call(name: str, tool: str, text: str, result: str) -> ToolCall:
    return ToolCall(
        call_id=name, name=tool, arguments=_as_arguments(text), status="done", source=PROGRAM, result=result
    )


def _as_arguments(text: str) -> str:
    """Arguments are a JSON object here; ChatGPT's tools often take plain code."""
    try:
        msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return msgspec.json.encode({"code": text} if text else {}).decode()
    return text


def _text(message: GptMessage) -> str:
    """A message's content as Markdown."""
    content = message.content
    match content.get("content_type"):
        case "text" | "multimodal_text":
            parts = [_part(part) for part in as_list(content.get("parts"))]
            files = [_file(file) for file in as_list((message.metadata or {}).get("attachments"))]
            return "\n\n".join(text for text in (*parts, *files) if text)
        case "thoughts":
            thoughts = [as_object(thought) for thought in as_list(content.get("thoughts"))]
            told = ((thought.get("summary"), thought.get("content")) for thought in thoughts)
            return "\n\n".join(str(text) for pair in told for text in pair if text)
        case "user_editable_context":
            both = (content.get("user_profile"), content.get("user_instructions"))
            return "\n\n".join(str(text) for text in both if text)
        case _:
            return next(
                (str(content[name]) for name in ("text", "result", "content") if content.get(name)), ""
            )


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    fields = as_object(part)
    if fields.get("text"):
        return str(fields["text"])
    kind = str(fields.get("content_type", "file")).split("_")[0]
    return f"*[{kind}: not in ChatGPT's export]*"


def _file(file: object) -> str:
    return f"*[file: {as_object(file).get('name', '')}, not in ChatGPT's export]*"
