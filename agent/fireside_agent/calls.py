"""The calls of an answer: checked, decided, run. A failure is data for the model, never the end of a turn."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from msgspec.structs import replace

from fireside_agent.answer import RunningAnswer
from fireside_agent.client_frames import Approval
from fireside_agent.conversation import Conversation
from fireside_agent.errors import FrameRefusedError
from fireside_agent.messages import Settled, ToolCall, ToolStatus
from fireside_agent.permissions import Place
from fireside_agent.prompts import facts_of
from fireside_agent.protocol import ApprovalSettled, ToolApprovalRequest, ToolEnd, ToolStart
from fireside_agent.provider import AskedCall
from fireside_agent.services import Services
from fireside_agent.tools.schema import check_arguments
from fireside_agent.tools.tool import Arguments, BlockedError, Call, ChatFacts, Tool, ToolError

MAX_RESULT_CHARACTERS = 64_000

SAME_CALLS = 3
"""The same call with the same arguments is made so often in a turn, and then only answered."""

SAME_CALLS_AT_ALL = 6
"""After that the turn ends."""

OPEN = ("waiting", "asking", "running")

DENIED = "Denied: the person did not allow this call."
READ_ONLY = "Blocked: this chat is read-only, so nothing that needs permission is run."
STOPPED = "Stopped: the person ended this turn before the call was finished."
LOST = "Error: Fireside stopped while this was running. Whether it had an effect is not known."


class RepeatedCallError(Exception):
    """The model makes one call over and over."""


@dataclass(frozen=True, slots=True)
class _Checked:
    """A call that can be run."""

    id: str
    tool: Tool
    arguments: Arguments
    question: str | None
    discloses: bool
    """It sends something, and content of this machine is in the chat: only a person can allow that."""

    @property
    def at_once(self) -> bool:
        """It only looks, and nobody has to be asked: it may run beside others."""
        return self.question is None and self.tool.risk == "read"


class CallDesk:
    """Settles the calls of a turn's answers, one answer after the other.

    Args:
        allowed: names of the tools that the model was told of.
    """

    def __init__(self, conversation: Conversation, services: Services, allowed: Sequence[str]) -> None:
        self._conversation = conversation
        self._services = services
        self._toolbox = services.toolbox
        self._allowed = frozenset(allowed)
        self._rulings: dict[str, asyncio.Future[Approval]] = {}
        self._made: Counter[tuple[str, str]] = Counter()

    @property
    def asking(self) -> bool:
        """Whether a call waits for the person."""
        return bool(self._rulings)

    def rule(self, approval: Approval) -> None:
        """The person has decided.

        Raises:
            FrameRefusedError: no call with this id asks.
        """
        ruling = self._rulings.get(approval.call_id)
        if ruling is None or ruling.done():
            raise FrameRefusedError("already_settled", "This call is not waiting for a decision any more.")
        ruling.set_result(approval)

    async def settle(self, answer: RunningAnswer, asked: Sequence[AskedCall]) -> None:
        """Run what the model wants, in its order; calls that only look run together.

        Raises:
            RepeatedCallError: the model does not stop making the same call.
        """
        for wanted in asked:
            tool = self._toolbox.registry.get(wanted.name)
            call = ToolCall(
                call_id=wanted.id,
                name=wanted.name,
                arguments=wanted.arguments,
                status="waiting",
                source=tool.source if tool else "unknown",
            )
            answer.put(call, ToolStart)
        await self._settle_open(answer)

    async def resume(self, answer: RunningAnswer) -> None:
        """Go on with an answer's calls after a restart: what ran is lost, what asked asks again."""
        for call in answer.message.tools:
            if call.status == "running":
                answer.put(replace(call, status="failed", result=LOST), ToolEnd)
        await self._settle_open(answer)

    def close_open(self, answer: RunningAnswer) -> None:
        """Give every call that is not over a result, because the turn ends."""
        for call in answer.message.tools:
            if call.status in OPEN:
                result = f"{call.result}\n\n{STOPPED}" if call.result else STOPPED
                answer.put(replace(call, status="aborted", result=result), ToolEnd)

    async def _settle_open(self, answer: RunningAnswer) -> None:
        checked = [self._check(answer, call) for call in answer.message.tools if call.status in OPEN]
        ready = [call for call in checked if call is not None]
        for at_once, group in groupby(ready, key=lambda call: call.at_once):
            if at_once:
                await asyncio.gather(*(self._settle(answer, call) for call in group))
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
            _end(answer, call.call_id, "failed", f"Error: {error}")
            return None

    async def _settle(self, answer: RunningAnswer, checked: _Checked) -> None:
        try:
            await self._decide_and_run(answer, checked)
        except BlockedError as error:
            _end(answer, checked.id, "blocked", f"Blocked: {error}")
        except ToolError as error:
            _end(answer, checked.id, "failed", f"Error: {error}")

    def _refuse_repetition(self, call: ToolCall) -> None:
        key = (call.name, call.arguments)
        self._made[key] += 1
        if self._made[key] > SAME_CALLS_AT_ALL:
            raise RepeatedCallError(f"The model made the same call of {call.name} {SAME_CALLS_AT_ALL} times.")
        if self._made[key] > SAME_CALLS:
            raise ToolError(
                f"you have made exactly this call {SAME_CALLS} times already. It was not made again: "
                "use what it gave, do something else, or answer."
            )

    def _tool(self, name: str) -> Tool:
        tool = self._toolbox.registry.get(name)
        if tool is not None and name in self._allowed:
            return tool
        near = [other for other in self._toolbox.registry.near(name) if other in self._allowed]
        advice = f" Did you mean {near[0]}?" if near else ""
        raise ToolError(f"there is no tool {name!r} in this chat.{advice}")

    def _facts(self, answer: RunningAnswer) -> ChatFacts:
        tools = self._toolbox.registry.tools()
        return facts_of(
            self._conversation.transcript.path_to(answer.id),
            frozenset(tool.name for tool in tools if tool.gives_local),
            frozenset(tool.name for tool in tools if tool.finds_urls),
        )

    async def _decide_and_run(self, answer: RunningAnswer, checked: _Checked) -> None:
        tool, arguments = checked.tool, checked.arguments
        if checked.question is not None:
            if self._conversation.facts.settings.read_only:
                settled = Settled("deny", "fireside", "This chat is read-only.")
                answer.put(replace(answer.call(checked.id), settled=settled), ApprovalSettled)
                _end(answer, checked.id, "blocked", READ_ONLY)
                return
            rule = None
            if not checked.discloses:
                rule = self._toolbox.permissions.rule_for(tool, arguments, self._conversation.id)
            if rule is None:
                approval = await self._ask(answer, checked)
                if approval.decision == "deny":
                    _end(answer, checked.id, "denied", DENIED)
                    return
                arguments = await self._allowed_arguments(answer, checked, approval)
            else:
                settled = Settled("allow", "rule", rule)
                answer.put(replace(answer.call(checked.id), settled=settled), ApprovalSettled)
        await self._run(answer, checked.id, tool, arguments)

    async def _ask(self, answer: RunningAnswer, checked: _Checked) -> Approval:
        """Wait for the person, for as long as it takes."""
        permissions = self._toolbox.permissions
        tool, arguments = checked.tool, checked.arguments
        call = replace(
            answer.call(checked.id),
            status="asking",
            question=checked.question,
            preview=await tool.preview(arguments),
            offers=[] if checked.discloses else permissions.offers(tool, arguments),
        )
        self._rulings[call.call_id] = ruling = asyncio.get_running_loop().create_future()
        try:
            await answer.put_stored(call, ToolApprovalRequest)
            await permissions.asked(self._place(answer, call), tool, arguments, call)
            self._services.sessions_changed()
            approval: Approval = await ruling
        finally:
            del self._rulings[call.call_id]
            self._services.sessions_changed()
        settled = Settled(approval.decision, "person")
        answer.put(replace(call, settled=settled, status="waiting"), ApprovalSettled)
        await permissions.settled(self._place(answer, call), settled)
        return approval

    def _place(self, answer: RunningAnswer, call: ToolCall) -> Place:
        facts = self._conversation.facts
        return Place(self._conversation.id, answer.id, call.call_id, stored=not facts.temporary)

    async def _allowed_arguments(
        self, answer: RunningAnswer, checked: _Checked, approval: Approval
    ) -> Arguments:
        """What the person has allowed, and from now on allows."""
        tool, arguments = checked.tool, checked.arguments
        if approval.edited_arguments is not None:
            arguments = check_arguments(tool.parameters, approval.edited_arguments)
            edited = replace(answer.call(checked.id), arguments=approval.edited_arguments)
            answer.put(edited, ApprovalSettled)
        if approval.always is not None:
            place = self._place(answer, answer.call(checked.id))
            await self._toolbox.permissions.grant(place, tool, arguments, approval.always)
        return arguments

    async def _run(self, answer: RunningAnswer, call_id: str, tool: Tool, arguments: Arguments) -> None:
        started = time.monotonic()
        # What has begun must be known to have begun, should Fireside end in the middle of it.
        await answer.put_stored(replace(answer.call(call_id), status="running"), ToolStart)
        show = partial(answer.show_output, call_id)
        try:
            result = await tool.run(
                Call(call_id, self._conversation.id, arguments, self._facts(answer), show)
            )
        finally:
            ms = round((time.monotonic() - started) * 1000)
            answer.put(replace(answer.call(call_id), ms=ms), ToolStart)
        if result.changes:
            answer.put(replace(answer.call(call_id), changes=list(result.changes)), ToolStart)
        _end(answer, call_id, "done" if result.ok else "failed", result.text)


def _end(answer: RunningAnswer, call_id: str, status: ToolStatus, result: str) -> None:
    if len(result) > MAX_RESULT_CHARACTERS:
        result = f"{result[:MAX_RESULT_CHARACTERS]}\n[cut here: {len(result):,} characters in all]"
    answer.put(replace(answer.call(call_id), status=status, result=result), ToolEnd)
