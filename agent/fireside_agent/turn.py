"""One turn: a prompt is asked, answered in as many steps as the tools need, streamed and stored."""

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from fireside_agent.answer import RunningAnswer
from fireside_agent.calls import CallDesk, RepeatedCallError
from fireside_agent.client_frames import Approval
from fireside_agent.compaction import compact, is_nearly_full
from fireside_agent.conversation import Conversation
from fireside_agent.errors import AgentError, FrameRefusedError, StorageError
from fireside_agent.messages import Message, ToolCall
from fireside_agent.prompts import PROMPT_VERSION, build_messages, cut_texts, in_force, system_prompt
from fireside_agent.protocol import StepStart, TurnEnd, TurnStart, TurnStatus
from fireside_agent.question import Question
from fireside_agent.services import Services, new_id
from fireside_agent.settling import goes_on
from fireside_agent.tools.tool import Spec
from fireside_agent.waiting import to_the_end

logger = logging.getLogger(__name__)

TakeSteering = Callable[[str], Coroutine[Any, Any, str | None]]
"""Given the answer that has just ended: the id of the prompt that the next step is to see, if any."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended."""

    status: TurnStatus
    error: str | None = None


class Turn:
    """Asks the stored prompt `prompt_id` of `conversation`. Every turn that has started also ends.

    Args:
        resumed: the id of an answer of which a call still waits for the person, to go on with.
    """

    def __init__(
        self,
        conversation: Conversation,
        services: Services,
        prompt_id: str,
        take_steering: TakeSteering,
        resumed: str | None = None,
    ) -> None:
        self._conversation = conversation
        self._services = services
        self._prompt_id = prompt_id
        self._take_steering = take_steering
        self._resumed = resumed
        self._answer: RunningAnswer | None = None
        self._window: int | None = None
        self._specs: list[Spec] = []
        self._desk = CallDesk(conversation, services)
        self._working: asyncio.Task[Outcome] | None = None
        self._stopped: TurnStatus | None = None

    def stop(self, status: TurnStatus) -> None:
        """End the turn with `status`; what was generated so far is kept. `run` returns when it is stored."""
        self._stopped = self._stopped or status
        if self._working is not None:
            self._working.cancel()

    def rule(self, call: ToolCall, approval: Approval) -> None:
        """The person has decided about a call. Raises FrameRefusedError."""
        self._desk.rule(call, approval)

    async def run(self) -> Outcome | None:
        """Returns how it ended; None if nothing could be stored, and so nothing was asked."""
        try:
            self._answer = await to_the_end(self._begin())
        except StorageError as error:
            self._could_not_begin(error)
            return None
        try:
            outcome = await self._work(self._answer)
        except Exception as error:
            # A fault of ours, whatever it is: the turn must still end, and the queue go on.
            logger.exception("the turn of %s failed", self._prompt_id)
            outcome = Outcome("error", f"Fireside failed, not the model: {error!r}. The log has the details.")
        if outcome is not None:
            await self._finish(outcome)
        return outcome

    async def _begin(self) -> RunningAnswer:
        if self._resumed is not None:
            return RunningAnswer(self._conversation, self._services, self._resumed)
        answer = _empty_answer(self._prompt_id)
        conversation = self._conversation
        async with conversation.adding:
            leaf_id = conversation.transcript.leaf_after(answer)
            await self._services.store.begin_answer(conversation.id, answer, leaf_id)
            conversation.transcript.begin_answer(answer)
            conversation.emit(
                lambda seq: TurnStart(
                    session_id=conversation.id, seq=seq, prompt_id=self._prompt_id, message=answer
                )
            )
        self._services.sessions_changed()
        return RunningAnswer(conversation, self._services, answer.id)

    def _could_not_begin(self, error: StorageError) -> None:
        transcript = self._conversation.transcript
        message = f"This was not asked: {error}"
        transcript.set(replace(transcript[self._prompt_id], status="error", error=message))
        self._conversation.tell("storage_failed", str(error))
        self._conversation.resync()

    async def _work(self, answer: RunningAnswer) -> Outcome | None:
        """Returns None where the turn is only put aside: a call waits, and will ask again after a restart."""
        if self._stopped:
            return Outcome(self._stopped)
        self._working = asyncio.create_task(self._steps(answer))
        try:
            return await self._working
        except asyncio.CancelledError:
            if self._stopped is None:
                raise
            if self._stopped == "interrupted" and goes_on(self._current.message):
                return None
            return Outcome(self._stopped)
        except AgentError as error:
            return Outcome("error", str(error))
        except RepeatedCallError as error:
            return Outcome("error", f"{error} The turn was stopped.")

    @property
    def _current(self) -> RunningAnswer:
        assert self._answer is not None
        return self._answer

    async def _steps(self, answer: RunningAnswer) -> Outcome:
        await self._choose_tools()
        if self._resumed is not None:
            async with answer.saved():
                await self._desk.resume(answer)
            answer = await self._next(answer)
        for left in reversed(range(self._services.max_steps)):
            async with answer.saved():
                asked = await answer.ask(await self._question(answer))
                if not asked:
                    return Outcome("done")
                await self._desk.settle(answer, asked)
            if left:
                answer = await self._next(answer)
        return Outcome("error", f"The turn was stopped after {self._services.max_steps} steps.")

    async def _choose_tools(self) -> None:
        """What the model is told of stays the same for the whole turn."""
        services = self._services
        self._window = await services.context_window()
        names = self._conversation.facts.settings.tools
        usual = services.toolbox.usual(self._window)
        self._specs = services.toolbox.registry.specs(list(usual) if names is None else names)
        self._desk.allowed = frozenset(spec.name for spec in self._specs)

    async def _question(self, answer: RunningAnswer) -> Question:
        conversation, services = self._conversation, self._services
        path = conversation.transcript.path_to(answer.message.parent_id)
        hashes = [attachment.sha256 for message in path for attachment in message.attachments]
        texts = await services.attachments.texts(hashes) if hashes else {}
        if is_nearly_full(path, conversation.facts.summaries, texts, self._window):
            await compact(conversation, services, path, self._window)
        settings = conversation.facts.settings
        names = [spec.name for spec in self._specs]
        answer.instructions = in_force(await services.instructions(), settings.instructions)
        system = system_prompt(answer.instructions, services.toolbox.hints(names), services.own_model())
        answer.cut = cut_texts(path, conversation.facts.summaries, texts, self._window)
        messages = build_messages(path, system, conversation.facts.summaries, texts, self._window)
        if services.traces:
            fingerprint = hashlib.sha256(msgspec.json.encode(messages)).hexdigest()[:12]
            services.trace(
                f"asks {answer.id}: prompt {fingerprint} (version {PROMPT_VERSION}), "
                f"{len(messages)} messages, tools {names}"
            )
        return Question(
            messages,
            [_function(spec.name, spec.description, spec.parameters) for spec in self._specs],
            settings.sampling,
            settings.thinking,
            in_memory=conversation.facts.temporary,
            chat=conversation.id,
        )

    async def _next(self, ended: RunningAnswer) -> RunningAnswer:
        """The step is over: what it gave is complete, and the next answer begins behind it."""
        return await to_the_end(self._go_to_next(ended))

    async def _go_to_next(self, ended: RunningAnswer) -> RunningAnswer:
        conversation = self._conversation
        prompt_id = await self._take_steering(ended.id)
        answer = _empty_answer(prompt_id or ended.id)
        async with conversation.adding:
            # Only here: a change of a file may just be undone.
            complete = await ended.ended("done")
            leaf_id = conversation.transcript.leaf_after(answer)
            await self._services.store.next_answer(conversation.id, complete, answer, leaf_id)
            conversation.transcript.set(complete)
            conversation.transcript.begin_answer(answer)
            conversation.emit(
                lambda seq: StepStart(session_id=conversation.id, seq=seq, ended=complete, message=answer)
            )
            self._answer = RunningAnswer(conversation, self._services, answer.id)
        return self._answer

    async def _finish(self, outcome: Outcome) -> None:
        answer = self._current
        try:
            await self._desk.close_open(answer)
        except Exception:
            # Whatever it is, clients must be told that the turn is over.
            logger.exception("the calls of %s are not closed", answer.id)
        async with self._conversation.adding:
            message = await answer.ended(outcome.status, outcome.error)
            try:
                await self._services.store.finish_answer(self._conversation.id, message)
            except StorageError as error:
                self._conversation.tell("storage_failed", str(error))
                message = _unstored(message, error)
            self._conversation.transcript.set(message)
            status = "error" if message.status == "error" else outcome.status
            self._conversation.emit(
                lambda seq: TurnEnd(session_id=self._conversation.id, seq=seq, status=status, message=message)
            )
        self._services.trace(f"ends {answer.id}: {status} {message.error or ''}".rstrip())
        self._services.sessions_changed()


def unfinished_call(call_id: str) -> FrameRefusedError:
    return FrameRefusedError("unknown_call", f"There is no call {call_id!r} in this chat that asks.")


def _empty_answer(parent_id: str) -> Message:
    return Message(
        id=new_id(),
        role="assistant",
        text="",
        html=[],
        status="running",
        created_at=time.time(),
        parent_id=parent_id,
    )


def _function(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


def _unstored(answer: Message, error: StorageError) -> Message:
    reason = f"This answer is not stored and will be gone with a restart: {error}"
    whole = f"{answer.error} {reason}" if answer.error else reason
    return replace(answer, status="error", error=whole)
