"""`/v1` in front of another OpenAI-compatible server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quart import Blueprint, Response, request

from fireside.engine.status import ModelInfo, StatusBoard
from fireside.http.errors import EngineError, NotFound, error_body
from fireside.http.security import json_body
from fireside.http.sse import event

if TYPE_CHECKING:
    import httpx

_CONNECT_TIMEOUT_S = 10.0
_POLL_S = {"ready": 15.0, "loading": 1.0}
_FORWARDED = ("Accept", "Content-Type", "anthropic-version", "anthropic-beta")


class UpstreamKeyError(Exception):
    """The key file cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class UpstreamConfig:
    """Another server.

    Attributes:
        url: its base, with or without `/v1`.
        key: sent as a bearer token; None sends none.
    """

    url: str
    key: str | None

    @property
    def base(self) -> str:
        return self.url.rstrip("/").removesuffix("/v1")


def read_key(path: Path) -> str | None:
    """The upstream's key.

    Raises:
        UpstreamKeyError: others than the owner may read the file.
    """
    if not path.exists():
        return None
    if path.stat().st_mode & 0o077:
        raise UpstreamKeyError(f"Others may read {path}; run: chmod 600 {path}")
    return path.read_text("utf-8").strip() or None


class Upstream:
    """Passes requests on, and watches whether the other server can be reached."""

    def __init__(self, config: UpstreamConfig, board: StatusBoard) -> None:
        self._config = config
        self._board = board
        self._client: httpx.AsyncClient | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start watching."""
        self._task = asyncio.create_task(self._watch(), name="upstream")

    async def close(self) -> None:
        """Stop watching and drop the connections. Idempotent."""
        self._board.update(phase="stopping", detail="Stopping")
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
        if self._client is not None:
            await self._client.aclose()

    async def forward(self, path: str, body: bytes | None) -> Response:
        """The other server's answer, streamed as it comes.

        Raises:
            EngineError: it cannot be reached.
            NotFound: it does not have the route.
        """
        import httpx

        client = await self._open()
        outgoing = client.build_request(request.method, path, content=body, headers=self._headers(request.headers))
        try:
            answer = await client.send(outgoing, stream=True)
        except httpx.TransportError as error:
            raise EngineError(f"The upstream server at {self._config.base} cannot be reached: {error}") from error
        content_type = answer.headers.get("content-type", "application/octet-stream")
        if answer.status_code == 404 and not content_type.startswith("application/json"):
            await answer.aclose()
            raise NotFound(f"The upstream server at {self._config.base} has no route {path}.", code="route_not_found")
        response = Response(self._body(answer, "event-stream" in content_type), answer.status_code, content_type=content_type)
        response.timeout = None
        return response

    async def _body(self, answer: httpx.Response, events: bool) -> AsyncGenerator[bytes, None]:
        import httpx

        try:
            async for piece in answer.aiter_raw():
                yield piece
        except httpx.TransportError as error:
            broken = EngineError(f"The upstream server broke off its answer: {error}")
            if not events:
                raise broken from error
            yield event(error_body(broken))
        finally:
            await answer.aclose()

    async def _watch(self) -> None:
        while True:
            await self._look()
            await asyncio.sleep(_POLL_S["ready" if self._board.current.phase == "ready" else "loading"])

    async def _look(self) -> None:
        import httpx

        try:
            client = await self._open()
            answer = await client.get("/v1/models", headers=self._headers({}))
            answer.raise_for_status()
            model = answer.json()["data"][0]["id"]
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            detail = f"The upstream server at {self._config.base} cannot be used"
            self._board.update(phase="loading", detail=detail, error=f"{detail}: {error or type(error).__name__}")
            return
        info = ModelInfo(id=model, name=model, note=f"Served by {self._config.base}")
        self._board.update(phase="ready", detail="Ready", model=info, error=None)

    async def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            httpx = await asyncio.to_thread(_import_httpx)
            timeout = httpx.Timeout(None, connect=_CONNECT_TIMEOUT_S)
            limits = httpx.Limits(max_connections=None)
            self._client = httpx.AsyncClient(
                base_url=self._config.base, timeout=timeout, limits=limits, trust_env=False
            )
        return self._client

    def _headers(self, incoming: Mapping[str, str]) -> dict[str, str]:
        headers = {name: incoming[name] for name in _FORWARDED if name in incoming}
        # Compressed pieces would be held back by whoever unpacks them.
        headers["Accept-Encoding"] = "identity"
        if self._config.key is not None:
            headers["Authorization"] = f"Bearer {self._config.key}"
        return headers


def _import_httpx() -> Any:
    import httpx

    return httpx


def create_blueprint(upstream: Upstream) -> Blueprint:
    """Every `/v1` route, passed on."""
    blueprint = Blueprint("upstream", __name__)

    @blueprint.route("/v1/<path:path>", methods=["GET", "POST", "DELETE"])
    async def forward(path: str) -> Response:
        body = await json_body() if request.method == "POST" else None
        query = request.query_string.decode("latin-1")
        return await upstream.forward(f"/v1/{path}" + (f"?{query}" if query else ""), body)

    return blueprint
