"""`/v1/completions`: raw text goes on, without a chat template and without reading markup."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field

import msgspec
from quart import Blueprint, Response

from fireside.api import completions_format as wire
from fireside.api.chat_format import Progress, Usage
from fireside.api.chat_pieces import Likelihoods, progress_of
from fireside.api.completions_task import TextTask, prepare_text
from fireside.api.generation import End, Output, Served, TokenLogprobs, generate
from fireside.api.identity import Identity
from fireside.api.served import Serving
from fireside.api.together import begin, together
from fireside.api.usage import usage_of
from fireside.engine.requests import About, Prefill, Queued, Restarting
from fireside.http.answers import json_answer
from fireside.http.errors import add_warning, as_told, error_body
from fireside.http.security import is_private, json_body
from fireside.http.sse import DONE, KEEP_ALIVE_S, event, stream_response
from fireside.http.validation import decode
from fireside.text.markup import ContentText

_encode = msgspec.json.Encoder().encode


def create_blueprint(serving: Serving) -> Blueprint:
    """The text completion route over the model that `serving` serves."""
    blueprint = Blueprint("completions", __name__)

    @blueprint.post("/v1/completions")
    async def completions() -> Response:
        body = decode(await json_body(), wire.CompletionBody)
        served = await serving.served(body.model or "")
        task = await prepare_text(served, body, own=is_private())
        answers = _Answers(served, task, body)
        about = About(answers.identity.id, "/v1/completions")
        streams = [generate(served, prepared, about) for prepared in task.prepared]
        await begin(streams)
        if body.stream:
            response = stream_response(_stream(streams, answers), KEEP_ALIVE_S)
        else:
            response = await _whole(streams, answers)
        add_warning(response, task.warning)
        return response

    return blueprint


@dataclass
class _Choice:
    """One answer on its way."""

    index: int
    tokens: Likelihoods
    pieces: list[str] = field(default_factory=list[str])
    """The whole text so far; unused in a stream."""
    end: End | None = None

    def take(self, text: str, reason: str | None = None) -> wire.Choice:
        """A piece of the answer, with how likely its tokens were."""
        return wire.Choice(self.index, text, reason, self.tokens.take())


class _Answers:
    """All answers of one request, and what they share."""

    def __init__(self, served: Served, task: TextTask, body: wire.CompletionBody) -> None:
        self.identity = Identity.of(served, "cmpl")
        self.show_progress = bool(body.return_progress)
        self.usage_apart = bool(body.stream) and body.include_usage
        self.choices = [_Choice(index, Likelihoods(served.text)) for index in range(len(task.prepared))]
        self.echoes = task.echoes
        self._answers_each = task.answers_each

    def completion(
        self, choices: list[wire.Choice], usage: Usage | None = None, progress: Progress | None = None
    ) -> bytes:
        """An answer or a chunk, as JSON. Where the usage comes apart, the others say that they have none."""
        return _encode(
            wire.Completion(
                self.identity.id,
                "text_completion",
                self.identity.created,
                self.identity.model,
                self.identity.fingerprint,
                choices,
                usage if usage is not None or self.usage_apart else msgspec.UNSET,
                progress,
            )
        )

    def usage(self) -> Usage | None:
        """Once all answers have ended, what they cost; until then nothing."""
        ends = [choice.end for choice in self.choices if choice.end is not None]
        if len(ends) < len(self.choices):
            return None
        return usage_of(ends, self.show_progress, self._answers_each)


async def _stream(streams: Sequence[AsyncGenerator[Output, None]], answers: _Answers) -> AsyncIterator[bytes]:
    async with together(streams) as outputs:
        # Each answer begins with a chunk, empty or not, so that the client knows at once that it is accepted.
        for choice, echo in zip(answers.choices, answers.echoes, strict=True):
            yield event(answers.completion([choice.take(echo)]))
        try:
            async for index, output in outputs:
                choice = answers.choices[index]
                match output:
                    case ContentText(text):
                        yield event(answers.completion([choice.take(text)]))
                    case TokenLogprobs():
                        await choice.tokens.add(output)
                    case Queued() | Prefill() | Restarting():
                        if answers.show_progress:
                            waits = [wire.Choice(index, "")]
                            yield event(answers.completion(waits, progress=progress_of(output)))
                    case End():
                        choice.end = output
                        usage = answers.usage()
                        last = [choice.take("", output.reason)]
                        yield event(answers.completion(last, None if answers.usage_apart else usage))
                        if answers.usage_apart and usage is not None:
                            yield event(answers.completion([], usage))
                    case _:
                        pass
        except Exception as error:
            yield event(error_body(as_told(error)))
        yield DONE


async def _whole(streams: Sequence[AsyncGenerator[Output, None]], answers: _Answers) -> Response:
    async with together(streams) as outputs:
        async for index, output in outputs:
            choice = answers.choices[index]
            match output:
                case ContentText(text):
                    choice.pieces.append(text)
                case TokenLogprobs():
                    await choice.tokens.add(output)
                case End():
                    choice.end = output
                case _:
                    pass
    choices = [
        choice.take(echo + "".join(choice.pieces), choice.end and choice.end.reason)
        for choice, echo in zip(answers.choices, answers.echoes, strict=True)
    ]
    return json_answer(answers.completion(choices, answers.usage()))
