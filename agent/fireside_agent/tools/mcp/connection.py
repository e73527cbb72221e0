"""The connection to one MCP server: started when it is needed, and again when it was lost."""

import asyncio
import importlib
import logging
import math
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fireside_agent.tools.mcp.config import Entry
from fireside_agent.tools.mcp.faults import Limits, LostError, Pauses, explain
from fireside_agent.tools.mcp.listing import Listed, follow_changes, list_tools
from fireside_agent.tools.mcp.transport import Standing, open_transport
from fireside_agent.tools.tool import ToolError

if TYPE_CHECKING:
    import anyio
    from mcp import Client
    from mcp.types import CallToolResult

logger = logging.getLogger(__name__)

State = Literal["starting", "ready", "failed", "disabled"]

Show = Callable[[str], None]

FAREWELL_S = 2.0
"""For saying goodbye to a server; one that does not listen is left or killed."""


class Connection:
    """One server. A task of its own enters and leaves the session; calls use it from their own tasks.

    A lost or failed server keeps the tools it had, and is started again when it is used or woken.
    """

    def __init__(
        self, name: str, entry: Entry, folder: Path, limits: Limits, changed: Callable[[], None]
    ) -> None:
        self.name = name
        self.entry = entry
        self.tools: tuple[Listed, ...] = ()
        self.error = ""
        self._folder = folder
        self._limits = limits
        self._changed = changed
        self._client: Client | None = None
        self._scope: anyio.CancelScope | None = None
        self._owner: asyncio.Task[None] | None = None
        self._standing = Standing(lambda: None)
        self._settled = asyncio.Event()
        self._settled.set()
        self._news = asyncio.Event()
        self._tools_changed = False
        self._lost = False
        self._leaving = False
        self._closed = False
        self._ready_at: float | None = None
        self._pauses = Pauses(limits)

    @property
    def state(self) -> State:
        if self._client is not None:
            return "ready"
        return "failed" if self._settled.is_set() else "starting"

    def wake(self) -> None:
        """Start the server if it does not run and its pause after a failure is over."""
        if self._owner is None and not self._closed and self._pause() <= 0:
            self._settled.clear()
            self._news.clear()
            self._lost = self._leaving = False
            self._standing = Standing(lambda: None)
            self.error = ""
            self._owner = asyncio.create_task(self._own(), name=f"mcp {self.name}")
            self._changed()

    async def call(self, tool: str, arguments: dict[str, Any], show: Show) -> "CallToolResult":
        """Call one of the server's tools; cancelling tells the server. `show` gets its progress.

        Raises:
            ToolError: the server does not run, refused, was lost, or took too long.
        """
        try:
            async with asyncio.timeout(self._limits.call_s):
                return await self._call(tool, arguments, show, again=True)
        except TimeoutError:
            raise ToolError(
                f"{self._title} did not finish `{tool}` within {self._limits.call_s:g} s; the call was "
                "cancelled. It may have taken effect."
            ) from None

    async def close(self) -> None:
        """End the session and the server's processes; later calls fail. Takes a few seconds at most."""
        self._closed = True
        await self._leave()
        self.error = "it was removed, changed or switched off"

    @property
    def _title(self) -> str:
        return f"The MCP server {self.name!r}"

    async def _call(
        self, tool: str, arguments: dict[str, Any], show: Show, *, again: bool
    ) -> "CallToolResult":
        client = await self._connected()
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        async def progress_callback(progress: float, total: float | None, message: str | None) -> None:
            if message:
                show(f"{message}\n")

        try:
            return await client.call_tool(tool, arguments, progress_callback=progress_callback)
        except MCPError as error:
            if again and self._standing.forgotten:
                await self._leave()
                return await self._call(tool, arguments, show, again=False)
            if error.code == CONNECTION_CLOSED:
                if self._client is client:
                    self._client = None
                    self._lost = True
                    self._news.set()
                raise ToolError(
                    f"{self._title} was lost during `{tool}`, which may have taken effect. It is started "
                    "again with the next call."
                ) from None
            raise ToolError(f"{self._title} refused `{tool}`: {error.message}") from None
        except (RuntimeError, ValueError) as error:
            raise ToolError(f"{self._title} gave a result of a wrong form for `{tool}`: {error}") from None

    async def _connected(self) -> "Client":
        if self._owner is not None and self._client is None and self._settled.is_set():
            # It is just being cleared away.
            await asyncio.wait({self._owner})
        self.wake()
        await self._settled.wait()
        if self._client is None:
            pause = math.ceil(self._pause())
            then = f" It can be tried again in {pause} s." if pause > 0 and not self._closed else ""
            raise ToolError(f"{self._title} does not run: {self.error}.{then}")
        return self._client

    def _pause(self) -> float:
        return self._pauses.over_at - asyncio.get_running_loop().time()

    async def _leave(self) -> None:
        if self._owner is None:
            return
        self._leaving = True
        self._news.set()
        if self._scope is not None:
            if self._client is None:
                self._scope.cancel()
            else:
                self._scope.deadline = asyncio.get_running_loop().time() + FAREWELL_S
        await asyncio.wait({self._owner})

    async def _own(self) -> None:
        try:
            # Half a second of importing, for which nobody else should wait.
            await asyncio.to_thread(importlib.import_module, "mcp")
            import anyio

            with anyio.CancelScope(deadline=anyio.current_time() + self._limits.start_s) as scope:
                self._scope = scope
                if not self._leaving:
                    await self._serve(scope)
            if scope.cancelled_caught:
                raise LostError(f"it did not start within {self._limits.start_s:g} s")
        # Whatever a server or the way to it does is that server's failure, and nobody else's.
        except Exception as error:
            logger.debug("MCP server %s failed", self.name, exc_info=error)
            self._fail(error)
        finally:
            self._client = self._scope = self._owner = None
            self._settled.set()
            self._changed()

    async def _serve(self, scope: "anyio.CancelScope") -> None:
        from mcp import Client
        from mcp.types import Implementation

        async with AsyncExitStack() as stack:
            opening = open_transport(self.entry, self._folder, self._news.set)
            transport, self._standing = await stack.enter_async_context(opening)
            about_us = Implementation(name="fireside", version="1")
            client = Client(transport, client_info=about_us, message_handler=self._hear, cache=None)
            await stack.enter_async_context(client)
            self.tools = await list_tools(client)
            scope.deadline = math.inf
            self.error = ""
            self._client = client
            self._ready_at = asyncio.get_running_loop().time()
            self._settled.set()
            self._changed()
            try:
                await self._watch(client)
            finally:
                self._client = None
                self.error = "it is just ending"

    async def _watch(self, client: "Client") -> None:
        import anyio

        async with anyio.create_task_group() as group:
            group.start_soon(follow_changes, client, self._note_change)
            while not self._leaving:
                await self._news.wait()
                self._news.clear()
                if self._standing.ended or self._lost:
                    raise LostError("it ended" if self.entry.url is None else "the connection was lost")
                if self._tools_changed and not self._leaving:
                    await self._list_again(client)
            group.cancel_scope.cancel()

    async def _list_again(self, client: "Client") -> None:
        from mcp import MCPError

        self._tools_changed = False
        try:
            async with asyncio.timeout(self._limits.start_s):
                self.tools = await list_tools(client)
        except (MCPError, ValueError, TimeoutError) as error:
            logger.warning("%s did not list its changed tools: %s", self._title, error)
        self._changed()

    async def _hear(self, message: object) -> None:
        from mcp.types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._note_change()

    def _note_change(self) -> None:
        self._tools_changed = True
        self._news.set()

    def _fail(self, error: Exception) -> None:
        if self._leaving:
            return
        words = self._standing.last_words
        self.error = f"{explain(error)} ({words})" if words else explain(error)
        now = asyncio.get_running_loop().time()
        self._pauses.ended(now, self._ready_at)
        self._ready_at = None
