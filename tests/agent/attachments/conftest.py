"""A store of attachments on a database and a folder, and its routes on a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from quart import Quart

from agent.scripted import serving
from fireside_agent.attachments.routes import create_blueprint
from fireside_agent.attachments.store import AttachmentStore
from fireside_agent.store.database import Database
from fireside_agent.store.migrations import migrate


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(tmp_path / "fireside.db")
    await opened.open(migrate)
    yield opened
    await opened.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "attachments"


@pytest.fixture
async def store(database: Database, folder: Path) -> AsyncIterator[AttachmentStore]:
    made = AttachmentStore(database, folder)
    yield made
    await made.close()


@pytest.fixture
async def http(store: AttachmentStore) -> AsyncIterator[httpx.AsyncClient]:
    app = Quart("test")
    app.config["MAX_CONTENT_LENGTH"] = 64 * 1024 * 1024
    app.register_blueprint(create_blueprint(store))
    async with (
        serving(app) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client,
    ):
        yield client
