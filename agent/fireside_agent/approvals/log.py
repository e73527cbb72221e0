"""What was asked and how it was answered, in the table `approvals`."""

import json
import sqlite3
import time
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from fireside_agent.errors import AgentError
from fireside_agent.store.database import Database
from fireside_agent.tools.tool import Arguments, Preview, Subject

Decision = Literal["allow", "deny"]

DAY_SECONDS = 86_400.0

INSERT_APPROVAL = """
    INSERT INTO approvals (session_id, message_id, call_id, tool, subject, arguments, question, preview,
                           created_at)
    VALUES (:session_id, :message_id, :call_id, :tool, :subject, :arguments, :question, :preview, :created_at)
    ON CONFLICT (session_id, message_id, call_id) DO NOTHING"""

ONE = "session_id = ? AND message_id = ? AND call_id = ?"


class OtherCallError(AgentError):
    """A call's id was asked about before, with other arguments: that answer is not for these."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for the person: exactly what the card shows."""

    session_id: str
    message_id: str
    call_id: str
    tool: str
    subject: Subject
    arguments: Arguments
    question: str
    preview: Preview | None = None


class Approval(Question, frozen=True, kw_only=True):
    """A question with its answer. `decision` is None while it is open; times are seconds since 1970."""

    id: int
    decision: Decision | None = None
    who: str | None = None
    why: str | None = None
    created_at: float
    settled_at: float | None = None


class ApprovalLog:
    """The questions in `database`. Every method raises StorageError when the file cannot be used."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    async def ask(self, question: Question) -> Approval:
        """Store an open question. Asked again, as after a restart, the stored one comes back as it is by now.

        Raises:
            OtherCallError: the call was asked about with another tool or other arguments.
        """
        row = _row(question) | {"created_at": self._clock()}

        def ask(connection: sqlite3.Connection) -> sqlite3.Row:
            connection.execute(INSERT_APPROVAL, row)
            return connection.execute(f"SELECT * FROM approvals WHERE {ONE}", _key(question)).fetchone()

        stored = await self._database.write(ask)
        if (stored["tool"], stored["arguments"]) != (row["tool"], row["arguments"]):
            raise OtherCallError(
                f"The call {question.call_id!r} was asked about with other arguments;"
                " it needs an id of its own."
            )
        return _approval(stored)

    async def settle(
        self,
        session_id: str,
        message_id: str,
        call_id: str,
        decision: Decision,
        who: str,
        why: str | None = None,
    ) -> bool:
        """Answer an open question. False, and nothing changes, when it was answered before or never asked."""
        answer = [decision, who, why, self._clock(), session_id, message_id, call_id]

        def settle(connection: sqlite3.Connection) -> bool:
            done = connection.execute(
                "UPDATE approvals SET decision = ?, who = ?, why = ?, settled_at = ?"
                f" WHERE {ONE} AND decision IS NULL",
                answer,
            )
            return done.rowcount == 1

        return await self._database.write(settle)

    async def open(self, session_id: str) -> list[Approval]:
        """What waits in this chat, in the order asked."""
        return await self._select("session_id = ? AND decision IS NULL ORDER BY id", [session_id])

    async def recent(self, days: float) -> list[Approval]:
        """What was asked in the past `days`, in all chats, the newest first."""
        since = self._clock() - days * DAY_SECONDS
        return await self._select("created_at >= ? ORDER BY created_at DESC, id DESC", [since])

    async def _select(self, where: str, values: "list[Any]") -> "list[Approval]":
        def read(connection: sqlite3.Connection) -> list[Approval]:
            rows = connection.execute(f"SELECT * FROM approvals WHERE {where}", values)
            return [_approval(row) for row in rows]

        return await self._database.read(read)


def _key(question: Question) -> list[str]:
    return [question.session_id, question.message_id, question.call_id]


def _row(question: Question) -> dict[str, Any]:
    row = {name: getattr(question, name) for name in Question.__struct_fields__}
    for name in ("subject", "arguments", "preview"):
        row[name] = _json(row[name])
    return row


def _json(value: Any) -> str | None:
    """ASCII, because a model's arguments can hold half of a surrogate pair, which UTF-8 cannot."""
    return None if value is None else json.dumps(msgspec.to_builtins(value), sort_keys=True)


def _approval(row: sqlite3.Row) -> Approval:
    fields = dict(row)
    for name in ("subject", "arguments", "preview"):
        fields[name] = None if fields[name] is None else json.loads(fields[name])
    return msgspec.convert(fields, Approval)
