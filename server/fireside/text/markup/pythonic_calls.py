"""Calls written as a Python list of calls, `[name(key="value", other=2)]`: LFM2 and others.

An argument goes out when the comma or parenthesis behind it is there, decoded by mlx-lm's parser.
"""

from __future__ import annotations

import re

from fireside.text.markup.reading import Arguments, Reading
from fireside.text.markup.source import Malformed, Misfit, Steps

_NAME = re.compile(r"[\w.]*")
_KEY = re.compile(r"\w*")
_CODE = re.compile(r"[^\"'()\[\]{},]*")
_STRING = re.compile(r"[^\"'\\]*")


def read_pythonic(reading: Reading) -> Steps[None]:
    """A bracketed list of calls and the end marker."""
    source = reading.source
    yield from source.space()
    yield from source.literal("[")
    separator = ","
    while separator == ",":
        yield from source.space()
        name = yield from source.while_in(_NAME)
        if not name:
            raise Malformed("expected a function's name")
        yield from source.literal("(")
        reading.output.start_call(name)
        yield from _keywords(reading, Arguments(reading, (f"[{name}(", ")]")))
        yield from source.space()
        separator = yield from _one(reading, ",", "]")
    yield from source.space()
    yield from source.literal(reading.end)


def _keywords(reading: Reading, arguments: Arguments) -> Steps[None]:
    source = reading.source
    separator = ","
    while separator == ",":
        yield from source.space()
        key = yield from source.while_in(_KEY)
        if not key:
            # No argument, or a comma behind the last one.
            yield from source.literal(")")
            break
        yield from source.space()
        yield from source.literal("=")
        pieces: list[str] = []
        yield from source.scan(_ValueScanner(), pieces.append)
        value = "".join(pieces)
        # Of what is no Python mlx-lm's parser makes text, and of a broken list a piece of it.
        arguments.add(f"{key}={value}", text=not value.lstrip().startswith(("[", "{")))
        separator = yield from _one(reading, ",", ")")
    arguments.close()


def _one(reading: Reading, one: str, other: str) -> Steps[str]:
    found = yield from reading.source.one_of((one, other))
    if found is None:
        raise Malformed(f"expected {one!r} or {other!r}")
    return found


class _ValueScanner:
    """Finds the comma or closing parenthesis behind a Python expression, which stays unread.

    A string may contain line ends, as models write them and mlx-lm's parser accepts them.
    """

    def __init__(self) -> None:
        self.done = False
        self._depth = 0
        self._quote = ""
        self._run = 0
        self._string = False
        self._triple = False
        self._escaped = False

    def scan(self, text: str, at: int) -> int:
        """See `Scanner`."""
        while at < len(text) and not self.done:
            if self._escaped:
                self._escaped = False
                at += 1
            elif self._string:
                at = self._in_string(text, at)
            elif self._quote:
                at = self._behind_opening(text, at)
            else:
                at = self._in_code(text, at)
        return at

    def _in_code(self, text: str, at: int) -> int:
        found = _CODE.match(text, at)
        at = found.end() if found else at
        if at == len(text):
            return at
        mark = text[at]
        if mark in "\"'":
            self._quote, self._run, self._triple = mark, 1, False
        elif mark in "([{":
            self._depth += 1
        elif self._depth:
            self._depth -= mark in ")]}"
        elif mark in ",)":
            self.done = True
            return at
        else:
            raise Misfit(at, "a closing bracket without its opening one")
        return at + 1

    def _behind_opening(self, text: str, at: int) -> int:
        """Behind one quote or two, which are the beginning of a string, an empty one, or part of three."""
        if text[at] == self._quote:
            self._run += 1
            if self._run < 3:
                return at + 1
            self._triple = True
            at += 1
        elif self._run == 2:
            self._quote = ""
            return at
        self._string, self._run = True, 0
        return at

    def _in_string(self, text: str, at: int) -> int:
        found = _STRING.match(text, at)
        if found and found.end() > at:
            self._run = 0
            return found.end()
        mark = text[at]
        self._escaped = mark == "\\"
        self._run = self._run + 1 if mark == self._quote else 0
        if self._run == (3 if self._triple else 1):
            self._string, self._quote = False, ""
        return at + 1
