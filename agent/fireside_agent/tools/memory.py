"""`memory_*`: the model looks into the person's memory. It finds first, then reads; it never writes."""

from fireside_agent.memory.proposals import Proposals
from fireside_agent.memory.vault import Vault
from fireside_agent.tools.memory_find import Category, Links, List, Resolve, Search, Status
from fireside_agent.tools.memory_propose import MemoryPropose, MemoryRevise
from fireside_agent.tools.memory_read import Infobox, Read, Section
from fireside_agent.tools.tool import Tool

MEMORY_HINT = (
    "The person keeps a memory of notes: where it may help, find with memory_search or memory_resolve, "
    "then read."
)
"""One line for the system prompt, where there is a vault."""


def memory_tools(vault: Vault, proposals: Proposals) -> list[Tool]:
    """All of them. Offer them only where `vault.exists`."""
    kinds = (Status, List, Search, Resolve, Category, Read, Section, Links, Infobox)
    return [*(kind(vault) for kind in kinds), MemoryPropose(proposals), MemoryRevise(proposals)]
