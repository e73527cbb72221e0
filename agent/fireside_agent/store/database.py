"""One SQLite file, one thread that writes it, one that reads it.

The journal is a write-ahead log with `synchronous=NORMAL`: a commit is in the operating system's hands
when `write` returns, so a killed app loses nothing. Only a power failure can take the last commits back
(never damage the file); `FULL` would pay an fsync for every piece of a streamed answer.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from fireside_agent.errors import DatabaseClosedError, StorageError

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

BUSY_SECONDS = 5.0
LOG_BUSY_SECONDS = 0.5
"""What is waited for readers of the log, while nothing else can be written."""

EXPLANATIONS = {
    "SQLITE_FULL": "the disk is full; free some space and try again",
    "SQLITE_BUSY": "another program holds it; close that program and try again",
    "SQLITE_LOCKED": "another program holds it; close that program and try again",
    "SQLITE_READONLY": "it is read-only; check the permissions of the file and its folder",
    "SQLITE_CANTOPEN": "it cannot be opened; check that its folder exists and is writable",
    "SQLITE_IOERR": "the disk reported an error; check the disk and the free space",
    "SQLITE_CORRUPT": "it is damaged; restore a backup from beside it",
    "SQLITE_NOTADB": "it is not a SQLite database; restore a backup from beside it",
}


class Database:
    """Async access to the file at `path`. Every step is one transaction: all of it is kept or nothing."""

    def __init__(self, path: Path, busy_seconds: float = BUSY_SECONDS) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._writer = _Connection(path, "fireside-db-write", busy_seconds)
        self._reader = _Connection(path, "fireside-db-read", busy_seconds)
        self._changed = asyncio.Event()
        self.problem = ""
        """Why the newest write failed; "" where it did not."""

    async def open(self, prepare: Callable[[sqlite3.Connection, Path], None]) -> None:
        """Connect; `prepare` gets the writing connection first, outside a transaction (for migrations).

        Raises StorageError when the file cannot be opened or prepared; nothing stays open then.
        """
        try:
            await self._writer.open(read_only=False)
            await self._writer.run(lambda connection: prepare(connection, self._path))
            await self._reader.open(read_only=True)
        except BaseException:
            await self.close()
            raise

    async def write(self, work: Work[T]) -> T:
        """Run `work` in one transaction on the writing thread; writes happen in the order of the calls.

        Raises StorageError, or DatabaseClosedError after `close`; nothing of `work` is kept then.
        """
        try:
            result = await self._writer.run(
                lambda connection: _in_transaction(connection, work, "BEGIN IMMEDIATE")
            )
        except DatabaseClosedError:
            raise
        except StorageError as error:
            self._note(str(error))
            raise
        self._note("")
        return result

    async def try_writing(self) -> None:
        """Find out whether writing works, by a write that changes nothing. Raises as `write` does."""
        await self.write(lambda connection: connection.execute("PRAGMA user_version = 0"))

    async def other_problem(self, known: str) -> str:
        """The problem with writing, as soon as it is another one than that."""
        while self.problem == known:
            self._changed.clear()
            await self._changed.wait()
        return self.problem

    def _note(self, problem: str) -> None:
        self.problem = problem
        self._changed.set()

    async def read(self, work: Work[T]) -> T:
        """Run `work` on the reading thread; all its queries see the same state of the file."""
        return await self._reader.run(lambda connection: _in_transaction(connection, work, "BEGIN"))

    async def empty_log(self) -> bool:
        """Move what the write-ahead log holds into the file and cut it to nothing: it keeps nothing old.

        False: somebody reads from it just now. Raises StorageError.
        """
        return await self._writer.run(lambda connection: _empty_log(connection, self._busy_seconds))

    async def close(self) -> None:
        """Finish the writes that were asked for and close. May be called again."""
        await self._reader.close()
        await self._writer.close()


class _Connection:
    """A SQLite connection that lives in a thread of its own."""

    def __init__(self, path: Path, name: str, busy_seconds: float) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    async def open(self, *, read_only: bool) -> None:
        def connect() -> None:
            self._connection = _connect(self._path, self._busy_seconds, read_only=read_only)

        await self._submit(connect)

    async def run(self, work: Work[T]) -> T:
        def run() -> T:
            if self._connection is None:
                raise DatabaseClosedError(f"The database {self._path} is not open.")
            return work(self._connection)

        return await self._submit(run)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await asyncio.shield(asyncio.wrap_future(self._thread.submit(self._disconnect)))
        self._thread.shutdown()

    async def _submit(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise DatabaseClosedError(f"The database {self._path} is closed.")
        return await asyncio.wrap_future(self._thread.submit(self._explained, work))

    def _explained(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise  # mistakes of ours, not of the disk
        except (sqlite3.DatabaseError, OSError) as error:
            raise StorageError(f"The database {self._path}: {explain(error)}.") from error

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _connect(path: Path, busy_seconds: float, *, read_only: bool) -> sqlite3.Connection:
    _create_private(path)
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
        if read_only:
            connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _create_private(path: Path) -> None:
    """Chats are private: only the owner may read the file. SQLite gives its journals the same mode."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _in_transaction(connection: sqlite3.Connection, work: Work[T], begin: str) -> T:
    connection.execute(begin)
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def _empty_log(connection: sqlite3.Connection, busy_seconds: float) -> bool:
    _wait_at_most(connection, min(LOG_BUSY_SECONDS, busy_seconds))
    try:
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        _wait_at_most(connection, busy_seconds)
    return not busy


def _wait_at_most(connection: sqlite3.Connection, busy_seconds: float) -> None:
    connection.execute(f"PRAGMA busy_timeout = {round(busy_seconds * 1000)}")


def explain(error: Exception) -> str:
    """What SQLite or the disk says, with what to do about it where that is known."""
    name = getattr(error, "sqlite_errorname", None) or ""
    for prefix, explanation in EXPLANATIONS.items():
        if name.startswith(prefix):
            return f"{explanation} ({error})"
    return str(error)
