"""The agent: wires database, model and sessions together and keeps its sockets informed."""

import asyncio
import logging
from pathlib import Path
from typing import Protocol

from fireside_agent.conversation import encode
from fireside_agent.errors import StorageError
from fireside_agent.hub import Hub
from fireside_agent.loop import Services
from fireside_agent.outbox import Outbox
from fireside_agent.protocol import Deleted, Error, Ready, Sessions
from fireside_agent.provider import Provider
from fireside_agent.readiness import Readiness
from fireside_agent.rendering import Rendering
from fireside_agent.store.database import Database
from fireside_agent.store.migrations import migrate
from fireside_agent.store.sessions import SessionStore

logger = logging.getLogger(__name__)

ANNOUNCE_SECONDS = 0.1
"""Changes of the list of chats within this time are announced together."""

FAREWELL_SECONDS = 1.0
"""How long a closing agent waits for its sockets to take what is still theirs."""


class Connection(Protocol):
    """A client's socket."""

    @property
    def outbox(self) -> Outbox: ...

    async def wait_closed(self) -> None: ...

    def cut(self) -> None:
        """End it, whatever it still has to send."""
        ...


class Agent:
    """Sessions over any OpenAI-compatible server.

    `base_url` ends in `/v1`; `epoch` is new with every run of the app. Nothing is global: several
    agents may live in one process.
    """

    def __init__(self, database_path: Path, base_url: str, api_key: str, epoch: str) -> None:
        self.epoch = epoch
        self._database = Database(database_path)
        self._rendering = Rendering()
        self._provider = Provider(base_url, api_key)
        self._store = SessionStore(self._database)
        self._list_changed = asyncio.Event()
        services = Services(self._store, self._provider, self._rendering, self._list_changed.set)
        self.hub = Hub(services, epoch)
        self._readiness = Readiness(self._provider, self._announce_ready)
        self._connections: set[Connection] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._started = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the database and mark what a crash left unfinished. Raises StorageError."""
        try:
            await self._database.open(migrate)
            await self._store.interrupt_unfinished()
        except BaseException:
            await self.close()
            raise
        work = (self._readiness.watch(), self.hub.forget_idle(), self._announce_changes())
        self._tasks = [asyncio.create_task(coroutine) for coroutine in work]
        self._started.set()

    async def wait_started(self) -> None:
        """Sockets may open before the database does; they wait here."""
        await self._started.wait()

    async def close(self) -> None:
        """Stop all turns, marked interrupted, say goodbye to the sockets, close the database.

        May be called again, and goes on if the caller is cancelled.
        """
        self._closing = self._closing or asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    @property
    def ready(self) -> Ready | None:
        """The model that can be asked, when it is known."""
        return self._readiness.ready

    def connect(self, connection: Connection) -> None:
        self._connections.add(connection)
        self._readiness.wanted.set()
        if self._closing is not None:
            connection.outbox.close()

    def disconnect(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._readiness.wanted.clear()

    async def list_sessions(self) -> str:
        """The `sessions` frame as of now. Raises StorageError."""
        return encode(Sessions(sessions=await self._store.list(self.hub.running)))

    async def delete_session(self, session_id: str) -> None:
        """Delete the session and tell everybody. Raises FrameRefusedError or StorageError."""
        await self.hub.delete(session_id)
        deleted = encode(Deleted(session_id=session_id))
        for connection in self._connections:
            connection.outbox.reply(deleted)
        self._list_changed.set()

    def _announce_ready(self, ready: Ready) -> None:
        for connection in self._connections:
            connection.outbox.latest("ready", encode(ready))

    async def _announce_changes(self) -> None:
        while True:
            await self._list_changed.wait()
            self._list_changed.clear()
            if self._connections:
                await self._announce_sessions()
            await asyncio.sleep(ANNOUNCE_SECONDS)

    async def _announce_sessions(self) -> None:
        try:
            frame = await self.list_sessions()
        except StorageError as error:
            frame = encode(Error(code="storage_failed", message=str(error)))
        for connection in self._connections:
            connection.outbox.latest("sessions", frame)

    async def _close(self) -> None:
        if self._started.is_set():
            await self.hub.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._say_goodbye()
        await self._provider.close()
        self._rendering.close()
        await self._database.close()

    async def _say_goodbye(self) -> None:
        connections = tuple(self._connections)
        for connection in connections:
            connection.outbox.close()
        try:
            async with asyncio.timeout(FAREWELL_SECONDS):
                await asyncio.gather(*(connection.wait_closed() for connection in connections))
        except TimeoutError:
            for connection in connections:
                connection.cut()
