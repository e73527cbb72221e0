"""An answer on its way: into the transcript, to the followers and, a moment later, into the database."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from fireside_agent.batches import batches
from fireside_agent.conversation import Conversation
from fireside_agent.errors import StorageError
from fireside_agent.markdown_stream import StreamRenderer
from fireside_agent.messages import (
    CutText,
    Message,
    MessageStatus,
    Receipt,
    SamplingChoice,
    ToolCall,
    call_of,
)
from fireside_agent.protocol import (
    ApprovalSettled,
    Blocks,
    Context,
    Progress,
    ReasoningDelta,
    TextDelta,
    ToolApprovalRequest,
    ToolEnd,
    ToolStart,
    ToolUpdate,
)
from fireside_agent.provider import (
    AnswerCalls,
    AnswerEnd,
    AnswerEvent,
    AnswerProgress,
    AnswerReasoning,
    AnswerText,
    AskedCall,
)
from fireside_agent.question import Question
from fireside_agent.services import Services

FLUSH_SECONDS = 0.03
"""Deltas that come within this time become one frame."""

RENDER_SHARE = 5
"""A long open block takes long to render again: rest this many times as long before the next time."""

SAVE_SECONDS = 0.15
"""What was sent is stored this much later; with the time of the write itself it stays below 250 ms."""

SAVE_RETRY_SECONDS = 2.0

CallFrame = type[ToolStart] | type[ToolApprovalRequest] | type[ApprovalSettled] | type[ToolEnd]


class RunningAnswer:
    """The answer `message_id` of a conversation, while something happens to it."""

    def __init__(self, conversation: Conversation, services: Services, message_id: str) -> None:
        self.id = message_id
        self.instructions = ""
        self.cut: list[CutText] = []
        """In force when it was asked for."""
        self._conversation = conversation
        self._services = services
        self._receipt: Receipt | None = None
        self._asked: list[AskedCall] = []
        self._progress: AnswerProgress | None = None
        self._renderer = StreamRenderer()
        self._render_seconds = 0.0
        self._thinking_since: float | None = None
        self._unsaved = asyncio.Event()

    @property
    def message(self) -> Message:
        """As clients see it now."""
        return self._conversation.transcript[self.id]

    async def ask(self, question: Question) -> list[AskedCall]:
        """Stream the model's answer; returns the calls that it wants. Raises ProviderError."""
        self._begin_receipt()
        events = batches(self._services.provider.answer(question), self._pause)
        async with aclosing(events):
            async for batch in events:
                for _, group in groupby(batch, key=type):
                    await self._show(list(group))
        self._end_thinking()
        return self._asked

    @asynccontextmanager
    async def saved(self) -> AsyncGenerator[None]:
        """Inside, what changes is stored a moment later."""
        saving = asyncio.create_task(self._save_regularly())
        try:
            yield
        finally:
            saving.cancel()
            await asyncio.gather(saving, return_exceptions=True)

    def call(self, call_id: str) -> ToolCall:
        """One of the answer's calls as it is now."""
        return call_of(self.message, call_id)

    def put(self, call: ToolCall, frame: CallFrame) -> None:
        """Add a call or replace it, and tell of it."""
        self._set(tools=self._with(call))
        self._services.trace(f"call {call.call_id} of {self.id}: {call.name} {call.status}")
        session_id, message_id = self._conversation.id, self.id
        self._conversation.emit(
            lambda seq: frame(session_id=session_id, seq=seq, message_id=message_id, call=call)
        )

    async def put_stored(self, call: ToolCall, frame: CallFrame) -> None:
        """The same, once it is stored: who is told of it finds it after a crash too. Raises StorageError."""
        message = replace(self.message, tools=self._with(call))
        await self._services.store.save_answer(self._conversation.id, message)
        self.put(call, frame)

    def _with(self, call: ToolCall) -> list[ToolCall]:
        calls = {old.call_id: old for old in self.message.tools}
        return list({**calls, call.call_id: call}.values())

    def show_output(self, call_id: str, text: str) -> None:
        """More output of a running call."""
        self._set(
            tools=[
                replace(call, result=call.result + text) if call.call_id == call_id else call
                for call in self.message.tools
            ]
        )
        session_id, message_id = self._conversation.id, self.id
        self._conversation.emit(
            lambda seq: ToolUpdate(
                session_id=session_id, seq=seq, message_id=message_id, call_id=call_id, text=text
            )
        )

    async def save(self) -> None:
        """Store what there is, now. Raises StorageError."""
        await self._services.store.save_answer(self._conversation.id, self.message)

    async def ended(self, status: MessageStatus, error: str | None = None) -> Message:
        """The message as it is at its end, rendered whole; neither stored nor told yet."""
        self._end_thinking()
        message = self.message
        return replace(
            message,
            html=await self._services.rendering.blocks(message.text),
            status=status,
            error=error,
            receipt=self._receipt or message.receipt,
        )

    def _pause(self) -> float:
        return max(FLUSH_SECONDS, RENDER_SHARE * self._render_seconds)

    async def _show(self, events: list[AnswerEvent]) -> None:
        """Show events of one kind that came together: all texts as one, of the others the last."""
        match events[-1]:
            case AnswerText():
                self._end_thinking()
                await self._show_text("".join(e.text for e in events if isinstance(e, AnswerText)))
            case AnswerReasoning():
                self._show_reasoning("".join(e.text for e in events if isinstance(e, AnswerReasoning)))
            case AnswerProgress() as progress:
                self._show_progress(progress)
            case AnswerCalls(calls):
                self._asked = calls
            case AnswerEnd(receipt):
                self._show_receipt(receipt)

    async def _show_text(self, delta: str) -> None:
        started = time.perf_counter()
        change = await self._services.rendering.feed(self._renderer, delta)
        self._render_seconds = time.perf_counter() - started
        conversation, message_id = self._conversation, self.id
        self._set(text=self.message.text + delta, html=self._renderer.blocks)
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

    def _show_reasoning(self, delta: str) -> None:
        self._thinking_since = self._thinking_since or time.monotonic()
        self._set(reasoning=self.message.reasoning + delta)
        conversation, message_id = self._conversation, self.id
        conversation.emit(
            lambda seq: ReasoningDelta(session_id=conversation.id, seq=seq, message_id=message_id, text=delta)
        )

    def _end_thinking(self) -> None:
        if self._thinking_since is not None:
            self._set(reasoning_ms=round((time.monotonic() - self._thinking_since) * 1000))
            self._thinking_since = None

    def _show_progress(self, progress: AnswerProgress) -> None:
        if progress == self._progress:
            return
        self._progress = progress
        self._conversation.emit(
            lambda seq: Progress(
                session_id=self._conversation.id,
                seq=seq,
                message_id=self.id,
                phase=progress.phase,
                queue_position=progress.queue_position,
                eta_s=progress.eta_s,
                prefill_done=progress.prefill_done,
                prefill_total=progress.prefill_total,
            )
        )

    def _begin_receipt(self) -> None:
        """What is known of an answer however it ends."""
        sampling = self._conversation.facts.settings.sampling
        said = sampling if sampling != SamplingChoice() else None
        self._receipt = Receipt(sampling=said, instructions=self.instructions, cut=self.cut)

    def _show_receipt(self, receipt: Receipt) -> None:
        begun = self._receipt or Receipt()
        self._receipt = replace(
            receipt, sampling=begun.sampling, instructions=begun.instructions, cut=begun.cut
        )
        tokens = receipt.prompt_tokens + receipt.completion_tokens
        if tokens == 0:
            return
        window = self._services.known_window()
        percent = None if window is None else round(100 * tokens / window, 1)
        self._conversation.emit(
            lambda seq: Context(
                session_id=self._conversation.id,
                seq=seq,
                tokens=tokens,
                context_window=window,
                percent=percent,
            )
        )

    def _set(self, **changes: Any) -> None:
        self._conversation.transcript.set(replace(self.message, **changes))
        self._unsaved.set()

    async def _save_regularly(self) -> None:
        """Store what was sent, a moment later. A failure is told once and tried again."""
        failing = False
        while True:
            await self._unsaved.wait()
            await asyncio.sleep(SAVE_RETRY_SECONDS if failing else SAVE_SECONDS)
            self._unsaved.clear()
            try:
                await self.save()
                failing = False
            except StorageError as error:
                self._unsaved.set()
                if not failing:
                    self._conversation.tell("storage_failed", str(error))
                failing = True
