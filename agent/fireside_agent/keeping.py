"""Whether chats can be kept: told to all clients, and tried again as long as they cannot."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from fireside_agent.errors import StorageError
from fireside_agent.protocol import Storage
from fireside_agent.store.database import Database

TRY_AGAIN_SECONDS = 5.0


class Keeping:
    """Watches what becomes of the writes to the database."""

    def __init__(self, database: Database, announce: Callable[[Storage], None]) -> None:
        self._database = database
        self._announce = announce

    @property
    def state(self) -> Storage:
        """How it is now."""
        return Storage(problem=self._database.problem)

    async def watch(self) -> None:
        """Runs for good. Where nobody writes, nobody would notice that there is room again: so it tries."""
        known = ""
        while True:
            try:
                async with asyncio.timeout(TRY_AGAIN_SECONDS if known else None):
                    known = await self._database.other_problem(known)
            except TimeoutError:
                with suppress(StorageError):  # the database knows by now
                    await self._database.try_writing()
            else:
                self._announce(self.state)
