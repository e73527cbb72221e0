"""Sessions that never touch the disk: a chat that is temporary asks this in place of the database."""

from typing import Any

from fireside_agent.store.database import Database
from fireside_agent.store.sessions import SessionStore


class _NoDatabase(Database):
    """Does nothing, and has nothing."""

    def __init__(self) -> None:
        pass

    async def write(self, work: Any) -> Any:
        return None

    async def read(self, work: Any) -> Any:
        return None


def unstored_sessions() -> SessionStore:
    """A store whose writes are forgotten at once. What it is asked for it does not have."""
    return SessionStore(_NoDatabase())
