"""The tools that talk to other machines: `web_search` and `web_fetch`, behind one guard."""

from fireside_agent.tools.tool import Tool
from fireside_agent.tools.web.fetch import WebFetch
from fireside_agent.tools.web.guard import Guard
from fireside_agent.tools.web.search import WebSearch
from fireside_agent.tools.web.settings import Opening, Resolver, SystemResolver, WebSettings

__all__ = [
    "Guard",
    "Opening",
    "Resolver",
    "SystemResolver",
    "WebFetch",
    "WebSearch",
    "WebSettings",
    "web_tools",
]


def web_tools(settings: WebSettings) -> list[Tool]:
    """`web_search` and `web_fetch` with these settings."""
    guard = Guard(settings)
    return [WebSearch(guard, settings), WebFetch(guard, settings)]
