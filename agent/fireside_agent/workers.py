"""Runs a module of ours in a process of its own, for work that may take all the time and memory there is.

Python can stop no such work within its own process, so the process is killed when nobody waits any more.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress

from fireside_agent.tools.environment import plain_environment

# With the same packages as ours, whatever the environment says and the folder that we were started in.
_START = "import sys; sys.path[:] = sys.argv[1:]; from {module} import main; main()"

MAX_LINE_BYTES = 1 << 23


async def lines_of(module: str, question: bytes) -> AsyncGenerator[bytes]:
    """What the `main` of a module writes, line by line, when it gets `question` on its standard input.

    The process is gone when the generator is closed or its reader is cancelled. A process that dies only ends
    the lines: the module has to say when it is done.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-W", "ignore", "-c", _START.format(module=module), *sys.path),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=plain_environment(),
        start_new_session=True,
        limit=MAX_LINE_BYTES,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(question)
            await process.stdin.drain()
        process.stdin.close()
        async for line in process.stdout:
            yield line
        await process.wait()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
