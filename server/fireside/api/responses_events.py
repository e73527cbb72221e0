"""One answer of the engine as a response: the object as it is at any time, and the events of a stream."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from fireside.api import chat_format as chat
from fireside.api import responses_format as wire
from fireside.api.chat_pieces import Likelihoods, progress_of
from fireside.api.generation import End, Prepared, Served, TokenLogprobs
from fireside.api.responses_items import new_id
from fireside.api.responses_output import Event, OutputItems
from fireside.api.responses_task import Asked
from fireside.api.usage import usage_of
from fireside.engine.requests import Prefill, Queued, Restarting
from fireside.http.errors import FiresideError
from fireside.http.sse import event
from fireside.text.markup import ContentText, MarkupEvent
from fireside.text.model import TextModel

_encode = msgspec.json.Encoder().encode


def begun(body: wire.ResponsesBody, asked: Asked, served: Served, prepared: Prepared) -> wire.ResponseObject:
    """The response to a request before its first token, with the sampling that it is made with."""
    reasoning, text = body.reasoning or wire.ReasoningFields(), body.text or wire.TextFields()
    sampling = prepared.request.sampling
    return wire.ResponseObject(
        id=new_id("resp"),
        created_at=int(time.time()),
        model=served.model_id,
        instructions=asked.instructions,
        max_output_tokens=body.answer_tokens,
        max_tool_calls=body.max_tool_calls,
        metadata=body.metadata or {},
        parallel_tool_calls=body.parallel_tool_calls is not False,
        previous_response_id=body.previous_response_id,
        prompt_cache_key=body.prompt_cache_key,
        prompt_cache_retention=body.prompt_cache_retention,
        reasoning=wire.ReasoningEcho(reasoning.effort, reasoning.summary or reasoning.generate_summary),
        safety_identifier=body.safety_identifier,
        store=body.store is not False,
        temperature=sampling.temperature,
        text=wire.TextFields(text.format or wire.TextFormat("text"), text.verbosity),
        tool_choice=body.tool_choice or "auto",
        tools=asked.tools,
        top_logprobs=prepared.request.top_logprobs or 0,
        top_p=sampling.top_p or 1.0,
        user=body.user,
    )


class Answer:
    """Turns what the engine says into events, and keeps the response up to date.

    Args:
        response: as it is before the first token.
        text: knows what single tokens stand for.
        show_progress: whether what the request waits for is told too.
    """

    def __init__(self, response: wire.ResponseObject, text: TextModel, *, show_progress: bool) -> None:
        self.response = response
        self._text = text
        self._show_progress = show_progress
        self._output = OutputItems()
        self._tokens = Likelihoods(text)

    def begin(self) -> list[Event]:
        """The events before the first piece."""
        return [self._now("response.created"), self._now("response.in_progress")]

    def wait(self, output: Queued | Prefill | Restarting) -> list[Event]:
        """What the request waits for; nothing unless that was asked for."""
        return [("fireside.progress", {"fireside": progress_of(output)})] if self._show_progress else []

    async def token(self, output: TokenLogprobs) -> None:
        """How likely the next token was; its text comes with a later piece."""
        await self._tokens.add(output)

    def add(self, piece: MarkupEvent) -> list[Event]:
        """The next piece of the answer."""
        taken = self._tokens.take()
        entries = [] if taken is msgspec.UNSET else taken.content
        if not isinstance(piece, ContentText):
            return self._output.add(piece)
        if not self._output.in_message:
            entries = _tokens_of(piece.text, entries)
        return self._output.add(piece, [_entry(entry) for entry in entries])

    async def end(self, end: End) -> list[Event]:
        """The answer is complete, or as long as it may get."""
        cut_off = end.reason == "length"
        events = self._output.close(cut_off=cut_off)
        self.response = msgspec.structs.replace(
            self.response,
            status="incomplete" if cut_off else "completed",
            incomplete_details=wire.IncompleteDetails() if cut_off else None,
            output=self._output.items,
            usage=await self._usage(end),
            completed_at=None if cut_off else int(time.time()),
        )
        return [*events, self._now(f"response.{self.response.status}")]

    def fail(self, error: FiresideError) -> list[Event]:
        """The answer ends here, with an error."""
        self.response = msgspec.structs.replace(
            self.response,
            status="failed",
            error=wire.ResponseError(str(error), error.error_code),
            output=self._output.items,
        )
        return [self._now("response.failed")]

    def _now(self, kind: str) -> Event:
        return kind, {"response": self.response}

    async def _usage(self, end: End) -> wire.Usage:
        usage = usage_of([end], self._show_progress)
        return wire.Usage(
            input_tokens=usage.prompt_tokens,
            input_tokens_details=wire.InputDetails(end.cached_tokens),
            output_tokens=usage.completion_tokens,
            output_tokens_details=wire.OutputDetails(await self._thought_tokens(end.completion_tokens)),
            total_tokens=usage.total_tokens,
            lane=usage.lane,
            fireside=usage.fireside or msgspec.UNSET,
        )

    async def _thought_tokens(self, most: int) -> int:
        """About how many tokens were thoughts: as many as their text has without the marks around it."""
        if not self._output.reasoning:
            return 0
        added = len(await self._text.encode(""))
        return min(most, len(await self._text.encode(self._output.reasoning)) - added)


class EventStream:
    """Numbers and encodes the events of one stream."""

    def __init__(self) -> None:
        self._next = 0

    def encode(self, events: Sequence[Event]) -> bytes:
        """The events as they are sent."""
        return b"".join(self._one(kind, fields) for kind, fields in events)

    def _one(self, kind: str, fields: dict[str, Any]) -> bytes:
        data = _encode({"type": kind, "sequence_number": self._next, **fields})
        self._next += 1
        return event(data, kind)


def _tokens_of(text: str, entries: Sequence[chat.TokenEntry]) -> list[chat.TokenEntry]:
    """The last tokens, those that a text consists of; the marks before it are not its own."""
    missing = len(text.encode())
    for start in range(len(entries) - 1, -1, -1):
        missing -= len(entries[start].bytes or b"?")
        if missing <= 0:
            return list(entries[start:])
    return list(entries)


def _entry(entry: chat.TokenEntry) -> wire.TokenEntry:
    top = [wire.LikelyToken(other.token, other.bytes or [], other.logprob) for other in entry.top_logprobs]
    return wire.TokenEntry(entry.token, entry.bytes or [], entry.logprob, top)
