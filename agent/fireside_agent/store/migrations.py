"""The schema of `fireside.db`, as numbered steps that are only ever added to.

Pending steps run on start, each in one transaction with its record (sqlite-utils keeps the records, and
its Database is what a step gets). A database that already holds something is copied first; the newest
copies stay beside it.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fireside_agent.errors import NewerDatabaseError
from fireside_agent.search.index import create_index

if TYPE_CHECKING:
    from sqlite_utils import Database as Tables

Step = Callable[["Tables"], None]

MIGRATION_SET = "fireside"
BACKUPS_KEPT = 3


def m001_sessions_and_messages(tables: "Tables") -> None:
    """Sessions, and their messages as a tree."""
    tables.conn.execute("""
        CREATE TABLE sessions (
            id TEXT PRIMARY KEY,
            title TEXT NOT NULL,
            created_at REAL NOT NULL,
            modified_at REAL NOT NULL
        )""")
    tables.conn.execute("""
        CREATE TABLE messages (
            position INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            session_id TEXT NOT NULL REFERENCES sessions (id),
            parent_id TEXT REFERENCES messages (id),
            role TEXT NOT NULL,
            status TEXT NOT NULL,
            text TEXT NOT NULL,
            client_id TEXT,
            error TEXT,
            receipt TEXT,
            created_at REAL NOT NULL,
            modified_at REAL NOT NULL,
            UNIQUE (session_id, client_id)
        )""")
    tables.conn.execute("CREATE INDEX messages_by_parent ON messages (parent_id)")
    tables.conn.execute(
        "CREATE INDEX messages_unfinished ON messages (status) WHERE status IN ('queued', 'running')"
    )
    tables.conn.execute("CREATE INDEX sessions_by_modified_at ON sessions (modified_at)")


def m002_turns_with_tools(tables: "Tables") -> None:
    """Reasoning, calls and attachments of messages; branches, settings and marks of sessions; approvals."""
    for statement in (
        "ALTER TABLE sessions ADD COLUMN leaf_id TEXT",
        "ALTER TABLE sessions ADD COLUMN settings TEXT NOT NULL DEFAULT '{}'",
        "ALTER TABLE sessions ADD COLUMN titled_by TEXT NOT NULL DEFAULT 'prompt'",
        "ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE sessions ADD COLUMN deleted_at REAL",
        "ALTER TABLE messages ADD COLUMN reasoning TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE messages ADD COLUMN reasoning_ms INTEGER",
        "ALTER TABLE messages ADD COLUMN tools TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE messages ADD COLUMN attachments TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE messages ADD COLUMN steering INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX messages_by_session ON messages (session_id, position)",
        """
        CREATE TABLE summaries (
            id TEXT PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES sessions (id),
            upto_id TEXT NOT NULL,
            text TEXT NOT NULL,
            messages INTEGER NOT NULL,
            created_at REAL NOT NULL
        )""",
        """
        CREATE TABLE attachments (
            sha256 TEXT PRIMARY KEY,
            media_type TEXT NOT NULL,
            size INTEGER NOT NULL,
            text TEXT NOT NULL,
            created_at REAL NOT NULL
        )""",
        """
        CREATE TABLE presets (
            name TEXT PRIMARY KEY,
            settings TEXT NOT NULL,
            modified_at REAL NOT NULL
        )""",
        """
        CREATE TABLE approval_rules (
            id TEXT PRIMARY KEY,
            tool TEXT NOT NULL,
            kind TEXT NOT NULL,
            value TEXT NOT NULL,
            scope TEXT NOT NULL,
            session_id TEXT,
            words TEXT NOT NULL,
            granted_from TEXT,
            created_at REAL NOT NULL,
            expires_at REAL
        )""",
        """
        CREATE TABLE approvals (
            id INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL,
            message_id TEXT NOT NULL,
            call_id TEXT NOT NULL,
            tool TEXT NOT NULL,
            subject TEXT NOT NULL,
            arguments TEXT NOT NULL,
            question TEXT NOT NULL,
            preview TEXT,
            decision TEXT,
            who TEXT,
            why TEXT,
            created_at REAL NOT NULL,
            settled_at REAL,
            UNIQUE (session_id, message_id, call_id)
        )""",
        "CREATE INDEX approvals_by_time ON approvals (created_at)",
    ):
        tables.conn.execute(statement)


def m003_search(tables: "Tables") -> None:
    """The full-text indexes and the triggers that keep them up to date."""
    create_index(tables)


def m004_texts_of_pdfs(tables: "Tables") -> None:
    """Pages of an attached PDF whose text has been read; 0: it cannot be read; null: it was not tried."""
    tables.conn.execute("ALTER TABLE attachments ADD COLUMN pages INTEGER")


STEPS: Sequence[Step] = (m001_sessions_and_messages, m002_turns_with_tools, m003_search, m004_texts_of_pdfs)


def migrate(connection: sqlite3.Connection, path: Path, steps: Sequence[Step] = STEPS) -> None:
    """Bring the database at `path` up to date; a copy is made before an existing one is changed.

    Raises NewerDatabaseError, before anything is changed, when it has steps that `steps` lacks.
    """
    # Imported late: it takes longer than the rest of the agent together.
    from sqlite_utils import Database as Tables
    from sqlite_utils import Migrations

    tables = Tables(connection, execute_plugins=False)
    migrations = Migrations(MIGRATION_SET)
    for step in steps:
        migrations()(step)
    applied = [migration.name for migration in migrations.applied(tables)]
    _refuse_newer(path, applied, [step.__name__ for step in steps])
    if not migrations.pending(tables):
        return
    if applied:
        back_up(connection, path, applied[-1])
    migrations.apply(tables)


def _refuse_newer(path: Path, applied: list[str], known: list[str]) -> None:
    unknown = [name for name in applied if name not in known]
    if unknown:
        raise NewerDatabaseError(
            f"{path} was written by a newer Fireside (it has {', '.join(unknown)}). "
            f"Start that Fireside, or restore a copy from before: {path.name}.backup-* beside it."
        )


def back_up(source: sqlite3.Connection, path: Path, version: str) -> Path:
    """Copy the database to `<path>.backup-<time>-<version>`, keep the newest copies, drop older ones."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    copy = path.with_name(f"{path.name}.backup-{stamp}-{version}")
    partial = copy.with_name(f"{path.name}.partial-backup")
    try:
        partial.touch(0o600)
        with closing(sqlite3.connect(partial)) as target:
            source.backup(target)
        partial.replace(copy)
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()
    for old in backups_of(path)[:-BACKUPS_KEPT]:
        old.unlink()
    return copy


def backups_of(path: Path) -> list[Path]:
    """The copies of the database at `path`, the oldest first, without journals of theirs."""
    found = sorted(path.parent.glob(f"{path.name}.backup-*"))
    return [copy for copy in found if not copy.name.endswith(("-journal", "-wal", "-shm"))]
