"""Who may ask: checked before any work, on every route, static files and the WebSocket included.

A page on another site must not be able to drive the agent or read chats, neither by a cross-origin
request nor by a host name that it points at the loopback address (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import hmac
from typing import Any

from quart import Quart, Response, request
from werkzeug.exceptions import RequestTimeout

from fireside.http.access import REALM, Access, is_open
from fireside.http.cors import Headers, OriginPolicy
from fireside.http.endings import Lasting
from fireside.http.errors import (
    BadRequest,
    FiresideError,
    Forbidden,
    Unauthorized,
    UnsupportedMedia,
    error_body,
)
from fireside.http.headers import header
from fireside.http.hosts import HostPolicy, same_origin

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_FORMS = frozenset({"text/plain", "application/x-www-form-urlencoded"})

_CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

_PRIVATE = "fireside.private"
"""In the scope of a request: whether it came through the private listener, and so with its key."""

_HEADERS = {
    "Content-Security-Policy": _CSP,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_ASSETS = "/assets/"
_PARTS_OF_A_PAGE = frozenset({"text/css", "text/javascript"})
"""What a document loads obeys the document's policies, and these are never documents or workers themselves:
the service worker is not below `/assets/`. Over all modules of a first load they would be a fifth of what is
sent."""

_HEADERS_OF_PARTS = ("Cross-Origin-Resource-Policy", "X-Content-Type-Options")


class Gate:
    """ASGI middleware in front of the whole app: Host, Origin, and keys.

    Args:
        access: keys and sessions of everybody else than the agent.
        private_address: of the loopback listener that only the agent may use.
        private_key: the bearer key that it demands.
    """

    def __init__(
        self,
        app: Any,
        hosts: HostPolicy,
        origins: OriginPolicy,
        access: Access,
        private_address: tuple[str, int],
        private_key: str,
    ) -> None:
        self.app = app
        self._hosts = hosts
        self._origins = origins
        self._access = access
        self._private_address = private_address
        self._private_key = private_key

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket"):
            refusal = self._foreign(scope)
            if refusal is not None:
                await _refuse(refusal, scope, send)
                return
            send = _with_headers(send, self._origins.answers(scope))
            preflight = self._origins.preflight(scope) if header(scope, b"origin") else None
            if preflight is not None:
                await _answer(send, "http", 204, preflight, b"")
                return
            refusal = self._locked(scope)
            if refusal is not None:
                await _refuse(refusal, scope, send)
                return
            scope[_PRIVATE] = self._is_private(scope)
            if self._access.required and not is_open(scope["path"]) and not scope[_PRIVATE]:
                await self._while_open(scope, receive, send)
                return
        await self.app(scope, receive, send)

    async def _while_open(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request until its session has ended or its key was deleted."""
        lasting = Lasting(
            scope, receive, send, lambda: self._access.opens(scope, with_cookie=_is_own_page(scope))
        )
        with self._access.keys.ended.heard_by(lasting.look):
            await self.app(scope, lasting.receive, lasting.send)
            await lasting.close()

    def _foreign(self, scope: Any) -> FiresideError | None:
        host = header(scope, b"host")
        reached = scope.get("server")
        if len(host) != 1 or not self._hosts.allows(host[0], reached[0] if reached else None):
            return Forbidden(
                f"The host name {', '.join(host) or '(none)'} is not one of Fireside's. "
                "Use a loopback address, or allow the name with --allow-host.",
                code="host_not_allowed",
            )
        # Also of what only reads: a browser says an origin there only when another one asks.
        if any(not self._may(origin, host[0], scope["path"]) for origin in header(scope, b"origin")):
            return Forbidden(
                "A page of another origin may not ask this of Fireside; --allow-origin allows it to use /v1.",
                code="origin_not_allowed",
            )
        if _is_form(scope):
            return UnsupportedMedia("The body must be JSON, with `Content-Type: application/json`.")
        return None

    def _may(self, origin: str, host: str, path: str) -> bool:
        return same_origin(origin, host) or self._origins.allows(origin, path)

    def _locked(self, scope: Any) -> FiresideError | None:
        if self._is_private(scope):
            if self._has_private_key(scope):
                return None
            return Forbidden("This listener is for Fireside's own agent.", code="key_required")
        return self._access.refusal(scope, with_cookie=_is_own_page(scope))

    def _is_private(self, scope: Any) -> bool:
        server = scope.get("server")
        return server is not None and tuple(server) == self._private_address

    def _has_private_key(self, scope: Any) -> bool:
        given = header(scope, b"authorization")
        return len(given) == 1 and hmac.compare_digest(
            given[0].encode(), f"Bearer {self._private_key}".encode()
        )


def _is_own_page(scope: Any) -> bool:
    """Whether no page of another origin asks; of the one host that a request was let in with."""
    (host,) = header(scope, b"host")
    return all(same_origin(origin, host) for origin in header(scope, b"origin"))


def _is_form(scope: Any) -> bool:
    """Whether a page of any origin could send this without being asked first, also to a route that reads no
    body. Forms with files are left to the routes: some take them.
    """
    if scope["type"] != "http" or scope["method"] in _SAFE_METHODS:
        return False
    return any(kind.partition(";")[0].strip().lower() in _FORMS for kind in header(scope, b"content-type"))


async def _refuse(error: FiresideError, scope: Any, send: Any) -> None:
    kind = "http" if scope["type"] == "http" else "websocket.http"
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    headers += [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
    if error.status == Unauthorized.status:
        headers.append((b"www-authenticate", f"Bearer {REALM}".encode()))
    if error.retry_after_s is not None:
        headers.append((b"retry-after", str(error.retry_after_s).encode()))
    await _answer(send, kind, error.status, headers, error_body(error, scope["path"]))


async def _answer(send: Any, kind: str, status: int, headers: Headers, body: bytes) -> None:
    length = [] if status == 204 else [(b"content-length", str(len(body)).encode())]
    await send({"type": f"{kind}.response.start", "status": status, "headers": [*headers, *length]})
    await send({"type": f"{kind}.response.body", "body": body, "more_body": False})


def _with_headers(send: Any, headers: Headers) -> Any:
    if not headers:
        return send

    async def send_with_headers(event: Any) -> None:
        if event["type"] == "http.response.start":
            event = {**event, "headers": [*event["headers"], *headers]}
        await send(event)

    return send_with_headers


def install_headers(app: Quart) -> None:
    """Put the security headers on every answer: all of them, or those that mean something there."""

    @app.after_request
    async def add_headers(response: Response) -> Response:
        part = request.path.startswith(_ASSETS) and response.mimetype in _PARTS_OF_A_PAGE
        for name in _HEADERS_OF_PARTS if part else _HEADERS:
            response.headers.setdefault(name, _HEADERS[name])
        return response


def is_private() -> bool:
    """Whether the request being answered is Fireside's own: it came through the private listener."""
    scope: Any = request.scope
    return bool(scope.get(_PRIVATE))


async def json_body() -> bytes:
    """The request's body, which must say that it is JSON.

    Raises:
        UnsupportedMedia: another content type: a form on a foreign page could have sent it.
        BadRequest: there is no body.
        RequestTimeout: the rest of it does not come.
    """
    if request.mimetype != "application/json":
        raise UnsupportedMedia("The body must be JSON, with `Content-Type: application/json`.")
    try:
        # Not `get_data`: before Python 3.12 its `wait_for` loses a cancellation that comes together with
        # the end of the body, and the client that left would be answered.
        async with asyncio.timeout(request.body_timeout):
            body: bytes = await request.body
    except TimeoutError as error:
        raise RequestTimeout from error
    if not body:
        raise BadRequest("invalid JSON body: it is empty")
    return body
