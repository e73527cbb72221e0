"""Pages of other origins that may use `/v1`, because `--allow-origin` names them.

`/v1` only: there the model answers what it is asked. `/api` and `/ws` drive the agent, its tools and all
chats; a page that may do that is our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fireside.http.headers import header

Headers = list[tuple[bytes, bytes]]

_ORIGIN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<name>[a-z0-9._-]+|\[[0-9a-f:.]+\])(:(?P<port>\d{1,5}))?"
)
_PORTS = {"http": "80", "https": "443"}
_NAMES = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+(\s*,\s*[A-Za-z0-9!#$%&'*+.^_`|~-]+)*")
_METHODS = b"GET, POST, DELETE"
_KEPT_S = b"600"


def parse_origin(text: str) -> str:
    """An origin as browsers write it.

    Raises:
        ValueError: it is not exactly one.
    """
    found = _ORIGIN.fullmatch(text.strip().lower().removesuffix("/"))
    if found is None:
        raise ValueError(
            f"{text!r} is not an origin. Write scheme://host or scheme://host:port, such as "
            "http://localhost:3000; there is no way to allow all of them."
        )
    port = found["port"]
    usual = port is None or _PORTS.get(found["scheme"]) == port
    return f"{found['scheme']}://{found['name']}" + ("" if usual else f":{port}")


@dataclass(frozen=True)
class OriginPolicy:
    """The origins beside our own that may use `/v1`."""

    allowed: frozenset[str] = field(default_factory=frozenset[str])

    @classmethod
    def of(cls, origins: Iterable[str]) -> OriginPolicy:
        return cls(frozenset(parse_origin(origin) for origin in origins))

    def allows(self, origin: str, path: str) -> bool:
        """Whether a page of this origin may ask for this path."""
        return origin.lower() in self.allowed and _is_api(path)

    def answers(self, scope: Any) -> Headers:
        """The headers that a browser looks for in any answer; none where no origin is allowed."""
        if not self.allowed or scope["type"] != "http" or not _is_api(scope["path"]):
            return []
        vary = [(b"vary", b"Origin")]
        origins = header(scope, b"origin")
        if len(origins) != 1 or not self.allows(origins[0], scope["path"]):
            return vary
        origin = (b"access-control-allow-origin", origins[0].encode("latin-1"))
        return [*vary, origin, (b"access-control-expose-headers", b"*")]

    def preflight(self, scope: Any) -> Headers | None:
        """What to answer, beside that, to the question whether a request may be sent; None if it is none."""
        asked = header(scope, b"access-control-request-method")
        if scope["type"] != "http" or scope["method"] != "OPTIONS" or not asked:
            return None
        headers = [(b"access-control-allow-methods", _METHODS), (b"access-control-max-age", _KEPT_S)]
        names = ", ".join(header(scope, b"access-control-request-headers"))
        if _NAMES.fullmatch(names):
            # As asked: `*` would leave out `Authorization`.
            headers.append((b"access-control-allow-headers", names.encode()))
        if header(scope, b"access-control-request-private-network") == ["true"]:
            headers.append((b"access-control-allow-private-network", b"true"))
        return headers


def _is_api(path: str) -> bool:
    return path == "/v1" or path.startswith("/v1/")
