"""A workspace with one root, a journal beside it, and a way to call tools as the loop does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from fireside_agent.tools.journal import Journal
from fireside_agent.tools.tool import Call, Tool, ToolResult
from fireside_agent.tools.workspace import Workspace

Run = Callable[..., Coroutine[Any, Any, ToolResult]]
"""Calls a tool: `run(tool, show=None, **arguments)`; `show` gets what it shows meanwhile."""


async def until(happened: Callable[[], bool], seconds: float = 5) -> None:
    """Wait for something that shows in no other way."""
    async with asyncio.timeout(seconds):
        while True:
            if happened():
                return
            await asyncio.sleep(0.01)


def open_descriptors() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the workspace, with a file that no tool may show."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "diary.txt").write_text("dear diary\n")
    return folder


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace([root])


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


@pytest.fixture
def run() -> Run:
    async def run_tool(
        tool: Tool, show: Callable[[str], None] = lambda _: None, **arguments: Any
    ) -> ToolResult:
        return await tool.run(Call("call_1", "session_1", arguments, show))

    return run_tool
