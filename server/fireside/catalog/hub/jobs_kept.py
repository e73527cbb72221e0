"""Downloads as they are told, and kept so that a restart of Fireside finds them again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec

from fireside.catalog.hub.progress import Phase

State = Literal["queued", "running", "paused", "done", "failed", "cancelled"]
Bits = Literal[4, 6, 8, 16]

ENDED: frozenset[State] = frozenset({"done", "cancelled"})
"""These come never back."""
LIVE: frozenset[State] = frozenset({"queued", "running", "paused"})

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
    """The table of all downloads. Every call blocks, briefly."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> list[Download]:
        """All downloads, oldest first. One that cannot be read any more is left out."""
        if not self._path.exists():
            return []
        with closing(self._open()) as database:
            rows = database.execute("SELECT job FROM downloads ORDER BY created, rowid").fetchall()
        return [job for (body,) in rows if (job := _decoded(body)) is not None]

    def save(self, job: Download) -> None:
        """Keep a download as it is now."""
        with closing(self._open()) as database, database:
            database.execute(
                "INSERT INTO downloads VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET job = excluded.job",
                (job.id, job.created_at, msgspec.json.encode(job)),
            )

    def forget(self, ids: Iterable[str]) -> None:
        """Drop downloads from the table."""
        with closing(self._open()) as database, database:
            database.executemany("DELETE FROM downloads WHERE id = ?", [(each,) for each in ids])

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=10)
        database.execute(_SCHEMA)
        return database


def _decoded(body: bytes) -> Download | None:
    try:
        return msgspec.json.decode(body, type=Download)
    except msgspec.DecodeError:
        return None
