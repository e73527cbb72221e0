"""Which model can be asked, as long as anybody wants to know."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from fireside_agent.errors import ProviderError
from fireside_agent.protocol import Ready
from fireside_agent.provider import ModelLoadingError, Provider

READY_POLL_SECONDS = 10.0
WAITING_POLL_SECONDS = 1.0


class Readiness:
    """Asks `/v1/models` from time to time and announces the model when it changes."""

    def __init__(self, provider: Provider, announce: Callable[[Ready], None]) -> None:
        self.ready: Ready | None = None
        self.wanted = asyncio.Event()
        """Set while somebody is connected. Nothing is asked, and `openai` not imported, before."""
        self._again = asyncio.Event()
        self._provider = provider
        self._announce = announce

    async def watch(self) -> None:
        """Runs for good."""
        while True:
            await self.wanted.wait()
            self._again.clear()
            pause = await self._look()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._again.wait()

    def look_again(self) -> None:
        """Ask now instead of later: another model may answer."""
        self._again.set()

    async def _look(self) -> float:
        """Look once; returns the seconds until it is worth looking again."""
        try:
            model = await self._provider.model_info()
        except ModelLoadingError as loading:
            return min(loading.retry_seconds, WAITING_POLL_SECONDS)
        except ProviderError:
            return WAITING_POLL_SECONDS  # a prompt will say why, if there is one before it is back
        ready = Ready(
            model=model.id,
            context_window=model.context_window,
            thinking=model.reasoning or model.thinking,
            thinks=model.thinking,
            vision=model.vision,
            audio=model.audio,
            gen_defaults=model.gen_defaults,
        )
        if ready != self.ready:
            self.ready = ready
            self._announce(ready)
        return READY_POLL_SECONDS
