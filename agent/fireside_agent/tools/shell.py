"""The tool that runs commands."""

import asyncio
import os
import secrets
import shutil
import signal
from asyncio.subprocess import DEVNULL, Process
from io import FileIO
from pathlib import Path
from typing import Any, ClassVar

from fireside_agent.tools.environment import plain_environment
from fireside_agent.tools.opening import explain
from fireside_agent.tools.output import Output
from fireside_agent.tools.processes import MARK, end_processes
from fireside_agent.tools.tool import Arguments, Call, Preview, Risk, Subject, Tool, ToolError, ToolResult
from fireside_agent.tools.workspace import Workspace
from fireside_agent.waiting import to_the_end

DEFAULT_SECONDS = 120
MAX_SECONDS = 600
LATE_SECONDS = 0.5
"""How long output may still come when the shell itself has ended."""

_CHUNK = 65_536


class BashTool(Tool):
    """Runs a command in the working folder."""

    name: ClassVar[str] = "bash"
    description: ClassVar[str] = (
        "Run a shell command in the working folder. Gives its output and exit status. "
        "It has no input, and what it leaves running is ended with it."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1},
            "timeout": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_SECONDS,
                "description": f"Seconds; {DEFAULT_SECONDS} if left out",
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    }
    risk: ClassVar[Risk] = "execute"
    gives_local: ClassVar[bool] = True

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def subject(self, arguments: Arguments) -> Subject:
        return Subject(command=arguments["command"])

    async def preview(self, arguments: Arguments) -> Preview:
        return Preview("command", _checked(arguments["command"]))

    async def run(self, call: Call) -> ToolResult:
        command = _checked(call.arguments["command"])
        seconds = min(call.arguments.get("timeout") or DEFAULT_SECONDS, MAX_SECONDS)
        output = Output(call.show)
        running = await _Running.start(command, self._workspace.folder, output)
        timed_out = left = False
        try:
            async with asyncio.timeout(seconds):
                await running.until_exit()
        except TimeoutError:
            timed_out = True
        finally:
            left = await to_the_end(running.end()) > 0
        return _result(output.text(), running.status, seconds if timed_out else None, left)


class _Running:
    """A command that runs, in a session of its own."""

    def __init__(self, process: Process, mark: str, pipe: FileIO, output: Output) -> None:
        self._process = process
        self._mark = mark
        self._pipe = pipe
        self._reading = asyncio.create_task(self._read(output))

    @classmethod
    async def start(cls, command: str, folder: Path, output: Output) -> "_Running":
        mark = secrets.token_hex(16)
        source, sink = os.pipe()
        # The pipe is ours and not asyncio's, so that it can be closed while a program still holds its end.
        pipe = FileIO(source)
        starting = asyncio.ensure_future(_start(command, folder, mark, sink))
        try:
            process = await to_the_end(starting)
        except OSError as error:
            pipe.close()
            raise ToolError(f"The command could not be started in {folder}: {explain(error)}.") from error
        except asyncio.CancelledError:
            if starting.exception() is None:
                await to_the_end(cls(starting.result(), mark, pipe, output).end())
            pipe.close()
            raise
        return cls(process, mark, pipe, output)

    @property
    def status(self) -> int | None:
        return self._process.returncode

    async def until_exit(self) -> None:
        """Wait for the shell, and a little for output that comes behind it."""
        await self._process.wait()
        await asyncio.wait([self._reading], timeout=LATE_SECONDS)

    async def end(self) -> int:
        """End all that is left of it. Returns how many processes that were."""
        left = await asyncio.to_thread(end_processes, self._process.pid, self._mark)
        await self._process.wait()
        await asyncio.wait([self._reading], timeout=LATE_SECONDS)
        self._reading.cancel()
        await asyncio.wait([self._reading])
        self._pipe.close()
        return left

    async def _read(self, output: Output) -> None:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self._pipe)
        try:
            while content := await reader.read(_CHUNK):
                output.add(content)
                await asyncio.sleep(0)  # a flood of output must not keep everything else waiting
        finally:
            output.add(b"", final=True)
            transport.close()


async def _start(command: str, folder: Path, mark: str, sink: int) -> Process:
    shell = shutil.which("bash") or "/bin/sh"
    environment = plain_environment() | {MARK: mark}
    try:
        return await asyncio.create_subprocess_exec(
            *(shell, "-c", command),
            stdin=DEVNULL,
            stdout=sink,
            stderr=sink,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    finally:
        os.close(sink)


def _checked(command: str) -> str:
    if not command.strip():
        raise ToolError("`command` is empty.")
    try:
        valid = "\0" not in command and bool(command.encode())
    except UnicodeEncodeError:
        valid = False
    if not valid:
        raise ToolError(
            "`command` holds a character that no command can have: NUL, or half a surrogate pair."
        )
    return command


def _result(output: str, status: int | None, seconds: int | None, left: bool) -> ToolResult:
    notes: list[str] = []
    if seconds is not None:
        notes.append(f"[Ended after {seconds} s, its time limit. `timeout` can be up to {MAX_SECONDS}.]")
    else:
        if left:
            notes.append("[What it had left running in the background was ended.]")
        if status:
            notes.append(f"[{_status_text(status)}]")
    if not output and not notes:
        notes.append("[No output.]")
    lines = [output.removesuffix("\n"), *notes] if output else notes
    return ToolResult("\n".join(lines), ok=seconds is None and status == 0)


def _status_text(status: int) -> str:
    if status > 0:
        return f"Exit status {status}."
    try:
        return f"Ended by {signal.Signals(-status).name}."
    except ValueError:
        return f"Ended by signal {-status}."
