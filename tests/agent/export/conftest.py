"""The routes of export and import over a real database and real files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from quart import Quart

from agent.export.place import Place
from fireside_agent.attachments.store import AttachmentStore
from fireside_agent.export.exporting import Exporter
from fireside_agent.export.importing import Importer
from fireside_agent.export.routes import create_blueprint
from fireside_agent.store.database import Database
from fireside_agent.store.migrations import migrate
from fireside_agent.store.sessions import SessionStore


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    path = tmp_path / "fireside.db"
    database = Database(path)
    await database.open(migrate)
    attachments = AttachmentStore(database, tmp_path / "attachments")
    changes: list[int] = []
    app = Quart("test")
    app.register_blueprint(
        create_blueprint(Exporter(database, attachments), Importer(attachments), lambda: changes.append(1))
    )
    yield Place(path, database, attachments, SessionStore(database), app, changes)
    await database.close()
