"""Who may ask: checked before any work, on every route, static files and the WebSocket included.

A page on another site must not be able to drive the agent or read chats, neither by a cross-origin
request nor by a host name that it points at the loopback address (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from quart import Quart, Response, request
from werkzeug.exceptions import RequestTimeout

from fireside.http.errors import BadRequest, FiresideError, Forbidden, UnsupportedMedia, error_body

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

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


@dataclass(frozen=True)
class HostPolicy:
    """The names under which Fireside may be asked: loopback names, and those that were allowed.

    Attributes:
        allowed: lower-case host names or addresses without port or brackets.
    """

    allowed: frozenset[str] = field(default_factory=frozenset[str])

    @classmethod
    def of(cls, names: Iterable[str]) -> HostPolicy:
        return cls(frozenset(name.lower().strip("[]") for name in names))

    def allows(self, host_header: str) -> bool:
        """Whether a `Host` header names us. Any port: a port cannot be rebound to another machine."""
        name = split_host(host_header)
        return name is not None and (is_loopback(name) or name in self.allowed)


def split_host(header: str) -> str | None:
    """The lower-case name in a `Host` header, or None if the header is malformed."""
    if not header or any(c in header for c in "@/\\?# \t"):
        return None
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname or None


def is_loopback(name: str) -> bool:
    """Whether a host name or address can only mean this machine."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class Gate:
    """ASGI middleware in front of the whole app: Host and Origin, and the key of the private listener.

    Args:
        private_address: of the loopback listener that only the agent may use.
        private_key: the bearer key that it demands.
    """

    def __init__(
        self, app: Any, hosts: HostPolicy, private_address: tuple[str, int], private_key: str
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._private_address = private_address
        self._private_key = private_key

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket"):
            refusal = self._refusal(scope)
            if refusal is not None:
                await _refuse(refusal, scope, send)
                return
            scope[_PRIVATE] = self._is_private(scope)
        await self._app(scope, receive, send)

    def _refusal(self, scope: Any) -> Forbidden | None:
        host = _headers(scope, b"host")
        if len(host) != 1 or not self._hosts.allows(host[0]):
            return Forbidden(
                f"The host name {', '.join(host) or '(none)'} is not one of Fireside's. "
                "Use a loopback address, or allow the name with --allow-host.",
                code="host_not_allowed",
            )
        if changes_state(scope) and any(not same_origin(o, host[0]) for o in _headers(scope, b"origin")):
            return Forbidden(
                "A page of another origin may not ask this of Fireside.", code="origin_not_allowed"
            )
        if self._is_private(scope) and not self._has_key(scope):
            return Forbidden("This listener is for Fireside's own agent.", code="key_required")
        return None

    def _is_private(self, scope: Any) -> bool:
        server = scope.get("server")
        return server is not None and tuple(server) == self._private_address

    def _has_key(self, scope: Any) -> bool:
        given = _headers(scope, b"authorization")
        return len(given) == 1 and hmac.compare_digest(
            given[0].encode(), f"Bearer {self._private_key}".encode()
        )


def changes_state(scope: Any) -> bool:
    """Whether a request could do anything: every WebSocket, and all but the safe methods."""
    return scope["type"] == "websocket" or scope["method"] not in _SAFE_METHODS


def same_origin(origin: str, host_header: str) -> bool:
    """Whether an `Origin` is the page that we served under this `Host`."""
    scheme, _, rest = origin.partition("://")
    return scheme in ("http", "https") and rest.lower() == host_header.lower()


def _headers(scope: Any, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for key, value in scope["headers"] if key.lower() == name]


async def _refuse(error: FiresideError, scope: Any, send: Any) -> None:
    kind = "http" if scope["type"] == "http" else "websocket.http"
    body = error_body(error)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": f"{kind}.response.start", "status": error.status, "headers": headers})
    await send({"type": f"{kind}.response.body", "body": body, "more_body": False})


def install_headers(app: Quart) -> None:
    """Put the security headers on every answer."""

    @app.after_request
    async def add_headers(response: Response) -> Response:
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
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
