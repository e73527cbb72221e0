"""`/v1/responses`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

import msgspec
from quart import Blueprint, Response, request

from fireside.api.generation import End, Output, TokenLogprobs, generate, prepare
from fireside.api.responses_events import Answer, EventStream, begun
from fireside.api.responses_format import Deleted, ResponsesBody
from fireside.api.responses_items import Item
from fireside.api.responses_output import Event
from fireside.api.responses_pages import page_of
from fireside.api.responses_store import ResponseStore, Stored
from fireside.api.responses_task import asked_of, our_names, renamed
from fireside.api.served import Serving
from fireside.engine.requests import About, Accepted, Prefill, Queued, Restarting
from fireside.http.answers import json_answer
from fireside.http.errors import BadRequest, FiresideError, NotFound, add_warning, as_told
from fireside.http.security import is_private, json_body
from fireside.http.sse import KEEP_ALIVE_S, stream_response
from fireside.http.validation import decode

_ROUTE = "/v1/responses"
_encode = msgspec.json.Encoder().encode


def create_blueprint(serving: Serving, store: ResponseStore) -> Blueprint:
    """The routes of OpenAI's Responses API, over the model that `serving` serves.

    Args:
        store: keeps the responses that others may follow.
    """
    blueprint = Blueprint("responses", __name__)

    @blueprint.post(_ROUTE)
    async def create() -> Response:
        body = decode(await json_body(), ResponsesBody)
        served = await serving.served(body.model or "")
        asked = asked_of(body, served, store, own=is_private())
        with our_names():
            prepared = await prepare(served, asked.task)
        first = begun(body, asked, served, prepared)
        answer = Answer(first, served.text, show_progress=bool(body.return_progress))
        outputs = generate(served, prepared, About(first.id, _ROUTE))
        await anext(outputs)
        events = _events(outputs, answer, store if first.store else None, asked.items)
        if body.stream:
            response = stream_response(_stream(events, answer), KEEP_ALIVE_S)
        else:
            response = await _whole(events, answer)
        add_warning(response, asked.warning)
        add_warning(response, prepared.warning and renamed(prepared.warning))
        return response

    @blueprint.get(f"{_ROUTE}/<response_id>")
    async def retrieve(response_id: str) -> Response:
        found = _found(store, response_id)
        if request.args.get("stream", "false").lower() == "true":
            raise BadRequest(
                "stream: only responses made in the background can be streamed again.", param="stream"
            )
        return json_answer(found.response)

    @blueprint.delete(f"{_ROUTE}/<response_id>")
    async def delete(response_id: str) -> Response:
        if not store.delete(response_id):
            raise _missing(response_id)
        return json_answer(Deleted(response_id))

    @blueprint.get(f"{_ROUTE}/<response_id>/input_items")
    async def input_items(response_id: str) -> Response:
        page = page_of(_found(store, response_id).input, request.args)
        return json_answer(page)

    @blueprint.post(f"{_ROUTE}/<response_id>/cancel")
    async def cancel(response_id: str) -> Response:
        _found(store, response_id)
        raise BadRequest(
            f"Only a response made in the background can be cancelled, and {response_id} was not. "
            "Close the connection to end a response that is being made.",
            code="not_background",
        )

    return blueprint


async def _events(
    outputs: AsyncGenerator[Output, None],
    answer: Answer,
    store: ResponseStore | None,
    items: Sequence[Item],
) -> AsyncGenerator[Sequence[Event], None]:
    """The events of an answer in groups. A complete response is stored before the last group."""
    async with aclosing(outputs):
        yield answer.begin()
        async for output in outputs:
            match output:
                case End():
                    events = await answer.end(output)
                    if store is not None:
                        ids = [item.id for item in answer.response.output]
                        store.put(answer.response.id, Stored(_encode(answer.response), _encode(items), ids))
                    yield events
                    return
                case Accepted():
                    pass
                case TokenLogprobs():
                    await answer.token(output)
                case Queued() | Prefill() | Restarting():
                    yield answer.wait(output)
                case _:
                    yield answer.add(output)
    raise FiresideError("The engine ended an answer without saying so.")


async def _stream(events: AsyncGenerator[Sequence[Event], None], answer: Answer) -> AsyncIterator[bytes]:
    stream = EventStream()
    async with aclosing(events):
        try:
            async for group in events:
                yield stream.encode(group)
        except Exception as error:
            yield stream.encode(answer.fail(as_told(error)))


async def _whole(events: AsyncGenerator[Sequence[Event], None], answer: Answer) -> Response:
    async with aclosing(events):
        async for _ in events:
            pass
    return json_answer(answer.response)


def _found(store: ResponseStore, response_id: str) -> Stored:
    stored = store.get(response_id)
    if stored is None:
        raise _missing(response_id)
    return stored


def _missing(response_id: str) -> NotFound:
    return NotFound(
        f"There is no response {response_id!r}: it was not stored, was deleted, or is too old.",
        param="response_id",
        code="response_not_found",
    )
