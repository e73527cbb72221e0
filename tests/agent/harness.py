"""An agent behind a real server, and clients that talk to it over `/ws`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, get_args

from quart import Quart
from websockets.asyncio.client import ClientConnection, connect

from agent.scripted import serving
from fireside_agent.agent import Agent, AgentConfig
from fireside_agent.assembly import AgentFolders
from fireside_agent.protocol import SessionFrame
from fireside_agent.provider import Patience
from fireside_agent.routes import create_blueprints
from fireside_agent.store.database import Database
from fireside_agent.trash.sessions import DeletedSessions

Frame = dict[str, Any]

SESSION_FRAMES = frozenset(
    str(frame.__struct_config__.tag)
    for frame in get_args(SessionFrame)  # pyright: ignore
)

PATIENCE_SECONDS = 10.0
PATIENCE = Patience(retries_after=(), first_within=5.0, next_within=5.0)
"""Of the agent with its server; tests of trying again say so."""


@dataclass
class Client:
    """A page, reduced to its socket: applies the frames to what it shows, as the protocol says."""

    socket: ClientConnection
    frames: list[Frame] = field(default_factory=list)
    session_id: str = ""
    epoch: str = ""
    seq: int = 0
    messages: dict[str, Frame] = field(default_factory=dict)

    async def send(self, kind: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": kind, **fields}))

    async def next(self) -> Frame:
        async with asyncio.timeout(PATIENCE_SECONDS):
            frame = json.loads(await self.socket.recv())
        self.frames.append(frame)
        self._apply(frame)
        return frame

    async def until(self, kind: str, where: Callable[[Frame], bool] = lambda frame: True) -> Frame:
        """The next frame of this type, everything before it applied."""
        while True:
            frame = await self.next()
            if frame["type"] == kind and where(frame):
                return frame

    async def until_shown(self, text: str) -> None:
        """Until a message shows this text, which may have come before."""
        while all(message["text"] != text for message in self.messages.values()):
            await self.next()

    async def new_session(self) -> Self:
        await self.send("new_session")
        await self.until("history")
        return self

    async def open(self, session_id: str, epoch: str = "", after_seq: int = 0) -> Self:
        self.session_id = session_id
        await self.send("open_session", id=session_id, epoch=epoch, after_seq=after_seq)
        return self

    async def ask(self, text: str, client_id: str = "") -> Frame:
        """Send a prompt; returns its `accepted` frame."""
        client_id = client_id or f"client-{text}"
        await self.send("prompt", session_id=self.session_id, text=text, client_id=client_id)
        return await self.until("accepted", lambda frame: frame["message"]["client_id"] == client_id)

    def call(self, message_id: str, call_id: str) -> Frame:
        """A call as it is shown now."""
        return next(c for c in self.messages[message_id]["tools"] if c["call_id"] == call_id)

    def of(self, *kinds: str) -> list[Frame]:
        return [frame for frame in self.frames if frame["type"] in kinds]

    def _apply(self, frame: Frame) -> None:
        match frame["type"]:
            case "hello":
                self.epoch = frame["epoch"]
            case "history":
                self.session_id, self.seq = frame["session_id"], frame["seq"]
                self.messages = {message["id"]: message for message in frame["messages"]}
            case kind if kind in SESSION_FRAMES:
                assert frame["session_id"] == self.session_id
                assert frame["seq"] == self.seq + 1, f"{frame} after {self.seq}"
                self.seq = frame["seq"]
                self._apply_to_message(frame)
            case _:
                pass

    def _apply_to_message(self, frame: Frame) -> None:
        match frame["type"]:
            case "accepted" | "turn_start" | "turn_end":
                self.messages[frame["message"]["id"]] = frame["message"]
                if "prompt_id" in frame:
                    self.messages[frame["prompt_id"]]["status"] = "done"
            case "text_delta":
                self.messages[frame["message_id"]]["text"] += frame["text"]
            case "step_start":
                for message in (frame["ended"], frame["message"]):
                    self.messages[message["id"]] = message
            case "reasoning_delta":
                self.messages[frame["message_id"]]["reasoning"] += frame["text"]
            case "tool_update":
                call = self.call(frame["message_id"], frame["call_id"])
                call["result"] += frame["text"]
            case "tool_start" | "tool_approval_request" | "approval_settled" | "tool_end":
                calls = {call["call_id"]: call for call in self.messages[frame["message_id"]]["tools"]}
                calls[frame["call"]["call_id"]] = frame["call"]
                self.messages[frame["message_id"]]["tools"] = list(calls.values())
            case "blocks":
                shown = self.messages[frame["message_id"]]["html"]
                shown[frame["start"] :] = frame["html"]
            case _:
                pass


@dataclass
class Served:
    """A running agent and the port it is served on."""

    agent: Agent
    port: int

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        async with connect(
            f"ws://127.0.0.1:{self.port}/ws", proxy=None, max_size=None, max_queue=None
        ) as socket:
            client = Client(socket)
            await client.until("hello")
            yield client


def agent_config(database: Path, base_url: str, **changes: Any) -> AgentConfig:
    """An agent's configuration beside its database: no titles, and a server is asked again at once."""
    folders = AgentFolders(database.parent / "home", database.parent / "home" / "wiki")
    fields: dict[str, Any] = {"api_key": "secret", "epoch": "epoch-1", "titles": False, "patience": PATIENCE}
    return AgentConfig(database=database, base_url=base_url, folders=folders, **(fields | changes))


@asynccontextmanager
async def served_agent(
    database: Path, base_url: str, epoch: str = "epoch-1", **changes: Any
) -> AsyncIterator[Served]:
    agent = Agent(agent_config(database, base_url, epoch=epoch, **changes))
    app = Quart(__name__)
    for blueprint in create_blueprints(agent):
        app.register_blueprint(blueprint)
    await agent.start()
    try:
        async with serving(app) as port:
            try:
                yield Served(agent, port)
            finally:
                await agent.close()
    finally:
        await agent.close()


async def purge_all(database: Database) -> None:
    """Delete for good what is deleted, with all of its rows."""
    deleted = DeletedSessions(database)
    ids = await deleted.due(2**40)
    await deleted.empty(ids)
    await deleted.drop(ids)


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until `condition` holds."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - any condition, also one that tells nobody
            await asyncio.sleep(0.01)
