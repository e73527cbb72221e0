"""Downloads as they are told, and kept so that a restart of Fireside finds them again."""

from __future__ import annotations

import logging
import sqlite3
import uuid
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Literal, TypeVar, cast

import msgspec

from fireside.catalog.database_errors import is_damage
from fireside.catalog.hub.names import check_repo_id, check_revision
from fireside.catalog.hub.progress import Part, Phase
from fireside.http.errors import FiresideError

T = TypeVar("T")
log = logging.getLogger(__name__)

State = Literal["queued", "running", "paused", "done", "failed", "cancelled"]
Bits = Literal[4, 6, 8, 16]

ENDED: frozenset[State] = frozenset({"done", "cancelled"})
"""These come never back."""
LIVE: frozenset[State] = frozenset({"queued", "running", "paused"})

_BUSY_S = 10.0
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS downloads (id TEXT PRIMARY KEY, created REAL NOT NULL, job BLOB NOT NULL)"
)


class JobError(msgspec.Struct, frozen=True):
    """Why a download failed."""

    code: str
    message: str


class Download(msgspec.Struct, frozen=True, kw_only=True):
    """A download, and the conversion that follows it if one was asked for.

    Attributes:
        bits: of the conversion's weights, 16 for none but bfloat16; None: as it is published.
        phase: what is being done while it is `running`.
        file: the one that is worked on.
        parts: all files, in the order in which they come; empty until the hub has been asked.
        bytes, total: of all files; while converting, of the new weights, and about how many those will be.
        rate: bytes a second, lately.
        commit: that is downloaded.
        fresh: nothing of that commit was here before, so that a cancelled download leaves nothing.
        path: the folder of the model, once it is done.
        created_at, ended_at: Unix time, in seconds.
    """

    id: str
    repo_id: str
    revision: str = "main"
    bits: Bits | None = None
    state: State = "queued"
    phase: Phase = "asking"
    file: str | None = None
    parts: list[Part] = []
    files_done: int = 0
    files: int = 0
    bytes: int = 0
    total: int = 0
    rate: float = 0.0
    commit: str | None = None
    fresh: bool = False
    path: str | None = None
    error: JobError | None = None
    created_at: float = 0.0
    ended_at: float | None = None


class DownloadStore:
    """The table of all downloads. Every call blocks, briefly.

    It is a convenience: what has arrived is in the cache, whatever becomes of the table. So none of its
    failures is one of a download. A file that is damaged, or that other code has made, is set aside.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> list[Download]:
        """All downloads, oldest first. One that cannot be read any more is left out."""
        if not self._path.exists():
            return []
        query = "SELECT job FROM downloads ORDER BY created, rowid"
        rows = self._done(lambda database: database.execute(query).fetchall()) or []
        return [job for (body,) in rows if (job := _decoded(body)) is not None]

    def save(self, job: Download) -> None:
        """Keep a download as it is now."""
        row = (job.id, job.created_at, msgspec.json.encode(job))
        command = (
            "INSERT INTO downloads (id, created, job) VALUES (?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET job = excluded.job"
        )
        self._done(lambda database: database.execute(command, row))

    def forget(self, ids: Iterable[str]) -> None:
        """Drop downloads from the table."""
        gone = [(each,) for each in ids]
        if not gone:
            return
        self._done(lambda database: database.executemany("DELETE FROM downloads WHERE id = ?", gone))

    def _done(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Work on the table; None where that cannot be, which is logged."""
        for _ in range(2):
            try:
                with closing(sqlite3.connect(self._path, timeout=_BUSY_S)) as database, database:
                    database.execute(_SCHEMA)
                    return work(database)
            except (sqlite3.Error, OSError) as error:
                log.warning("The list of downloads in %s cannot be used: %s", self._path, error)
                no_file = self._path.is_dir()
                if not no_file and not (isinstance(error, sqlite3.Error) and is_damage(error)):
                    return None
                if not self._set_aside():
                    return None
        return None

    def _set_aside(self) -> bool:
        place = self._path.with_name(f"{self._path.name}.damaged-{uuid.uuid4().hex[:8]}")
        try:
            self._path.replace(place)
        except OSError as error:
            log.warning("It cannot be moved away: %s", error)
            return False
        log.warning("It is %s now, and a new one is begun.", place)
        return True


def _decoded(body: object) -> Download | None:
    try:
        job = msgspec.json.decode(cast("bytes", body), type=Download)
        check_repo_id(job.repo_id)
        check_revision(job.revision)
    except (msgspec.DecodeError, TypeError, FiresideError):
        return None
    return job
