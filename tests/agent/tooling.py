"""Tools to call, scripts that call them, and a person who decides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

from agent.harness import Client, Frame, served_agent
from agent.scripted import Step, Upstream, call_chunks
from fireside_agent.tools.tool import Arguments, Call, Preview, Risk, Tool, ToolError, ToolResult


class NoteTool(Tool):
    """Writes down what it was called with."""

    name: ClassVar[str] = "note"
    description: ClassVar[str] = "Writes a note."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    }
    risk: ClassVar[Risk] = "change"

    def __init__(self) -> None:
        self.notes: list[str] = []

    async def preview(self, arguments: Arguments) -> Preview:
        return Preview("arguments", f"note: {arguments['text']}")

    async def run(self, call: Call) -> ToolResult:
        self.notes.append(call.arguments["text"])
        return ToolResult(f"noted {call.arguments['text']}")


class LookTool(NoteTool):
    """Only looks; several may look at once."""

    name: ClassVar[str] = "look"
    risk: ClassVar[Risk] = "read"

    def __init__(self) -> None:
        super().__init__()
        self.at_once = self.most = 0

    async def run(self, call: Call) -> ToolResult:
        self.notes.append(call.arguments["text"])
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        call.show("looking ")
        await asyncio.sleep(0.05)
        self.at_once -= 1
        if call.arguments["text"] == "nothing":
            raise ToolError("there is nothing to see.")
        return ToolResult(f"looking at {call.arguments['text']}")


class SlowTool(NoteTool):
    """Runs until it is stopped."""

    name: ClassVar[str] = "slow"
    risk: ClassVar[Risk] = "read"

    def __init__(self) -> None:
        super().__init__()
        self.cancelled = False

    async def run(self, call: Call) -> ToolResult:
        try:
            call.show("working…")
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return ToolResult("never")


class Bench:
    """Tools, and a client whose chat may call them."""

    def __init__(self) -> None:
        self.note, self.look, self.slow = NoteTool(), LookTool(), SlowTool()

    @property
    def tools(self) -> list[Tool]:
        return [self.note, self.look, self.slow]


@asynccontextmanager
async def at_bench(upstream: Upstream, database_path: Path, bench: Bench) -> AsyncIterator[Client]:
    """A client of an agent with these tools, in a chat that may call them."""
    async with (
        served_agent(database_path, upstream.base_url, extra_tools=bench.tools) as served,
        served.client() as connected,
    ):
        yield await with_tools(connected)


async def with_tools(client: Client, **settings: Any) -> Client:
    await client.send("new_session", settings={"tools": ["note", "look", "slow"], **settings})
    await client.until("history")
    return client


def calling(*calls: tuple[str, Any], text: str = "") -> list[Step]:
    """A script that asks for these calls."""
    chunks = [
        chunk
        for index, (name, arguments) in enumerate(calls)
        for chunk in call_chunks(name, arguments, f"call_{index}", index)
    ]
    return [*([text] if text else []), *chunks]


async def answered(client: Client) -> Frame:
    return await client.until("turn_end")


def tools_of(client: Client) -> list[Frame]:
    return [call for message in client.messages.values() for call in message["tools"]]


async def asked(client: Client) -> Frame:
    return (await client.until("tool_approval_request"))["call"]


async def decide(client: Client, call: Frame, decision: str = "allow", **fields: Any) -> None:
    await client.send(
        "approval", session_id=client.session_id, call_id=call["call_id"], decision=decision, **fields
    )
