"""Reads the text of attached PDFs, once each, and stores it where the search and the model find it."""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from fireside_agent.attachments.text import PDF
from fireside_agent.pdf.reading import UnreadablePdfError, read_pdf
from fireside_agent.store.database import Database

logger = logging.getLogger(__name__)

AT_ONCE = 2
"""Documents; each takes a processor."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How far the text of an attached file is known. What is no PDF needs no reading."""

    state: Literal["reading", "read", "failed"]
    read: int = 0
    pages: int | None = None
    """Of a PDF, as soon as it is known."""
    error: str = ""
    """Why there is no text."""


@dataclass(slots=True)
class _Job:
    task: asyncio.Task[None]
    read: int = 0
    pages: int | None = None

    def note(self, read: int, pages: int) -> None:
        self.read, self.pages = read, pages


class PdfReadings:
    """The readings that go on. They do not end with whoever asked for them.

    Args:
        content: of a file by its hash; None where it is gone. May raise StorageError.
    """

    def __init__(self, database: Database, content: Callable[[str], Awaitable[bytes | None]]) -> None:
        self._database = database
        self._content = content
        self._jobs: dict[str, _Job] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._unread = asyncio.Event()
        self._unread.set()  # a Fireside that read no PDFs may have stored some

    def look_again(self) -> None:
        """There may be documents that nobody has read yet."""
        self._unread.set()

    async def read_all(self) -> None:
        """Read, one after the other, what was attached earlier or imported; goes on for ever."""
        while True:
            await self._unread.wait()
            self._unread.clear()
            for sha256 in await self._database.read(_unread):
                await asyncio.wait([self._job(sha256).task])

    async def begin(self, sha256: str) -> None:
        """Read a document, unless that is done or goes on already."""
        for unread in await self._database.read(lambda connection: _unread(connection, [sha256])):
            self._job(unread)

    async def finish(self, hashes: Sequence[str]) -> None:
        """Wait until those of the files that are PDFs have been read.

        Raises:
            StorageError: a text could not be stored.
        """
        unread = await self._database.read(lambda connection: _unread(connection, hashes))
        tasks = [self._job(sha256).task for sha256 in unread]
        if tasks:
            await asyncio.wait(tasks)
        for task in tasks:
            task.result()

    def state(self, sha256: str) -> Reading | None:
        """How far the reading of a document is; None: none goes on.

        Raises:
            StorageError: the last one could not be stored.
        """
        job = self._jobs.get(sha256)
        if job is None:
            return None
        if job.task.done():
            del self._jobs[sha256]
            return job.task.result()
        return Reading(state="reading", read=job.read, pages=job.pages)

    async def close(self) -> None:
        """End all of them; they begin anew when they are needed."""
        tasks = [job.task for job in self._jobs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _job(self, sha256: str) -> _Job:
        job = self._jobs.get(sha256)
        if job is None or job.task.done():
            job = self._jobs[sha256] = _Job(asyncio.create_task(self._read(sha256), name="pdf"))
            job.task.add_done_callback(lambda task: self._ended(sha256, task))
        return job

    def _ended(self, sha256: str, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:  # kept, to be told to who asks for the state
            logger.warning("the text of the PDF %s is not stored: %s", sha256[:12], error)
        elif (job := self._jobs.get(sha256)) and job.task is task:
            del self._jobs[sha256]

    async def _read(self, sha256: str) -> None:
        async with self._slots:
            data = await self._content(sha256)
            if data is None:
                return
            try:
                document = await read_pdf(data, progress=self._jobs[sha256].note)
                text, pages = document.text, document.pages
            except UnreadablePdfError as error:
                text, pages = f"This PDF cannot be read: {error}.", 0
        await self._database.write(
            lambda connection: connection.execute(
                "UPDATE attachments SET text = ?, pages = ? WHERE sha256 = ?", [text, pages, sha256]
            )
        )


def _unread(connection: sqlite3.Connection, hashes: Sequence[str] | None = None) -> list[str]:
    """The PDFs, of these or of all, that nobody has tried to read; the newest first."""
    among, values = "", [PDF]
    if hashes is not None:
        among, values = f"sha256 IN ({', '.join('?' * len(hashes))}) AND", [*hashes, PDF]
    rows = connection.execute(
        f"SELECT sha256 FROM attachments WHERE {among} media_type = ? AND pages IS NULL"
        " ORDER BY created_at DESC",
        values,
    )
    return [row[0] for row in rows]
