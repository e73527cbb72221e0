"""All MCP servers of `mcp.json`."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from fireside_agent.tools.mcp.config import Config, ConfigError, ConfigFile, Entry, Transport
from fireside_agent.tools.mcp.connection import Connection, State
from fireside_agent.tools.mcp.faults import Limits
from fireside_agent.tools.mcp.listing import Listed
from fireside_agent.tools.mcp.masking import mask, unmask
from fireside_agent.tools.mcp.tools import make_tool, risk_of, tool_name
from fireside_agent.tools.tool import Risk, Tool


class ToolState(msgspec.Struct, frozen=True):
    """A tool as the settings show it: `name` is what models call it, `tool` what its server calls it."""

    name: str
    tool: str
    description: str
    risk: Risk


class ServerState(msgspec.Struct, frozen=True, kw_only=True):
    """A server as the settings show it: `error` says why it failed, `config` has its secrets masked."""

    name: str
    transport: Transport | None
    state: State
    error: str = ""
    tools: list[ToolState] = []
    config: Entry | None = None


class McpServers:
    """Starts the servers in the background and offers their tools; nothing ever waits for one of them.

    Tools of a server are offered from its first start on, also while it is being started again. `changed` is
    called in the event loop whenever `states` or `tools` may have changed.
    """

    def __init__(
        self,
        config_path: Path,
        limits: Limits | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.problem = ""
        """Why `mcp.json` cannot be used, in words; what ran before goes on."""
        self._file = ConfigFile(config_path)
        self._folder = config_path.parent
        self._limits = limits or Limits()
        self._changed = changed
        self._config = Config({}, {})
        self._connections: dict[str, Connection] = {}
        self._made: dict[str, tuple[Connection, Listed, Tool]] = {}
        self._lock = asyncio.Lock()
        self._closed = False

    async def start(self) -> None:
        """Read the file and begin to start what is enabled."""
        await self.reload()

    async def reload(self) -> None:
        """Follow what was changed in the file by hand."""
        async with self._lock:
            await self._reload()

    async def close(self) -> None:
        """End all servers and their processes."""
        self._closed = True
        async with self._lock:
            await asyncio.gather(*(connection.close() for connection in self._connections.values()))
            self._connections = {}

    async def put(self, name: str, entry: Entry) -> None:
        """Add a server or replace its configuration; masks in `entry` stand for what is stored.

        Raises:
            EntryError: no server can be reached with this.
            ConfigError: the file cannot be read or written.
        """
        async with self._lock:
            config = await asyncio.to_thread(self._file.read)
            entry = unmask(entry, config.entries.get(name))
            entry.check()
            await asyncio.to_thread(self._file.put, name, entry)
            await self._reload()

    async def remove(self, name: str) -> bool:
        """Take a server out of the file and end it; False where there is none. Raises ConfigError."""
        async with self._lock:
            removed = await asyncio.to_thread(self._file.remove, name)
            await self._reload()
            return removed

    async def restart(self, name: str) -> bool:
        """End a server and start it anew, without a pause; False where none of that name is enabled."""
        async with self._lock:
            await self._reload()
            order = list(self._connections)
            connection = self._connections.pop(name, None)
            if connection is None:
                return False
            await connection.close()
            self._begin(name, connection.entry)
            self._connections = {key: self._connections[key] for key in order if key in self._connections}
            return True

    def states(self) -> list[ServerState]:
        """All servers in the order of the file, then those that are configured wrongly."""
        tools: dict[str, list[ToolState]] = {name: [] for name in self._connections}
        for connection, listed, exposed in self._named():
            state = ToolState(exposed, listed.name, listed.description, risk_of(listed))
            tools[connection.name].append(state)
        states = [
            self._state(name, entry, tools.get(name, [])) for name, entry in self._config.entries.items()
        ]
        faulty = [
            ServerState(name=name, transport=None, state="failed", error=fault)
            for name, fault in self._config.faults.items()
        ]
        return states + faulty

    def tools(self) -> list[Tool]:
        """The tools of all servers that have run; wakes those that ended. In the event loop only."""
        for connection in self._connections.values():
            connection.wake()
        return [self._tool(connection, listed, exposed) for connection, listed, exposed in self._named()]

    def _tool(self, connection: Connection, listed: Listed, exposed: str) -> Tool:
        made = self._made.get(exposed)
        if made is None or made[0] is not connection or made[1] is not listed:
            made = (connection, listed, make_tool(connection, listed, exposed))
            self._made[exposed] = made
        return made[2]

    def _state(self, name: str, entry: Entry, tools: list[ToolState]) -> ServerState:
        connection = self._connections.get(name)
        return ServerState(
            name=name,
            transport=entry.transport,
            state=connection.state if connection is not None else "disabled",
            error=connection.error if connection is not None else "",
            tools=tools,
            config=mask(entry),
        )

    def _named(self) -> list[tuple[Connection, Listed, str]]:
        named: list[tuple[Connection, Listed, str]] = []
        taken: set[str] = set()
        for connection in self._connections.values():
            for listed in connection.tools:
                exposed = tool_name(connection.name, listed.name, taken)
                taken.add(exposed)
                named.append((connection, listed, exposed))
        return named

    async def _reload(self) -> None:
        try:
            config = await asyncio.to_thread(self._file.read)
        except ConfigError as error:
            self.problem = str(error)
            self._changed()
            return
        self.problem = ""
        self._config = config
        wanted = {name: entry for name, entry in config.entries.items() if not entry.disabled}
        running = self._connections
        kept = {name: one for name, one in running.items() if wanted.get(name) == one.entry}
        ending = [one for name, one in running.items() if name not in kept]
        self._connections = kept
        await asyncio.gather(*(connection.close() for connection in ending))
        for name, entry in wanted.items():
            if name not in kept:
                self._begin(name, entry)
        self._connections = {name: self._connections[name] for name in wanted if name in self._connections}
        self._made = {}
        self._changed()

    def _begin(self, name: str, entry: Entry) -> None:
        if self._closed:
            return
        connection = Connection(name, entry, self._folder, self._limits, self._changed)
        self._connections[name] = connection
        connection.wake()
