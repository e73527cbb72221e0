"""A worker process of a download, seen from the app."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Sequence

import msgspec

from fireside.catalog.hub.progress import Event

PYTHON = (sys.executable, "-P", "-m")
FETCHING = (*PYTHON, "fireside.catalog.hub.fetching")
CONVERTING = (*PYTHON, "fireside.jobs.workers.convert")

_END_WITHIN_S = 2.0
_LONGEST_LINE = 8 << 20
"""Bytes; a plan names every file."""
_QUIET = {
    # Plain HTTPS: what Xet has fetched in part is nothing that could be resumed.
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_VERBOSITY": "error",
    "TRANSFORMERS_VERBOSITY": "error",
}


class Worker:
    """One process, and what it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, command: Sequence[str]) -> Worker:
        """Start a command; it ends with this process, whose end of its standard input is then closed."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            env={**os.environ, **_QUIET},
            # A Ctrl-C in the terminal is for the app, which ends its workers.
            start_new_session=True,
        )
        return cls(process)

    async def events(self) -> AsyncIterator[Event]:
        """What it says until it ends. A process that ends without a word has failed."""
        stdout = self._process.stdout
        assert stdout is not None
        last = None
        async for line in stdout:
            with contextlib.suppress(msgspec.DecodeError):
                last = msgspec.json.decode(line, type=Event)
                yield last
        status = await self._process.wait()
        if last is None or last.kind not in ("done", "failed"):
            yield Event(
                "failed",
                code="worker_died",
                message=f"The process of this download ended unexpectedly (status {status}). Resume it; what "
                "has arrived is kept.",
            )

    async def end(self) -> None:
        """End it and wait for that. Idempotent."""
        if self._process.returncode is None:
            self._signal(kill=False)
            try:
                async with asyncio.timeout(_END_WITHIN_S):
                    await self._process.wait()
            except TimeoutError:
                self._signal(kill=True)
                await self._process.wait()

    def _signal(self, *, kill: bool) -> None:
        with contextlib.suppress(ProcessLookupError):
            if kill:
                self._process.kill()
            else:
                self._process.terminate()
