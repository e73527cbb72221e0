"""The deleted sessions in SQLite: those that can be restored, and those on their way out.

A session leaves in two steps. `empty` takes everything out of it in one transaction and leaves a row that
says nothing, deleted at the time 0. `drop` removes that row once whatever else held something of the session
is clean. So a purge that was interrupted is found again and finished.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from fireside_agent.attachments.store import REFERRED_TO
from fireside_agent.search.index import MERGED_PAGES, merge
from fireside_agent.search.triggers import FULL_TEXT
from fireside_agent.store.database import Database
from fireside_agent.store.sessions import UNDO_DAYS

UNDO_SECONDS = UNDO_DAYS * 86_400

OF_A_SESSION = ("summaries", "approvals", "approval_rules", "messages")
"""Tables whose rows go with their session."""

CHOSEN = "(SELECT value FROM json_each(:ids))"

COPIES = """
    SELECT change.value ->> 'before', change.value ->> 'after'
    FROM messages, json_each(messages.tools) AS call, json_each(call.value, '$.changes') AS change
    WHERE instr(messages.tools, '"changes":[{')"""
"""Hashes of what files held before and after calls changed them. The condition spares most calls."""


class DeletedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A deleted chat that can be restored. Times are seconds since 1970."""

    id: str
    title: str
    deleted_at: float
    purged_at: float
    """When it is deleted for good by itself, or within an hour after that."""
    message_count: int


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Hashes that emptied sessions referred to, and perhaps others do.

    Attributes:
        copies: of the journal.
    """

    attachments: frozenset[str] = frozenset()
    copies: frozenset[str] = frozenset()

    def __or__(self, other: "Leftovers") -> "Leftovers":
        return Leftovers(self.attachments | other.attachments, self.copies | other.copies)


class DeletedSessions:
    """The deleted sessions in `database`. Every method raises StorageError when the file cannot be used."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self) -> "list[DeletedSession]":
        """Those that can be restored, the last deleted first."""

        def read(connection: sqlite3.Connection) -> "list[DeletedSession]":
            rows = connection.execute("""
                SELECT id, title, deleted_at,
                       (SELECT COUNT(*) FROM messages WHERE session_id = sessions.id) AS message_count
                FROM sessions WHERE deleted_at > 0 ORDER BY deleted_at DESC, rowid DESC""")
            return [DeletedSession(**dict(row), purged_at=row["deleted_at"] + UNDO_SECONDS) for row in rows]

        return await self._database.read(read)

    async def count(self) -> int:
        """How many can be restored."""
        query = "SELECT COUNT(*) FROM sessions WHERE deleted_at > 0"
        return await self._database.read(lambda connection: connection.execute(query).fetchone()[0])

    async def due(self, older_than: float) -> "list[str]":
        """The ids of those that were deleted before that time (seconds since 1970)."""
        query = "SELECT id FROM sessions WHERE deleted_at > 0 AND deleted_at < ?"
        return await self._database.read(lambda connection: _column(connection.execute(query, [older_than])))

    async def states(self, ids: Sequence[str]) -> dict[str, bool]:
        """Those of these sessions that there are, and whether they are deleted."""
        query = f"SELECT id, deleted_at FROM sessions WHERE id IN {CHOSEN} AND deleted_at IS NOT 0"
        return await self._database.read(
            lambda connection: {
                row["id"]: row["deleted_at"] is not None for row in connection.execute(query, these(ids))
            }
        )

    async def empty(self, ids: Sequence[str]) -> Leftovers:
        """Take everything out of those of these sessions that are deleted. They cannot be restored then."""
        deleted = f"SELECT id FROM sessions WHERE deleted_at > 0 AND id IN {CHOSEN}"
        statement = f"""
            UPDATE sessions SET title = '', settings = '{{}}', leaf_id = NULL, deleted_at = 0
            WHERE id IN {CHOSEN}"""

        def empty(connection: sqlite3.Connection) -> Leftovers:
            values = these(_column(connection.execute(deleted, these(ids))))
            left = _leftovers(connection, values)
            for table in OF_A_SESSION:
                connection.execute(f"DELETE FROM {table} WHERE session_id IN {CHOSEN}", values)
            connection.execute(statement, values)
            return left

        return await self._database.write(empty)

    async def emptied(self) -> "list[str]":
        """The ids of those that are on their way out."""
        query = "SELECT id FROM sessions WHERE deleted_at = 0"
        return await self._database.read(lambda connection: _column(connection.execute(query)))

    async def copies(self) -> set[str]:
        """The hashes of the journal that messages refer to."""
        return await self._database.read(lambda connection: _hashes(connection.execute(COPIES)))

    async def clean_index(self) -> None:
        """Merge the full-text index, so that no word is left in it of what was taken out.

        FTS5 only notes that an entry is gone; its words stay until segments are merged. This is done in small
        steps, between which others may write. The option `secure-delete` would take the words out at once,
        but for one chat that takes as long as merging a large index, in one step that holds up everybody,
        and a SQLite before 3.42 cannot read the file afterwards.
        """
        for table in FULL_TEXT:
            pages = -MERGED_PAGES  # a negative number takes up all segments
            while await self._database.write(partial(merge, table=table, pages=pages)):
                pages = MERGED_PAGES

    async def drop(self, ids: Sequence[str]) -> None:
        """Remove the rows of emptied sessions, which is the last of them."""
        statement = f"DELETE FROM sessions WHERE deleted_at = 0 AND id IN {CHOSEN}"
        await self._database.write(lambda connection: connection.execute(statement, these(ids)))


def these(ids: Sequence[str]) -> dict[str, str]:
    """The values that `CHOSEN` wants."""
    return {"ids": json.dumps(list(ids))}


def _leftovers(connection: sqlite3.Connection, values: dict[str, str]) -> Leftovers:
    theirs = f" AND messages.session_id IN {CHOSEN}"
    files = _column(connection.execute(REFERRED_TO + theirs, values))
    return Leftovers(frozenset(files), frozenset(_hashes(connection.execute(COPIES + theirs, values))))


def _column(rows: Iterable[sqlite3.Row]) -> list[str]:
    return [row[0] for row in rows]


def _hashes(rows: Iterable[sqlite3.Row]) -> set[str]:
    return {value for row in rows for value in row if value is not None}
