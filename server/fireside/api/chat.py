"""`/v1/chat/completions`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence

import msgspec
from quart import Blueprint, Response

from fireside.api import chat_format as wire
from fireside.api.chat_pieces import Likelihoods, WholeMessage, delta_of, progress_of
from fireside.api.chat_task import task_of
from fireside.api.generation import End, Output, Served, TokenLogprobs, generate, prepare
from fireside.api.identity import Identity
from fireside.api.repeated import repeated
from fireside.api.served import Serving
from fireside.api.together import begin, together
from fireside.api.usage import usage_of
from fireside.engine.requests import About, Accepted, Prefill, Queued, Restarting
from fireside.http.answers import json_answer
from fireside.http.errors import add_warning, as_told, error_body
from fireside.http.security import is_private, json_body
from fireside.http.sse import DONE, KEEP_ALIVE_S, event, stream_response
from fireside.http.validation import decode

_encode = msgspec.json.Encoder().encode


def create_blueprint(serving: Serving) -> Blueprint:
    """The chat route over the model that `serving` serves."""
    blueprint = Blueprint("chat", __name__)

    @blueprint.post("/v1/chat/completions")
    async def chat_completions() -> Response:
        body = decode(await json_body(), wire.ChatBody)
        served = await serving.served(body.model or "")
        prepared = await prepare(served, task_of(body, served, own=is_private()))
        answers = _Answers(served, body)
        about = About(answers.identity.id, "/v1/chat/completions")
        streams = [generate(served, one, about) for one in repeated(prepared, body.n or 1)]
        await begin(streams)
        if body.stream:
            response = stream_response(_stream(streams, answers), KEEP_ALIVE_S)
        else:
            response = await _whole(streams, answers)
        add_warning(response, prepared.warning)
        return response

    return blueprint


class _Choice:
    """One answer on its way."""

    def __init__(self, index: int, served: Served) -> None:
        self.index = index
        self.message = WholeMessage()
        self.tokens = Likelihoods(served.text)
        self.end: End | None = None

    def piece(self, delta: wire.Delta, finish: str | None = None) -> wire.ChunkChoice:
        """A part of a chunk, with the likelihoods that wait for one."""
        return wire.ChunkChoice(delta, finish, self.index, self.tokens.take())

    def whole(self, end: End) -> wire.Choice:
        """The whole answer."""
        return wire.Choice(self.message.as_wire(), end.reason, self.index, self.tokens.take())


class _Answers:
    """All answers of one response, and what its parts have in common."""

    def __init__(self, served: Served, body: wire.ChatBody) -> None:
        self.identity = Identity.of(served, "chatcmpl")
        self.choices = [_Choice(index, served) for index in range(body.n or 1)]
        self.show_progress = bool(body.return_progress)
        self.usage_apart = body.include_usage

    def chunk(
        self,
        choices: list[wire.ChunkChoice],
        usage: wire.Usage | None = None,
        progress: wire.Progress | None = None,
    ) -> bytes:
        """A chunk. Where the usage comes apart, the others say that they have none."""
        return event(
            _encode(
                wire.Chunk(
                    self.identity.id,
                    "chat.completion.chunk",
                    self.identity.created,
                    self.identity.model,
                    self.identity.fingerprint,
                    choices,
                    usage if usage is not None or self.usage_apart else msgspec.UNSET,
                    progress,
                )
            )
        )

    def last(self, choice: _Choice, end: End) -> bytes:
        """An answer's end; with the last one's the usage, or after it where that was asked for."""
        choice.end = end
        ends = [choice.end for choice in self.choices if choice.end is not None]
        usage = self._usage(ends) if len(ends) == len(self.choices) else None
        choices = [choice.piece(wire.Delta(), end.reason)]
        if not self.usage_apart or usage is None:
            return self.chunk(choices, usage)
        return self.chunk(choices) + self.chunk([], usage)

    def completion(self) -> bytes:
        """All answers, which have ended."""
        ended = [(choice, choice.end) for choice in self.choices if choice.end is not None]
        return _encode(
            wire.Completion(
                self.identity.id,
                "chat.completion",
                self.identity.created,
                self.identity.model,
                self.identity.fingerprint,
                [choice.whole(end) for choice, end in ended],
                self._usage([end for _, end in ended]),
            )
        )

    def _usage(self, ends: Sequence[End]) -> wire.Usage:
        return usage_of(ends, self.show_progress, len(ends))


async def _stream(streams: Sequence[AsyncGenerator[Output, None]], answers: _Answers) -> AsyncIterator[bytes]:
    async with together(streams) as outputs:
        for choice in answers.choices:
            yield answers.chunk([choice.piece(wire.Delta(role="assistant", content=""))])
        try:
            async for index, output in outputs:
                choice = answers.choices[index]
                match output:
                    case End():
                        yield answers.last(choice, output)
                    case Accepted():
                        pass
                    case TokenLogprobs():
                        await choice.tokens.add(output)
                    case Queued() | Prefill() | Restarting():
                        if answers.show_progress:
                            waits = [wire.ChunkChoice(wire.Delta(), index=index)]
                            yield answers.chunk(waits, progress=progress_of(output))
                    case _:
                        if (delta := delta_of(output)) is not None:
                            yield answers.chunk([choice.piece(delta)])
        except Exception as error:
            yield event(error_body(as_told(error)))
        yield DONE


async def _whole(streams: Sequence[AsyncGenerator[Output, None]], answers: _Answers) -> Response:
    async with together(streams) as outputs:
        async for index, output in outputs:
            choice = answers.choices[index]
            match output:
                case End():
                    choice.end = output
                case Accepted() | Queued() | Prefill() | Restarting():
                    pass
                case TokenLogprobs():
                    await choice.tokens.add(output)
                case _:
                    choice.message.add(output)
    return json_answer(answers.completion())
