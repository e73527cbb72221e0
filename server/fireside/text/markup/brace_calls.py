"""Calls written as `call:NAME{key:value,…}` with strings between marks of their own: Gemma 4, FunctionGemma.

An argument goes out when the comma or brace behind it is there, decoded by mlx-lm's parser. Inside a string
neither commas, braces nor markers mean anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fireside.text.markup.reading import Arguments, Reader, Reading
from fireside.text.markup.source import Malformed, Markers, Steps

_CALL = "call:"
_OPENING, _CLOSING = frozenset("{["), frozenset("}]")


@dataclass(frozen=True)
class BraceFormat:
    """How a family writes a call.

    Attributes:
        quote: what is around a string.
        name: a repeated character class.
        nested: whether a value may be an object or array; mlx-lm's parser for FunctionGemma knows none.
    """

    quote: str
    name: re.Pattern[str]
    nested: bool

    def reader(self) -> Reader:
        """A reader of one or more such calls."""

        def read(reading: Reading) -> Steps[None]:
            source = reading.source
            while True:
                yield from source.space()
                found = yield from source.one_of((_CALL, reading.end))
                if found == reading.end:
                    return
                name = yield from source.while_in(self.name)
                if found is None or not name:
                    raise Malformed(f"expected {_CALL}NAME or {reading.end}")
                yield from source.literal("{")
                reading.output.start_call(name)
                closing = "" if self.nested else "}"
                yield from self._arguments(reading, Arguments(reading, (f"{_CALL}{name}{{", "}"), closing))

        return read

    def _arguments(self, reading: Reading, arguments: Arguments) -> Steps[None]:
        quote = Markers((self.quote,))
        marks = Markers((self.quote, *("{}[]," if self.nested else "},")))
        pieces: list[str] = []
        depth = 0
        first = True
        while True:
            text, mark = yield from reading.source.until(marks)
            pieces.append(text)
            if mark == self.quote:
                string, _ = yield from reading.source.until(quote)
                pieces += mark, string, mark
            elif mark in _OPENING or depth:
                depth += (mark in _OPENING) - (mark in _CLOSING)
                pieces.append(mark)
            elif mark == "]":
                raise Malformed("a closing bracket without its opening one")
            else:
                raw = "".join(pieces)
                pieces.clear()
                if not first or mark == "," or raw.strip():
                    arguments.add(raw)
                first = False
                if mark == "}":
                    arguments.close()
                    return


GEMMA4 = BraceFormat(quote='<|"|>', name=re.compile(r"[\w-]*"), nested=True)
FUNCTION_GEMMA = BraceFormat(quote="<escape>", name=re.compile(r"\w*"), nested=False)
