"""A live session: its prompts are asked one after the other, whoever listens or does not.

The turn belongs to the session, not to a socket: it goes on when every tab is closed.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fireside_agent.conversation import Conversation
from fireside_agent.errors import AgentError, FrameRefusedError
from fireside_agent.loop import Services, Turn, new_id
from fireside_agent.protocol import Accepted, Message, TurnStatus
from fireside_agent.store.sessions import make_title

MAX_PROMPT_CHARACTERS = 1_000_000


def unknown_session(session_id: str) -> FrameRefusedError:
    return FrameRefusedError(
        "unknown_session", f"There is no session {session_id!r}. It may have been deleted."
    )


class LiveSession:
    """A conversation with the queue of its prompts."""

    def __init__(self, conversation: Conversation, services: Services) -> None:
        self.conversation = conversation
        self._services = services
        self._queue: deque[str] = deque()
        self._turn: Turn | None = None
        self._runner: asyncio.Task[None] | None = None
        self._asks: set[asyncio.Task[str]] = set()
        self._halts = 0
        self._closed: AgentError | None = None

    @property
    def running(self) -> bool:
        return self._turn is not None

    @property
    def idle(self) -> bool:
        """Nothing happens in it and nobody follows it: it can leave memory."""
        return not (self.conversation.followers or self._runner or self._asks or self._halts)

    async def ask(self, text: str, client_id: str) -> str:
        """Store the prompt and queue it, or find it by its `client_id`; returns the `accepted` frame.

        Goes through even if the caller is cancelled. Raises FrameRefusedError or StorageError.
        """
        _check_prompt(text, client_id)
        asking = asyncio.create_task(self._ask(text, client_id))
        self._asks.add(asking)
        asking.add_done_callback(self._asks.discard)
        return await asyncio.shield(asking)

    def abort(self) -> None:
        """Stop the running turn, if there is one. The queue goes on."""
        if self._turn is not None:
            self._turn.stop("aborted")

    @asynccontextmanager
    async def halted(self, status: TurnStatus) -> AsyncGenerator[None]:
        """The running turn is stopped with `status`; inside, no turn runs and no prompt is taken."""
        self._halts += 1
        try:
            while self._runner is not None:
                if self._turn is not None:
                    self._turn.stop(status)
                await asyncio.wait({self._runner})
            async with self.conversation.adding:
                yield
        finally:
            self._halts -= 1
            self._go_on()

    def close(self, reason: AgentError) -> None:
        """Ask none of the prompts that wait; whoever asks from now on gets `reason`. Only while halted."""
        self._closed = reason
        self._queue.clear()

    async def _ask(self, text: str, client_id: str) -> str:
        conversation = self.conversation
        async with conversation.adding:
            if self._closed is not None:
                raise self._closed
            message = conversation.transcript.by_client_id(client_id) or await self._add(text, client_id)
            frame = conversation.emit(
                lambda seq: Accepted(session_id=conversation.id, seq=seq, message=message)
            )
        self._go_on()
        return frame

    async def _add(self, text: str, client_id: str) -> Message:
        transcript = self.conversation.transcript
        prompt = Message(
            id=new_id(),
            role="user",
            text=text,
            html=await self._services.rendering.blocks(text),
            status="queued",
            created_at=time.time(),
            parent_id=transcript.last_id,
            client_id=client_id,
        )
        title = self.conversation.title if transcript.last_id else make_title(text)
        await self._services.store.add_prompt(self.conversation.id, title, prompt)
        self.conversation.title = title
        transcript.set(prompt)
        self._queue.append(prompt.id)
        self._services.sessions_changed()
        return prompt

    def _go_on(self) -> None:
        if self._queue and self._runner is None and not self._halts:
            self._runner = asyncio.create_task(self._run_queue())

    async def _run_queue(self) -> None:
        try:
            while self._queue and not self._halts:
                self._turn = Turn(self.conversation, self._services, self._queue.popleft())
                await self._turn.run()
                self._turn = None
        finally:
            self._turn = None
            self._runner = None


def _check_prompt(text: str, client_id: str) -> None:
    if not client_id:
        raise FrameRefusedError("invalid_frame", "client_id is empty; choose a new one for each prompt.")
    if not text.strip():
        raise FrameRefusedError("empty_prompt", "The message is empty. Type something to ask.")
    if len(text) > MAX_PROMPT_CHARACTERS:
        raise FrameRefusedError(
            "prompt_too_long",
            f"The message has {len(text):,} characters; at most {MAX_PROMPT_CHARACTERS:,} are allowed.",
        )
