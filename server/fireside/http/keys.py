"""The API keys that open Fireside: those given at its start, and those created in the page.

A created key is 256 random bits, so that its plain SHA-256 can be stored: nothing slower is needed where
nothing can be guessed. A given key may be anything, and is kept in memory only.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from fireside.http.endings import Endings
from fireside.http.private_files import UnsafeFile, read_private, write_private

PREFIX = "sk-fireside-"
MAX_CREATED = 200
_SHOWN = len(PREFIX) + 4
_WRITE_EVERY_S = 60.0


class CreatedKey(msgspec.Struct):
    """A key made by a person in the page; times are seconds since 1970."""

    id: str
    name: str
    prefix: str
    sha256: str
    created: float
    last_used: float | None = None


class KeyInfo(msgspec.Struct, frozen=True):
    """What may be told of a key; of one given at the start neither its beginning nor its age."""

    id: str
    name: str
    source: str
    prefix: str | None
    created: float | None
    last_used: float | None


class _File(msgspec.Struct):
    keys: list[CreatedKey] = []


class TooManyKeys(Exception):
    """As many keys exist as may."""


class KeyRing:
    """All keys that are good now.

    Args:
        given: keys of the command line or the environment.
        path: where created keys are kept.

    Raises:
        UnsafeFile: the file of the created keys is not one, or others may use it.
    """

    def __init__(self, given: Iterable[str], path: Path) -> None:
        self._given = {f"given-{number}": digest(key) for number, key in enumerate(given, 1)}
        self._given_used: dict[str, float] = {}
        self._path = path
        self._created = {key.id: key for key in _load(path)}
        self._lock = asyncio.Lock()
        self._unwritten = False
        self.ended = Endings()
        """Of keys, and of the sessions that they or links have opened."""

    @property
    def given(self) -> bool:
        """Whether a key was given at the start."""
        return bool(self._given)

    @property
    def empty(self) -> bool:
        """Whether there is no key at all."""
        return not self._given and not self._created

    def find(self, key: str) -> str | None:
        """The id of the key that this is, or None.

        Digests are compared, in constant time, and always with all keys: how long it takes tells nothing.
        """
        shown, found = digest(key), None
        for key_id, known in self._digests():
            if hmac.compare_digest(shown, known):
                found = key_id
        return found

    def used(self, key_id: str) -> None:
        """Note that a key was used now; written to the disk a minute later at the latest."""
        if key_id in self._created:
            self._created[key_id].last_used = time.time()
            self._unwritten = True
        else:
            self._given_used[key_id] = time.time()

    def holds(self, key_id: str) -> bool:
        """Whether a key with this id is good."""
        return key_id in self._given or key_id in self._created

    def infos(self) -> list[KeyInfo]:
        """What may be shown, in order of age."""
        given = [
            KeyInfo(key_id, "given at start", "start", None, None, self._given_used.get(key_id))
            for key_id in self._given
        ]
        return given + [info_of(key) for key in self._created.values()]

    async def create(self, name: str) -> tuple[CreatedKey, str]:
        """Make a key that is good at once, and return it with its secret, which is kept nowhere.

        Raises:
            TooManyKeys: there are `MAX_CREATED` already.
        """
        if len(self._created) >= MAX_CREATED:
            raise TooManyKeys(f"There are {MAX_CREATED} keys already; delete one that is not used any more.")
        secret = PREFIX + secrets.token_urlsafe(32)
        key = CreatedKey(secrets.token_hex(8), name, secret[:_SHOWN], digest(secret).hex(), time.time())
        self._created[key.id] = key
        try:
            await self._write()
        except OSError:
            del self._created[key.id]
            raise
        return key, secret

    async def delete(self, key_id: str) -> bool:
        """Forget a created key; False if there is none with this id. It is good no more from now on."""
        if self._created.pop(key_id, None) is None:
            return False
        self.ended.tell()
        await self._write()
        return True

    async def keep_times(self) -> None:
        """Write down, now and then, when keys were used. Runs until it is cancelled."""
        while True:
            await asyncio.sleep(_WRITE_EVERY_S)
            await self.close()

    async def close(self) -> None:
        """Write down what is not written yet."""
        if self._unwritten:
            await self._write()

    async def _write(self) -> None:
        async with self._lock:
            self._unwritten = False
            data = msgspec.json.format(msgspec.json.encode(_File(list(self._created.values()))))
            await asyncio.to_thread(write_private, self._path, data)

    def _digests(self) -> Iterator[tuple[str, bytes]]:
        yield from self._given.items()
        for key in self._created.values():
            yield key.id, bytes.fromhex(key.sha256)


def info_of(key: CreatedKey) -> KeyInfo:
    """What may be told of a created key."""
    return KeyInfo(key.id, key.name, "created", key.prefix, key.created, key.last_used)


def digest(secret: str) -> bytes:
    """The SHA-256 of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _load(path: Path) -> list[CreatedKey]:
    if not path.exists():
        return []
    try:
        keys = msgspec.json.decode(read_private(path), type=_File).keys
        for key in keys:
            bytes.fromhex(key.sha256)
    except (msgspec.DecodeError, ValueError) as error:
        raise UnsafeFile(f"{path} is not a file of API keys: {error}. Move it away; its keys end.") from error
    return keys
