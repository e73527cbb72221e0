"""JSON read as it comes: where a value ends, and whether it still can become one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import Enum, auto

from fireside.text.markup.source import Misfit, Source, Steps

_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_ATOM = re.compile(r"[-+.0-9A-Za-z]*")
_WHOLE_ATOM = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_HEX = frozenset("0123456789abcdefABCDEF")

# What Python's own parser, which many clients use, still reads.
_DEEPEST = 500


class _Expect(Enum):
    VALUE = auto()
    ITEM_OR_END = auto()
    KEY = auto()
    KEY_OR_END = auto()
    COLON = auto()
    COMMA_OR_END = auto()
    STRING = auto()
    ESCAPE = auto()
    HEX = auto()
    ATOM = auto()


class JsonScanner:
    """Accepts exactly one JSON value (RFC 8259), character for character.

    Numbers are accepted when the character behind them is seen. Python's `NaN` and `Infinity`, which are no
    JSON, are refused.
    """

    def __init__(self) -> None:
        self.done = False
        self._expect = _Expect.VALUE
        self._open: list[str] = []
        self._in_key = False
        self._hex_left = 0
        self._atom: list[str] = []

    def scan(self, text: str, at: int) -> int:
        """See `Scanner`."""
        while at < len(text) and not self.done:
            match self._expect:
                case _Expect.STRING:
                    at = self._string(text, at)
                case _Expect.ESCAPE | _Expect.HEX:
                    at = self._escape(text, at)
                case _Expect.ATOM:
                    at = self._atom_part(text, at)
                case _:
                    at = _end(_SPACE, text, at)
                    if at < len(text):
                        at = self._structure(text, at)
        return at

    def _structure(self, text: str, at: int) -> int:
        mark = text[at]
        match self._expect, mark:
            case ((_Expect.VALUE | _Expect.ITEM_OR_END | _Expect.KEY | _Expect.KEY_OR_END), '"'):
                self._in_key = self._expect in (_Expect.KEY, _Expect.KEY_OR_END)
                self._expect = _Expect.STRING
            case ((_Expect.VALUE | _Expect.ITEM_OR_END), ("{" | "[")):
                if len(self._open) == _DEEPEST:
                    raise Misfit(at, f"JSON nested deeper than {_DEEPEST}")
                self._open.append(mark)
                self._expect = _Expect.KEY_OR_END if mark == "{" else _Expect.ITEM_OR_END
            case (_Expect.KEY_OR_END, "}") | (_Expect.ITEM_OR_END, "]"):
                self._close()
            case _Expect.COMMA_OR_END, ("}" | "]") if self._open[-1] + mark in ("{}", "[]"):
                self._close()
            case _Expect.COMMA_OR_END, ",":
                self._expect = _Expect.KEY if self._open[-1] == "{" else _Expect.VALUE
            case _Expect.COLON, ":":
                self._expect = _Expect.VALUE
            case ((_Expect.VALUE | _Expect.ITEM_OR_END), _) if _ATOM.fullmatch(mark):
                self._expect = _Expect.ATOM
                return at
            case _:
                raise Misfit(at, f"{mark!r} cannot follow in JSON")
        return at + 1

    def _string(self, text: str, at: int) -> int:
        at = _end(_PLAIN, text, at)
        if at == len(text):
            return at
        if text[at] == '"':
            if self._in_key:
                self._expect = _Expect.COLON
            else:
                self._value_read()
        elif text[at] == "\\":
            self._expect = _Expect.ESCAPE
        else:
            raise Misfit(at, "a control character in a JSON string")
        return at + 1

    def _escape(self, text: str, at: int) -> int:
        if self._expect is _Expect.HEX and text[at] in _HEX:
            self._hex_left -= 1
            self._expect = _Expect.HEX if self._hex_left else _Expect.STRING
        elif self._expect is _Expect.ESCAPE and text[at] == "u":
            self._hex_left = 4
            self._expect = _Expect.HEX
        elif self._expect is _Expect.ESCAPE and text[at] in '"\\/bfnrt':
            self._expect = _Expect.STRING
        else:
            raise Misfit(at, "a wrong escape in a JSON string")
        return at + 1

    def _atom_part(self, text: str, at: int) -> int:
        end = _end(_ATOM, text, at)
        self._atom.append(text[at:end])
        if end < len(text):
            atom = "".join(self._atom)
            self._atom.clear()
            if not _WHOLE_ATOM.fullmatch(atom):
                raise Misfit(end, "neither a JSON number nor true, false or null")
            self._value_read()
        return end

    def _close(self) -> None:
        self._open.pop()
        self._value_read()

    def _value_read(self) -> None:
        self._expect = _Expect.COMMA_OR_END
        self.done = not self._open


def json_value(source: Source, sink: Callable[[str], None]) -> Steps[None]:
    """Read one JSON value into `sink`, as it is written."""
    yield from source.scan(JsonScanner(), sink)


def json_text(source: Source) -> Steps[str]:
    """Read one JSON value; its text."""
    pieces: list[str] = []
    yield from json_value(source, pieces.append)
    return "".join(pieces)


def json_string(source: Source) -> Steps[str]:
    """Read one JSON string; what it says.

    Raises:
        Malformed: another value follows; it stays unread.
    """
    if (yield from source.peek()) != '"':
        yield from source.literal('"')
    return json.loads((yield from json_text(source)))


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
