"""An empty database with its index, and a searcher over it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.search.stock import Stock, connect, prepare
from fireside_agent.search.searcher import Searcher


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("search") / "empty.db"
    with closing(connect(path)) as connection:
        prepare(connection, path)
    return path


@pytest.fixture
async def stock(empty_database: Path, database_path: Path) -> AsyncIterator[Stock]:
    shutil.copyfile(empty_database, database_path)
    searcher = Searcher(database_path)
    opened = Stock(database_path, searcher)
    yield opened
    await searcher.close()
    opened.db.close()
