"""Calls written as a name and tagged pairs: GLM 4.7, Laguna, LongCat.

`NAME<arg_key>k</arg_key><arg_value>v</arg_value>…`. A pair goes out when its value is closed, decoded by
mlx-lm's parser. The looser forms that GLM's parser knows (a JSON object, a name and `key=value` words) go out
whole, and only for a tool that the request offers: that parser takes any text for a call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fireside.text.markup.json_calls import read_json_tools
from fireside.text.markup.json_text import json_text
from fireside.text.markup.reading import Arguments, Reader, Reading
from fireside.text.markup.source import Malformed, Markers, Steps

_NAME = re.compile(r"[\w.:/-]*")


@dataclass(frozen=True)
class PairFormat:
    """How a family writes a call.

    Attributes:
        prefix: of the four tags around keys and values.
        loose: whether mlx-lm's parser reads other forms too.
    """

    prefix: str
    loose: bool

    def reader(self) -> Reader:
        """A reader of one such call."""

        def read(reading: Reading) -> Steps[None]:
            source = reading.source
            yield from source.space()
            if (yield from source.peek()) in "{[":
                if not self.loose:
                    yield from read_json_tools(reading)
                else:
                    text = yield from json_text(source)
                    yield from source.space()
                    yield from source.literal(reading.end)
                    calls = reading.parse(text)
                    # Of JSON that is no call that parser makes one whose name is the text's first word.
                    if not all(_NAME.fullmatch(name) for name, _ in calls):
                        raise Malformed("JSON without a tool's name")
                    reading.emit_whole(calls)
                return
            name = yield from source.while_in(_NAME)
            if not name:
                raise Malformed("expected a tool's name")
            yield from source.space()
            found = yield from source.one_of((self._tag("key"), reading.end))
            if found is not None:
                yield from self._pairs(reading, name, found)
            elif self.loose and name in reading.tool_names:
                yield from _words(reading, name)
            else:
                raise Malformed(f"expected {self._tag('key')} or {reading.end}")

        return read

    def _tag(self, what: str, slash: str = "") -> str:
        return f"<{slash}{self.prefix}arg_{what}>"

    def _pairs(self, reading: Reading, name: str, found: str) -> Steps[None]:
        source = reading.source
        key_tag, value_tag = self._tag("key"), self._tag("value")
        key_end, value_end = self._tag("key", "/"), self._tag("value", "/")
        reading.output.start_call(name)
        arguments = Arguments(reading, (name, ""))
        while found != reading.end:
            key, _ = yield from source.until(Markers((key_end,)))
            yield from _line_break(reading)
            yield from source.literal(value_tag)
            value, _ = yield from source.until(Markers((value_end,)))
            arguments.add(f"{key_tag}{key}{key_end}{value_tag}{value}{value_end}")
            yield from _line_break(reading)
            following = yield from source.one_of((key_tag, reading.end))
            if following is None:
                raise Malformed(f"expected {key_tag} or {reading.end}")
            found = following
        arguments.close()


def _line_break(reading: Reading) -> Steps[None]:
    """White space, also a line break written as a backslash and an n, which these models do."""
    yield from reading.source.space()
    while (yield from reading.source.one_of(("\\n",))):
        yield from reading.source.space()


def _words(reading: Reading, name: str) -> Steps[None]:
    source = reading.source
    rest = ""
    if (yield from source.peek()) == "{":
        rest = yield from json_text(source)
    more, _ = yield from source.until(Markers((reading.end,)))
    reading.emit_whole(reading.parse(f"{name} {rest}{more}"))


GLM47 = PairFormat(prefix="", loose=True)
LONGCAT = PairFormat(prefix="longcat_", loose=False)
