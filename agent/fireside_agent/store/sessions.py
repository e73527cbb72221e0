"""Sessions and their messages in SQLite. Values in, values out; HTML is never stored."""

import sqlite3
import time
import unicodedata
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from fireside_agent.messages import (
    Message,
    SessionRow,
    SessionSettings,
    Summary,
)
from fireside_agent.settling import goes_on, settled
from fireside_agent.store.database import Database
from fireside_agent.store.rows import INSERT_MESSAGE, UPDATE_ANSWER, message_of, row_of, to_json

MAX_TITLE_CHARACTERS = 80
MAX_WORD_CHARACTERS = 30
"""What is longer is cut where a title ends."""
FALLBACK_TITLE = "New chat"
ZERO_WIDTH_JOINER = "\u200d"
EMOJI_SKIN_TONES = range(0x1F3FB, 0x1F400)
"""Follow the emoji they colour."""

UNDO_DAYS = 30
"""How long a deleted session can be taken back."""

LIST_SESSIONS = """
    SELECT id, title, created_at, modified_at, pinned, archived,
           (SELECT COUNT(*) FROM messages WHERE session_id = sessions.id) AS message_count
    FROM sessions WHERE deleted_at IS NULL
    ORDER BY pinned DESC, modified_at DESC, rowid DESC"""

ASKING = """status IN ('queued', 'running') AND status = 'running' AND EXISTS (
    SELECT 1 FROM json_each(messages.tools) AS call WHERE call.value ->> 'status' = 'asking')"""
"""An answer of which a call waits for the person. The first condition is that of an index."""

TitledBy = Literal["prompt", "model", "person"]


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session with its messages in reading order: every message after its parent. `html` is empty."""

    id: str
    title: str
    messages: list[Message]
    leaf_id: str | None = None
    settings: SessionSettings = field(default_factory=SessionSettings)
    summaries: "list[Summary]" = field(default_factory=list[Summary])
    titled_by: TitledBy = "prompt"


class SessionStore:
    """The sessions in `database`. Every method raises StorageError when the file cannot be used."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_prompt(
        self,
        session_id: str,
        title: str,
        prompt: Message,
        settings: SessionSettings | None = None,
        titled_by: TitledBy = "prompt",
    ) -> None:
        """Store a queued prompt at the end of the current branch, and the session with its first one."""

        def add(connection: sqlite3.Connection) -> None:
            now = prompt.created_at
            connection.execute(
                "INSERT OR IGNORE INTO sessions (id, title, titled_by, settings, created_at, modified_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [session_id, title, titled_by, to_json(settings or SessionSettings()), now, now],
            )
            connection.execute(INSERT_MESSAGE, row_of(session_id, prompt))
            _set_leaf(connection, session_id, prompt.id)
            _touch(connection, session_id, now)

        await self._database.write(add)

    async def begin_answer(self, session_id: str, answer: Message, leaf_id: str | None = None) -> None:
        """Store an empty running answer. Its prompt is asked now; what waited on that hangs on the answer.

        Args:
            leaf_id: where the current branch ends after that; None: with the answer.
        """

        await self._database.write(lambda connection: _begin(connection, session_id, answer, leaf_id))

    async def next_answer(self, session_id: str, ended: Message, answer: Message, leaf_id: str) -> None:
        """Store a step as it ended, and the next answer as `begin_answer` does: both or neither."""

        def store(connection: sqlite3.Connection) -> None:
            connection.execute(UPDATE_ANSWER, row_of(session_id, ended))
            _begin(connection, session_id, answer, leaf_id)

        await self._database.write(store)

    async def save_answer(self, session_id: str, answer: Message) -> None:
        """Store what a running answer has come to so far."""
        row = row_of(session_id, answer)
        await self._database.write(lambda connection: connection.execute(UPDATE_ANSWER, row))

    async def finish_answer(self, session_id: str, answer: Message) -> None:
        """Store an answer as it ended."""

        def finish(connection: sqlite3.Connection) -> None:
            row = row_of(session_id, answer)
            connection.execute(UPDATE_ANSWER, row)
            _touch(connection, session_id, row["modified_at"])

        await self._database.write(finish)

    async def change_queue(
        self, session_id: str, moved: "list[Message]", removed: "list[str]", leaf_id: str | None
    ) -> None:
        """Store prompts that wait elsewhere or say something else now, and forget removed ones."""

        def change(connection: sqlite3.Connection) -> None:
            for prompt in moved:
                connection.execute(
                    "UPDATE messages SET parent_id = ?, text = ?, modified_at = ? WHERE id = ?",
                    [prompt.parent_id, prompt.text, time.time(), prompt.id],
                )
            for message_id in removed:
                connection.execute("DELETE FROM messages WHERE id = ?", [message_id])
            _set_leaf(connection, session_id, leaf_id)

        await self._database.write(change)

    async def set_leaf(self, session_id: str, leaf_id: str) -> None:
        """Make the branch that ends there the current one."""
        await self._database.write(lambda connection: _set_leaf(connection, session_id, leaf_id))

    async def set_settings(self, session_id: str, settings: SessionSettings) -> None:
        text = to_json(settings)
        await self._update(session_id, "settings = ?", text)

    async def set_title(self, session_id: str, title: str, titled_by: TitledBy) -> None:
        """Raises StorageError; a title that a person gave is never replaced by a model's."""
        guard = "" if titled_by == "person" else " AND titled_by != 'person'"
        await self._database.write(
            lambda connection: connection.execute(
                f"UPDATE sessions SET title = ?, titled_by = ? WHERE id = ?{guard}",
                [title, titled_by, session_id],
            )
        )

    async def mark(self, session_id: str, pinned: bool | None, archived: bool | None) -> bool:
        """Pin or archive; False when there is no such session."""
        marks = {"pinned": pinned, "archived": archived}
        wanted = {name: int(value) for name, value in marks.items() if value is not None}
        if not wanted:
            return True
        return await self._update(session_id, ", ".join(f"{name} = ?" for name in wanted), *wanted.values())

    async def add_summary(self, session_id: str, summary: Summary) -> None:
        row = [summary.id, session_id, summary.upto_id, summary.text, summary.messages, summary.created_at]
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT INTO summaries (id, session_id, upto_id, text, messages, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )
        )

    async def remove_summary(self, session_id: str, summary_id: str) -> None:
        where = "DELETE FROM summaries WHERE id = ? AND session_id = ?"
        await self._database.write(lambda connection: connection.execute(where, [summary_id, session_id]))

    async def copy(self, session: StoredSession) -> None:
        """Store a whole session that has no row yet, its messages in the order given."""

        def insert(connection: sqlite3.Connection) -> None:
            now = time.time()
            connection.execute(
                "INSERT INTO sessions (id, title, titled_by, settings, leaf_id, created_at, modified_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    session.id,
                    session.title,
                    session.titled_by,
                    to_json(session.settings),
                    session.leaf_id,
                    now,
                    now,
                ],
            )
            for message in session.messages:
                connection.execute(INSERT_MESSAGE, row_of(session.id, message))

        await self._database.write(insert)

    async def load(self, session_id: str) -> StoredSession | None:
        """The session, or None when there is no such one."""

        def load(connection: sqlite3.Connection) -> StoredSession | None:
            session = connection.execute(
                "SELECT * FROM sessions WHERE id = ? AND deleted_at IS NULL", [session_id]
            ).fetchone()
            if session is None:
                return None
            rows = connection.execute(
                "SELECT * FROM messages WHERE session_id = ? ORDER BY position", [session_id]
            )
            messages = in_reading_order([message_of(row) for row in rows])
            summaries = connection.execute(
                "SELECT id, upto_id, text, messages, created_at FROM summaries WHERE session_id = ?"
                " ORDER BY created_at",
                [session_id],
            )
            return StoredSession(
                session_id,
                session["title"],
                messages,
                session["leaf_id"] or (messages[-1].id if messages else None),
                msgspec.json.decode(session["settings"], type=SessionSettings),
                [Summary(**dict(row)) for row in summaries],
                session["titled_by"],
            )

        return await self._database.read(load)

    async def list(self, running: frozenset[str]) -> "list[SessionRow]":
        """All sessions, pinned ones first, then the one that was last used.

        Args:
            running: ids of those with a running turn.
        """

        def read(connection: sqlite3.Connection) -> list[SessionRow]:
            asking = {row[0] for row in connection.execute(f"SELECT session_id FROM messages WHERE {ASKING}")}
            return [
                SessionRow(
                    id=row["id"],
                    title=row["title"],
                    created_at=row["created_at"],
                    modified_at=row["modified_at"],
                    message_count=row["message_count"],
                    running=row["id"] in running,
                    pinned=bool(row["pinned"]),
                    archived=bool(row["archived"]),
                    asking=row["id"] in asking,
                )
                for row in connection.execute(LIST_SESSIONS)
            ]

        return await self._database.read(read)

    async def asking(self) -> "list[str]":
        """The ids of the sessions in which a call waits for the person."""
        query = (
            f"SELECT DISTINCT session_id FROM messages WHERE {ASKING}"
            " AND session_id IN (SELECT id FROM sessions WHERE deleted_at IS NULL)"
        )
        return await self._database.read(lambda connection: [row[0] for row in connection.execute(query)])

    async def delete(self, session_id: str) -> bool:
        """Delete a session, so that it can be restored; False when there was no such session."""
        return await self._update(session_id, "deleted_at = ?", time.time(), where="deleted_at IS NULL")

    async def restore(self, session_id: str) -> bool:
        """Take a deletion back; False when there is nothing to take back."""
        return await self._update(session_id, "deleted_at = NULL", where="deleted_at > 0")

    async def interrupt_unfinished(self) -> None:
        """Mark what nothing works on any more: running answers, and queued prompts as never asked.

        An answer of which a call waits for the person is left as it is, with the prompts queued behind it.
        """

        def interrupt(connection: sqlite3.Connection) -> None:
            rows = connection.execute("SELECT * FROM messages WHERE status IN ('queued', 'running')")
            unfinished = [(row["session_id"], message_of(row)) for row in rows]
            waiting = {session_id for session_id, message in unfinished if goes_on(message)}
            for session_id, message in unfinished:
                if session_id not in waiting:
                    connection.execute(UPDATE_ANSWER, row_of(session_id, settled(message)))

        await self._database.write(interrupt)

    async def _update(self, session_id: str, assignments: str, *values: Any, where: str = "TRUE") -> bool:
        def update(connection: sqlite3.Connection) -> bool:
            statement = f"UPDATE sessions SET {assignments} WHERE id = ? AND {where}"
            return connection.execute(statement, [*values, session_id]).rowcount > 0

        return await self._database.write(update)


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
    """The prompt's first line, at most 80 characters of it.

    It is cut between two words where one ends near, and never inside a composed character.
    """
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    end = MAX_TITLE_CHARACTERS
    if len(line) > end:
        while end > 0 and _joins(line[end - 1], line[end]):
            end -= 1
        end = _word_end(line, end)
    return line[:end].rstrip() or FALLBACK_TITLE


def _word_end(line: str, end: int) -> int:
    """Where the last whole word before `end` ends, or `end` itself where that is far away."""
    if line[end].isspace():
        return end
    earliest = max(0, end - MAX_WORD_CHARACTERS)
    return next((place for place in range(end, earliest, -1) if line[place - 1].isspace()), end)


def _joins(before: str, after: str) -> bool:
    return (
        ZERO_WIDTH_JOINER in (before, after)
        or unicodedata.category(after).startswith("M")
        or ord(after) in EMOJI_SKIN_TONES
    )


def _touch(connection: sqlite3.Connection, session_id: str, now: float) -> None:
    connection.execute("UPDATE sessions SET modified_at = ? WHERE id = ?", [now, session_id])


def _begin(connection: sqlite3.Connection, session_id: str, answer: Message, leaf_id: str | None) -> None:
    connection.execute(INSERT_MESSAGE, row_of(session_id, answer))
    connection.execute(
        "UPDATE messages SET status = 'done', error = NULL WHERE id = ? AND role = 'user'", [answer.parent_id]
    )
    connection.execute(
        "UPDATE messages SET parent_id = ? WHERE parent_id = ? AND status = 'queued'",
        [answer.id, answer.parent_id],
    )
    _set_leaf(connection, session_id, leaf_id or answer.id)


def _set_leaf(connection: sqlite3.Connection, session_id: str, leaf_id: str | None) -> None:
    connection.execute("UPDATE sessions SET leaf_id = ? WHERE id = ?", [leaf_id, session_id])
