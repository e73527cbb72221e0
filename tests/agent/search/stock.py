"""A database with sessions to search, written as plain rows, and the index beside what it should be."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from fireside_agent.search.index import rebuild
from fireside_agent.search.results import Answer, Search
from fireside_agent.search.searcher import Searcher
from fireside_agent.store.migrations import migrate

Place = tuple[Any, ...]


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """The whole schema, index included."""
    exists = "SELECT 1 FROM sqlite_master WHERE name = 'search_entries'"
    if connection.execute(exists).fetchone():
        return
    migrate(connection, path)


def connect(path: Path) -> sqlite3.Connection:
    """A connection of its own, every statement a transaction."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")
    return connection


class Stock:
    """Writes to the database at `path` and searches it."""

    def __init__(self, path: Path, searcher: Searcher) -> None:
        self.db = connect(path)
        prepare(self.db, path)
        self.searcher = searcher

    def session(self, name: str = "s", title: str = "", at: float = 1) -> None:
        self.db.execute(
            "INSERT INTO sessions (id, title, created_at, modified_at) VALUES (?, ?, ?, ?)",
            [name, title, at, at],
        )

    def message(self, name: str, text: str = "", session: str = "s", at: float = 1, **fields: Any) -> None:
        row = {
            "id": name, "session_id": session, "role": "user", "status": "done", "text": text,
            "created_at": at, "modified_at": at, **fields,
        }  # fmt: skip
        self.db.execute(
            f"INSERT INTO messages ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
            list(row.values()),
        )

    def file(self, sha256: str, text: str) -> None:
        self.db.execute(
            "INSERT INTO attachments (sha256, media_type, size, text, created_at) VALUES (?, '', 1, ?, 1)",
            [sha256, text],
        )

    async def find(self, query: str, limit: int = 100, **filters: Any) -> Answer:
        return await self.searcher.search(Search(query=query, **filters), limit=limit)

    async def found(self, query: str, **filters: Any) -> list[str | None]:
        """The messages of the hits."""
        return [hit.message_id for hit in (await self.find(query, **filters)).hits]


def call(name: str, arguments: Any, result: str = "", call_id: str = "c1") -> dict[str, str]:
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"call_id": call_id, "name": name, "arguments": raw, "status": "done", "result": result}


def attached(sha256: str, name: str) -> dict[str, Any]:
    return {"sha256": sha256, "name": name, "media_type": "text/plain", "size": 1}


def indexed_and_rebuilt(source: sqlite3.Connection) -> tuple[Sequence[Place], Sequence[Place]]:
    """Everything that the index holds, and what it would hold if it were made anew."""
    with closing(sqlite3.connect(":memory:")) as copy:
        source.backup(copy)
        for table in ("search_words", "search_parts"):
            copy.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
            copy.execute(f"CREATE VIRTUAL TABLE {table}_seen USING fts5vocab ({table}, instance)")
        before = _places(copy)
        rebuild(copy)
        return before, _places(copy)


def _places(connection: sqlite3.Connection) -> list[Place]:
    entry = "e.kind, e.session_id, e.position, e.slot, e.source, e.role, e.created_at"
    return [
        tuple(row)
        for table in ("search_words", "search_parts")
        for row in connection.execute(
            f"SELECT {entry}, v.term, v.offset FROM {table}_seen AS v"
            " LEFT JOIN search_entries AS e ON e.id = v.doc ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9"
        )
    ] + [
        tuple(row)
        for row in connection.execute(f"SELECT {entry} FROM search_entries AS e ORDER BY 1, 2, 3, 4")
    ]
