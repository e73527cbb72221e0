"""Attached files: named by the hash of their content in a folder, described by rows of the database."""

import asyncio
import errno
import hashlib
import json
import re
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from fireside_agent.attachments.names import clean_name
from fireside_agent.attachments.readings import PdfReadings, Reading
from fireside_agent.attachments.text import PDF, inspect
from fireside_agent.errors import StorageError
from fireside_agent.files import write_whole
from fireside_agent.messages import Attachment
from fireside_agent.store.database import Database, Work

T = TypeVar("T")

MAX_BYTES = 20_000_000
MAX_PER_MESSAGE = 20

KEPT_SECONDS = 3600.0
"""How long a file waits for the message that it was uploaded for."""

FALLBACK_NAME = "file"

_HASH = re.compile(r"[0-9a-f]{64}")

REFERRED_TO = """
    SELECT file.value ->> 'sha256' FROM messages, json_each(messages.attachments) AS file
    WHERE messages.attachments != '[]'"""


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file that may be attached."""

    attachment: Attachment
    text: str
    data: bytes


def check_file(data: bytes, name: str, declared: str = "") -> CheckedFile:
    """Find out what a file is. Slow for large files: not for the event loop.

    Raises:
        UnsupportedFileError: it cannot be attached.
    """
    name = clean_name(name, FALLBACK_NAME)
    content = inspect(data, name, declared)
    digest = hashlib.sha256(data).hexdigest()
    return CheckedFile(
        Attachment(sha256=digest, name=name, media_type=content.media_type, size=len(data)),
        content.text,
        data,
    )


class AttachmentStore:
    """The files in `folder` and their rows in `database`. One of them for each folder."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder
        self._readings = PdfReadings(database, self.read)
        self._lock = asyncio.Lock()  # what is being added must not be collected before it has its row

    async def add(self, data: bytes, name: str, media_type: str = "") -> Attachment:
        """Keep a file that a message may refer to within the hour. The same content is kept once.

        A PDF is there before its text, see `reading`.

        Raises:
            UnsupportedFileError: it cannot be attached.
            StorageError: it could not be stored; nothing of it is left.
        """
        checked = await asyncio.to_thread(check_file, data, name, media_type)
        await self.keep([checked], lambda connection: None)
        await self._readings.begin(checked.attachment.sha256)
        (attachment,) = await self.describe([checked.attachment.sha256])
        return replace(attachment, name=checked.attachment.name)

    async def keep(self, files: Sequence[CheckedFile], work: Work[T]) -> T:
        """Store files, and do `work` in the same transaction as their rows.

        Raises:
            StorageError: nothing of it is kept, save files that `collect` will remove.
        """

        def insert(connection: sqlite3.Connection) -> T:
            now = time.time()
            connection.executemany(
                "INSERT INTO attachments (sha256, media_type, size, text, created_at) VALUES (?, ?, ?, ?, ?)"
                # A PDF that could not be read gets another try.
                " ON CONFLICT (sha256)"
                " DO UPDATE SET created_at = excluded.created_at, pages = nullif(pages, 0)",
                [
                    (f.attachment.sha256, f.attachment.media_type, f.attachment.size, f.text, now)
                    for f in files
                ],
            )
            return work(connection)

        async with self._lock:
            await asyncio.to_thread(self._place_all, files)
            kept = await self._database.write(insert)
        self._readings.look_again()
        return kept

    async def find(self, hashes: Iterable[str]) -> list[Attachment]:
        """Those that are there, in the order given, once each, without names; they stay for another hour."""
        wanted = list(dict.fromkeys(hashes))

        def find(connection: sqlite3.Connection) -> list[Attachment]:
            now = time.time()
            connection.executemany(
                "UPDATE attachments SET created_at = ? WHERE sha256 = ?", [(now, sha256) for sha256 in wanted]
            )
            return _rows(connection, wanted)

        return await self._database.write(find)

    async def describe(self, hashes: Iterable[str]) -> list[Attachment]:
        """As `find`, without prolonging anything."""
        wanted = list(dict.fromkeys(hashes))
        return await self._database.read(lambda connection: _rows(connection, wanted))

    async def texts(self, hashes: Iterable[str]) -> dict[str, str]:
        """The text of each, for the model; "" for what has none. Waits for PDFs. Raises StorageError."""
        wanted = list(dict.fromkeys(hashes))
        await self._readings.finish(wanted)
        marks = ", ".join("?" * len(wanted))
        query = f"SELECT sha256, text FROM attachments WHERE sha256 IN ({marks})"
        return await self._database.read(
            lambda connection: dict(map(tuple, connection.execute(query, wanted)))
        )

    async def reading(self, sha256: str) -> Reading | None:
        """How far the text of a file is known; a PDF that nobody has read yet is begun. None: no such file.

        Raises:
            StorageError: the text could not be stored.
        """
        if (going := self._readings.state(sha256)) is not None:
            return going
        query = "SELECT media_type, pages, text FROM attachments WHERE sha256 = ?"
        row = await self._database.read(lambda connection: connection.execute(query, [sha256]).fetchone())
        if row is None or not await asyncio.to_thread(self.path(sha256).is_file):
            return None
        if row["media_type"] != PDF or row["pages"]:
            return Reading(state="read", read=row["pages"] or 0, pages=row["pages"])
        if row["pages"] == 0:
            return Reading(state="failed", error=row["text"])
        await self._readings.begin(sha256)
        return self._readings.state(sha256) or Reading(state="reading")

    async def read_pdfs(self) -> None:
        """Read the texts of PDFs that were attached earlier or imported. Goes on for ever."""
        await self._readings.read_all()

    async def close(self) -> None:
        """End what reads PDFs."""
        await self._readings.close()

    def path(self, sha256: str) -> Path:
        """Where the file is, if it is there.

        Raises:
            ValueError: that is not a hash, so that no other path can come out.
        """
        if not _HASH.fullmatch(sha256):
            raise ValueError(f"not a SHA-256 in hexadecimal: {sha256!r}")
        return self._folder / sha256[:2] / sha256

    async def read(self, sha256: str) -> bytes | None:
        """The file's content; None when it is not there.

        Raises:
            StorageError: it is there but cannot be read.
        """
        try:
            return await asyncio.to_thread(self.path(sha256).read_bytes)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(f"The attachment {self.path(sha256)} cannot be read: {error}.") from error

    async def collect(self, kept_seconds: float = KEPT_SECONDS) -> int:
        """Remove what no message refers to and what is older than that; returns how many files.

        Raises:
            StorageError: not everything could be removed.
        """
        before = time.time() - kept_seconds

        def forget(connection: sqlite3.Connection) -> set[str]:
            connection.execute(
                f"DELETE FROM attachments WHERE created_at < ? AND sha256 NOT IN ({REFERRED_TO})", [before]
            )
            rows = connection.execute(f"SELECT sha256 FROM attachments UNION {REFERRED_TO}")
            return {row[0] for row in rows}

        async with self._lock:
            known = await self._database.write(forget)
            return await asyncio.to_thread(self._sweep, known, before)

    async def forget(self, hashes: Iterable[str]) -> None:
        """Remove those of these that no message refers to, however new they are.

        Raises:
            StorageError: not everything could be removed.
        """
        asked = json.dumps(sorted(hashes))

        def forget(connection: sqlite3.Connection) -> list[str]:
            these = f"sha256 IN (SELECT value FROM json_each(?)) AND sha256 NOT IN ({REFERRED_TO})"
            rows = connection.execute(f"DELETE FROM attachments WHERE {these} RETURNING sha256", [asked])
            return [row[0] for row in rows.fetchall()]

        async with self._lock:
            gone = await self._database.write(forget)
            await asyncio.to_thread(self._remove, [self.path(sha256) for sha256 in gone])

    def _remove(self, paths: Sequence[Path]) -> None:
        try:
            for path in paths:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"An attachment could not be removed: {error}.") from error

    def _sweep(self, known: set[str], before: float) -> int:
        removed = 0
        try:
            for path in self._folder.glob("??/*"):
                if path.name not in known and path.lstat().st_mtime < before:
                    path.unlink()
                    removed += 1
        except OSError as error:
            raise StorageError(f"An attachment could not be removed: {error}.") from error
        return removed

    def _place_all(self, files: Sequence[CheckedFile]) -> None:
        try:
            for file in files:
                self._place(self.path(file.attachment.sha256), file.data)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why = "the disk is full; free some space and try again" if full else str(error)
            raise StorageError(f"The attachment could not be stored in {self._folder}: {why}.") from error

    def _place(self, path: Path, data: bytes) -> None:
        """Write the file whole or not at all, readable by nobody else. One that is there is kept."""
        with suppress(FileNotFoundError):
            if path.stat().st_size == len(data):
                return
        path.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_whole(path, data)


def _rows(connection: sqlite3.Connection, hashes: Sequence[str]) -> list[Attachment]:
    found: list[Attachment] = []
    for sha256 in hashes:
        row = connection.execute(
            "SELECT media_type, size, pages FROM attachments WHERE sha256 = ?", [sha256]
        ).fetchone()
        if row is not None:
            kind, size, pages = row
            found.append(Attachment(sha256=sha256, name="", media_type=kind, size=size, pages=pages or None))
    return found
