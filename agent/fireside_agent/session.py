"""A live session: its prompts are asked one after the other, whoever listens or does not.

The turn belongs to the session, not to a socket: it goes on when every tab is closed.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from fireside_agent.attachments.store import MAX_PER_MESSAGE
from fireside_agent.client_frames import Approval, AttachedFile, Prompt
from fireside_agent.compaction import compact
from fireside_agent.conversation import Conversation, encode
from fireside_agent.errors import AgentError, FrameRefusedError
from fireside_agent.messages import Attachment, FileChange, Message, SessionSettings, call_of
from fireside_agent.presets import check_settings
from fireside_agent.protocol import Accepted, Rendered, ToolEnd, TurnStatus
from fireside_agent.queue import PromptQueue
from fireside_agent.services import Services, new_id
from fireside_agent.settling import goes_on
from fireside_agent.store.sessions import make_title
from fireside_agent.titles import retitle
from fireside_agent.turn import Turn, unfinished_call
from fireside_agent.waiting import to_the_end

logger = logging.getLogger(__name__)

MAX_PROMPT_CHARACTERS = 1_000_000


def unknown_session(session_id: str) -> FrameRefusedError:
    return FrameRefusedError(
        "unknown_session", f"There is no session {session_id!r}. It may have been deleted."
    )


def not_deleted(session_id: str) -> FrameRefusedError:
    return FrameRefusedError("not_deleted", f"The chat {session_id!r} is not among the deleted ones.")


class LiveSession:
    """A conversation with the queue of its prompts."""

    def __init__(self, conversation: Conversation, services: Services) -> None:
        self.conversation = conversation
        self._services = services
        self._queue = PromptQueue(conversation, services.store)
        self._turn: Turn | None = None
        self._runner: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[Any]] = set()
        self._compacting: asyncio.Task[None] | None = None
        self._halts = 0
        self._closed: AgentError | None = None

    @property
    def running(self) -> bool:
        return self._turn is not None

    @property
    def idle(self) -> bool:
        """Nothing happens in it and nobody follows it: it can leave memory."""
        return not (self.conversation.followers or self._runner or self._background or self._halts)

    async def ask(self, prompt: Prompt) -> str:
        """Store the prompt and queue it, or find it by its `client_id`; returns the `accepted` frame.

        Goes through even if the caller is cancelled. Raises FrameRefusedError or StorageError.
        """
        _check_prompt(prompt.text, prompt.client_id, bool(prompt.attachments))
        return await asyncio.shield(self._in_background(self._ask(prompt)))

    def abort(self) -> None:
        """Stop the running turn or summary, if there is one. The queue goes on."""
        if self._turn is not None:
            self._turn.stop("aborted")
        if self._compacting is not None:
            self._compacting.cancel()

    def resume(self) -> None:
        """Go on where a call waited for the person when Fireside ended."""
        transcript = self.conversation.transcript
        asking = [message for message in transcript if goes_on(message)]
        if not asking or self._runner is not None or self._closed is not None:
            return
        for message in transcript:
            if message.status == "queued":
                self._queue.add(message.id)
        answer_id = asking[-1].id
        # At once, so that a decision finds it.
        self._turn = self._make_turn(answer_id, resumed=answer_id)
        self._runner = asyncio.create_task(self._run_queue())

    def rule(self, approval: Approval) -> None:
        """Decide about a call that asks. Raises FrameRefusedError."""
        message = self.conversation.transcript.with_call(approval.call_id)
        if message is None:
            raise unfinished_call(approval.call_id)
        if self._turn is None:
            raise FrameRefusedError("already_settled", "This call is not waiting for a decision any more.")
        self._turn.rule(call_of(message, approval.call_id), approval)

    async def regenerate(self, message_id: str) -> None:
        """Ask a prompt again, for an answer beside those it has. Raises FrameRefusedError."""
        message = self._message(message_id)
        if message.role != "user":
            raise FrameRefusedError("not_possible", "Only a prompt can be answered again.")
        async with self.conversation.adding:
            self._refuse_while_busy()
            self._queue.add(message_id)
        self._go_on()

    async def select(self, message_id: str) -> None:
        """Make the branch through a message the current one. Raises FrameRefusedError or StorageError."""
        self._message(message_id)
        async with self.conversation.adding:
            self._refuse_while_busy()
            leaf_id = self.conversation.transcript.newest_end(message_id)
            await self._services.store.set_leaf(self.conversation.id, leaf_id)
            self.conversation.transcript.leaf_id = leaf_id
            self.conversation.resync()

    async def edit_queued(self, message_id: str, text: str) -> None:
        """Change a prompt that waits; an empty text removes it. Raises FrameRefusedError or StorageError."""
        async with self.conversation.adding:
            if message_id not in self._queue:
                raise FrameRefusedError("not_possible", "This prompt is not waiting any more.")
            if text.strip():
                _check_prompt(text, "known", attached=False)
                await self._queue.edit(message_id, text, await self._services.rendering.blocks(text))
            else:
                await self._queue.remove(message_id)
            self.conversation.resync()

    async def change_settings(self, settings: SessionSettings) -> None:
        """Answer otherwise from the next turn on. Raises FrameRefusedError or StorageError."""
        check_session_settings(settings)
        await self._services.store.set_settings(self.conversation.id, settings)
        self.conversation.facts.settings = settings
        self.conversation.resync()

    async def rename(self, title: str) -> None:
        """Give a title that stays. Raises StorageError."""
        facts = self.conversation.facts
        await self._services.store.set_title(self.conversation.id, make_title(title), "person")
        facts.title, facts.titled_by = make_title(title), "person"
        self.conversation.resync()
        self._services.sessions_changed()

    async def rendered(self, message_ids: list[str]) -> str:
        """The `rendered` frame of these messages; ids that are not in the session are passed over."""
        known = map(self.conversation.transcript.get, message_ids)
        messages = [message for message in known if message is not None]
        texts = {message.id: message.text for message in messages if message.html is None}
        made = await self._services.rendering.texts(texts)
        html = {message.id: message.html or made.get(message.id, []) for message in messages}
        return encode(Rendered(session_id=self.conversation.id, html=html))

    async def undo_change(self, call_id: str, path: str) -> None:
        """Undo what a call did to a file. Raises ToolError, FrameRefusedError or StorageError."""
        async with self.conversation.adding:
            await to_the_end(self._undo_change(call_id, path))

    async def _undo_change(self, call_id: str, path: str) -> None:
        message = self.conversation.transcript.with_call(call_id)
        call = call_of(message, call_id) if message else None
        change = next((c for c in call.changes if c.path == path and not c.undone), None) if call else None
        if message is None or call is None or change is None:
            raise FrameRefusedError("unknown_call", f"There is no change of {path!r} to undo.")
        undone = await asyncio.to_thread(self._undo, change)
        # Other changes of this answer may have come meanwhile.
        message = self.conversation.transcript[message.id]
        call = call_of(message, call_id)
        call = replace(call, changes=[undone if other == change else other for other in call.changes])
        message = replace(message, tools=[call if c.call_id == call_id else c for c in message.tools])
        self.conversation.transcript.set(message)
        session_id, message_id = self.conversation.id, message.id
        self.conversation.emit(
            lambda seq: ToolEnd(session_id=session_id, seq=seq, message_id=message_id, call=call)
        )
        await self._services.store.save_answer(session_id, message)

    def _undo(self, change: FileChange) -> FileChange:
        # An imported chat may name any file as changed.
        self._services.toolbox.workspace.resolve(change.path)
        return self._services.toolbox.journal.undo(change)

    def compact(self) -> None:
        """Begin to make a summary that stands for older messages; what becomes of it is told to all.

        Raises FrameRefusedError.
        """
        self._refuse_while_busy()
        self._compacting = self._in_background(self._compact(), "compact")

    async def _compact(self) -> None:
        transcript = self.conversation.transcript
        try:
            window = await self._services.context_window()
            path = transcript.path_to(transcript.leaf_id)
            await compact(self.conversation, self._services, path, window)
        except AgentError as error:
            self.conversation.tell("not_possible", str(error))
        finally:
            self._compacting = None
            self._go_on()

    async def undo_compact(self, summary_id: str) -> None:
        """Raises StorageError."""
        facts = self.conversation.facts
        await self._services.store.remove_summary(self.conversation.id, summary_id)
        facts.summaries = [summary for summary in facts.summaries if summary.id != summary_id]
        self.conversation.resync()

    @asynccontextmanager
    async def halted(self, status: TurnStatus) -> AsyncGenerator[None]:
        """The running turn is stopped with `status`; inside, no turn runs and no prompt is taken."""
        self._halts += 1
        if self._compacting is not None:
            self._compacting.cancel()
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
        for task in self._background:
            if task.get_name() == "title":
                task.cancel()

    async def _ask(self, prompt: Prompt) -> str:
        conversation = self.conversation
        async with conversation.adding:
            if self._closed is not None:
                raise self._closed
            message = conversation.transcript.by_client_id(prompt.client_id) or await self._add(prompt)
            frame = conversation.emit(
                lambda seq: Accepted(session_id=conversation.id, seq=seq, message=message)
            )
        self._go_on()
        return frame

    async def _add(self, prompt: Prompt) -> Message:
        conversation, transcript = self.conversation, self.conversation.transcript
        message = Message(
            id=new_id(),
            role="user",
            text=prompt.text,
            html=await self._services.rendering.blocks(prompt.text),
            status="queued",
            created_at=time.time(),
            parent_id=self._parent(prompt),
            client_id=prompt.client_id,
            attachments=await self._attached(prompt.attachments),
            steering=prompt.steer and self.running,
        )
        facts, is_first = conversation.facts, transcript.leaf_id is None
        title = make_title(prompt.text) if is_first and facts.titled_by == "prompt" else facts.title
        await self._services.store.add_prompt(
            conversation.id, title, message, facts.settings, facts.titled_by
        )
        facts.title = title
        transcript.add_prompt(message)
        self._queue.add(message.id)
        self._services.sessions_changed()
        return message

    def _parent(self, prompt: Prompt) -> str | None:
        if not prompt.first and prompt.after is None:
            return self.conversation.transcript.leaf_id
        self._refuse_while_busy()
        return None if prompt.first or prompt.after is None else self._message(prompt.after).id

    async def _attached(self, files: list[AttachedFile]) -> list[Attachment]:
        if files and self.conversation.facts.temporary:
            raise FrameRefusedError(
                "not_possible", "A temporary chat takes no files: they would be stored on the disk."
            )
        if len(files) > MAX_PER_MESSAGE:
            raise FrameRefusedError(
                "not_possible", f"A message can have {MAX_PER_MESSAGE} files; this one has {len(files)}."
            )
        known = {a.sha256: a for a in await self._services.attachments.find([f.sha256 for f in files])}
        missing = next((file.name for file in files if file.sha256 not in known), None)
        if missing is not None:
            raise FrameRefusedError("unknown_attachment", f"{missing} is not here any more. Attach it again.")
        return [replace(known[file.sha256], name=file.name) for file in files]

    def _message(self, message_id: str) -> Message:
        message = self.conversation.transcript.get(message_id)
        if message is None:
            raise FrameRefusedError("unknown_message", f"There is no message {message_id!r} in this chat.")
        return message

    def _refuse_while_busy(self) -> None:
        if self._closed is not None:
            raise self._closed
        if self._runner is not None or self._compacting is not None or len(self._queue):
            raise FrameRefusedError(
                "not_possible", "An answer is being written. Wait for its end or stop it first."
            )

    def _in_background(self, work: Coroutine[Any, Any, Any], name: str = "ask") -> asyncio.Task[Any]:
        task = asyncio.create_task(work, name=name)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _go_on(self) -> None:
        busy = self._runner is not None or self._compacting is not None or self._halts > 0
        if len(self._queue) and not busy and self._closed is None:
            self._runner = asyncio.create_task(self._run_queue())

    def _make_turn(self, prompt_id: str, resumed: str | None = None) -> Turn:
        return Turn(self.conversation, self._services, prompt_id, self._take_steering, resumed)

    async def _run_queue(self) -> None:
        try:
            while not self._halts and (turn := await self._next_turn()) is not None:
                outcome = await turn.run()
                self._turn = None
                wanted = outcome is not None and outcome.status == "done" and self._services.titles
                if wanted and not self._halts:
                    self._retitle()
        finally:
            self._turn = None
            self._runner = None

    async def _next_turn(self) -> Turn | None:
        if self._turn is None:
            async with self.conversation.adding:
                if len(self._queue) and not self._halts:
                    self._turn = self._make_turn(self._queue.pop())
        return self._turn

    async def _take_steering(self, answer_id: str) -> str | None:
        async with self.conversation.adding:
            prompt_id = await self._queue.take_steering(answer_id)
            if prompt_id is not None:
                self.conversation.resync()
            return prompt_id

    def _retitle(self) -> None:
        facts = self.conversation.facts
        if facts.titled_by == "prompt" and not facts.temporary:
            self._in_background(self._try_retitle(), "title")

    async def _try_retitle(self) -> None:
        try:
            await retitle(self.conversation, self._services)
        except AgentError as error:
            # The prompt's first line stays the title, which is good enough.
            logger.info("no title for %s: %s", self.conversation.id, error)


def check_session_settings(settings: SessionSettings) -> None:
    """Raises FrameRefusedError `invalid_frame`: a setting is out of its range."""
    try:
        check_settings(settings)
    except ValueError as error:
        raise FrameRefusedError("invalid_frame", str(error)) from error


def _check_prompt(text: str, client_id: str, attached: bool) -> None:
    if not client_id:
        raise FrameRefusedError("invalid_frame", "client_id is empty; choose a new one for each prompt.")
    if not text.strip() and not attached:
        raise FrameRefusedError("empty_prompt", "The message is empty. Type something to ask.")
    if len(text) > MAX_PROMPT_CHARACTERS:
        raise FrameRefusedError(
            "prompt_too_long",
            f"The message has {len(text):,} characters; at most {MAX_PROMPT_CHARACTERS:,} are allowed.",
        )
