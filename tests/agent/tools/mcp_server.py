"""A real MCP server for the tests, and a program that misbehaves in the ways that servers do.

`python mcp_server.py [--http PORT] [--old] [--notes FILE] [--rubbish] [--stubborn] [--family]`
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import anyio
from mcp import MCPError
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import (
    METHOD_NOT_FOUND,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", type=int)
    parser.add_argument(
        "--old", action="store_true", help="speaks only the protocol before 2026-07-28; with --http"
    )
    parser.add_argument("--notes", type=Path, help="where `slow` writes what becomes of it")
    parser.add_argument("--rubbish", action="store_true", help="prints on standard output")
    parser.add_argument("--stubborn", action="store_true", help="ends neither with its input nor by SIGTERM")
    parser.add_argument("--family", action="store_true", help="starts a child that outlives it")
    return parser.parse_args()


async def forget_the_new_protocol(ctx: Any, call_next: Any) -> Any:
    if ctx.method == "server/discover":
        raise MCPError(METHOD_NOT_FOUND, "Method not found")
    return await call_next(ctx)


def build(options: argparse.Namespace) -> MCPServer:
    server = MCPServer("demo", middleware=[forget_the_new_protocol] if options.old else [])
    note = options.notes.write_text if options.notes else lambda text: None

    @server.tool(description="Adds two numbers.")
    def add(a: int, b: int) -> str:
        if options.rubbish:
            print("adding, says a log line", flush=True)
        return str(a + b)

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def environment() -> str:
        return "\n".join(f"{key}={value}" for key, value in sorted(os.environ.items()))

    @server.tool(name="who am I?")
    def who() -> str:
        return str(os.getpid())

    @server.tool()
    def fail() -> str:
        raise ToolError("the disk is full of ice")

    @server.tool()
    async def slow(seconds: float, context: Context) -> str:
        note("started")
        await context.report_progress(1, 2, "half way")
        try:
            await anyio.sleep(seconds)
        except BaseException:
            note("cancelled")
            raise
        note("done")
        return "done"

    @server.tool()
    def big() -> str:
        return "é" * 50_000

    @server.tool()
    def gallery() -> CallToolResult:
        text = TextResourceContents(uri="file:///notes.txt", text="a note", mime_type="text/plain")
        return CallToolResult(
            content=[
                TextContent(type="text", text="first"),
                ImageContent(type="image", data="AAAA", mime_type="image/png"),
                ResourceLink(type="resource_link", name="report", uri="https://example.org/report"),
                EmbeddedResource(type="resource", resource=text),
                TextContent(type="text", text="last"),
            ]
        )

    @server.tool()
    async def grow(context: Context) -> str:
        server.add_tool(add, name="added")
        if options.old:
            await context.session.send_tool_list_changed()
        else:
            await context.notify_tools_changed()
        return "grown"

    return server


def main() -> None:
    options = parse()
    if options.family:
        child = subprocess.Popen(["sleep", "600"])
        options.notes.with_suffix(".child").write_text(str(child.pid))
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.rubbish:
        print("Welcome to the server!\n\x1b[31m{not json\n" + "x" * 200_000, flush=True)
    server = build(options)
    if options.http:
        server.run("streamable-http", port=options.http)
    else:
        server.run("stdio")
    if options.stubborn:
        time.sleep(600)


if __name__ == "__main__":
    main()
