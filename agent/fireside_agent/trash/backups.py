"""Copies of the database from before migrations hold chats too, and must not keep what is purged."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from fireside_agent.attachments.store import REFERRED_TO
from fireside_agent.errors import StorageError
from fireside_agent.search.index import MERGED_PAGES, merge
from fireside_agent.search.triggers import FULL_TEXT
from fireside_agent.store.database import explain
from fireside_agent.store.migrations import backups_of
from fireside_agent.trash.sessions import CHOSEN, OF_A_SESSION, these


def erase_in_backups(path: Path, ids: Sequence[str]) -> None:
    """Take these sessions out of all copies of the database at `path`.

    Raises:
        StorageError: one of them could not be changed, and still has them.
    """
    for copy in backups_of(path):
        try:
            with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                _erase(connection, ids)
        except (sqlite3.DatabaseError, OSError) as error:
            raise StorageError(
                f"The copy {copy} may hold what is to be deleted, and cannot be changed: {explain(error)}. "
                "Repair that or remove the copy, then try again."
            ) from error


def _erase(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    values = these(ids)
    if not connection.execute(f"SELECT 1 FROM sessions WHERE id IN {CHOSEN}", values).fetchone():
        return
    # A write-ahead log would stay if this were killed; a rollback journal goes with the next opening.
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA secure_delete = ON")
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    connection.execute("BEGIN IMMEDIATE")
    for table in names.intersection(OF_A_SESSION):
        connection.execute(f"DELETE FROM {table} WHERE session_id IN {CHOSEN}", values)
    connection.execute(f"DELETE FROM sessions WHERE id IN {CHOSEN}", values)
    if "attachments" in names:
        connection.execute(f"DELETE FROM attachments WHERE sha256 NOT IN ({REFERRED_TO})")
    for table in names.intersection(FULL_TEXT):
        pages = -MERGED_PAGES
        while merge(connection, table, pages):
            pages = MERGED_PAGES
    connection.execute("COMMIT")
