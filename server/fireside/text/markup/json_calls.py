"""Calls written as JSON: Hermes and Qwen (`json_tools`), Mistral, Kimi K2.

The JSON text of the arguments goes out as the model writes it. A call ends where its JSON does, so that a
marker inside a string means nothing.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from fireside.text.markup.json_text import JsonScanner, json_string, json_text, json_value
from fireside.text.markup.reading import Reading, json_of
from fireside.text.markup.source import Malformed, Markers, Steps

_ARGUMENT_KEYS = ("arguments", "parameters")
_HARMLESS_KEYS = ("id", "type")
_SPACE = re.compile(r"\s*")
_MISTRAL_NAME = re.compile(r"[\w-]*")
_KIMI_NAME = re.compile(r"(?:functions\.)?(.+?):\d+", re.DOTALL)
_KIMI_BEGIN = "<|tool_call_begin|>"
_KIMI_ARGUMENTS = "<|tool_call_argument_begin|>"
_KIMI_END = "<|tool_call_end|>"


def read_json_tools(reading: Reading) -> Steps[None]:
    """One `{"name": …, "arguments": {…}}`, several in a row, or an array of them."""
    source = reading.source
    yield from source.space()
    while True:
        yield from _objects(reading)
        yield from source.space()
        if (yield from source.peek()) not in "{[":
            break
    yield from source.literal(reading.end)


def read_mistral(reading: Reading) -> Steps[None]:
    """`name[ARGS]{…}`, repeated, or the older array of objects. There is no end marker."""
    source = reading.source
    yield from source.space()
    if (yield from source.peek()) == "[":
        yield from _objects(reading)
        return
    while True:
        name = yield from source.while_in(_MISTRAL_NAME)
        yield from source.space()
        found = yield from source.one_of(("[ARGS]", "[CALL_ID]"))
        if not name or found is None:
            raise Malformed("expected a tool's name and [ARGS]")
        if found == "[CALL_ID]":
            yield from source.while_in(_MISTRAL_NAME)
            yield from source.literal("[ARGS]")
        yield from source.space()
        if (yield from source.peek()) != "{":
            raise Malformed("the arguments are no JSON object")
        reading.output.start_call(name)
        yield from json_value(source, reading.output.arguments)
        reading.output.finish_call()
        yield from source.space()


def read_kimi_k2(reading: Reading) -> Steps[None]:
    """A section of `<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`.

    A single call may come without its begin and end.
    """
    source = reading.source
    found = None
    while found != reading.end:
        yield from source.space()
        begin = yield from source.one_of((_KIMI_BEGIN, reading.end))
        if begin == reading.end:
            return
        if begin is None and found:
            raise Malformed(f"expected {_KIMI_BEGIN} or {reading.end}")
        found = _KIMI_END if begin else reading.end
        yield from _kimi_call(reading, found)


def _kimi_call(reading: Reading, end: str) -> Steps[None]:
    source, output = reading.source, reading.output
    header, marker = yield from source.until(Markers((_KIMI_ARGUMENTS, _KIMI_END, reading.end)))
    name = _KIMI_NAME.fullmatch(header.strip())
    if name is None or marker != _KIMI_ARGUMENTS:
        raise Malformed("expected functions.NAME:NUMBER and its arguments")
    yield from source.space()
    yield from source.literal("{")
    space = yield from source.while_in(_SPACE)
    if (yield from source.peek()) in '"}':
        output.start_call(name.group(1))
        scanner = JsonScanner()
        scanner.scan("{", 0)
        output.arguments("{" + space)
        yield from source.scan(scanner, output.arguments)
        output.finish_call()
        yield from source.space()
        yield from source.literal(end)
        return
    # A Python dictionary instead of JSON: mlx-lm's parser reads that too.
    rest, _ = yield from source.until(Markers((end,)))
    reading.emit_whole(reading.parse(f"{header}{_KIMI_ARGUMENTS}{{{rest}"))


def _objects(reading: Reading) -> Steps[None]:
    source = reading.source
    if (yield from source.one_of(("[",))) is None:
        yield from _object(reading)
        return
    separator = ","
    while separator == ",":
        yield from source.space()
        yield from _object(reading)
        yield from source.space()
        separator = yield from _either(reading, ",", "]")


def _object(reading: Reading) -> Steps[None]:
    """One call. Arguments that come before the name are held back until it is known."""
    source, output = reading.source, reading.output
    name = ""
    arguments: str | None = None
    strange = False
    yield from source.literal("{")
    separator = ","
    while separator == ",":
        yield from source.space()
        key = yield from json_string(source)
        yield from source.space()
        yield from source.literal(":")
        yield from source.space()
        if key == "name" and not name:
            name = yield from json_string(source)
            output.start_call(name)
            if arguments is not None:
                output.arguments(arguments)
        elif key in _ARGUMENT_KEYS and arguments is None:
            if name and (yield from source.peek()) == "{":
                arguments = ""
                yield from json_value(source, output.arguments)
            else:
                arguments = _object_text((yield from json_text(source)))
                if name:
                    output.arguments(arguments)
        elif key == "name" or key in _ARGUMENT_KEYS:
            raise Malformed(f"a second {key!r}")
        else:
            strange = strange or key not in _HARMLESS_KEYS
            yield from json_text(source)
        yield from source.space()
        separator = yield from _either(reading, ",", "}")
    if not name:
        raise Malformed("a call without a name")
    if arguments is None:
        if strange:
            raise Malformed("other keys than arguments")
        output.arguments("{}")
    output.finish_call()


def _object_text(raw: str) -> str:
    """The JSON text of an object that was given as one, as null, or as a string that contains it."""
    value: Any = json.loads(raw)
    if value is None:
        return "{}"
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise Malformed("the arguments are a string that is no JSON") from error
        raw = json_of(cast("dict[str, Any]", value)) if isinstance(value, dict) else raw
    if not isinstance(value, dict):
        raise Malformed("the arguments are no JSON object")
    return raw


def _either(reading: Reading, one: str, other: str) -> Steps[str]:
    found = yield from reading.source.one_of((one, other))
    if found is None:
        raise Malformed(f"expected {one!r} or {other!r}")
    return found
