"""The agent: wires database, model and sessions together and keeps its sockets informed."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fireside_agent.assembly import AgentFolders, assemble
from fireside_agent.attachments.store import AttachmentStore
from fireside_agent.conversation import encode
from fireside_agent.errors import ProviderError, StorageError
from fireside_agent.export.exporting import Exporter
from fireside_agent.export.importing import Importer
from fireside_agent.forgetting import Forgetting
from fireside_agent.hub import Hub
from fireside_agent.keeping import Keeping
from fireside_agent.memory.documents import VaultArticles
from fireside_agent.outbox import Outbox
from fireside_agent.presets import PresetStore
from fireside_agent.protocol import Deleted, Error, Ready, Sessions, Storage
from fireside_agent.provider import Patience, Provider
from fireside_agent.readiness import Readiness
from fireside_agent.rendering import Rendering
from fireside_agent.search.searcher import Searcher
from fireside_agent.services import MAX_STEPS, Services
from fireside_agent.store.database import Database
from fireside_agent.store.migrations import migrate
from fireside_agent.store.sessions import SessionStore
from fireside_agent.tools.tool import Tool
from fireside_agent.tools.web.settings import WebSettings
from fireside_agent.trash.trash import Holders, Trash

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


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """What an agent works with.

    Attributes:
        base_url: of an OpenAI-compatible server, ending in `/v1`.
        epoch: new with every run of the app.
        own_server: the server is Fireside's, and knows its additions.
        extra_tools: beside the usual ones.
        trace: tell on standard error what turns do, without what is said in them.
    """

    database: Path
    base_url: str
    api_key: str
    epoch: str
    folders: AgentFolders
    own_server: bool = True
    web: WebSettings = field(default_factory=WebSettings)
    patience: Patience = field(default_factory=Patience)
    max_steps: int = MAX_STEPS
    titles: bool = True
    extra_tools: Sequence[Tool] = ()
    trace: bool = False


class Agent:
    """Sessions over any OpenAI-compatible server. Nothing is global: several may live in one process."""

    def __init__(self, config: AgentConfig) -> None:
        self.epoch = config.epoch
        self._folders = config.folders
        self._database = Database(config.database)
        self._rendering = Rendering()
        self._provider = Provider(config.base_url, config.api_key, config.own_server, config.patience)
        self._forgetting = Forgetting(self._provider)
        self._store = SessionStore(self._database)
        self.presets = PresetStore(self._database)
        self.attachments = AttachmentStore(self._database, config.folders.home / "attachments")
        self.parts = assemble(config.folders, self._database, config.web, config.extra_tools)
        self.searcher = Searcher(config.database, VaultArticles(self.parts.vault))
        self._list_changed = asyncio.Event()
        self.transfer = (
            Exporter(self._database, self.attachments),
            Importer(self.attachments),
            self._list_changed.set,
        )
        self.services = Services(
            store=self._store,
            provider=self._provider,
            rendering=self._rendering,
            sessions_changed=self._list_changed.set,
            forget_chat=self._forgetting.chat,
            toolbox=self.parts.toolbox,
            attachments=self.attachments,
            instructions=self.presets.instructions,
            context_window=self._context_window,
            known_window=self._known_window,
            own_model=lambda: self.ready.model if self.ready and config.own_server else None,
            traces=config.trace,
            max_steps=config.max_steps,
            titles=config.titles,
        )
        self.hub = Hub(self.services, config.epoch)
        self.trash = Trash(self._database, self._holders(config.database), self._list_changed.set)
        self._readiness = Readiness(self._provider, self._announce_ready)
        self._keeping = Keeping(self._database, self._announce_storage)
        self._connections: set[Connection] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._started = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Open the database and mark what a crash left unfinished. Raises StorageError."""
        try:
            await self._database.open(migrate)
            await asyncio.to_thread(self._make_folders)
            await self._store.interrupt_unfinished()
            await self.parts.book.load()
        except BaseException:
            await self.close()
            raise
        work = (
            self._readiness.watch(),
            self._keeping.watch(),
            self.hub.forget_idle(),
            self._forgetting.run(),
            self._announce_changes(),
            self._settle_in(),
            self._read_pdfs(),
            self.trash.tidy_up(),
        )
        self._tasks = [asyncio.create_task(coroutine) for coroutine in work]
        self._started.set()

    def _holders(self, database: Path) -> Holders:
        parts = self.parts
        return Holders(
            database=database,
            attachments=self.attachments,
            journal=parts.toolbox.journal,
            proposals=parts.proposals,
            book=parts.book,
            copies_in_use=lambda: self.hub.copies_in_use,
            forget_chat=self._forgetting.chat,
        )

    def _make_folders(self) -> None:
        try:
            self._folders.workspace.mkdir(0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{self._folders.workspace} cannot be made: {error}") from error
        try:
            self.parts.skill.write()
        except OSError as error:
            logger.warning("the skills are not on the disk to be looked at: %s", error)

    async def _settle_in(self) -> None:
        """What need not be waited for."""
        await self.parts.servers.start()
        try:
            await self.hub.resume_asking()
        except StorageError as error:
            logger.warning("chats that wait for a decision are not taken up: %s", error)

    async def _read_pdfs(self) -> None:
        try:
            await self.attachments.read_pdfs()
        except StorageError as error:
            logger.warning("PDFs that were attached earlier are read when they are asked about: %s", error)

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

    def look_at_model(self) -> None:
        """Find out now which model can be asked: it may be another one."""
        self._readiness.look_again()

    def usual_tools(self) -> Sequence[str]:
        """Names of the tools that a chat has by itself, with the model as it is now."""
        return self.parts.toolbox.usual(self._known_window())

    def _known_window(self) -> int | None:
        return self.ready.context_window if self.ready else None

    async def _context_window(self) -> int | None:
        if self.ready is None:
            with suppress(ProviderError):  # the answer itself will say what is wrong
                return (await self._provider.model_info()).context_window
        return self._known_window()

    def connect(self, connection: Connection) -> None:
        self._connections.add(connection)
        self._readiness.wanted.set()
        if self._closing is not None:
            connection.outbox.close()
        elif self._keeping.state.problem:
            connection.outbox.latest("storage", encode(self._keeping.state))

    def disconnect(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._readiness.wanted.clear()

    async def list_sessions(self) -> str:
        """The `sessions` frame as of now. Raises StorageError."""
        rows = await self._store.list(self.hub.running)
        return encode(Sessions(sessions=rows, deleted=await self.trash.count()))

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

    def _announce_storage(self, storage: Storage) -> None:
        for connection in self._connections:
            connection.outbox.latest("storage", encode(storage))

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
        await self.attachments.close()
        await self.parts.servers.close()
        await self.searcher.close()
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
