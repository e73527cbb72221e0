"""gpt-oss: a sequence of messages on channels (OpenAI's harmony format), for which mlx-lm has no parser.

    <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…<|return|>
    <|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>

Analysis is reasoning, a message to a function is a tool call, everything else is content. The first header's
`<|start|>assistant` is in the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from fireside.text.markup.events import Outcome
from fireside.text.markup.json_text import json_value
from fireside.text.markup.output import Output
from fireside.text.markup.source import Ended, Malformed, Markers, Source, Steps

START, CHANNEL, MESSAGE, CONSTRAIN = "<|start|>", "<|channel|>", "<|message|>", "<|constrain|>"
ENDS = ("<|end|>", "<|call|>", "<|return|>")
MARKERS = (START, CHANNEL, MESSAGE, CONSTRAIN, *ENDS)

_HEADER_ENDS = Markers((MESSAGE, *ENDS))
_ALL = Markers(MARKERS)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_RECIPIENT = re.compile(r"\bto=(?:functions\.)?([^\s<]+)(?=[\s<])")


class HarmonyReader:
    """Reads one answer.

    Args:
        tool_names: recipients that are tools even without `functions.` before their names; None if nothing
            is to be a call, so that messages to functions are content too.
    """

    def __init__(self, source: Source, output: Output, tool_names: set[str] | None) -> None:
        self._source = source
        self._output = output
        self._tool_names = tool_names

    def read(self, thinking_open: bool) -> Steps[None]:
        """Read to the end of the answer, which comes as `Ended`."""
        marker = (yield from self._thinking()) if thinking_open else ""
        while True:
            marker = yield from self._message(marker)

    def _message(self, opened: str) -> Steps[str]:
        """One message whose header began with `opened`, if anything; the marker behind it."""
        source = self._source
        if opened not in (START, CHANNEL):
            yield from source.space()
            begin = yield from source.one_of((START, CHANNEL, "to="))
            if begin is None:
                return (yield from self._body(self._output.content))
            opened = begin
        source.record(opened)
        header = [opened]
        try:
            marker = yield from source.stream_until(_HEADER_ENDS, header.append)
        except Ended:
            source.forget()
            if name := self._tool("".join(header)):
                self._output.start_call(name)
            raise
        text = "".join(header) + marker
        channel = _CHANNEL.search(text)
        if marker == MESSAGE and (name := self._tool(text)):
            return (yield from self._call(name))
        source.forget()
        if marker != MESSAGE:
            return marker
        if channel and channel.group(1) == "analysis":
            return (yield from self._thinking())
        return (yield from self._body(self._output.content))

    def _tool(self, header: str) -> str:
        found = _RECIPIENT.search(header)
        if self._tool_names is None or found is None:
            return ""
        if "to=functions." in header or found.group(1) in self._tool_names:
            return found.group(1)
        return ""

    def _thinking(self) -> Steps[str]:
        self._output.begin_reasoning()
        marker = yield from self._body(self._output.reasoning)
        self._output.end_reasoning()
        return marker

    def _body(self, sink: Callable[[str], None]) -> Steps[str]:
        """A message's text up to the marker that ends it; markers of headers mean nothing here."""
        marker = MESSAGE
        while marker in (MESSAGE, CONSTRAIN):
            marker = yield from self._source.stream_until(_ALL, sink)
        return marker

    def _call(self, name: str) -> Steps[str]:
        source, output = self._source, self._output
        try:
            yield from source.space()
            marker = yield from source.one_of(ENDS)
            if marker is None and (yield from source.peek()) != "{":
                raise Malformed("the arguments are no JSON object")
            output.start_call(name)
            if marker is None:
                yield from json_value(source, output.arguments)
            else:
                output.arguments("{}")
            output.finish_call()
        except Malformed:
            if not output.call_open:
                output.content(source.forget())
                return (yield from self._body(output.content))
            output.finish_call(Outcome.MALFORMED)
            marker = None
        except Ended:
            if not output.call_open:
                output.content(source.forget() + source.rest())
            raise
        source.forget()
        return marker or (yield from self._body(_drop))


def _drop(text: str) -> None:
    """What is between a call's arguments and its end marker says nothing."""
