"""The tools of MCP servers as tools of the agent: their names, what is asked, what comes back."""

import hashlib
import re
from typing import TYPE_CHECKING, Any

import msgspec

from fireside_agent.tools.mcp.connection import Connection
from fireside_agent.tools.mcp.listing import Listed
from fireside_agent.tools.tool import Arguments, Call, ChatFacts, Preview, Risk, Tool, ToolResult

if TYPE_CHECKING:
    from mcp.types import CallToolResult

MAX_NAME = 64
MAX_RESULT_BYTES = 30_000
DIGITS = 6


def tool_name(server: str, tool: str, taken: set[str]) -> str:
    """`server__tool` by OpenAI's rule for names, and none of `taken`.

    Where the plain name breaks the rule or is taken, a few digits that depend on server and tool alone
    are added, so that it stays the same from one run to the next.
    """
    plain = f"{server}__{tool}"
    name = re.sub(r"[^a-zA-Z0-9_-]", "_", plain)
    if name == plain and len(name) <= MAX_NAME and name not in taken:
        return name
    salt = 0
    while True:
        digits = hashlib.sha256(f"{server}\0{tool}\0{salt}".encode(errors="surrogatepass")).hexdigest()[
            :DIGITS
        ]
        candidate = f"{name[: MAX_NAME - DIGITS - 1]}_{digits}"
        if candidate not in taken:
            return candidate
        salt += 1


def risk_of(listed: Listed) -> Risk:
    """What a server does is unknown, so its tools run programs, unless it says that they only read.

    The person has chosen the server, so its word is taken. But the arguments leave the chat and nobody
    knows for where: then it is a tool that sends.
    """
    return "send" if listed.read_only else "execute"


def make_tool(connection: Connection, listed: Listed, exposed: str) -> Tool:
    """The tool `listed` of the server, named `exposed` for models."""

    class McpTool(_McpTool):
        name = exposed
        description = listed.description
        parameters = listed.parameters
        risk = risk_of(listed)
        gives_local = True
        source = connection.name

    return McpTool(connection, listed)


class _McpTool(Tool):
    def __init__(self, connection: Connection, listed: Listed) -> None:
        self._connection = connection
        self._listed = listed

    def question(self, arguments: Arguments, facts: ChatFacts) -> str | None:
        """A tool that only reads may run by itself until content of this machine is in the chat."""
        if not self._listed.read_only:
            return f"It runs a tool of the MCP server {self.source!r}, which may do anything."
        if facts.local:
            return f"It sends something to the MCP server {self.source!r}, and this chat holds local content."
        return None

    async def preview(self, arguments: Arguments) -> Preview:
        shown = {"server": self.source, "tool": self._listed.name, "arguments": arguments}
        return Preview("arguments", msgspec.json.format(msgspec.json.encode(shown), indent=2).decode())

    async def run(self, call: Call) -> ToolResult:
        result = await self._connection.call(self._listed.name, call.arguments, call.show)
        return ToolResult(result_text(result), ok=not result.is_error)


def result_text(result: "CallToolResult") -> str:
    """The result's text for a model, at most 30 KB; what is no text is named in a note."""
    parts = [_block_text(block) for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [msgspec.json.encode(result.structured_content).decode()]
    return _cut("\n\n".join(part for part in parts if part) or "(no output)")


def _block_text(block: Any) -> str:
    from mcp.types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent

    match block:
        case TextContent():
            return block.text
        case ImageContent() | AudioContent():
            kind = "image" if isinstance(block, ImageContent) else "audio"
            return f"[{kind}, {block.mime_type}, {len(block.data) * 3 // 4:,} bytes, not shown]"
        case ResourceLink():
            return f"[resource {block.name}: {block.uri}]"
        case EmbeddedResource():
            return _resource_text(block.resource)
        case _:
            return "[content of an unknown kind, not shown]"


def _resource_text(resource: Any) -> str:
    from mcp.types import TextResourceContents

    kind = resource.mime_type or "unknown type"
    if isinstance(resource, TextResourceContents):
        return f"[resource {resource.uri}, {kind}]\n{resource.text}"
    return f"[resource {resource.uri}, {kind}, {len(resource.blob) * 3 // 4:,} bytes, not shown]"


def _cut(text: str) -> str:
    data = text.encode(errors="replace")
    if len(data) <= MAX_RESULT_BYTES:
        return data.decode()
    shown = data[:MAX_RESULT_BYTES].decode(errors="ignore")
    return f"{shown}\n\n[cut: {len(data):,} bytes in all, the first {MAX_RESULT_BYTES:,} are shown]"
