"""The engine's outputs as Anthropic's content blocks and events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from fireside.api import messages_format as wire
from fireside.api.generation import End
from fireside.api.usage import usage_of
from fireside.http.sse import event
from fireside.text.markup import (
    CallArguments,
    CallFinished,
    CallStarted,
    ContentText,
    MarkupEvent,
    ReasoningText,
)

_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}

_encode = msgspec.json.Encoder().encode


def encoded(item: wire.Event) -> bytes:
    """An event as it goes over the wire: its name is its type."""
    return event(_encode(item), str(item.__struct_config__.tag))


PING = encoded(wire.Ping())


class Blocks:
    """Pieces of an answer to the events of its content blocks: one is open at a time, their index rises.

    Args:
        hide_thinking: thoughts have their block, which stays empty.
    """

    def __init__(self, *, hide_thinking: bool = False) -> None:
        self._hide_thinking = hide_thinking
        self._index = -1
        self._open: type[wire.ContentBlock] | None = None
        self._blank = ""
        """White space that began a text and is none if nothing but another block follows."""

    def add(self, piece: MarkupEvent) -> Iterator[wire.BlockEvent]:
        """The events of the next piece."""
        match piece:
            case ReasoningText(text):
                yield from self._in(wire.ThinkingBlock(""))
                if not self._hide_thinking:
                    yield wire.BlockDelta(self._index, wire.ThinkingDelta(text))
            case ContentText(text):
                yield from self._text(text)
            case CallStarted(_, call_id, name):
                yield from self._close()
                tool_id = f"toolu_{call_id.removeprefix('call_')}"
                yield from self._in(wire.ToolUseBlock(tool_id, name, {}))
            case CallArguments(_, fragment):
                yield wire.BlockDelta(self._index, wire.InputJsonDelta(fragment))
            case CallFinished():
                yield from self._close()

    def finish(self) -> Iterator[wire.BlockEvent]:
        """The events that end the content."""
        if self._blank and self._index < 0:
            yield from self._write(self._blank)
        yield from self._close()

    def _text(self, text: str) -> Iterator[wire.BlockEvent]:
        if self._open is not wire.TextBlock and not text.strip():
            self._blank += text
            return
        yield from self._write(self._blank + text)

    def _write(self, text: str) -> Iterator[wire.BlockEvent]:
        yield from self._in(wire.TextBlock(""))
        yield wire.BlockDelta(self._index, wire.TextDelta(text))

    def _in(self, block: wire.ContentBlock) -> Iterator[wire.BlockEvent]:
        """What makes a block of this kind the open one."""
        self._blank = ""
        if self._open is type(block):
            return
        yield from self._close()
        self._index += 1
        self._open = type(block)
        yield wire.BlockStart(self._index, block)

    def _close(self) -> Iterator[wire.BlockEvent]:
        if self._open is wire.ThinkingBlock:
            yield wire.BlockDelta(self._index, wire.SignatureDelta())
        if self._open is not None:
            self._open = None
            yield wire.BlockStop(self._index)


class WholeContent:
    """Content blocks out of their events, the way a client puts them together."""

    def __init__(self) -> None:
        self.blocks: list[wire.ContentBlock] = []
        self._json: list[str] = []

    def add(self, item: wire.BlockEvent) -> None:
        """Take the next event."""
        match item:
            case wire.BlockStart(_, block):
                self.blocks.append(block)
                self._json = []
            case wire.BlockDelta(_, delta):
                self._grow(self.blocks[-1], delta)
            case wire.BlockStop():
                if isinstance(block := self.blocks[-1], wire.ToolUseBlock):
                    block.input = _input("".join(self._json))

    def _grow(self, block: wire.ContentBlock, delta: wire.Delta) -> None:
        match block, delta:
            case wire.TextBlock(), wire.TextDelta(text):
                block.text += text
            case wire.ThinkingBlock(), wire.ThinkingDelta(text):
                block.thinking += text
            case _, wire.InputJsonDelta(fragment):
                self._json.append(fragment)
            case _:
                pass


def _input(text: str) -> dict[str, Any]:
    """A call's arguments; what is no object stays, as text."""
    if not text.strip():
        return {}
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"_raw": text}


def start_of(message_id: str, model: str, prompt_tokens: int) -> wire.MessageStart:
    """What a stream begins with. How much of the prompt is cached shows only once the engine has taken it."""
    usage = wire.Usage(
        input_tokens=prompt_tokens,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=0,
        output_tokens=0,
    )
    return wire.MessageStart(wire.Message(id=message_id, model=model, content=[], usage=usage))


def stop_of(end: End) -> wire.Stop:
    """Why an answer ended."""
    if end.stop_text is not None:
        return wire.Stop("stop_sequence", end.stop_text)
    return wire.Stop(_STOP_REASONS[end.reason])


def usage_of_end(end: End, details: bool) -> wire.Usage:
    """What an answer cost; tokens from the cache are not input.

    Args:
        details: whether the `fireside` object is wanted.
    """
    return wire.Usage(
        input_tokens=end.prompt_tokens - end.cached_tokens,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=end.cached_tokens,
        output_tokens=end.completion_tokens,
        lane=end.lane,
        fireside=usage_of([end], details).fireside,
    )
