"""The tools of an agent, made from its folders."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fireside_agent.approvals.book import RuleBook
from fireside_agent.approvals.log import ApprovalLog
from fireside_agent.approvals.matching import folding
from fireside_agent.approvals.store import RuleStore
from fireside_agent.memory.proposals import Proposals
from fireside_agent.memory.vault import Vault
from fireside_agent.permissions import Permissions
from fireside_agent.services import Toolbox
from fireside_agent.store.database import Database
from fireside_agent.tools.file_tools import file_tools
from fireside_agent.tools.journal import Journal
from fireside_agent.tools.mcp.servers import McpServers
from fireside_agent.tools.memory import MEMORY_HINT, memory_tools
from fireside_agent.tools.reference import reference_tools
from fireside_agent.tools.registry import Registry
from fireside_agent.tools.skill import SkillTool
from fireside_agent.tools.tool import Tool
from fireside_agent.tools.web import web_tools
from fireside_agent.tools.web.settings import WebSettings
from fireside_agent.tools.workspace import Workspace

FEW_TOOLS = ("read", "web_search")
FEW_WITH_MEMORY = ("memory_search", "memory_read")
SMALL_WINDOW = 16_384
"""Tokens; a model with less room gets few tools unless the chat asks for more."""


@dataclass(frozen=True, slots=True)
class AgentFolders:
    """Where an agent keeps what is not in its database.

    Attributes:
        docs: Fireside's own documentation, for the model; None where there is none.
        roots: further folders that tools may look at and change.
    """

    home: Path
    wiki: Path
    docs: Path | None = None
    roots: Sequence[Path] = ()

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts that the agent's routes need too."""

    toolbox: Toolbox
    book: RuleBook
    log: ApprovalLog
    vault: Vault
    proposals: Proposals
    servers: McpServers
    skill: SkillTool


def assemble(
    folders: AgentFolders, database: Database, web: WebSettings, extra: Sequence[Tool] = ()
) -> Assembly:
    """Make the tools. Nothing is created.

    Args:
        extra: tools beside the usual ones.

    Raises:
        BlockedError: a further root cannot be a part of the workspace.
    """
    if folders.roots:
        Workspace.checked(folders.roots)
    workspace = Workspace([folders.workspace, *folders.roots])
    journal = Journal(folders.home / "journal")
    vault = Vault(folders.wiki)
    proposals = Proposals(vault, folders.home / "proposals")
    servers = McpServers(folders.home / "mcp.json")
    reference = reference_tools(folders.docs) if folders.docs is not None else []
    memory = memory_tools(vault, proposals)
    skill = SkillTool(folders.home / "skills")
    tools = [*file_tools(workspace, journal), *web_tools(web), *memory, *reference, skill, *extra]
    registry = Registry(tools, [servers.tools])
    book = RuleBook(RuleStore(database), folding(folders.workspace))
    log = ApprovalLog(database)

    def usual(window: int | None) -> Sequence[str]:
        has_memory = vault.exists
        if window is None or window <= SMALL_WINDOW:
            return [*FEW_TOOLS, *(FEW_WITH_MEMORY if has_memory else ())]
        hidden = () if has_memory else {tool.name for tool in memory}
        return [tool.name for tool in registry.tools() if tool.name not in hidden]

    toolbox = Toolbox(registry, Permissions(book, log), workspace, journal, usual, _hints)
    return Assembly(toolbox, book, log, vault, proposals, servers, skill)


def _hints(names: Sequence[str]) -> Sequence[str]:
    """What the system prompt says of tools: as little as works."""
    hints: list[str] = []
    if any(name.startswith("memory_") for name in names):
        hints.append(MEMORY_HINT)
    return hints
