"""Sessions and their messages in SQLite. Values in, values out; HTML is never stored."""

import sqlite3
import time
import unicodedata
from dataclasses import dataclass
from typing import Any

import msgspec

from fireside_agent.protocol import Message, Receipt, SessionRow
from fireside_agent.store.database import Database

MAX_TITLE_CHARACTERS = 80
FALLBACK_TITLE = "New chat"
NEVER_ASKED = "Fireside stopped before this was asked."

ZERO_WIDTH_JOINER = "\u200d"
EMOJI_SKIN_TONES = range(0x1F3FB, 0x1F400)
"""Follow the emoji they colour."""

INSERT_MESSAGE = """
    INSERT INTO messages (id, session_id, parent_id, role, status, text, client_id, error, receipt,
                          created_at, modified_at)
    VALUES (:id, :session_id, :parent_id, :role, :status, :text, :client_id, :error, :receipt,
            :created_at, :modified_at)"""

LIST_SESSIONS = """
    SELECT id, title, created_at, modified_at,
           (SELECT COUNT(*) FROM messages WHERE session_id = sessions.id) AS message_count
    FROM sessions ORDER BY modified_at DESC, rowid DESC"""


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session with its messages in reading order: every message after its parent. `html` is empty."""

    id: str
    title: str
    messages: list[Message]


class SessionStore:
    """The sessions in `database`. Every method raises StorageError when the file cannot be used."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_prompt(self, session_id: str, title: str, prompt: Message) -> None:
        """Store a queued prompt, and the session with it if this is its first."""

        def add(connection: sqlite3.Connection) -> None:
            now = prompt.created_at
            connection.execute(
                "INSERT OR IGNORE INTO sessions (id, title, created_at, modified_at) VALUES (?, ?, ?, ?)",
                [session_id, title, now, now],
            )
            connection.execute(INSERT_MESSAGE, _row(session_id, prompt))
            _touch(connection, session_id, now)

        await self._database.write(add)

    async def begin_answer(self, session_id: str, answer: Message) -> None:
        """Store an empty running answer. Its prompt is asked now; what hung on that hangs on the answer."""

        def begin(connection: sqlite3.Connection) -> None:
            connection.execute(INSERT_MESSAGE, _row(session_id, answer))
            connection.execute("UPDATE messages SET status = 'done' WHERE id = ?", [answer.parent_id])
            connection.execute(
                "UPDATE messages SET parent_id = ? WHERE parent_id = ? AND status = 'queued'",
                [answer.id, answer.parent_id],
            )

        await self._database.write(begin)

    async def save_text(self, answer_id: str, text: str) -> None:
        """Store what a running answer has come to so far."""

        def save(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE messages SET text = ?, modified_at = ? WHERE id = ?", [text, time.time(), answer_id]
            )

        await self._database.write(save)

    async def finish_answer(self, session_id: str, answer: Message) -> None:
        """Store an answer as it ended: text, status, error and receipt."""

        def finish(connection: sqlite3.Connection) -> None:
            row = _row(session_id, answer)
            connection.execute(
                "UPDATE messages SET text = :text, status = :status, error = :error, receipt = :receipt,"
                " modified_at = :modified_at WHERE id = :id",
                row,
            )
            _touch(connection, session_id, row["modified_at"])

        await self._database.write(finish)

    async def load(self, session_id: str) -> StoredSession | None:
        """The session, or None when there is no such one."""

        def load(connection: sqlite3.Connection) -> StoredSession | None:
            session = connection.execute("SELECT title FROM sessions WHERE id = ?", [session_id]).fetchone()
            if session is None:
                return None
            rows = connection.execute(
                "SELECT * FROM messages WHERE session_id = ? ORDER BY position", [session_id]
            )
            messages = in_reading_order([_message(row) for row in rows])
            return StoredSession(session_id, session["title"], messages)

        return await self._database.read(load)

    async def list(self, running: frozenset[str]) -> "list[SessionRow]":
        """All sessions, the one that was last used first; `running` names those with a running turn."""

        def read(connection: sqlite3.Connection) -> list[SessionRow]:
            return [
                SessionRow(**dict(row), running=row["id"] in running)
                for row in connection.execute(LIST_SESSIONS)
            ]

        return await self._database.read(read)

    async def delete(self, session_id: str) -> bool:
        """Delete a session and its messages; False when there was no such session."""

        def delete(connection: sqlite3.Connection) -> bool:
            connection.execute("DELETE FROM messages WHERE session_id = ?", [session_id])
            return connection.execute("DELETE FROM sessions WHERE id = ?", [session_id]).rowcount > 0

        return await self._database.write(delete)

    async def interrupt_unfinished(self) -> None:
        """Mark what nothing works on any more: running answers, and queued prompts as never asked."""

        def interrupt(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE messages SET status = 'interrupted',"
                " error = CASE status WHEN 'queued' THEN ? ELSE error END"
                " WHERE status IN ('queued', 'running')",
                [NEVER_ASKED],
            )

        await self._database.write(interrupt)


def in_reading_order(messages: list[Message]) -> list[Message]:
    """Every message after its parent, children of one parent in the order given."""
    children: dict[str | None, list[Message]] = {}
    for message in messages:
        children.setdefault(message.parent_id, []).append(message)
    ordered: list[Message] = []
    waiting = children.get(None, [])[::-1]
    while waiting:
        message = waiting.pop()
        ordered.append(message)
        waiting.extend(reversed(children.get(message.id, [])))
    return ordered


def make_title(prompt: str) -> str:
    """The prompt's first line, at most 80 characters of it, never cut inside a composed character."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    end = MAX_TITLE_CHARACTERS
    if len(line) > end:
        while end > 0 and _joins(line[end - 1], line[end]):
            end -= 1
    return line[:end].rstrip() or FALLBACK_TITLE


def _joins(before: str, after: str) -> bool:
    return (
        ZERO_WIDTH_JOINER in (before, after)
        or unicodedata.category(after).startswith("M")
        or ord(after) in EMOJI_SKIN_TONES
    )


def _touch(connection: sqlite3.Connection, session_id: str, now: float) -> None:
    connection.execute("UPDATE sessions SET modified_at = ? WHERE id = ?", [now, session_id])


def _row(session_id: str, message: Message) -> dict[str, Any]:
    row = {name: getattr(message, name) for name in message.__struct_fields__ if name != "html"}
    receipt = msgspec.json.encode(message.receipt).decode() if message.receipt else None
    return {**row, "session_id": session_id, "receipt": receipt, "modified_at": time.time()}


def _message(row: sqlite3.Row) -> Message:
    fields = {name: row[name] for name in Message.__struct_fields__ if name not in ("html", "receipt")}
    receipt = msgspec.json.decode(row["receipt"], type=Receipt) if row["receipt"] else None
    return Message(**fields, html=[], receipt=receipt)
