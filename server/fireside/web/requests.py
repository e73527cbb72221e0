"""`/api/requests`: what the engine is busy with, without a word of any text."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from quart import Blueprint, Response

from fireside.engine.engine import Engine
from fireside.engine.in_flight import InFlight
from fireside.http.answers import json_answer
from fireside.http.errors import NotFound


class Requests(msgspec.Struct, frozen=True):
    """The requests in flight: those in the core, then those that wait, in the order of the queue."""

    requests: list[InFlight]


def create_blueprint(engines: Callable[[], list[Engine]]) -> Blueprint:
    """The routes over the engines of our own, if there are any."""
    blueprint = Blueprint("requests", __name__)

    @blueprint.get("/api/requests")
    async def requests() -> Response:
        return json_answer(Requests([one for engine in engines() for one in engine.in_flight]))

    @blueprint.delete("/api/requests/<request_id>")
    async def cancel(request_id: str) -> Response:
        if not any(engine.cancel(request_id) for engine in engines()):
            raise NotFound(
                f"No request {request_id[:80]!r} is in flight; it may have ended. "
                "Those that are, with their ids, are at GET /api/requests."
            )
        return Response(status=204)

    return blueprint
