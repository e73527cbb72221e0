"""Messages as rows of the table `messages`. HTML is never stored."""

import sqlite3
import time
from typing import Any

import msgspec

from fireside_agent.messages import Attachment, Message, Receipt, ToolCall

INSERT_MESSAGE = """
    INSERT INTO messages (id, session_id, parent_id, role, status, text, client_id, error, receipt, reasoning,
                          reasoning_ms, tools, attachments, steering, created_at, modified_at)
    VALUES (:id, :session_id, :parent_id, :role, :status, :text, :client_id, :error, :receipt, :reasoning,
            :reasoning_ms, :tools, :attachments, :steering, :created_at, :modified_at)"""

UPDATE_ANSWER = """
    UPDATE messages
    SET text = :text, status = :status, error = :error, receipt = :receipt, reasoning = :reasoning,
        reasoning_ms = :reasoning_ms, tools = :tools, modified_at = :modified_at
    WHERE id = :id"""

_JSON = {"receipt": Receipt, "tools": list[ToolCall], "attachments": list[Attachment]}
"""Columns that hold structs."""


def to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def row_of(session_id: str, message: Message) -> dict[str, Any]:
    row = {name: getattr(message, name) for name in message.__struct_fields__ if name != "html"}
    stored = {name: None if row[name] is None else to_json(row[name]) for name in _JSON}
    return {**row, **stored, "session_id": session_id, "modified_at": time.time()}


def message_of(row: sqlite3.Row) -> Message:
    fields = {name: row[name] for name in Message.__struct_fields__ if name != "html"}
    for name, kind in _JSON.items():
        fields[name] = None if fields[name] is None else msgspec.json.decode(fields[name], type=kind)
    fields["steering"] = bool(fields["steering"])
    return Message(**fields, html=[])
