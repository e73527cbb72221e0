"""`/v1/messages` and `/v1/messages/count_tokens`: Anthropic's protocol."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

from quart import Blueprint, Response

from fireside.api import messages_format as wire
from fireside.api.chat_pieces import progress_of
from fireside.api.generation import End, Output, Served, TokenLogprobs, generate, prepare, rendered
from fireside.api.messages_events import (
    PING,
    Blocks,
    WholeContent,
    encoded,
    start_of,
    stop_of,
    usage_of_end,
)
from fireside.api.messages_task import task_of
from fireside.api.served import Serving
from fireside.engine.requests import About, Accepted, Prefill, Queued, Restarting
from fireside.http.answers import json_answer
from fireside.http.anthropic_errors import new_request_id
from fireside.http.errors import ContextOverBudget, FiresideError, add_warning, as_told, error_body
from fireside.http.security import is_private, json_body
from fireside.http.sse import KEEP_ALIVE_S, event, stream_response
from fireside.http.validation import decode

_PATH = "/v1/messages"


def create_blueprint(serving: Serving) -> Blueprint:
    """Anthropic's routes over the model that `serving` serves."""
    blueprint = Blueprint("messages", __name__)

    @blueprint.post(_PATH)
    async def messages() -> Response:
        body = decode(await json_body(), wire.MessagesBody)
        served = await serving.served(body.model or "")
        translation = task_of(body, served, own=is_private())
        try:
            prepared = await prepare(served, translation.task)
        except ContextOverBudget as error:
            raise _too_long(error) from error
        answer = _Answer.of(served, body, len(prepared.request.prompt))
        outputs = generate(served, prepared, About(answer.id, _PATH))
        await anext(outputs)
        if body.stream:
            response = stream_response(_stream(outputs, answer), KEEP_ALIVE_S, PING)
        else:
            response = await _whole(outputs, answer)
        return _with_headers(response, *translation.warnings, prepared.warning)

    @blueprint.post(f"{_PATH}/count_tokens")
    async def count_tokens() -> Response:
        body = decode(await json_body(), wire.ConversationBody)
        served = await serving.served(body.model or "")
        translation = task_of(body, served, own=is_private())
        try:
            prompt = await rendered(served, translation.task.messages, translation.task.options)
        except ContextOverBudget as error:
            raise _too_long(error) from error
        response = json_answer(wire.TokenCount(len(prompt.ids)))
        return _with_headers(response, *translation.warnings)

    return blueprint


@dataclass(frozen=True)
class _Answer:
    """What the parts of one answer have in common."""

    model: str
    prompt_tokens: int
    show_progress: bool
    hide_thinking: bool
    id: str = field(default_factory=lambda: f"msg_{secrets.token_hex(12)}")

    @classmethod
    def of(cls, served: Served, body: wire.MessagesBody, prompt_tokens: int) -> _Answer:
        hidden = body.thinking is not None and body.thinking.display == "omitted"
        return cls(served.model_id, prompt_tokens, bool(body.return_progress), hidden)


async def _stream(outputs: AsyncGenerator[Output, None], answer: _Answer) -> AsyncIterator[bytes]:
    blocks = Blocks(hide_thinking=answer.hide_thinking)
    async with aclosing(outputs):
        yield encoded(start_of(answer.id, answer.model, answer.prompt_tokens))
        yield PING
        try:
            async for output in outputs:
                match output:
                    case End():
                        for item in blocks.finish():
                            yield encoded(item)
                        usage = usage_of_end(output, answer.show_progress)
                        yield encoded(wire.MessageDelta(stop_of(output), usage))
                        yield encoded(wire.MessageStop())
                    case Queued() | Prefill() | Restarting():
                        if answer.show_progress:
                            yield encoded(wire.Ping(progress_of(output)))
                    case Accepted() | TokenLogprobs():
                        pass
                    case _:
                        for item in blocks.add(output):
                            yield encoded(item)
        except Exception as error:
            yield event(error_body(as_told(error), _PATH), "error")


async def _whole(outputs: AsyncGenerator[Output, None], answer: _Answer) -> Response:
    blocks = Blocks(hide_thinking=answer.hide_thinking)
    content = WholeContent()
    async with aclosing(outputs):
        async for output in outputs:
            match output:
                case End():
                    for item in blocks.finish():
                        content.add(item)
                    stop = stop_of(output)
                    message = wire.Message(
                        id=answer.id,
                        model=answer.model,
                        content=content.blocks,
                        stop_reason=stop.stop_reason,
                        stop_sequence=stop.stop_sequence,
                        usage=usage_of_end(output, answer.show_progress),
                    )
                    return json_answer(message)
                case Queued() | Prefill() | Restarting() | Accepted() | TokenLogprobs():
                    pass
                case _:
                    for item in blocks.add(output):
                        content.add(item)
    raise FiresideError("The engine ended an answer without saying so.")


def _with_headers(response: Response, *warnings: str | None) -> Response:
    response.headers["request-id"] = new_request_id()
    for warning in warnings:
        add_warning(response, warning)
    return response


def _too_long(error: ContextOverBudget) -> ContextOverBudget:
    """With the words by which Anthropic's clients know that they have to shorten the conversation."""
    return ContextOverBudget(f"prompt is too long: {error}", code=error.error_code)
