"""`/admin`: for the program that runs this Fireside on a Unix socket, and for nobody on a network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from quart import Blueprint, Response

from fireside.engine.engine import Engine
from fireside.engine.ssd import FLUSH_WITHIN_S
from fireside.http.answers import json_answer
from fireside.http.errors import NotFound, NotReady
from fireside.http.operations import Answer, Operation
from fireside.http.security import is_private


class Drained(msgspec.Struct, frozen=True, kw_only=True):
    """What has become of the prompt cache.

    Attributes:
        drained: whether all of it is on the disk now.
        demotions: entries that left the memory, and are on the disk alone.
        written: entries that were written for it; others were there already.
        written_bytes: of those.
        dropped: entries that could not be written.
        left: entries that still wait; the time was over.
    """

    drained: bool
    demotions: int
    written: int
    written_bytes: int
    dropped: int
    left: int


OPERATION = Operation(
    "POST",
    "/admin/drain",
    "Server",
    "Write the prompt cache to the disk and free its memory",
    f"Only on a Unix socket. The answer comes when all is written, or after {FLUSH_WITHIN_S:g} seconds, and "
    "says what is not. Requests go on meanwhile.",
    answers={200: Answer("What was written.", Drained)},
    errors=(404, 503),
)


def create_blueprint(engines: Callable[[], list[Engine]]) -> Blueprint:
    """The route; to be registered where Fireside listens on a Unix socket."""
    blueprint = Blueprint("admin", __name__)

    @blueprint.post("/admin/drain")
    async def drain() -> Response:
        if is_private():
            raise NotFound("This is there on the Unix socket alone.")
        running = [engine for engine in engines() if engine.ready is not None]
        if not running:
            raise NotReady("There is no engine to drain yet.")
        if not any(engine.ssd.state for engine in running):
            raise NotFound("There is no SSD cache to write to; see --ssd-cache and --prompt-cache.")
        drains = [engine.drain(FLUSH_WITHIN_S, demote=True) for engine in running if engine.ssd.state]
        told = [report for report in await asyncio.gather(*drains) if report is not None]
        if len(told) < len(drains):
            raise NotReady("The engine ended, or did not answer in time, while it was writing.")
        return json_answer(
            Drained(
                drained=not any(one.dropped or one.left for one in told),
                demotions=sum(one.demotions for one in told),
                written=sum(one.written for one in told),
                written_bytes=sum(one.written_bytes for one in told),
                dropped=sum(one.dropped for one in told),
                left=sum(one.left for one in told),
            )
        )

    return blueprint
