"""What a server offers: its tools, and word of when they change."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp import Client

MAX_TOOLS = 500
"""Of one server; the rest is left out, no model could choose among so many."""

MAX_DESCRIPTION = 4000
"""In characters."""

LISTEN_AGAIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as its server lists it. `read_only` is the server's word for it."""

    name: str
    description: str
    parameters: dict[str, Any]
    read_only: bool


async def list_tools(client: "Client") -> tuple[Listed, ...]:
    """All tools of the server, one for each name. Raises MCPError or ValueError."""
    if client.server_capabilities.tools is None:
        return ()
    listed: dict[str, Listed] = {}
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            read_only = tool.annotations is not None and tool.annotations.read_only_hint is True
            description = (tool.description or tool.title or "")[:MAX_DESCRIPTION]
            parameters = {"type": "object", **tool.input_schema}
            listed.setdefault(tool.name, Listed(tool.name, description, parameters, read_only))
        # A page may be empty and still have another after it, but not for ever.
        if not page.next_cursor or page.next_cursor == cursor or len(listed) >= MAX_TOOLS:
            return tuple(listed.values())[:MAX_TOOLS]
        cursor = page.next_cursor


async def follow_changes(client: "Client", changed: Callable[[], None]) -> None:
    """Call `changed` whenever the tools change, for servers of the protocol from 2026-07-28 on.

    Older ones send that unasked, through the client's message handler.
    """
    from mcp import MCPError
    from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

    while True:
        try:
            async with client.listen(tools_list_changed=True) as subscription:
                async for _ in subscription:
                    changed()
        except (ListenNotSupportedError, MCPError):
            return
        except SubscriptionLost:
            pass
        await asyncio.sleep(LISTEN_AGAIN_S)
        # What was missed meanwhile.
        changed()
