"""An agent over a scripted upstream, everything on real sockets and a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.harness import Client, Served, served_agent
from agent.scripted import Upstream, scripted_upstream
from agent.tooling import Bench


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with scripted_upstream() as running:
        yield running


@pytest.fixture
def database_path(tmp_path: Path) -> Path:
    return tmp_path / "fireside.db"


@pytest.fixture
async def served(upstream: Upstream, database_path: Path) -> AsyncIterator[Served]:
    async with served_agent(database_path, upstream.base_url) as running:
        yield running


@pytest.fixture
async def client(served: Served) -> AsyncIterator[Client]:
    async with served.client() as connected:
        yield await connected.new_session()


@pytest.fixture
def bench() -> Bench:
    return Bench()
