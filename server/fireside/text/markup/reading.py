"""What a reader of tool calls is, and mlx-lm's parser as it sees one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from fireside.text.markup.output import Output
from fireside.text.markup.source import Malformed, Source, Steps

Parser = Callable[[str, list[dict[str, Any]]], Any]
"""mlx-lm's `parse_tool_call(text, tools)`: one call or a list of them, each with `name` and `arguments`."""

# What mlx-lm's parsers raise, by design or not, on text that is no call or on a schema they did not expect.
_REFUSALS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True)
class Reading:
    """What a reader works with.

    Attributes:
        start: the marker before the calls, which has been read.
        end: the marker behind them; empty if the format has none.
        tools: the request's tools, as `sane_tools` makes them.
    """

    source: Source
    output: Output
    parser: Parser
    tools: list[dict[str, Any]]
    start: str
    end: str

    @property
    def tool_names(self) -> set[str]:
        """The names that the request offers."""
        return {tool["function"]["name"] for tool in self.tools}

    def parse(self, text: str) -> list[tuple[str, dict[str, Any]]]:
        """Names and arguments of the calls that mlx-lm's parser finds in `text`.

        Raises:
            Malformed: it finds none.
        """
        try:
            parsed = self.parser(text, self.tools)
        except _REFUSALS as error:
            raise Malformed(f"mlx-lm's parser refuses the call: {error}") from error
        calls = cast("list[Any]", parsed) if isinstance(parsed, list) else [parsed]
        return [_name_and_arguments(call) for call in calls]

    def emit_whole(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Put out calls that are known from beginning to end."""
        texts = [json_of(arguments) for _, arguments in calls]
        for (name, _), text in zip(calls, texts, strict=True):
            self.output.start_call(name)
            self.output.arguments(text)
            self.output.finish_call()


class Reader(Protocol):
    """Reads what follows the start marker, the end marker included, and puts out its calls.

    Raises:
        Malformed: the text is not in the format. A call that was started is left open.
    """

    def __call__(self, reading: Reading, /) -> Steps[None]: ...


class Arguments:
    """Puts out the arguments of a started call one by one.

    Args:
        around: text before and behind a single argument that makes it a call for mlx-lm's parser.
        closing: the text that ends such a call. Inside a value it means nothing, but some of mlx-lm's
            parsers would end the call there, so they do not get to see it. Empty for parsers that know.
    """

    def __init__(self, reading: Reading, around: tuple[str, str], closing: str = "") -> None:
        self._reading = reading
        self._around = around
        self._closing = closing
        self._any = False

    def add(self, raw: str, text: bool = True) -> None:
        """One argument as it was written, key and value; mlx-lm's parser decodes it.

        Args:
            raw: the text of key and value.
            text: whether a string can be what it means.

        Raises:
            Malformed: mlx-lm's parser does not see exactly one argument, or one that cannot be meant.
        """
        before, behind = self._around
        unlike = _unused_character(raw) if self._closing and self._closing in raw else ""
        hidden = raw.replace(self._closing, unlike) if unlike else raw
        calls = self._reading.parse(before + hidden + behind)
        if len(calls) != 1 or len(calls[0][1]) != 1:
            raise Malformed(f"not one argument: {raw!r}")
        if not text and isinstance(next(iter(calls[0][1].values())), str):
            raise Malformed(f"no list and no dictionary: {raw!r}")
        pair = json_of(calls[0][1])[1:-1]
        if unlike:
            for written in (unlike, _inside_string(unlike)):
                pair = pair.replace(written, _inside_string(self._closing))
        self._reading.output.arguments((", " if self._any else "{") + pair)
        self._any = True

    def close(self) -> None:
        """No argument follows: the call is complete."""
        self._reading.output.arguments("}" if self._any else "{}")
        self._reading.output.finish_call()


def sane_tools(tools: Sequence[Any] | None) -> list[dict[str, Any]]:
    """The function tools, in the one shape that all of mlx-lm's parsers can read."""
    sane: list[dict[str, Any]] = []
    for tool in tools or ():
        function = _mapping(_mapping(tool).get("function"))
        if isinstance(function.get("name"), str):
            parameters = _mapping(function.get("parameters"))
            properties: dict[str, Any] = {
                name: schema
                for name, schema in _mapping(parameters.get("properties")).items()
                if isinstance(schema, dict)
            }
            function = {**function, "parameters": {**parameters, "properties": properties}}
            sane.append({"type": "function", "function": function})
    return sane


def json_of(arguments: dict[str, Any]) -> str:
    """The JSON text of a call's arguments. What JSON cannot say (NaN, a set) is given as its text.

    mlx-lm's parsers evaluate Python literals, which have more kinds of values than JSON.

    Raises:
        Malformed: the arguments are nested too deeply.
    """
    try:
        text = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        plain = {str(key): _plain(value) for key, value in arguments.items()}
        text = json.dumps(plain, ensure_ascii=False)
    except RecursionError as error:
        raise Malformed("arguments nested too deeply") from error
    if any("\ud800" <= character <= "\udfff" for character in text):
        return json.dumps(json.loads(text))
    return text


def _plain(value: Any) -> Any:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return str(value)
    return value


def _name_and_arguments(call: Any) -> tuple[str, dict[str, Any]]:
    fields = _mapping(call)
    name, arguments = fields.get("name"), fields.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise Malformed("no call with a name and an object of arguments")
    return name, cast("dict[str, Any]", arguments)


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _unused_character(text: str) -> str:
    """A character of the private use area that a text does not contain."""
    return next(chr(code) for code in range(0xE000, 0xF900) if chr(code) not in text)


def _inside_string(text: str) -> str:
    return json.dumps(text)[1:-1]
