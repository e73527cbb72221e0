"""Chats that are gone: the engine is told, so that it keeps nothing of them."""

import asyncio
import logging

from fireside_agent.errors import ProviderError
from fireside_agent.provider import Provider

logger = logging.getLogger(__name__)


class Forgetting:
    """Tells the engine in the background, one chat after another.

    Keys and values come with the tokens that they are of: whoever can read them can read the chat.
    """

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._chats: asyncio.Queue[str] = asyncio.Queue()

    def chat(self, session_id: str) -> None:
        """Let a chat be forgotten soon."""
        self._chats.put_nowait(session_id)

    async def run(self) -> None:
        """Runs for good."""
        while True:
            session_id = await self._chats.get()
            try:
                await self._provider.forget(session_id)
            except ProviderError as error:
                logger.warning("the engine has not forgotten a chat that is gone: %s", error)
