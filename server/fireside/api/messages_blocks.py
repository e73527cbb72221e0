"""Anthropic's messages of blocks to a conversation as chat templates know it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fireside.api.messages_format import Block, IncomingMessage
from fireside.http.errors import BadRequest
from fireside.text.messages import ChatMessage, FunctionCall

_MEDIA = frozenset(("image", "audio", "input_audio", "video"))


def conversation_of(
    system: str | Sequence[Block] | None, messages: Iterable[IncomingMessage]
) -> list[ChatMessage]:
    """The conversation. Neighbours of one role become one message, and tool results stand before texts.

    Thoughts stay with the turn that is still going on; those of turns before the last question are dropped.

    Raises:
        BadRequest: a block cannot be read by a text model, or stands where it may not; `param` is its place.
    """
    turns = list(_turns(messages))
    last_question = max((i for i, turn in enumerate(turns) if turn.role == "user" and turn.texts), default=-1)
    conversation: list[ChatMessage] = []
    if text := _plain("system", system):
        conversation.append(ChatMessage("system", text))
    names: dict[str, str] = {}
    for number, turn in enumerate(turns):
        if turn.role == "assistant":
            names |= {call.id: call.name for call in turn.calls}
            reasoning = "\n\n".join(turn.thoughts) if number > last_question else ""
            conversation.append(
                ChatMessage("assistant", "\n\n".join(turn.texts), reasoning, calls=tuple(turn.calls))
            )
            continue
        conversation += [
            ChatMessage("tool", result.text, call_id=result.call_id, name=names.get(result.call_id))
            for result in turn.results
        ]
        if turn.texts or not turn.results:
            conversation.append(ChatMessage(turn.role, "\n\n".join(turn.texts)))
    return conversation


@dataclass(frozen=True)
class _Result:
    call_id: str
    text: str


@dataclass
class _Turn:
    """What one role says before the other does."""

    role: str
    texts: list[str] = field(default_factory=list[str])
    results: list[_Result] = field(default_factory=list[_Result])
    calls: list[FunctionCall] = field(default_factory=list[FunctionCall])
    thoughts: list[str] = field(default_factory=list[str])


def _turns(messages: Iterable[IncomingMessage]) -> Iterator[_Turn]:
    turn: _Turn | None = None
    for index, message in enumerate(messages):
        if turn is None or turn.role != message.role:
            if turn is not None:
                yield turn
            turn = _Turn(message.role)
        _add(turn, message, f"messages[{index}].content")
    if turn is not None:
        yield turn


def _add(turn: _Turn, message: IncomingMessage, place: str) -> None:
    if isinstance(message.content, str):
        texts = [message.content]
    else:
        texts: list[str] = []
        for number, block in enumerate(message.content):
            texts += _texts(turn, block, f"{place}[{number}]")
    # The texts of one answer are pieces of it, whatever stood between them; those of a question are not.
    pieces = ["".join(texts)] if message.role == "assistant" else texts
    turn.texts += [piece for piece in pieces if piece]


def _texts(turn: _Turn, block: Block, place: str) -> list[str]:
    """A block's own text; what else it has goes to the turn."""
    match block.type, turn.role:
        case "tool_use", "assistant":
            name = _required(block.name, f"{place}.name")
            call_id = _required(block.id, f"{place}.id")
            turn.calls.append(FunctionCall(name, block.input or {}, call_id))
        case "thinking", "assistant":
            turn.thoughts.append(block.thinking or "")
        case "redacted_thinking", "assistant":
            pass
        case "tool_result", "user":
            call_id = _required(block.tool_use_id, f"{place}.tool_use_id")
            turn.results.append(_Result(call_id, _result_text(block, place)))
        case (("tool_use" | "tool_result" | "thinking" | "redacted_thinking"), _):
            raise BadRequest(
                f"{place}: a block of type {block.type!r} cannot be in a message of the {turn.role}'s.",
                param=place,
            )
        case _:
            return [_text(block, place)]
    return []


def _result_text(block: Block, place: str) -> str:
    text = _plain(f"{place}.content", block.content)
    if block.is_error and not text.lower().startswith("error"):
        return f"Error: {text}" if text else "Error"
    return text


def _plain(place: str, content: str | Sequence[Block] | dict[str, Any] | None) -> str:
    """Content that may be text only."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, dict):
        raise BadRequest(f"{place}: this must be a text or a list of blocks.", param=place)
    return "\n\n".join(_text(block, f"{place}[{number}]") for number, block in enumerate(content))


def _text(block: Block, place: str) -> str:
    match block.type:
        case "document":
            return _document(block, place)
        case "search_result":
            source = block.source if isinstance(block.source, str) else None
            return _lines(block.title, source, _plain(f"{place}.content", block.content))
        case kind if kind in _MEDIA:
            raise BadRequest(
                f"{place}: this model reads text only; the block is of type {kind!r}.", param=place
            )
        case kind if block.text is None:
            raise BadRequest(
                f"{place}: a block of type {kind!r} has no text that a model here could read.", param=place
            )
        case _:
            return block.text or ""


def _document(block: Block, place: str) -> str:
    citations: Any = block.citations
    if isinstance(citations, dict) and citations.get("enabled"):  # pyright: ignore[reportUnknownMemberType]
        raise BadRequest(
            f"{place}.citations: sources cannot be cited here; leave the field out.",
            param=f"{place}.citations",
        )
    source = block.source if isinstance(block.source, dict) else {}
    match source:
        case {"type": "text", "data": str(data)}:
            text = data
        case {"type": "content", "content": content}:
            text = _plain(f"{place}.source.content", _blocks(content, f"{place}.source.content"))
        case _:
            raise BadRequest(
                f"{place}.source: only documents of plain text can be read; this one is of type "
                f"{source.get('type')!r}.",
                param=f"{place}.source",
            )
    return _lines(block.title, block.context, text)


def _blocks(content: object, place: str) -> str | list[Block]:
    try:
        return msgspec.convert(content, str | list[Block])
    except msgspec.ValidationError as error:
        raise BadRequest(f"{place}: {error}", param=place) from error


def _lines(*texts: str | None) -> str:
    return "\n".join(text for text in texts if text)


def _required(value: str | None, place: str) -> str:
    if not value:
        raise BadRequest(f"{place}: this must be a text, and is not there.", param=place)
    return value
