"""A database with the tables of approvals, and a clock that tests set."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.approvals.schema import create_tables
from fireside_agent.approvals.book import RuleBook
from fireside_agent.approvals.log import ApprovalLog
from fireside_agent.approvals.store import RuleStore
from fireside_agent.store.database import Database


@dataclass
class Clock:
    now: float = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(tmp_path / "fireside.db")
    await opened.open(create_tables)
    yield opened
    await opened.close()


@pytest.fixture
async def book(database: Database, clock: Clock) -> RuleBook:
    loaded = RuleBook(RuleStore(database), clock=clock)
    await loaded.load()
    return loaded


@pytest.fixture
def log(database: Database, clock: Clock) -> ApprovalLog:
    return ApprovalLog(database, clock)
