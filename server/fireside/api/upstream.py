"""`/v1` in front of another OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from quart import Blueprint, Response, request
from werkzeug.datastructures import Headers

from fireside.engine.status import ModelInfo, StatusBoard
from fireside.http.errors import EngineError, NotFound, error_body
from fireside.http.security import json_body
from fireside.http.sse import event

if TYPE_CHECKING:
    import httpx

_CONNECT_TIMEOUT_S = 10.0
_POLL_S = {"ready": 15.0, "loading": 1.0}
_FORWARDED = ("Accept", "Content-Type", "anthropic-version", "anthropic-beta")
_RETURNED = ("Content-Encoding", "Retry-After", "Warning")

# What another server sends must never run as a part of our own page.
_SANDBOX = "default-src 'none'; sandbox"


class UpstreamError(Exception):
    """The upstream's address or key cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class UpstreamConfig:
    """Another server.

    Attributes:
        url: its base, with or without `/v1`.
        key: sent as a bearer token; None sends none.
        model: to ask for; None is the one that the server lists.
    """

    url: str
    key: str | None
    model: str | None = None

    @property
    def base(self) -> str:
        return self.url.rstrip("/").removesuffix("/v1")


def check_url(url: str) -> str:
    """A URL that requests can be sent to.

    Raises:
        UpstreamError: it is none.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UpstreamError(f"--upstream {url} is no address; expected something like http://127.0.0.1:8000")
    return url


def read_key(path: Path) -> str | None:
    """The upstream's key.

    Raises:
        UpstreamError: others than the owner may read the file.
    """
    if not path.exists():
        return None
    if path.stat().st_mode & 0o077:
        raise UpstreamError(f"Others may read {path}; run: chmod 600 {path}")
    return path.read_text("utf-8").strip() or None


class Upstream:
    """Passes requests on, and watches whether the other server can be reached."""

    def __init__(self, config: UpstreamConfig, board: StatusBoard) -> None:
        self._config = config
        self._board = board
        self._client: Any = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start watching."""
        self._task = asyncio.create_task(self._watch(), name="upstream")

    async def close(self) -> None:
        """Stop watching and drop the connections. Idempotent."""
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
        client = await self._open()
        import httpx

        outgoing = client.build_request(
            request.method, path, content=body, headers=self._headers(request.headers)
        )
        try:
            answer = await client.send(outgoing, stream=True)
        except httpx.TransportError as error:
            raise EngineError(
                f"The upstream server at {self._config.base} cannot be reached: {error}"
            ) from error
        content_type = answer.headers.get("content-type", "application/octet-stream")
        if answer.status_code == 404:
            return _not_found(self._config.base, path, await answer.aread())
        response = Response(
            self._body(answer, "event-stream" in content_type), answer.status_code, content_type=content_type
        )
        response.headers.update({name: answer.headers[name] for name in _RETURNED if name in answer.headers})
        response.headers["Content-Security-Policy"] = _SANDBOX
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
            yield b"\n\n" + event(error_body(broken))
        finally:
            await answer.aclose()

    async def _watch(self) -> None:
        while True:
            await self._look()
            await asyncio.sleep(_POLL_S["ready" if self._board.current.phase == "ready" else "loading"])

    async def models(self) -> list[dict[str, Any]]:
        """The other server's models, the one that is asked for first.

        Raises:
            EngineError: it cannot be reached, or names no model and none was named for it.
        """
        client = await self._open()
        import httpx

        try:
            answer = await client.get(
                "/v1/models", headers=self._headers(Headers()), timeout=_CONNECT_TIMEOUT_S
            )
            rows = _rows(answer)
        except httpx.TransportError as error:
            raise EngineError(str(error) or type(error).__name__) from error
        chosen = self._config.model or _served(rows)
        if chosen is None:
            raise EngineError(f"it lists no model (status {answer.status_code}); name one with --model")
        first = [row for row in rows if row["id"] == chosen] or [{"id": chosen, "object": "model"}]
        return first + [row for row in rows if row["id"] != chosen]

    async def _look(self) -> None:
        try:
            model = (await self.models())[0]["id"]
        except EngineError as error:
            detail = f"The upstream server at {self._config.base} cannot be used"
            self._board.update(phase="loading", detail=detail, error=f"{detail}: {error}")
            return
        info = ModelInfo(id=model, name=Path(model).name, note=f"Served by {self._config.base}")
        self._board.update(phase="ready", detail="Ready", model=info, error=None)

    async def _open(self) -> httpx.AsyncClient:
        """The client; its library, slow to import and needed only here, is loaded off the loop first."""
        if self._client is None:
            httpx = await asyncio.to_thread(importlib.import_module, "httpx")
            self._client = self._client or httpx.AsyncClient(
                base_url=self._config.base,
                timeout=httpx.Timeout(None, connect=_CONNECT_TIMEOUT_S),
                limits=httpx.Limits(max_connections=None),
                trust_env=False,
            )
        return self._client

    def _headers(self, incoming: Headers) -> dict[str, str]:
        headers = {name: value for name in _FORWARDED if (value := incoming.get(name)) is not None}
        # Compressed pieces would be held back by whoever unpacks them.
        headers["Accept-Encoding"] = "identity"
        if self._config.key is not None:
            headers["Authorization"] = f"Bearer {self._config.key}"
        return headers


def _rows(answer: httpx.Response) -> list[dict[str, Any]]:
    """The rows of a model list; none where the server has no such list."""
    try:
        rows: Any = answer.json()["data"]
        return [row for row in rows if isinstance(row["id"], str)]
    except (ValueError, LookupError, TypeError):
        return []


def _not_found(base: str, path: str, body: bytes) -> Response:
    """A 404 passed on, if it says what was not found, as an API does and a missing route does not.

    Raises:
        NotFound: it is a missing route.
    """
    try:
        if json.loads(body)["error"]:
            return Response(body, 404, content_type="application/json")
    except (ValueError, LookupError, TypeError):
        pass
    raise NotFound(f"The upstream server at {base} has no route {path}.", code="route_not_found")


def _served(rows: list[dict[str, Any]]) -> str | None:
    """The model that a server has loaded.

    `mlx_lm.server` lists all that it could load and puts the folder that it has loaded last, as a path;
    others list what they serve.
    """
    ids = [row["id"] for row in rows]
    paths = [model for model in ids if Path(model).is_absolute()]
    return next(iter(paths + ids), None)


def create_blueprint(upstream: Upstream) -> Blueprint:
    """Every `/v1` route, passed on."""
    blueprint = Blueprint("upstream", __name__)

    @blueprint.get("/v1/models")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": await upstream.models()}

    @blueprint.route("/v1/<path:_>", methods=["GET", "POST", "DELETE"])
    async def forward(_: str) -> Response:
        body = await json_body() if request.method == "POST" else None
        return await upstream.forward(_raw_path(), body)

    return blueprint


def _raw_path() -> str:
    """Path and query as the client wrote them: what is decoded and encoded again may mean something else.

    Raises:
        NotFound: the path would lead out of `/v1`.
    """
    path: str = request.scope["raw_path"].decode("ascii")
    if not path.startswith("/v1/") or any(part in (".", "..") for part in unquote(path).split("/")):
        raise NotFound(f"There is no route {path}.")
    query = request.query_string.decode("latin-1")
    return f"{path}?{query}" if query else path
