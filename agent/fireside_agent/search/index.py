"""The full-text index: two FTS5 tables over one list of entries, kept up to date by triggers.

`search_words` holds words (accents folded, with short prefixes), `search_parts` holds every run of three
characters. The latter answers parts of words, code, and languages that are written without spaces: two
blanks are appended to what is indexed, so that every character begins a run, and a bigram or a single
character is a prefix of runs, which `search_part_terms` lists. That keeps bigrams within reach of plain
SQL: the triggers need no function of ours, so no program that writes the file can miss or break the index.

Neither table keeps the text: the view `search_documents` finds it where it is stored (FTS5 itself cannot
read that view, as it takes JSON apart, so the triggers hand over the text that goes and comes). An entry
is one thing that can be found; its id rises as things are stored. A message gets its entries when it is
finished, so that the many saves of a streaming answer cost nothing. Rows must not be written with `INSERT
OR REPLACE`: SQLite tells triggers nothing about a row that is replaced.
"""

import sqlite3
from typing import TYPE_CHECKING

from fireside_agent.search.triggers import (
    CALL_BODY,
    CALL_ID,
    CALLS,
    FILE_BODY,
    FILE_HASH,
    FILES,
    FINISHED,
    FULL_TEXT,
    index_texts,
    triggers,
)

if TYPE_CHECKING:
    from sqlite_utils import Database as Tables

MERGED_PAGES = 500
"""Of an index, in one step: a tenth of a second or two."""

TABLES = (
    """
    CREATE TABLE search_entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        session_id TEXT NOT NULL,
        position INTEGER,
        slot INTEGER NOT NULL,
        source TEXT,
        role TEXT,
        created_at REAL NOT NULL
    )""",
    "CREATE UNIQUE INDEX search_entries_by_place ON search_entries (position, kind, slot)",
    "CREATE INDEX search_entries_of_titles ON search_entries (session_id) WHERE kind = 'title'",
    "CREATE INDEX search_entries_of_files ON search_entries (source) WHERE kind = 'attachment'",
    f"""
    CREATE VIEW search_documents AS
    SELECT e.id, e.kind, e.session_id, e.role, e.created_at, m.id AS message_id,
           CASE e.kind WHEN 'tool' THEN e.source END AS call_id,
           CASE e.kind
               WHEN 'tool' THEN json_extract(m.tools, '$[' || e.slot || '].name')
               WHEN 'attachment' THEN json_extract(m.attachments, '$[' || e.slot || '].name')
           END AS name,
           CASE e.kind
               WHEN 'title' THEN (SELECT title FROM sessions WHERE id = e.session_id)
               WHEN 'message' THEN m.text
               WHEN 'reasoning' THEN m.reasoning
               WHEN 'tool' THEN (SELECT {CALL_BODY} FROM {CALLS.format(row="m")} WHERE call.key = e.slot)
               WHEN 'attachment'
               THEN (SELECT {FILE_BODY} FROM {FILES.format(row="m")} WHERE file.key = e.slot)
           END AS body
    FROM search_entries AS e LEFT JOIN messages AS m ON m.position = e.position""",
    """
    CREATE VIRTUAL TABLE search_words USING fts5 (
        body, content = '', tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
    )""",
    """
    CREATE VIRTUAL TABLE search_parts USING fts5 (
        body, content = '', tokenize = 'trigram', detail = 'none'
    )""",
    "CREATE VIRTUAL TABLE search_part_terms USING fts5vocab (search_parts, instance)",
)

ENTER_EVERYTHING = f"""
    INSERT INTO search_entries (kind, session_id, position, slot, source, role, created_at)
    SELECT * FROM (
        SELECT 'title' AS kind, id AS session_id, NULL AS position, 0 AS slot, NULL AS source, NULL AS role,
               created_at
        FROM sessions
        UNION ALL
        SELECT 'message', session_id, position, 0, NULL, role, created_at
        FROM messages AS m WHERE text <> '' AND {FINISHED.format(row="m")}
        UNION ALL
        SELECT 'reasoning', session_id, position, 0, NULL, role, created_at
        FROM messages AS m WHERE reasoning <> '' AND {FINISHED.format(row="m")}
        UNION ALL
        SELECT 'tool', session_id, position, call.key, {CALL_ID}, role, created_at
        FROM messages AS m, {CALLS.format(row="m")} WHERE {FINISHED.format(row="m")}
        UNION ALL
        SELECT 'attachment', session_id, position, file.key, {FILE_HASH}, role, created_at
        FROM messages AS m, {FILES.format(row="m")} WHERE {FINISHED.format(row="m")}
    ) ORDER BY created_at, position, slot"""


def create_index(tables: "Tables") -> None:
    """Create the index with its triggers, and fill it with what is stored. A step for migrations."""
    for statement in (*TABLES, *triggers()):
        tables.conn.execute(statement)
    rebuild(tables.conn)


def rebuild(connection: sqlite3.Connection) -> None:
    """Make the index anew from what is stored. To be called inside a transaction."""
    connection.execute("DELETE FROM search_entries")
    connection.execute(ENTER_EVERYTHING)
    for table in FULL_TEXT:
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
    for statement in index_texts("SELECT id, body FROM search_documents"):
        connection.execute(statement)


def merge(connection: sqlite3.Connection, table: str, pages: int) -> bool:
    """Merge segments of a table until about that many pages are written; False when there is no more to do.

    Args:
        table: one of `FULL_TEXT`.
        pages: as FTS5 has it: negative to take up all segments, positive to go on with that.
    """
    before = connection.total_changes
    connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", [pages])
    return connection.total_changes - before >= 2


def check(connection: sqlite3.Connection, *, thorough: bool = False) -> str | None:
    """What is wrong with the index, None when nothing is. `rebuild` repairs it.

    Compares counts, tens of milliseconds for 100,000 messages. `thorough` also reads the whole index and
    needs a connection that may write.
    """
    entered = connection.execute("SELECT count(*) FROM search_entries").fetchone()[0]
    for table in FULL_TEXT:
        indexed = connection.execute(f"SELECT count(*) FROM {table}_docsize").fetchone()[0]
        if indexed != entered:
            return f"{table} holds {indexed} texts where {entered} were expected."
    missing = connection.execute(f"""
        SELECT count(*) FROM messages AS m WHERE {FINISHED.format(row="m")} AND text <> '' AND NOT EXISTS (
            SELECT 1 FROM search_entries WHERE position = m.position AND kind = 'message' AND slot = 0
        )""").fetchone()[0]
    if missing:
        return f"{missing} messages are not in the index."
    if thorough:
        for table in FULL_TEXT:
            try:
                connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
            except sqlite3.DatabaseError as error:
                return f"{table} is damaged: {error}."
    return None
