"""Calls written with tags: Qwen3-Coder, MiniMax M2, MiniCPM5, Muse Spark, Kimi K3.

All are sections of calls, a call being a head with the name and then one tagged argument after the other.
An argument goes out when its closing tag is there, decoded by mlx-lm's parser, which gets to see a call that
has this argument only. A value reaches to its own closing tag: no other marker means anything inside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fireside.text.markup.json_text import json_text
from fireside.text.markup.reading import Arguments, Reader, Reading
from fireside.text.markup.source import Malformed, Markers, Steps

_QUOTED = r"""\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+)\s*"""


@dataclass(frozen=True)
class TagFormat:
    """How a family writes a call.

    Attributes:
        call: what opens a call's head, up to the place of the name or of the attributes.
        head_end: what ends a head, the call's and an argument's.
        name: the whole head of a call; the group `name` is the tool's name, perhaps in quotes.
        key: the whole head of an argument.
        json_block: what opens a block that has all arguments as one JSON object.
    """

    call: str
    call_end: str
    argument: str
    argument_end: str
    head_end: str
    name: re.Pattern[str]
    key: re.Pattern[str]
    json_block: tuple[str, str] | None = None

    def reader(self) -> Reader:
        """A reader of sections of such calls."""

        def read(reading: Reading) -> Steps[None]:
            bare = reading.start == self.call
            more = True
            while more:
                if not bare:
                    yield from reading.source.space()
                    opened = yield from reading.source.one_of((self.call, reading.end))
                    if opened == reading.end:
                        return
                    if opened is None:
                        raise Malformed(f"expected {self.call!r} or {reading.end!r}")
                yield from self._call(reading)
                more = not bare

        return read

    def _call(self, reading: Reading) -> Steps[None]:
        source, output = reading.source, reading.output
        head = yield from self._head(reading, self.name)
        name = head["name"].strip()
        if name[:1] in ("'", '"') and name[-1:] == name[:1]:
            name = name[1:-1]
        yield from source.space()
        opening = (self.argument, self.call_end, *(self.json_block or ())[:1])
        opened = yield from source.one_of(opening)
        if opened is None:
            raise Malformed(f"expected one of {opening}")
        output.start_call(name.replace("&quot;", '"').replace("&amp;", "&") if self.json_block else name)
        if self.json_block and opened == self.json_block[0]:
            yield from self._block(reading)
            return
        before = self.call + head.string + self.head_end
        arguments = Arguments(reading, (before, self.call_end), self.call_end)
        closing = Markers((self.argument_end,))
        while opened != self.call_end:
            key = yield from self._head(reading, self.key)
            value, _ = yield from source.until(closing)
            arguments.add(f"{self.argument}{key.string}{self.head_end}{value}{self.argument_end}")
            yield from source.space()
            opened = yield from source.one_of((self.argument, self.call_end))
            if opened is None:
                raise Malformed(f"expected {self.argument!r} or {self.call_end!r}")
        arguments.close()

    def _head(self, reading: Reading, pattern: re.Pattern[str]) -> Steps[re.Match[str]]:
        """A head. A second opening tag or a line's end inside it shows that this is no call, but prose."""
        text, marker = yield from reading.source.until(Markers((self.head_end, "\n\n", self.argument_end)))
        head = pattern.fullmatch(text)
        if head is None or marker != self.head_end:
            raise Malformed(f"a strange head: {text!r}")
        return head

    def _block(self, reading: Reading) -> Steps[None]:
        source = reading.source
        yield from source.until(Markers((self.head_end,)))
        yield from source.space()
        if (yield from source.peek()) != "{":
            raise Malformed("the arguments are no JSON object")
        raw = yield from json_text(source)
        reading.output.arguments(raw)
        yield from source.space()
        yield from source.literal(self.json_block[1] if self.json_block else "")
        yield from source.space()
        yield from source.literal(self.call_end)
        reading.output.finish_call()


QWEN3_CODER = TagFormat(
    call="<function=",
    call_end="</function>",
    argument="<parameter=",
    argument_end="</parameter>",
    head_end=">",
    name=re.compile(r"\s*(?P<name>[^\s<>]+)"),
    key=re.compile(r"\s*[^\s<>]+"),
)
MINIMAX_M2 = TagFormat(
    call="<invoke name=",
    call_end="</invoke>",
    argument="<parameter name=",
    argument_end="</parameter>",
    head_end=">",
    name=re.compile(f"(?P<name>{_QUOTED})"),
    key=re.compile(_QUOTED),
)
MINICPM5 = TagFormat(
    call="<function name=",
    call_end="</function>",
    argument="<param name=",
    argument_end="</param>",
    head_end=">",
    name=re.compile(f"(?P<name>{_QUOTED})"),
    key=re.compile(_QUOTED),
)
MUSE_SPARK = TagFormat(
    call="<atem:invoke",
    call_end="</atem:invoke>",
    argument="<atem:parameter",
    argument_end="</atem:parameter>",
    head_end=">",
    name=re.compile(r'(?!\w)[^>]*?\bname="(?P<name>[^"]+)"'),
    key=re.compile(r'(?!\w)[^>]*?\bname="[^"]+"[^>]*'),
)
KIMI_K3 = TagFormat(
    call="<|open|>call",
    call_end="<|close|>call<|sep|>",
    argument="<|open|>argument",
    argument_end="<|close|>argument<|sep|>",
    head_end="<|sep|>",
    name=re.compile(r'.*?\btool="(?P<name>[^"]+)".*', re.DOTALL),
    key=re.compile(r'.*\bkey="[^"]*".*', re.DOTALL),
    json_block=("<|open|>json", "<|close|>json<|sep|>"),
)
