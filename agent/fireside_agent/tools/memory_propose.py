"""`memory_propose` and `memory_revise`: the model suggests a change of the memory; the person decides."""

from typing import Any, ClassVar

from fireside_agent.memory.errors import VaultError
from fireside_agent.memory.proposal import Proposal
from fireside_agent.memory.proposals import Proposals
from fireside_agent.tools.memory_base import object_schema
from fireside_agent.tools.tool import Arguments, Call, Tool, ToolError, ToolResult

MAX_DIFF = 4_000
ARTICLE = {"type": "string", "description": "Such as `Cooking/Bread`; may be a new one."}


class _ProposingTool(Tool):
    """Changes no article: stores a proposal with its diff."""

    risk = "read"
    gives_local = True

    def __init__(self, proposals: Proposals) -> None:
        self._proposals = proposals

    async def run(self, call: Call) -> ToolResult:
        try:
            proposal = await self._propose(call, call.arguments)
        except VaultError as error:
            raise ToolError(str(error)) from error
        diff = proposal.diff if len(proposal.diff) <= MAX_DIFF else proposal.diff[:MAX_DIFF] + "\n…"
        return ToolResult(
            f"Proposal {proposal.id} for {proposal.article} is stored and nothing is written yet: the person "
            f"sees it and decides. Go on without waiting, and do not propose it again.\n\n{diff}"
        )

    async def _propose(self, call: Call, arguments: Arguments) -> Proposal:
        raise NotImplementedError


class MemoryPropose(_ProposingTool):
    """`memory_propose`"""

    name = "memory_propose"
    description = "Propose to add text to an article of the memory. The person decides."
    parameters: ClassVar[dict[str, Any]] = object_schema(
        {
            "article": ARTICLE,
            "text": {"type": "string", "description": "Markdown for its end; links are `[[Name]]`."},
        }
    )

    async def _propose(self, call: Call, arguments: Arguments) -> Proposal:
        return await self._proposals.create(
            arguments["article"],
            reason="",
            session_id=call.session_id,
            call_id=call.id,
            added=arguments["text"],
        )


class MemoryRevise(_ProposingTool):
    """`memory_revise`"""

    name = "memory_revise"
    description = "Propose to replace a passage of a memory article, with the reason. Read the article first."
    parameters: ClassVar[dict[str, Any]] = object_schema(
        {
            "article": ARTICLE,
            "passage": {"type": "string", "description": "Letter by letter; it stands there exactly once."},
            "replacement": {"type": "string"},
            "reason": {"type": "string", "description": "One sentence for the person."},
        }
    )

    async def _propose(self, call: Call, arguments: Arguments) -> Proposal:
        return await self._proposals.create(
            arguments["article"],
            reason=arguments["reason"],
            session_id=call.session_id,
            call_id=call.id,
            old=arguments["passage"],
            new=arguments["replacement"],
        )
