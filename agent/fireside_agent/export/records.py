"""Whole sessions, every branch of them, as values between the database and files."""

import sqlite3
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fireside_agent.messages import (
    Attachment,
    MessageStatus,
    Receipt,
    Role,
    SessionSettings,
    Summary,
    ToolCall,
)
from fireside_agent.store.sessions import TitledBy

YEAR_10000 = 253_402_300_800

Id = Annotated[str, Meta(min_length=1, max_length=200)]
Time = Annotated[float, Meta(ge=0, lt=YEAR_10000)]
"""Seconds since the epoch, UTC."""

INSERT_SESSION = """
    INSERT INTO sessions (id, title, titled_by, pinned, archived, leaf_id, settings, created_at, modified_at)
    VALUES (:id, :title, :titled_by, :pinned, :archived, :leaf_id, :settings, :created_at, :modified_at)"""

INSERT_MESSAGE = """
    INSERT INTO messages (id, session_id, parent_id, role, status, text, client_id, error, receipt, reasoning,
                          reasoning_ms, tools, attachments, steering, created_at, modified_at)
    VALUES (:id, :session_id, :parent_id, :role, :status, :text, :client_id, :error, :receipt, :reasoning,
            :reasoning_ms, :tools, :attachments, :steering, :created_at, :modified_at)"""

INSERT_SUMMARY = """
    INSERT INTO summaries (id, session_id, upto_id, text, messages, created_at)
    VALUES (:id, :session_id, :upto_id, :text, :messages, :created_at)"""


class SessionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A session without its messages."""

    id: Id
    title: Annotated[str, Meta(max_length=1000)]
    created_at: Time
    modified_at: Time
    titled_by: TitledBy = "prompt"
    pinned: bool = False
    archived: bool = False
    leaf_id: Id | None = None
    """Where the branch that is shown ends."""
    settings: SessionSettings = SessionSettings()


class MessageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A message as it is stored; the fields mean what they mean in `messages.Message`."""

    id: Id
    parent_id: Id | None
    role: Role
    status: MessageStatus
    text: str
    created_at: Time
    modified_at: Time
    client_id: str | None = None
    error: str | None = None
    reasoning: str = ""
    reasoning_ms: int | None = None
    tools: list[ToolCall] = []
    attachments: list[Attachment] = []
    receipt: Receipt | None = None
    steering: bool = False


class WholeSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session with all it has, messages in the order in which they were stored."""

    session: SessionRecord
    messages: list[MessageRecord]
    summaries: list[Summary]


def list_ids(connection: sqlite3.Connection) -> list[str]:
    """The ids of all sessions that are not deleted, the one that was last used first."""
    rows = connection.execute(
        "SELECT id FROM sessions WHERE deleted_at IS NULL ORDER BY modified_at DESC, rowid DESC"
    )
    return [row["id"] for row in rows]


def unknown_ids(connection: sqlite3.Connection, ids: Iterable[str]) -> list[str]:
    """Those of `ids` that are not the id of a session."""
    known = "SELECT 1 FROM sessions WHERE id = ? AND deleted_at IS NULL"
    return [session_id for session_id in ids if connection.execute(known, [session_id]).fetchone() is None]


def read_session(connection: sqlite3.Connection, session_id: str) -> WholeSession | None:
    """The session, or None when there is no such one or it is deleted."""
    row = connection.execute(
        "SELECT * FROM sessions WHERE id = ? AND deleted_at IS NULL", [session_id]
    ).fetchone()
    if row is None:
        return None
    messages = [
        _message(message)
        for message in connection.execute(
            "SELECT * FROM messages WHERE session_id = ? ORDER BY position", [session_id]
        )
    ]
    summaries = connection.execute(
        "SELECT id, upto_id, text, messages, created_at FROM summaries WHERE session_id = ?"
        " ORDER BY created_at, rowid",
        [session_id],
    )
    fields: dict[str, Any] = {name: row[name] for name in SessionRecord.__struct_fields__}
    fields.update(
        pinned=bool(row["pinned"]),
        archived=bool(row["archived"]),
        leaf_id=row["leaf_id"] or (messages[-1].id if messages else None),
        settings=msgspec.json.decode(row["settings"], type=SessionSettings),
    )
    return WholeSession(
        session=SessionRecord(**fields),
        messages=messages,
        summaries=[Summary(**dict(summary)) for summary in summaries],
    )


def write_sessions(connection: sqlite3.Connection, sessions: Iterable[WholeSession]) -> None:
    """Store sessions that have no rows yet."""
    # The order is kept, and a prompt that waited has a parent that was stored after it.
    connection.execute("PRAGMA defer_foreign_keys = ON")
    for whole in sessions:
        session = whole.session
        fields: dict[str, Any] = msgspec.structs.asdict(session)
        connection.execute(INSERT_SESSION, {**fields, "settings": _json(session.settings)})
        connection.executemany(INSERT_MESSAGE, [_row(session.id, message) for message in whole.messages])
        connection.executemany(
            INSERT_SUMMARY,
            [{**msgspec.structs.asdict(summary), "session_id": session.id} for summary in whole.summaries],
        )


_STRUCTS: dict[str, Any] = {"receipt": Receipt, "tools": list[ToolCall], "attachments": list[Attachment]}
"""Columns that hold JSON."""


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _row(session_id: str, message: MessageRecord) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.structs.asdict(message)
    stored = {name: None if fields[name] is None else _json(fields[name]) for name in _STRUCTS}
    return {**fields, **stored, "session_id": session_id}


def _message(row: sqlite3.Row) -> MessageRecord:
    fields: dict[str, Any] = {name: row[name] for name in MessageRecord.__struct_fields__}
    for name, kind in _STRUCTS.items():
        fields[name] = None if fields[name] is None else msgspec.json.decode(fields[name], type=kind)
    fields["steering"] = bool(fields["steering"])
    return MessageRecord(**fields)
