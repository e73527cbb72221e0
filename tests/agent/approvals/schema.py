"""The two tables, as the migration makes them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

TABLES = """
CREATE TABLE IF NOT EXISTS approval_rules(
    id TEXT PRIMARY KEY, tool TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL /* JSON */,
    scope TEXT NOT NULL, session_id TEXT, words TEXT NOT NULL, granted_from TEXT /* JSON */,
    created_at REAL NOT NULL, expires_at REAL);
CREATE TABLE IF NOT EXISTS approvals(
    id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, message_id TEXT NOT NULL, call_id TEXT NOT NULL,
    tool TEXT NOT NULL, subject TEXT NOT NULL /* JSON of tools.tool.Subject */, arguments TEXT NOT NULL,
    question TEXT NOT NULL, preview TEXT /* JSON */, decision TEXT /* null while open, allow, deny */,
    who TEXT, why TEXT, created_at REAL NOT NULL, settled_at REAL, UNIQUE (session_id, message_id, call_id));
"""


def create_tables(connection: sqlite3.Connection, _: Path) -> None:
    connection.executescript(TABLES)
