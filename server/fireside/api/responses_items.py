"""The items of a response's input: read, completed with ids, and put together from earlier responses."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from fireside.api.responses_format import ItemStatus, SummaryText
from fireside.http.errors import BadRequest, NotFound
from fireside.http.validation import decode

T = TypeVar("T")

_TEXT_PARTS = frozenset({"input_text", "output_text", "text"})


class WithId(msgspec.Struct, frozen=True):
    """Any item that is kept, where its id is all that counts."""

    id: str


class TextPart(msgspec.Struct, frozen=True):
    """A piece of a message of a user, a system or a developer, or of a call's result."""

    text: str
    type: Literal["input_text"] = "input_text"


class AnswerPart(msgspec.Struct, frozen=True):
    """A piece of an assistant's message."""

    text: str
    annotations: list[Any] = []
    logprobs: list[Any] = []
    type: Literal["output_text"] = "output_text"


class RefusalPart(msgspec.Struct, frozen=True):
    """An assistant's refusal, as other servers' models give it."""

    refusal: str
    type: Literal["refusal"] = "refusal"


Part = TextPart | AnswerPart | RefusalPart


class MessageItem(msgspec.Struct, frozen=True):
    id: str
    role: Literal["user", "assistant", "system", "developer"]
    content: Sequence[Part]
    status: ItemStatus = "completed"
    type: Literal["message"] = "message"


class CallItem(msgspec.Struct, frozen=True):
    id: str
    call_id: str
    name: str
    arguments: str
    status: ItemStatus = "completed"
    type: Literal["function_call"] = "function_call"


class ResultItem(msgspec.Struct, frozen=True):
    id: str
    call_id: str
    output: str | Sequence[Part]
    status: ItemStatus = "completed"
    type: Literal["function_call_output"] = "function_call_output"


class ReasoningText(msgspec.Struct, frozen=True):
    text: str
    type: Literal["reasoning_text"] = "reasoning_text"


class ThoughtItem(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    summary: list[SummaryText]
    content: list[ReasoningText] | None = None
    type: str = msgspec.field(default_factory=lambda: "reasoning")
    """Not a plain default, which would be omitted."""


Item = MessageItem | CallItem | ResultItem | ThoughtItem


class _Head(msgspec.Struct, frozen=True):
    type: str | None = None
    role: str | None = None
    id: str | None = None


class _Message(msgspec.Struct, frozen=True):
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[dict[str, Any]]
    id: str | None = None
    status: ItemStatus | None = None


class _Call(msgspec.Struct, frozen=True):
    call_id: str
    name: str
    arguments: str
    id: str | None = None
    status: ItemStatus | None = None


class _Result(msgspec.Struct, frozen=True):
    call_id: str
    output: str | list[dict[str, Any]]
    id: str | None = None
    status: ItemStatus | None = None


class _Thought(msgspec.Struct, frozen=True):
    summary: list[SummaryText] = []
    content: list[ReasoningText] | None = None
    id: str | None = None


def new_id(prefix: str) -> str:
    """An id that nobody can guess."""
    return f"{prefix}_{secrets.token_hex(24)}"


def decode_at(path: str, raw: msgspec.Raw, kind: type[T]) -> T:
    """A part of the body as a value.

    Raises:
        BadRequest: it is none; `param` leads to what is wrong.
    """
    try:
        return decode(bytes(raw), kind)
    except BadRequest as error:
        inner = error.param
        text = f"{path}.{error}" if inner else f"{path}: {error}"
        raise BadRequest(text, param=f"{path}.{inner}" if inner else path) from error


def items_of(
    given: str | Iterable[msgspec.Raw] | None, referred: Callable[[str], msgspec.Raw | None]
) -> list[Item]:
    """The input as items.

    Args:
        given: the body's `input`, or items that were kept.
        referred: finds the item that a reference means.

    Raises:
        BadRequest: an item is not what it must be, or of a kind that this model cannot read.
        NotFound: a reference leads nowhere.
    """
    if given is None:
        return []
    if isinstance(given, str):
        return [MessageItem(new_id("msg"), "user", [TextPart(given)])]
    return [_item(f"input[{index}]", raw, referred) for index, raw in enumerate(given)]


def _item(path: str, raw: msgspec.Raw, referred: Callable[[str], msgspec.Raw | None]) -> Item:
    head = decode_at(path, raw, _Head)
    match head.type or _implied(head):
        case "message":
            return _message(path, decode_at(path, raw, _Message))
        case "function_call":
            call = decode_at(path, raw, _Call)
            status = call.status or "completed"
            return CallItem(call.id or new_id("fc"), call.call_id, call.name, call.arguments, status)
        case "function_call_output":
            result = decode_at(path, raw, _Result)
            parts = result.output if isinstance(result.output, str) else _parts(path, "output", result.output)
            return ResultItem(result.id or new_id("fco"), result.call_id, parts)
        case "reasoning":
            thought = decode_at(path, raw, _Thought)
            return ThoughtItem(thought.id or new_id("rs"), thought.summary, thought.content)
        case "item_reference":
            found = referred(head.id or "")
            if found is None:
                raise NotFound(
                    f"{path}: there is no item {head.id!r} any more, or it was never stored. Send it whole.",
                    param=path,
                    code="item_not_found",
                )
            return _item(path, found, referred)
        case None:
            raise BadRequest(f"{path}: an item needs a type, or a role and content.", param=path)
        case other:
            raise BadRequest(
                f"{path}: items of type {other!r} cannot be read here; expected message, function_call, "
                "function_call_output, reasoning or item_reference.",
                param=path,
            )


def _implied(head: _Head) -> str | None:
    if head.role is not None:
        return "message"
    return None if head.id is None else "item_reference"


def _message(path: str, message: _Message) -> MessageItem:
    given, answer = message.content, message.role == "assistant"
    texts = [TextPart(given)] if isinstance(given, str) else _parts(path, "content", given)
    parts = [AnswerPart(part.text) if answer and isinstance(part, TextPart) else part for part in texts]
    return MessageItem(message.id or new_id("msg"), message.role, parts, message.status or "completed")


def _parts(path: str, field: str, parts: Sequence[dict[str, Any]]) -> list[TextPart | RefusalPart]:
    return [_part(f"{path}.{field}[{index}]", part) for index, part in enumerate(parts)]


def _part(path: str, part: dict[str, Any]) -> TextPart | RefusalPart:
    kind, text, refusal = part.get("type"), part.get("text"), part.get("refusal")
    if kind in _TEXT_PARTS and isinstance(text, str):
        return TextPart(text)
    if kind == "refusal" and isinstance(refusal, str):
        return RefusalPart(refusal)
    if kind in _TEXT_PARTS or kind == "refusal":
        raise BadRequest(f"{path}: a part of type {kind!r} needs its text, a string.", param=path)
    raise BadRequest(f"{path}: this model reads text only; the part is of type {kind!r}.", param=path)


def text_of(content: str | Sequence[Part]) -> str:
    """The text of a message or of a result, its parts joined."""
    if isinstance(content, str):
        return content
    return "".join(part.refusal if isinstance(part, RefusalPart) else part.text for part in content)
