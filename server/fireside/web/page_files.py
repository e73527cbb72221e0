"""The page's files as they are sent: compressed once, then kept in memory."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from quart import Request, Response
from werkzeug.security import safe_join

from fireside.http.errors import NotFound

_REVALIDATE = "no-cache"
_WORTH_COMPRESSING = 400
"""Bytes. Below this the header that tells of the compression eats up what it saves."""
_PACKED_ALREADY = ("image/png", "image/jpeg", "image/webp", "font/")

Stamp = tuple[int, int]
"""When a file was changed, in nanoseconds, and its size: another one means another content."""


@dataclass(frozen=True)
class SentFile:
    """A file's content, plain and, where that is smaller, compressed with gzip."""

    mimetype: str
    digest: str
    plain: bytes
    packed: bytes | None

    @classmethod
    def of(cls, content: bytes, mimetype: str) -> SentFile:
        """Compress `content`; takes a while."""
        small = len(content) < _WORTH_COMPRESSING or mimetype.startswith(_PACKED_ALREADY)
        packed = content if small else gzip.compress(content, 9, mtime=0)
        digest = hashlib.sha256(content).hexdigest()[:16]
        return cls(mimetype, digest, content, packed if len(packed) < len(content) else None)

    async def answer(self, request: Request) -> Response:
        """The answer to a GET of it: whole, or 304 where the client has it already."""
        compressed = self.packed is not None and request.accept_encodings["gzip"] > 0
        body = self.packed if compressed and self.packed is not None else self.plain
        response = Response(body, mimetype=self.mimetype, headers={"Cache-Control": _REVALIDATE})
        # A tag names the very bytes, so each encoding has its own.
        response.set_etag(f"{self.digest}-gzip" if compressed else self.digest)
        if self.packed is not None:
            response.headers["Vary"] = "Accept-Encoding"
        if compressed:
            response.headers["Content-Encoding"] = "gzip"
        return await response.make_conditional(request)


class PageFiles:
    """The files of a folder. What changes on disk is read anew with the next request."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept: dict[str, tuple[object, SentFile]] = {}

    def read(self, name: str, mimetype: str | None = None) -> SentFile:
        """The file, from memory if it is still the same; blocks. Raises NotFound."""
        path = safe_join(str(self.folder), name)
        if path is None:
            raise _missing(name)
        try:
            stamp = _stamp(Path(path))
            found = mimetype or mimetypes.guess_type(name)[0] or "application/octet-stream"
            return self.made(name, stamp, lambda: (Path(path).read_bytes(), found))
        except (OSError, ValueError) as error:
            # Not there, a folder, or a name that no file system can hold.
            raise _missing(name) from error

    def made(self, name: str, stamp: object, make: Callable[[], tuple[bytes, str]]) -> SentFile:
        """What `make` gives (content and media type), from memory as long as `stamp` is the same; blocks."""
        kept = self._kept.get(name)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        file = SentFile.of(*make())
        self._kept[name] = (stamp, file)
        return file

    def stamp(self, suffixes: tuple[str, ...]) -> frozenset[tuple[str, Stamp]]:
        """What all files with these suffixes are like now; another value means that one has changed."""
        found = (path for path in self.folder.rglob("*") if path.suffix in suffixes)
        return frozenset((str(path), _stamp(path)) for path in found)


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _missing(name: str) -> NotFound:
    return NotFound(f"There is no file {name[:80]!r}.")
