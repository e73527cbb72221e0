"""How one MCP server is reached: its program is started, or its URL is connected to."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fireside_agent.tools.mcp.config import Entry, EntryError

if TYPE_CHECKING:
    from mcp import StdioServerParameters
    from mcp.client import Transport
    from mcp.client._transport import TransportStreams

INHERITED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""All that a server's program gets of Fireside's environment, where keys may be."""

GUARD = Path(__file__).with_name("guard.py")

TAIL_BYTES = 2000


class Standing:
    """What is heard of a server beside the protocol."""

    def __init__(self, ended: Callable[[], None]) -> None:
        self.ended = False
        self.forgotten = False
        """The server knows nothing of the session: it was started anew, and ran nothing of what failed."""
        self._tail = b""
        self._on_ended = ended

    @property
    def last_words(self) -> str:
        """The end of what it wrote to standard error, in one line."""
        lines = self._tail.decode(errors="replace").splitlines()
        return " / ".join(line.strip() for line in lines[-4:] if line.strip())

    def hear(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-TAIL_BYTES:]

    def end(self) -> None:
        self.ended = True
        self._on_ended()


@asynccontextmanager
async def open_transport(
    entry: Entry, folder: Path, ended: Callable[[], None]
) -> "AsyncGenerator[tuple[Transport, Standing]]":
    """The server's transport, not yet entered, and what else is heard of it.

    `ended` is called when its program, the whole process group, is gone. Relative folders count from
    `folder`.

    Raises:
        EntryError: the program or its folder is not there.
    """
    standing = Standing(ended)
    async with AsyncExitStack() as stack:
        if entry.url is not None:
            transport = await _http(entry.url, entry.headers, standing, stack)
        else:
            errors = stack.enter_context(_errors_to(standing))
            transport = await _stdio(entry, folder, errors)
        yield transport, standing


async def _http(url: str, headers: dict[str, str], standing: Standing, stack: AsyncExitStack) -> "Transport":
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def notice(response: httpx2.Response) -> None:
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            standing.forgotten = True

    # No limit on reading: a stream of notifications may be silent for hours. Calls have their own limit.
    timeout = httpx2.Timeout(30, read=None)
    client = httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks={"response": [notice]})
    return streamable_http_client(url, http_client=await stack.enter_async_context(client))


async def _stdio(entry: Entry, folder: Path, errors: TextIO) -> "Transport":
    from mcp import StdioServerParameters

    environment = {name: os.environ[name] for name in INHERITED if name in os.environ} | entry.env
    program, cwd = await asyncio.to_thread(_find, entry, folder, environment.get("PATH"))
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-I", "-S", str(GUARD), program, *entry.args],
        env=environment,
        cwd=cwd,
        encoding_error_handler="replace",
    )
    return _spawned(parameters, errors)


def _find(entry: Entry, folder: Path, search: str | None) -> tuple[str, Path]:
    cwd = folder / Path(entry.cwd or "").expanduser()
    if not cwd.is_dir():
        raise EntryError(f"Its folder {cwd} does not exist.")
    command = str(Path(entry.command or "").expanduser())
    if "/" in command:
        command = str(cwd / command)
    program = shutil.which(command, path=search)
    if program is None:
        raise EntryError(f"There is no program {command!r}. Install it, or give its full path.")
    return program, cwd


@asynccontextmanager
async def _spawned(parameters: "StdioServerParameters", errors: TextIO) -> "AsyncGenerator[TransportStreams]":
    from mcp import stdio_client

    async with stdio_client(parameters, errlog=errors) as streams:
        # Only the server's own processes hold it from here on: its end is theirs.
        errors.close()
        yield streams


@contextmanager
def _errors_to(standing: Standing) -> Generator[TextIO]:
    """A file for a program's standard error that `standing` hears."""
    loop = asyncio.get_running_loop()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    def hear() -> None:
        try:
            data = os.read(reading, 65_536)
        except BlockingIOError:
            return
        if data:
            standing.hear(data)
        else:
            loop.remove_reader(reading)
            standing.end()

    loop.add_reader(reading, hear)
    try:
        with os.fdopen(writing, "w") as file:
            yield file
    finally:
        hear()
        loop.remove_reader(reading)
        os.close(reading)
