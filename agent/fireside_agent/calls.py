"""The calls of an answer: checked, decided, run. A failure is data for the model, never the end of a turn."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from fireside_agent.answer import RunningAnswer
from fireside_agent.client_frames import Approval
from fireside_agent.conversation import Conversation
from fireside_agent.errors import AgentError, FrameRefusedError, StorageError
from fireside_agent.messages import Settled, ToolCall, ToolStatus
from fireside_agent.permissions import Place
from fireside_agent.prompts import facts_of
from fireside_agent.protocol import ApprovalSettled, ToolApprovalRequest, ToolEnd, ToolStart
from fireside_agent.provider import AskedCall
from fireside_agent.services import Services, new_id
from fireside_agent.settling import OPEN, STOPPED, closed
from fireside_agent.tools.schema import check_arguments
from fireside_agent.tools.tool import (
    Arguments,
    BlockedError,
    Call,
    ChatFacts,
    Tool,
    ToolError,
    ToolResult,
)

logger = logging.getLogger(__name__)

MAX_RESULT_CHARACTERS = 64_000

SAME_CALLS = 3
"""The same call is made so often in a row, and then only answered."""

SAME_CALLS_AT_ALL = 6
"""After that the turn ends."""

DENIED = "Denied: the person did not allow this call."
READ_ONLY = "Blocked: this chat is read-only, so nothing that needs permission is run."


Work = Callable[[RunningAnswer, str], Coroutine[Any, Any, None]]
"""Settles the call of this id."""


class RepeatedCallError(Exception):
    """The model makes one call over and over."""


@dataclass(frozen=True, slots=True)
class _Checked:
    """A call that can be run.

    Attributes:
        discloses: it sends something while content of this machine is in the chat: only a person allows that.
    """

    id: str
    tool: Tool
    arguments: Arguments
    question: str | None
    discloses: bool

    @property
    def at_once(self) -> bool:
        """It only looks, and nobody has to be asked: it may run beside others."""
        return self.question is None and self.tool.risk == "read"


class CallDesk:
    """Settles the calls of a turn's answers, one answer after the other."""

    def __init__(self, conversation: Conversation, services: Services) -> None:
        self.allowed: frozenset[str] = frozenset()
        """Names of the tools that the model was told of."""
        self._conversation = conversation
        self._services = services
        self._toolbox = services.toolbox
        self._rulings: dict[str, asyncio.Future[Approval]] = {}
        self._last: tuple[str, str] = ("", "")
        self._in_a_row = 0

    def rule(self, call: ToolCall, approval: Approval) -> None:
        """The person has decided about a call.

        Raises:
            FrameRefusedError: it does not ask, or what is to be allowed for good was not offered.
        """
        ruling = self._expected(call.call_id)
        if call.status != "asking" or ruling.done():
            raise FrameRefusedError("already_settled", "This call is not waiting for a decision any more.")
        if approval.always is not None:
            if approval.always not in [offer.scope for offer in call.offers]:
                raise FrameRefusedError("not_possible", "The card does not offer to allow that for good.")
            if approval.edited_arguments is not None:
                raise FrameRefusedError(
                    "not_possible", "Edited arguments are allowed once; the card's offer is for the others."
                )
        ruling.set_result(approval)

    async def settle(self, answer: RunningAnswer, asked: Sequence[AskedCall]) -> None:
        """Run what the model wants, in its order; calls that only look run together.

        Raises:
            RepeatedCallError: the model does not stop making the same call.
        """
        for wanted in asked:
            tool = self._toolbox.registry.get(wanted.name)
            call = ToolCall(
                # Not the server's, which may count from 0 in every answer: a decision is about one call.
                call_id=f"call_{new_id()}",
                name=wanted.name,
                arguments=wanted.arguments,
                status="waiting",
                source=tool.source if tool else "unknown",
            )
            answer.put(call, ToolStart)
        await self._settle_open(answer)

    async def resume(self, answer: RunningAnswer) -> None:
        """Go on with an answer's calls after a restart: what ran is lost, what asked still asks."""
        for call in answer.message.tools:
            if call.status == "running":
                answer.put(closed(call), ToolEnd)
        for call in answer.message.tools:
            if call.status == "asking":
                await self._guarded(answer, call.call_id, self._go_on_asking)
        await self._settle_open(answer)

    async def close_open(self, answer: RunningAnswer) -> None:
        """Give every call that is not over a result, because the turn ends."""
        for call in answer.message.tools:
            if call.status not in OPEN:
                continue
            if call.status == "asking":
                settled = Settled("deny", "fireside", "The turn was ended.")
                answer.put(replace(call, settled=settled), ApprovalSettled)
                await self._note_settled(answer, call, settled)
            last = answer.call(call.call_id)
            answer.put(closed(replace(last, result=_cut(last.result)), STOPPED), ToolEnd)

    async def _settle_open(self, answer: RunningAnswer) -> None:
        checked = [self._check(answer, call) for call in answer.message.tools if call.status == "waiting"]
        ready = [call for call in checked if call is not None]
        for at_once, group in groupby(ready, key=lambda call: call.at_once):
            if at_once:
                async with asyncio.TaskGroup() as together:
                    for call in group:
                        together.create_task(self._settle(answer, call))
            else:
                for call in group:
                    await self._settle(answer, call)

    def _check(self, answer: RunningAnswer, call: ToolCall) -> _Checked | None:
        """What is to be run; None for a call that has got its result here."""
        try:
            self._refuse_repetition(call)
            tool = self._tool(call.name)
            arguments = check_arguments(tool.parameters, call.arguments)
            facts = self._facts(answer)
            question = tool.question(arguments, facts)
            return _Checked(call.call_id, tool, arguments, question, facts.local and tool.risk == "send")
        except ToolError as error:
            self._end(answer, call.call_id, "failed", f"Error: {error}")
            return None

    def _refuse_repetition(self, call: ToolCall) -> None:
        key = (call.name, _normal(call.arguments))
        self._in_a_row = self._in_a_row + 1 if key == self._last else 1
        self._last = key
        if self._in_a_row > SAME_CALLS_AT_ALL:
            raise RepeatedCallError(f"The model made the same call of {call.name} {SAME_CALLS_AT_ALL} times.")
        if self._in_a_row > SAME_CALLS:
            raise ToolError(
                f"you have made exactly this call {SAME_CALLS} times already. It was not made again: "
                "use what it gave, do something else, or answer."
            )

    def _tool(self, name: str) -> Tool:
        tool = self._toolbox.registry.get(name)
        if tool is not None and name in self.allowed:
            return tool
        near = [other for other in self._toolbox.registry.near(name) if other in self.allowed]
        advice = f" Did you mean {near[0]}?" if near else ""
        raise ToolError(f"there is no tool {name!r} in this chat.{advice}")

    def _facts(self, answer: RunningAnswer) -> ChatFacts:
        tools = self._toolbox.registry.tools()
        foreign = frozenset(tool.name for tool in tools if not tool.gives_local)
        return facts_of(self._conversation.transcript.path_to(answer.id), foreign)

    async def _settle(self, answer: RunningAnswer, checked: _Checked) -> None:
        await self._guarded(answer, checked.id, lambda answer, _: self._decide_and_run(answer, checked))

    async def _guarded(self, answer: RunningAnswer, call_id: str, work: Work) -> None:
        """Do something that settles a call; whatever goes wrong becomes its result."""
        try:
            await work(answer, call_id)
        except BlockedError as error:
            self._end(answer, call_id, "blocked", f"Blocked: {error}")
        except StorageError:
            raise
        except AgentError as error:
            self._end(answer, call_id, "failed", f"Error: {error}")
        except Exception as error:
            logger.exception("the call %s failed", call_id)
            self._end(answer, call_id, "failed", f"Error: the tool broke ({type(error).__name__}).")

    async def _decide_and_run(self, answer: RunningAnswer, checked: _Checked) -> None:
        tool, arguments = checked.tool, checked.arguments
        if checked.question is not None:
            if self._conversation.facts.settings.read_only:
                settled = Settled("deny", "fireside", "This chat is read-only.")
                answer.put(replace(answer.call(checked.id), settled=settled), ApprovalSettled)
                self._end(answer, checked.id, "blocked", READ_ONLY)
                return
            rule = None
            if not checked.discloses:
                rule = self._toolbox.permissions.rule_for(tool, arguments, self._conversation.id)
            if rule is None:
                await self._ask(answer, checked)
                approval = await self._ruling(answer, checked.id)
                await self._obey(answer, checked.id, tool, arguments, approval)
                return
            settled = Settled("allow", "rule", rule)
            answer.put(replace(answer.call(checked.id), settled=settled), ApprovalSettled)
        await self._run(answer, checked.id, tool, arguments)

    async def _ask(self, answer: RunningAnswer, checked: _Checked) -> None:
        """Show the card: stored first, so that a card that anybody has seen is there after a crash."""
        permissions, tool, arguments = self._toolbox.permissions, checked.tool, checked.arguments
        stored = not self._conversation.facts.temporary
        call = replace(
            answer.call(checked.id),
            status="asking",
            question=checked.question,
            preview=await tool.preview(arguments),
            offers=[] if checked.discloses else permissions.offers(tool, arguments, stored=stored),
        )
        await answer.put_stored(call, ToolApprovalRequest)
        await permissions.asked(self._place(answer, call), tool, arguments, call)
        self._services.sessions_changed()

    def _expected(self, call_id: str) -> asyncio.Future[Approval]:
        """The decision about a call, which may come before anybody waits for it."""
        if call_id not in self._rulings:
            self._rulings[call_id] = asyncio.get_running_loop().create_future()
        return self._rulings[call_id]

    async def _ruling(self, answer: RunningAnswer, call_id: str) -> Approval:
        """Wait for the person, for as long as it takes."""
        try:
            approval = await self._expected(call_id)
        finally:
            self._services.sessions_changed()
        settled = Settled(approval.decision, "person")
        call = replace(answer.call(call_id), settled=settled, status="waiting")
        await answer.put_stored(call, ApprovalSettled)
        await self._note_settled(answer, call, settled)
        return approval

    async def _go_on_asking(self, answer: RunningAnswer, call_id: str) -> None:
        """A card from before a restart; its tool may come only later, as those of other programs do."""
        self._services.sessions_changed()
        approval = await self._ruling(answer, call_id)
        call = answer.call(call_id)
        tool = self._toolbox.registry.get(call.name)
        if tool is None:
            raise ToolError(f"the tool {call.name!r} is not there any more.")
        await self._obey(answer, call_id, tool, check_arguments(tool.parameters, call.arguments), approval)

    async def _obey(
        self, answer: RunningAnswer, call_id: str, tool: Tool, arguments: Arguments, approval: Approval
    ) -> None:
        if approval.decision == "deny":
            self._end(answer, call_id, "denied", DENIED)
            return
        if approval.edited_arguments is not None:
            arguments = check_arguments(tool.parameters, approval.edited_arguments)
            preview = await tool.preview(arguments)
            call = replace(answer.call(call_id), arguments=approval.edited_arguments, preview=preview)
            answer.put(call, ApprovalSettled)
        if approval.always is not None:
            place = self._place(answer, answer.call(call_id))
            await self._toolbox.permissions.grant(place, tool, arguments, approval.always)
        await self._run(answer, call_id, tool, arguments)

    async def _note_settled(self, answer: RunningAnswer, call: ToolCall, settled: Settled) -> None:
        await self._toolbox.permissions.settled(self._place(answer, call), settled)

    def _place(self, answer: RunningAnswer, call: ToolCall) -> Place:
        facts = self._conversation.facts
        return Place(self._conversation.id, answer.id, call.call_id, stored=not facts.temporary)

    async def _run(self, answer: RunningAnswer, call_id: str, tool: Tool, arguments: Arguments) -> None:
        started = time.monotonic()
        # What has begun must be known to have begun, should Fireside end in the middle of it.
        await answer.put_stored(replace(answer.call(call_id), status="running"), ToolStart)
        show = partial(answer.show_output, call_id)
        result = await tool.run(Call(call_id, self._conversation.id, arguments, show))
        ms = round((time.monotonic() - started) * 1000)
        call = replace(
            answer.call(call_id),
            status="done" if result.ok else "failed",
            result=_cut(result.text),
            changes=list(result.changes),
            urls=list(result.urls),
            ms=ms,
        )
        await self._put_end(answer, call, result)

    async def _put_end(self, answer: RunningAnswer, call: ToolCall, result: ToolResult) -> None:
        if result.changes:
            # What was changed has to be there to be undone, whatever comes next.
            await answer.put_stored(call, ToolEnd)
        else:
            answer.put(call, ToolEnd)

    def _end(self, answer: RunningAnswer, call_id: str, status: ToolStatus, result: str) -> None:
        answer.put(replace(answer.call(call_id), status=status, result=_cut(result)), ToolEnd)


def _normal(arguments: str) -> str:
    """Arguments without what makes no difference."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def _cut(result: str) -> str:
    if len(result) <= MAX_RESULT_CHARACTERS:
        return result
    return f"{result[:MAX_RESULT_CHARACTERS]}\n[cut here: {len(result):,} characters in all]"
