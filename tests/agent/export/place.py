"""A database with the routes of export and import, and chats to put into it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quart import Quart

from fireside_agent.attachments.store import AttachmentStore
from fireside_agent.export.records import MessageRecord, SessionRecord, WholeSession, write_sessions
from fireside_agent.messages import Receipt
from fireside_agent.store.database import Database
from fireside_agent.store.sessions import SessionStore

START = 1_700_000_000.25


def message(name: str, parent: str | None, **fields: Any) -> MessageRecord:
    """A finished message; an even number of steps from its root makes it the person's."""
    role = fields.pop("role", "user" if parent is None else "assistant")
    receipt = Receipt(model="pocket-135m", prompt_tokens=3) if role == "assistant" else None
    values: dict[str, Any] = {
        "id": name, "parent_id": parent, "role": role, "status": "done", "text": f"text of {name}",
        "created_at": START, "modified_at": START + 1, "receipt": receipt, **fields,
    }  # fmt: skip
    return MessageRecord(**values)


def session(messages: list[MessageRecord], **fields: Any) -> WholeSession:
    values: dict[str, Any] = {
        "id": "s1", "title": "A chat", "created_at": START, "modified_at": START + 9,
        "leaf_id": messages[-1].id if messages else None, **fields,
    }  # fmt: skip
    return WholeSession(session=SessionRecord(**values), messages=messages, summaries=[])


@dataclass
class Place:
    """A database with its routes."""

    path: Path
    database: Database
    attachments: AttachmentStore
    sessions: SessionStore
    app: Quart
    changes: list[int]
    """One entry for every time that the list of chats was said to have changed."""

    async def add(self, *whole: WholeSession) -> None:
        await self.database.write(lambda connection: write_sessions(connection, whole))

    async def export(self, query: str) -> bytes:
        response = await self.app.test_client().get(f"/api/sessions/export?{query}")
        assert response.status_code == 200, await response.get_data(as_text=True)
        return bytes(await response.get_data(as_text=False))

    async def send(self, data: bytes, content_type: str = "application/json") -> tuple[int, Any]:
        response = await self.app.test_client().post(
            "/api/sessions/import", data=data, headers={"Content-Type": content_type}
        )
        return response.status_code, json.loads(await response.get_data(as_text=False))

    async def load(self, data: bytes, content_type: str = "application/json") -> dict[str, Any]:
        status, answer = await self.send(data, content_type)
        assert status == 200, answer
        return answer

    def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        """What is stored: rows, and files."""
        tables = ("sessions", "messages", "summaries", "attachments")
        with closing(sqlite3.connect(self.path)) as connection:
            rows = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
        files = [(path.name,) for path in sorted(self.path.parent.glob("attachments/??/*"))]
        return {**rows, "files": files}
