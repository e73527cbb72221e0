"""`/v1/chat/completions`."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec
from quart import Blueprint, Response

from fireside.api import chat_format as wire
from fireside.api.chat_task import task_of
from fireside.api.generation import LANE, End, Output, generate, prepare
from fireside.api.served import Serving
from fireside.api.validation import decode
from fireside.engine.requests import Accepted, Prefill, Queued, Restarting
from fireside.http.errors import FiresideError, error_body
from fireside.http.security import json_body
from fireside.http.sse import event, stream_response
from fireside.text.markup import (
    CallArguments,
    CallFinished,
    CallStarted,
    ContentText,
    MarkupEvent,
    ReasoningText,
)

_encode = msgspec.json.Encoder().encode
_DONE = event(b"[DONE]")


def create_blueprint(serving: Serving) -> Blueprint:
    """The chat route over the model that `serving` serves."""
    blueprint = Blueprint("chat", __name__)

    @blueprint.post("/v1/chat/completions")
    async def chat_completions() -> Response:
        body = decode(await json_body(), wire.ChatBody)
        served = serving.served()
        prepared = await prepare(served, task_of(body, served.thinking))
        answer = _Answer(served.model_id, body.return_progress)
        outputs = generate(served, prepared)
        await anext(outputs)
        if body.stream:
            include_usage = body.stream_options is not None and body.stream_options.include_usage
            return stream_response(_stream(outputs, answer, include_usage))
        return await _whole(outputs, answer)

    return blueprint


@dataclass(frozen=True)
class _Answer:
    """What all chunks of one answer share."""

    model: str
    show_progress: bool
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    def chunk(
        self,
        choices: list[wire.ChunkChoice],
        usage: wire.Usage | None = None,
        progress: wire.Progress | None = None,
    ) -> bytes:
        chunk = wire.Chunk(
            self.id, "chat.completion.chunk", self.created, self.model, choices, usage, progress
        )
        return event(_encode(chunk))

    def delta(self, delta: wire.Delta) -> bytes:
        return self.chunk([wire.ChunkChoice(delta)])

    def last(self, end: End, include_usage: bool) -> bytes:
        """The chunk with the finish reason; the usage comes with it, or after it where that was asked for."""
        choices = [wire.ChunkChoice(wire.Delta(), end.reason)]
        if not include_usage:
            return self.chunk(choices, self.usage(end))
        return self.chunk(choices) + self.chunk([], self.usage(end))

    def usage(self, end: End) -> wire.Usage:
        return wire.Usage(
            prompt_tokens=end.prompt_tokens,
            completion_tokens=end.completion_tokens,
            total_tokens=end.prompt_tokens + end.completion_tokens,
            lane=LANE,
            prompt_tokens_details=wire.PromptDetails(),
            fireside=_fireside_usage(end) if self.show_progress else None,
        )


async def _stream(
    outputs: AsyncGenerator[Output, None], answer: _Answer, include_usage: bool
) -> AsyncIterator[bytes]:
    async with aclosing(outputs):
        yield answer.delta(wire.Delta(role="assistant", content=""))
        try:
            async for output in outputs:
                match output:
                    case End():
                        yield answer.last(output, include_usage)
                    case Accepted():
                        pass
                    case Queued() | Prefill() | Restarting():
                        if answer.show_progress:
                            empty = [wire.ChunkChoice(wire.Delta())]
                            yield answer.chunk(empty, progress=_progress(output))
                    case _:
                        if (delta := _delta(output)) is not None:
                            yield answer.delta(delta)
        except FiresideError as error:
            yield event(error_body(error))
        yield _DONE


async def _whole(outputs: AsyncGenerator[Output, None], answer: _Answer) -> Response:
    message = _Message()
    async with aclosing(outputs):
        async for output in outputs:
            match output:
                case End():
                    choice = wire.Choice(message.as_wire(), output.reason)
                    completion = wire.Completion(
                        answer.id,
                        "chat.completion",
                        answer.created,
                        answer.model,
                        [choice],
                        answer.usage(output),
                    )
                    return Response(_encode(completion), content_type="application/json")
                case Accepted() | Queued() | Prefill() | Restarting():
                    pass
                case _:
                    message.add(output)
    raise FiresideError("The engine ended an answer without saying so.")


def _delta(piece: MarkupEvent) -> wire.Delta | None:
    """A piece of the answer as a delta; the end of a call is told by what follows it."""
    match piece:
        case ReasoningText(text):
            return wire.Delta(reasoning=text)
        case ContentText(text):
            return wire.Delta(content=text)
        case CallStarted(index, call_id, name):
            function = wire.FunctionDelta(name, "")
            return wire.Delta(tool_calls=[wire.CallDelta(index, function, call_id, "function")])
        case CallArguments(index, fragment):
            return wire.Delta(tool_calls=[wire.CallDelta(index, wire.FunctionDelta(arguments=fragment))])
        case CallFinished():
            return None


class _Message:
    """A whole answer out of its pieces. A call that was cut off stays, as far as it came."""

    def __init__(self) -> None:
        self._reasoning: list[str] = []
        self._content: list[str] = []
        self._calls: dict[int, tuple[CallStarted, list[str]]] = {}

    def add(self, piece: MarkupEvent) -> None:
        match piece:
            case ReasoningText(text):
                self._reasoning.append(text)
            case ContentText(text):
                self._content.append(text)
            case CallStarted(index):
                self._calls[index] = piece, []
            case CallArguments(index, fragment):
                self._calls[index][1].append(fragment)
            case CallFinished():
                pass

    def as_wire(self) -> wire.Message:
        content = "".join(self._content)
        calls = [
            wire.Call(call.id, wire.Function(call.name, "".join(fragments)))
            for call, fragments in self._calls.values()
        ]
        return wire.Message(
            content=content or None if calls else content,
            reasoning="".join(self._reasoning) or msgspec.UNSET,
            tool_calls=calls or msgspec.UNSET,
        )


def _progress(output: Queued | Prefill | Restarting) -> wire.Progress:
    match output:
        case Queued():
            return wire.Progress("queued", queue_position=output.position, eta_s=output.eta_s)
        case Prefill():
            return wire.Progress("prefill", prefill_done=output.done, prefill_total=output.total)
        case Restarting():
            return wire.Progress("restarting")


def _fireside_usage(end: End) -> wire.FiresideUsage:
    timings = end.timings
    return wire.FiresideUsage(
        lane=LANE,
        queue_ms=round(timings.queue_ms, 1),
        computed=end.prompt_tokens,
        from_ram=0,
        from_ssd=0,
        ttft_ms=timings.ttft_ms and round(timings.ttft_ms, 1),
        decode_tps=timings.decode_tps and round(timings.decode_tps, 2),
        model_hash=None,
        adapter_hash=None,
        seed=end.seed,
        resumed=timings.resumed,
    )
