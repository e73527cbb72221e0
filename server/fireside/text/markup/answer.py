"""The markup state machine of one answer: decoded text in, typed events out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fireside.text.markup.events import MarkupEvent, Outcome
from fireside.text.markup.harmony import HarmonyReader
from fireside.text.markup.output import Output
from fireside.text.markup.reading import Reading, sane_tools
from fireside.text.markup.source import Ended, Malformed, Markers, Source, Steps
from fireside.text.markup.spec import NORMAL, REASONING, TOOL, MarkupSpec

_AFTER_CALLS = "after calls"
"""Content behind calls that were followed by something else than their end marker, which may still come."""


class AnswerParser:
    """Reads the raw text of one answer, in which special tokens that are markers are included as text.

    The events depend on the text alone, not on how it was cut into pieces (`merged` makes them equal).

    A call whose markup is broken before its name is certain becomes text again, unchanged. One that breaks
    later is finished as malformed, and what is left of its markup, up to the end marker, is dropped. A call
    that the answer's end cuts off is truncated, or malformed if the model itself ended there; whether its
    arguments are whole decides, not whether its end marker came.

    Args:
        spec: the model's markup.
        tools: the request's tools in OpenAI's shape; values are decoded against their schemas.
        thinking_open: whether the prompt ends inside a thinking block.
    """

    def __init__(
        self, spec: MarkupSpec, tools: Sequence[Any] | None = None, thinking_open: bool = False
    ) -> None:
        self._spec = spec
        self._tools = sane_tools(tools)
        self._source = Source()
        self._output = Output(self._source)
        self._unknown: list[str] | None = []
        self._finished = False
        self._truncated = False
        self._steps = self._read(thinking_open)

    @property
    def work(self) -> int:
        """Characters looked at so far; proportional to those fed, however they come."""
        return self._source.looked_at

    def feed(self, text: str) -> list[MarkupEvent]:
        """The events that the next piece makes certain.

        Raises:
            RuntimeError: the answer was finished.
        """
        if self._finished:
            raise RuntimeError("the answer is finished; make a new AnswerParser for the next one")
        if text:
            self._source.push(text)
            next(self._steps, None)
        return self._output.take()

    def finish(self, truncated: bool) -> list[MarkupEvent]:
        """The events that were held back, once nothing can follow.

        Args:
            truncated: whether the answer was cut off, rather than ended by the model.
        """
        if not self._finished:
            self._finished = True
            self._truncated = truncated
            self._source.close()
            next(self._steps, None)
            self._output.finish()
        return self._output.take()

    def _read(self, thinking_open: bool) -> Steps[None]:
        try:
            if self._spec.harmony:
                names = (
                    {tool["function"]["name"] for tool in self._tools} if self._spec.calls_wanted else None
                )
                yield from HarmonyReader(self._source, self._output, names).read(thinking_open)
            else:
                yield from self._states(thinking_open)
        except Ended:
            if self._output.call_open:
                self._output.finish_call(Outcome.TRUNCATED if self._truncated else Outcome.MALFORMED)
            elif self._unknown:
                # An answer without any header: better shown than lost.
                self._output.content("".join(self._unknown))

    def _states(self, thinking_open: bool) -> Steps[None]:
        edges = self._spec.edges()
        calls = self._spec.calls
        if calls and calls.end:
            edges[_AFTER_CALLS] = (*edges[NORMAL], (calls.end, NORMAL))
        machine = {state: (Markers(dict(out)), dict(out)) for state, out in edges.items()}
        state = REASONING if thinking_open and edges[REASONING] else self._spec.initial
        while True:
            markers, targets = machine.get(state, machine[NORMAL])
            marker = yield from self._source.stream_until(markers, self._sink(state))
            target = targets[marker]
            self._unknown = None
            if target == TOOL:
                while (state := (yield from self._calls(state, marker))) == TOOL:
                    state = NORMAL
            elif target == state == REASONING:
                if not self._output.blank_reasoning:
                    self._output.reasoning(marker)
            else:
                if state == REASONING:
                    self._output.end_reasoning()
                if target == REASONING:
                    self._output.begin_reasoning()
                state = target

    def _sink(self, state: str) -> Callable[[str], None]:
        if state in (NORMAL, _AFTER_CALLS):
            return self._output.content
        return self._output.reasoning if state == REASONING else self._drop

    def _drop(self, text: str) -> None:
        """Take text of a state that is neither content nor reasoning: headers, say."""
        if self._unknown is not None:
            self._unknown.append(text)

    def _calls(self, state: str, marker: str) -> Steps[str]:
        """Calls behind their start marker; the state behind them, `TOOL` if a start marker was read last."""
        source, output, calls = self._source, self._output, self._spec.calls
        if calls is None:
            raise AssertionError("a marker of calls without a format of calls")
        before = output.calls
        source.record(marker)
        reading = Reading(source, output, calls.parser, self._tools, marker, calls.end)
        try:
            yield from calls.reader(reading)
            if output.calls == before:
                raise Malformed("no call between the markers")
            source.forget()
            return NORMAL
        except Malformed:
            if output.call_open:
                output.finish_call(Outcome.MALFORMED)
                source.forget()
                return (yield from self._skip_call(calls.start, calls.end))
            text = source.forget()
        except Ended:
            if output.call_open:
                raise
            text = source.forget() + source.rest()
            if output.calls > before and calls.end:
                # What fits the format so far, behind a whole call, is only markup.
                return NORMAL
        if state == REASONING and output.calls == before:
            output.reasoning(text)
            return REASONING
        output.content(text)
        return _AFTER_CALLS if output.calls > before and calls.end else NORMAL

    def _skip_call(self, start: str, end: str) -> Steps[str]:
        """What is left of a broken call; without an end marker nobody knows what that is, and it stays."""
        if not end:
            return NORMAL
        marker = yield from self._source.stream_until(Markers((end, start)), self._drop)
        return NORMAL if marker == end else TOOL
