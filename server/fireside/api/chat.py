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
from fireside.api.chat_pieces import Likelihoods, WholeMessage, delta_of, progress_of
from fireside.api.chat_task import task_of
from fireside.api.generation import End, Output, TokenLogprobs, generate, prepare
from fireside.api.request_log import About
from fireside.api.served import Serving
from fireside.api.usage import usage_of
from fireside.api.validation import decode
from fireside.engine.requests import Accepted, Prefill, Queued, Restarting
from fireside.http.errors import FiresideError, add_warning, error_body
from fireside.http.security import is_private, json_body
from fireside.http.sse import event, stream_response

_encode = msgspec.json.Encoder().encode
_DONE = event(b"[DONE]")


def create_blueprint(serving: Serving) -> Blueprint:
    """The chat route over the model that `serving` serves."""
    blueprint = Blueprint("chat", __name__)

    @blueprint.post("/v1/chat/completions")
    async def chat_completions() -> Response:
        body = decode(await json_body(), wire.ChatBody)
        served = serving.served()
        prepared = await prepare(served, task_of(body, served.thinking, own=is_private()))
        answer = _Answer(served.model_id, body.return_progress)
        outputs = generate(served, prepared, About(answer.id, "/v1/chat/completions"))
        await anext(outputs)
        if body.stream:
            response = stream_response(_stream(outputs, answer, body.include_usage, Likelihoods(served.text)))
        else:
            response = await _whole(outputs, answer, Likelihoods(served.text))
        add_warning(response, prepared.warning)
        return response

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

    def delta(self, delta: wire.Delta, tokens: Likelihoods | None = None) -> bytes:
        logprobs = tokens.take() if tokens else msgspec.UNSET
        return self.chunk([wire.ChunkChoice(delta, logprobs=logprobs)])

    def last(self, end: End, include_usage: bool, tokens: Likelihoods) -> bytes:
        """The chunk with the finish reason; the usage comes with it, or after it where that was asked for."""
        choices = [wire.ChunkChoice(wire.Delta(), end.reason, logprobs=tokens.take())]
        if not include_usage:
            return self.chunk(choices, self.usage(end))
        return self.chunk(choices) + self.chunk([], self.usage(end))

    def usage(self, end: End) -> wire.Usage:
        return usage_of([end], self.show_progress)


async def _stream(
    outputs: AsyncGenerator[Output, None], answer: _Answer, include_usage: bool, tokens: Likelihoods
) -> AsyncIterator[bytes]:
    async with aclosing(outputs):
        yield answer.delta(wire.Delta(role="assistant", content=""))
        try:
            async for output in outputs:
                match output:
                    case End():
                        yield answer.last(output, include_usage, tokens)
                    case Accepted():
                        pass
                    case TokenLogprobs():
                        await tokens.add(output)
                    case Queued() | Prefill() | Restarting():
                        if answer.show_progress:
                            empty = [wire.ChunkChoice(wire.Delta())]
                            yield answer.chunk(empty, progress=progress_of(output))
                    case _:
                        if (delta := delta_of(output)) is not None:
                            yield answer.delta(delta, tokens)
        except FiresideError as error:
            yield event(error_body(error))
        yield _DONE


async def _whole(outputs: AsyncGenerator[Output, None], answer: _Answer, tokens: Likelihoods) -> Response:
    message = WholeMessage()
    async with aclosing(outputs):
        async for output in outputs:
            match output:
                case End():
                    choice = wire.Choice(message.as_wire(), output.reason, logprobs=tokens.take())
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
                case TokenLogprobs():
                    await tokens.add(output)
                case _:
                    message.add(output)
    raise FiresideError("The engine ended an answer without saying so.")
