"""Browsers that have logged in: a cookie each, which survives a restart and ends with its key."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from fireside.http.keys import KeyRing, digest
from fireside.http.private_files import UnsafeFile, read_private, write_private

LIFETIME_S = 90 * 24 * 3600
MAX_SESSIONS = 64
_BY_LINK = "link"


class _Session(msgspec.Struct):
    sha256: str
    via: str
    expires: float


class _File(msgspec.Struct):
    salt: str
    sessions: list[_Session] = []


class SessionStore:
    """Sessions by the digest of their token.

    Each remembers how it was opened: by a link, by a created key, or by a key given at the start, which is
    told by a keyed digest. When that key is good no more, neither is the session.

    Args:
        path: where sessions are kept.
        given: the keys of this start.

    Raises:
        UnsafeFile: the file is not one of sessions, or others may use it.
    """

    def __init__(
        self, path: Path, keys: KeyRing, given: Iterable[str], now: Callable[[], float] = time.time
    ) -> None:
        self._path = path
        self._keys = keys
        self._now = now
        kept = _load(path)
        self._salt = kept.salt
        self._given = {self._mark(key) for key in given}
        self._sessions = {session.sha256: session for session in kept.sessions}
        self._lock = asyncio.Lock()
        self.cookie = f"fireside_{hashlib.sha256(f'cookie {self._salt}'.encode()).hexdigest()[:8]}"
        """Its name, of our own: a browser sends the cookies of a host to all of its ports."""

    def good(self, token: str) -> bool:
        """Whether a token is that of a session that lasts."""
        session = self._sessions.get(digest(token).hex())
        return session is not None and session.expires > self._now() and self._still_opens(session.via)

    async def open_by_link(self) -> str:
        """The token of a new session, opened with a link."""
        return await self._open(_BY_LINK)

    async def open_by_key(self, key: str, key_id: str) -> str:
        """The token of a new session, opened with a key that is good."""
        mark = self._mark(key)
        return await self._open(mark if mark in self._given else key_id)

    async def end(self, token: str) -> None:
        """Forget a session."""
        if self._sessions.pop(digest(token).hex(), None) is not None:
            self._keys.ended.tell()
            await self._write()

    async def _open(self, via: str) -> str:
        token = secrets.token_urlsafe(32)
        lasting = [s for s in self._sessions.values() if s.expires > self._now() and self._still_opens(s.via)]
        fresh = _Session(digest(token).hex(), via, self._now() + LIFETIME_S)
        self._sessions = {s.sha256: s for s in [*lasting[-(MAX_SESSIONS - 1) :], fresh]}
        self._keys.ended.tell()
        await self._write()
        return token

    def _still_opens(self, via: str) -> bool:
        return via == _BY_LINK or via in self._given or self._keys.holds(via)

    def _mark(self, key: str) -> str:
        return "given:" + hmac.new(self._salt.encode(), key.encode(), "sha256").hexdigest()[:32]

    async def _write(self) -> None:
        async with self._lock:
            data = msgspec.json.encode(_File(self._salt, list(self._sessions.values())))
            await asyncio.to_thread(write_private, self._path, data)


def _load(path: Path) -> _File:
    if not path.exists():
        fresh = _File(secrets.token_hex(16))
        write_private(path, msgspec.json.encode(fresh))
        return fresh
    try:
        return msgspec.json.decode(read_private(path), type=_File)
    except msgspec.DecodeError as error:
        raise UnsafeFile(
            f"{path} is not a file of sessions: {error}. Remove it; everybody logs in again."
        ) from error
