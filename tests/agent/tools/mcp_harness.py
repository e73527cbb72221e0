"""What the tests of MCP servers share: real servers, and ways to ask what becomes of them."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

from fireside_agent.tools.mcp.faults import Limits
from fireside_agent.tools.mcp.servers import McpServers, ServerState
from fireside_agent.tools.tool import Call, Tool, ToolResult

PROGRAM = Path(__file__).with_name("mcp_server.py")
PATIENCE_S = 20.0


def stdio(*options: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(PROGRAM), *options], **more}


@asynccontextmanager
async def running(
    home: Path, entries: dict[str, Any], limits: Limits | None = None
) -> AsyncIterator[McpServers]:
    """The servers of `entries`, every one of them ready or failed."""
    path = home / "mcp.json"
    if entries:
        path.write_text(json.dumps({"mcpServers": entries}))
    servers = McpServers(path, limits)
    await servers.start()
    try:
        await until(lambda: all(one.state != "starting" for one in servers.states()))
        yield servers
    finally:
        await servers.close()


async def until(happened: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not happened():  # noqa: ASYNC110 - what happens is in other processes
            await asyncio.sleep(0.01)


def of(servers: McpServers, name: str) -> Tool:
    return next(tool for tool in servers.tools() if tool.name == name)


def state(servers: McpServers, name: str = "demo") -> ServerState:
    return next(one for one in servers.states() if one.name == name)


async def call(tool: Tool, shown: list[str] | None = None, **arguments: Any) -> ToolResult:
    show = shown.append if shown is not None else lambda text: None
    return await tool.run(Call("call", "session", arguments, show))


def gone(*pids: int) -> bool:
    return all(
        not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in pids
    )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


class served:  # noqa: N801 - used as a function
    """The server's program, listening on `port`."""

    def __init__(self, port: int, *options: str) -> None:
        self._port = port
        self._command = [sys.executable, str(PROGRAM), "--http", str(port), *options]

    def __enter__(self) -> None:
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError("the server does not listen")

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def named(servers: McpServers, original: str) -> Tool:
    exposed = next(tool.name for one in servers.states() for tool in one.tools if tool.tool == original)
    return of(servers, exposed)


def write(home: Path, entries: dict[str, Any], **more: Any) -> Path:
    path = home / "mcp.json"
    path.write_text(json.dumps({"mcpServers": entries, **more}))
    return path
