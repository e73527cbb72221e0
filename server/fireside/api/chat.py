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
from fireside.api.generation import (
    LANE,
    ChatTask,
    End,
    Output,
    Text,
    generate,
    prepare,
)
from fireside.api.served import Serving
from fireside.api.validation import decode
from fireside.engine.requests import Prefill, Queued, Restarting
from fireside.http.errors import BadRequest, FiresideError, error_body
from fireside.http.security import json_body
from fireside.http.sse import event, stream_response
from fireside.text.model import ChatMessage

_encode = msgspec.json.Encoder().encode
_DONE = event(b"[DONE]")


def create_blueprint(serving: Serving) -> Blueprint:
    """The chat route over the model that `serving` serves."""
    blueprint = Blueprint("chat", __name__)

    @blueprint.post("/v1/chat/completions")
    async def chat_completions() -> Response:
        body = decode(await json_body(), wire.ChatBody)
        served = serving.served()
        prepared = await prepare(served, _task(body))
        answer = _Answer(served.model_id, body.return_progress)
        outputs = generate(served, prepared)
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
                    case Text():
                        yield answer.delta(wire.Delta(content=output.text))
                    case End():
                        yield answer.last(output, include_usage)
                    case _:
                        if answer.show_progress:
                            empty = [wire.ChunkChoice(wire.Delta())]
                            yield answer.chunk(empty, progress=_progress(output))
        except FiresideError as error:
            yield event(error_body(error))
        yield _DONE


async def _whole(outputs: AsyncGenerator[Output, None], answer: _Answer) -> Response:
    pieces: list[str] = []
    async with aclosing(outputs):
        async for output in outputs:
            match output:
                case Text():
                    pieces.append(output.text)
                case End():
                    choice = wire.Choice(wire.Message("".join(pieces)), output.reason)
                    completion = wire.Completion(
                        answer.id,
                        "chat.completion",
                        answer.created,
                        answer.model,
                        [choice],
                        answer.usage(output),
                    )
                    return Response(_encode(completion), content_type="application/json")
                case _:
                    pass
    raise FiresideError("The engine ended an answer without saying so.")


def _task(body: wire.ChatBody) -> ChatTask:
    return ChatTask(
        messages=[_message(index, message) for index, message in enumerate(body.messages)],
        sampling=body,
        max_tokens=body.max_completion_tokens or body.max_tokens,
        stop=[body.stop] if isinstance(body.stop, str) else body.stop or [],
    )


def _message(index: int, message: wire.IncomingMessage) -> ChatMessage:
    role = "system" if message.role == "developer" else message.role
    if message.content is None or isinstance(message.content, str):
        return ChatMessage(role, message.content or "")
    return ChatMessage(
        role, "".join(_part_text(index, number, part) for number, part in enumerate(message.content))
    )


def _part_text(index: int, number: int, part: dict[str, object]) -> str:
    text = part.get("text")
    if part.get("type") in ("text", "input_text") and isinstance(text, str):
        return text
    raise BadRequest(
        f"This model reads text only; the part is of type {part.get('type')!r}.",
        param=f"messages[{index}].content[{number}]",
    )


def _progress(output: Queued | Prefill | Restarting | Text | End) -> wire.Progress:
    match output:
        case Queued():
            return wire.Progress("queued", queue_position=output.position)
        case Prefill():
            return wire.Progress("prefill", prefill_done=output.done, prefill_total=output.total)
        case _:
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
