"""`/health`, `/stats` and `/api/status`."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec
from quart import Blueprint, Response, request

from fireside import __version__
from fireside.engine.engine import Engine
from fireside.engine.stats import EngineStats, kv_mode, prompt_cache_stats
from fireside.engine.status import EngineStatus, Mode, Phase, StatusBoard
from fireside.http.answers import json_answer
from fireside.http.sse import event, stream_response

_encode = msgspec.json.Encoder().encode
_KEEP_ALIVE_S = 15.0


class AppStatus(msgspec.Struct, frozen=True):
    """What the page shows of the app.

    Attributes:
        home: the folder with all data; whoever may ask this may have the agent's tools read it as well.
        login: whether a browser has to log in.
    """

    version: str
    epoch: str
    mode: Mode
    home: str
    login: bool
    engine: EngineStatus


class Health(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether requests can be served; where not, why.

    Attributes:
        status: `ok` or `unavailable`.
    """

    status: str
    phase: Phase | None = None
    reason: str | None = None


class ServerStats(msgspec.Struct, frozen=True):
    """The app. `started_at` is in seconds since 1970, `owner` the program that serves."""

    version: str
    model: str | None
    started_at: float
    owner: str = "fireside"


class KvQuant(msgspec.Struct, frozen=True):
    """The type of keys and values."""

    mode: str | None


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """Counters and sizes of the app; sizes are bytes, null is what is not known or not limited."""

    server: ServerStats
    engine: EngineStats
    admission: dict[str, int | None] | None
    batch: dict[str, int | bool | None] | None
    prompt_cache: dict[str, int] | None
    ssd_cache: dict[str, int | float | str] | None
    response_store: dict[str, int] | None
    kv_quant: KvQuant


@dataclass(frozen=True)
class StatusSource:
    """Where the status routes look."""

    board: StatusBoard
    mode: Mode
    epoch: str
    engine: Callable[[], Engine | None]
    home: str
    login: bool
    response_store: Callable[[], dict[str, int]] | None = None
    started_at: float = field(default_factory=time.time)

    def app_status(self) -> AppStatus:
        return AppStatus(__version__, self.epoch, self.mode, self.home, self.login, self.board.current)

    def unhealthy(self) -> str | None:
        """Why no request can be served, or None."""
        status = self.board.current
        if status.phase == "idle":
            return None
        if status.phase != "ready":
            return status.error or status.detail
        engine = self.engine()
        return "The engine does not answer." if engine is not None and engine.stuck else None


def create_blueprint(source: StatusSource) -> Blueprint:
    """The routes that say how things are."""
    blueprint = Blueprint("status", __name__)

    @blueprint.get("/health")
    async def health() -> Response:
        reason = source.unhealthy()
        if reason is None:
            return json_answer(Health("ok"))
        return json_answer(Health("unavailable", source.board.current.phase, reason), 503)

    @blueprint.get("/health/live")
    async def live() -> Response:
        return json_answer(Health("ok"))

    @blueprint.get("/stats")
    async def stats() -> Response:
        return json_answer(_stats(source))

    @blueprint.get("/api/status")
    async def status() -> Response:
        return json_answer(source.app_status())

    @blueprint.get("/api/status/events")
    async def events() -> Response:
        if request.method == "HEAD":
            return Response(content_type="text/event-stream")
        return stream_response(_events(source), _KEEP_ALIVE_S)

    return blueprint


async def _events(source: StatusSource) -> AsyncGenerator[bytes, None]:
    async with aclosing(source.board.follow()) as changes:
        async for _ in changes:
            yield event(_encode(source.app_status()))


def _stats(source: StatusSource) -> Stats:
    status = source.board.current
    engine = source.engine()
    ready = engine.ready if engine else None
    admission = engine.admission if engine else None
    return Stats(
        server=ServerStats(__version__, status.model and status.model.id, source.started_at),
        engine=EngineStats(
            mode=source.mode,
            phase=status.phase,
            restarts=status.restarts,
            pid=engine.core_pid if engine else None,
            device=ready and ready.device,
            weights=ready and ready.weights,
            weights_bytes=ready and ready.weights_bytes,
            blas=ready and ready.blas,
            versions=ready and ready.versions,
            warnings=ready.warnings if ready else [],
            warm_up=engine and engine.warm_up,
        ),
        admission=admission and admission.stats(),
        batch=engine and engine.batch,
        prompt_cache=engine
        and prompt_cache_stats(engine.cache, engine.ssd.state.demotions if engine.ssd.state else 0),
        ssd_cache=engine and engine.ssd.stats,
        response_store=source.response_store() if source.response_store else None,
        kv_quant=KvQuant(ready and kv_mode(ready, admission)),
    )
