"""`/health`, `/stats` and `/api/status`."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import msgspec
from quart import Blueprint, Response, request

from fireside import __version__
from fireside.engine.engine import Engine
from fireside.engine.stats import kv_mode, prompt_cache_stats
from fireside.engine.status import EngineStatus, Mode, StatusBoard
from fireside.http.sse import event, stream_response

_encode = msgspec.json.Encoder().encode
_KEEP_ALIVE_S = 15.0


class AppStatus(msgspec.Struct, frozen=True):
    """What the page shows of the app."""

    version: str
    epoch: str
    mode: Mode
    engine: EngineStatus


@dataclass(frozen=True)
class StatusSource:
    """Where the status routes look."""

    board: StatusBoard
    mode: Mode
    epoch: str
    engine: Callable[[], Engine | None]
    started_at: float = field(default_factory=time.time)

    def app_status(self) -> AppStatus:
        return AppStatus(__version__, self.epoch, self.mode, self.board.current)

    def unhealthy(self) -> str | None:
        """Why no request can be served, or None."""
        status = self.board.current
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
            return _json({"status": "ok"})
        return _json({"status": "unavailable", "phase": source.board.current.phase, "reason": reason}, 503)

    @blueprint.get("/health/live")
    async def live() -> Response:
        return _json({"status": "ok"})

    @blueprint.get("/stats")
    async def stats() -> Response:
        return _json(_stats(source))

    @blueprint.get("/api/status")
    async def status() -> Response:
        return _json(source.app_status())

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


def _stats(source: StatusSource) -> dict[str, Any]:
    status = source.board.current
    engine = source.engine()
    ready = engine.ready if engine else None
    admission = engine.admission if engine else None
    return {
        "server": {
            "version": __version__,
            "model": status.model and status.model.id,
            "started_at": source.started_at,
        },
        "engine": {
            "mode": source.mode,
            "phase": status.phase,
            "restarts": status.restarts,
            "pid": engine.core_pid if engine else None,
            "device": ready and ready.device,
            "weights": ready and ready.weights,
            "weights_bytes": ready and ready.weights_bytes,
            "blas": ready and ready.blas,
            "versions": ready and ready.versions,
            "warnings": ready.warnings if ready else [],
            "warm_up": engine and engine.warm_up,
        },
        "admission": admission and admission.stats(),
        "batch": engine and engine.batch,
        "prompt_cache": engine and prompt_cache_stats(engine.cache),
        "kv_quant": {"mode": ready and kv_mode(ready, admission)},
    }


def _json(value: Any, status: int = 200) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(_encode(value), status, content_type="application/json", headers=headers)
