"""What the tools that read the memory share: their base, and how they write names and long lists."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from fireside_agent.memory.errors import VaultError
from fireside_agent.memory.vault import Vault
from fireside_agent.tools.tool import Call, Tool, ToolError, ToolResult

NAME_SCHEMA = {
    "type": "string",
    "description": "The article's name, as memory_search or memory_resolve gave it.",
}


class MemoryTool(Tool):
    """A tool that reads the vault."""

    risk = "read"
    gives_local = True

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def run(self, call: Call) -> ToolResult:
        try:
            return ToolResult(await self.look(call.arguments))
        except VaultError as error:
            raise ToolError(str(error)) from error

    @abstractmethod
    async def look(self, arguments: dict[str, Any]) -> str:
        """The answer. Raises VaultError or ToolError."""


def object_schema(properties: dict[str, Any], required: Sequence[str] | None = None) -> dict[str, Any]:
    """The JSON Schema of an object with these properties, all of them required by default."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def named(name: str, title: str) -> str:
    """A name, with the title where that is another."""
    return name if title == name.rpartition("/")[2] else f"{name} ({cut(title, 200)})"


def more(total: int, shown: int, advice: str) -> list[str]:
    """A line that says how many rows are left out, if any."""
    return [f"… and {total - shown} more. {advice}".strip()] if total > shown else []


def cut(text: str, size: int) -> str:
    """At most `size` bytes, and never half a character."""
    data = text.encode()
    return text if len(data) <= size else data[:size].decode(errors="ignore").rstrip() + " …"
