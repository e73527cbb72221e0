"""One turn: a prompt is asked, its answer streams to the followers and into the database."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from itertools import groupby

import msgspec

from fireside_agent.batches import batches
from fireside_agent.conversation import Conversation
from fireside_agent.errors import ProviderError, StorageError
from fireside_agent.markdown_stream import StreamRenderer
from fireside_agent.prompts import build_messages
from fireside_agent.protocol import (
    Blocks,
    Message,
    Progress,
    Receipt,
    TextDelta,
    TurnEnd,
    TurnStart,
    TurnStatus,
)
from fireside_agent.provider import AnswerEnd, AnswerEvent, AnswerProgress, AnswerText, ChatMessage, Provider
from fireside_agent.rendering import Rendering
from fireside_agent.store.sessions import SessionStore

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 0.03
"""Deltas that come within this time become one frame."""

RENDER_SHARE = 5
"""A long open block takes long to render again: rest this many times as long before the next time."""

SAVE_SECONDS = 0.15
"""What was sent is stored this much later; with the time of the write itself it stays below 250 ms."""

SAVE_RETRY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Services:
    """What sessions and turns work with."""

    store: SessionStore
    provider: Provider
    rendering: Rendering
    sessions_changed: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended."""

    status: TurnStatus
    error: str | None = None
    receipt: Receipt | None = None


def new_id() -> str:
    return secrets.token_hex(12)


class Turn:
    """Asks the stored prompt `prompt_id` of `conversation`. Every turn that has started also ends."""

    def __init__(self, conversation: Conversation, services: Services, prompt_id: str) -> None:
        self._conversation = conversation
        self._services = services
        self._prompt_id = prompt_id
        self._id = new_id()
        self._text = ""
        self._receipt: Receipt | None = None
        self._progress: AnswerProgress | None = None
        self._renderer = StreamRenderer()
        self._render_seconds = 0.0
        self._unsaved = asyncio.Event()
        self._streaming: asyncio.Task[None] | None = None
        self._stopped: TurnStatus | None = None

    def stop(self, status: TurnStatus) -> None:
        """End the turn with `status`; what was generated so far is kept. `run` returns when it is stored."""
        self._stopped = self._stopped or status
        if self._streaming is not None:
            self._streaming.cancel()

    async def run(self) -> None:
        try:
            messages = await self._begin()
        except StorageError as error:
            self._could_not_begin(error)
            return
        try:
            outcome = await self._stream(messages)
        except Exception as error:
            # A fault of ours, whatever it is: the turn must still end, and the queue go on.
            logger.exception("the turn %s failed", self._id)
            outcome = Outcome("error", f"Fireside failed, not the model: {error!r}. The log has the details.")
        await self._finish(outcome)

    @property
    def _answer(self) -> Message:
        return self._conversation.transcript[self._id]

    async def _begin(self) -> list[ChatMessage]:
        answer = Message(
            id=self._id,
            role="assistant",
            text="",
            html=[],
            status="running",
            created_at=time.time(),
            parent_id=self._prompt_id,
        )
        async with self._conversation.adding:
            await self._services.store.begin_answer(self._conversation.id, answer)
            self._conversation.transcript.begin_answer(answer)
            self._emit_start(answer)
        self._services.sessions_changed()
        return build_messages(self._conversation.transcript.path_to(self._prompt_id))

    def _emit_start(self, answer: Message) -> None:
        self._conversation.emit(
            lambda seq: TurnStart(
                session_id=self._conversation.id, seq=seq, prompt_id=self._prompt_id, message=answer
            )
        )

    def _could_not_begin(self, error: StorageError) -> None:
        transcript = self._conversation.transcript
        failed = msgspec.structs.replace(
            transcript[self._prompt_id], status="error", error=f"This was not asked: {error}"
        )
        transcript.set(failed)
        self._conversation.tell("storage_failed", str(error))
        self._conversation.resync()

    async def _stream(self, messages: list[ChatMessage]) -> Outcome:
        if self._stopped:
            return Outcome(self._stopped)
        self._streaming = asyncio.create_task(self._follow(messages))
        saving = asyncio.create_task(self._save_regularly())
        try:
            await self._streaming
        except asyncio.CancelledError:
            if self._stopped is None:
                raise
            return Outcome(self._stopped)
        except ProviderError as error:
            return Outcome("error", str(error))
        finally:
            saving.cancel()
            await asyncio.gather(saving, return_exceptions=True)
        return Outcome("done", receipt=self._receipt)

    async def _follow(self, messages: list[ChatMessage]) -> None:
        events = batches(self._services.provider.answer(messages), self._pause)
        async with aclosing(events):
            async for batch in events:
                for _, group in groupby(batch, key=type):
                    await self._show(list(group))

    def _pause(self) -> float:
        return max(FLUSH_SECONDS, RENDER_SHARE * self._render_seconds)

    async def _show(self, events: list[AnswerEvent]) -> None:
        """Show events of one kind that came together: all texts as one, of the others the last."""
        match events[-1]:
            case AnswerText():
                await self._show_text("".join(e.text for e in events if isinstance(e, AnswerText)))
            case AnswerProgress() as progress:
                self._show_progress(progress)
            case AnswerEnd(receipt):
                self._receipt = receipt

    async def _show_text(self, delta: str) -> None:
        self._text += delta
        text, started = self._text, time.perf_counter()
        change = await self._services.rendering.feed(self._renderer, delta)
        self._render_seconds = time.perf_counter() - started
        conversation, message_id = self._conversation, self._id
        conversation.transcript.set(
            msgspec.structs.replace(self._answer, text=text, html=self._renderer.blocks)
        )
        conversation.emit(
            lambda seq: TextDelta(session_id=conversation.id, seq=seq, message_id=message_id, text=delta)
        )
        if change is not None:
            conversation.emit(
                lambda seq: Blocks(
                    session_id=conversation.id,
                    seq=seq,
                    message_id=message_id,
                    start=change.start,
                    html=change.html,
                )
            )
        self._unsaved.set()

    def _show_progress(self, progress: AnswerProgress) -> None:
        if progress == self._progress:
            return
        self._progress = progress
        self._conversation.emit(
            lambda seq: Progress(
                session_id=self._conversation.id,
                seq=seq,
                message_id=self._id,
                phase=progress.phase,
                queue_position=progress.queue_position,
                eta_s=progress.eta_s,
                prefill_done=progress.prefill_done,
                prefill_total=progress.prefill_total,
            )
        )

    async def _save_regularly(self) -> None:
        """Store what was sent, a moment later. A failure is told once and tried again."""
        failing = False
        while True:
            await self._unsaved.wait()
            await asyncio.sleep(SAVE_RETRY_SECONDS if failing else SAVE_SECONDS)
            self._unsaved.clear()
            try:
                await self._services.store.save_text(self._id, self._answer.text)
                failing = False
            except StorageError as error:
                self._unsaved.set()
                if not failing:
                    self._conversation.tell("storage_failed", str(error))
                failing = True

    async def _finish(self, outcome: Outcome) -> None:
        answer = msgspec.structs.replace(
            self._answer,
            text=self._text,
            html=await self._services.rendering.blocks(self._text),
            status=outcome.status,
            error=outcome.error,
            receipt=outcome.receipt,
        )
        try:
            await self._services.store.finish_answer(self._conversation.id, answer)
        except StorageError as error:
            self._conversation.tell("storage_failed", str(error))
            answer = _unstored(answer, error)
        self._conversation.transcript.set(answer)
        self._emit_end(answer, "error" if answer.status == "error" else outcome.status)
        self._services.sessions_changed()

    def _emit_end(self, answer: Message, status: TurnStatus) -> None:
        self._conversation.emit(
            lambda seq: TurnEnd(session_id=self._conversation.id, seq=seq, status=status, message=answer)
        )


def _unstored(answer: Message, error: StorageError) -> Message:
    reason = f"This answer is not stored and will be gone with a restart: {error}"
    whole = f"{answer.error} {reason}" if answer.error else reason
    return msgspec.structs.replace(answer, status="error", error=whole)
