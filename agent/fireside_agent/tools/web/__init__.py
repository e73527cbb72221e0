"""The tools that talk to other machines: `web_search` and `web_fetch`, behind one guard."""

from fireside_agent.tools.tool import Tool
from fireside_agent.tools.web.fetch import WebFetch
from fireside_agent.tools.web.guard import Guard
from fireside_agent.tools.web.search import WebSearch
from fireside_agent.tools.web.settings import Opening, Resolver, SystemResolver, WebSettings, search_settings
from fireside_agent.tools.web.weather import Weather

__all__ = [
    "Guard",
    "Opening",
    "Resolver",
    "SystemResolver",
    "Weather",
    "WebFetch",
    "WebSearch",
    "WebSettings",
    "search_settings",
    "web_tools",
]


def web_tools(settings: WebSettings) -> list[Tool]:
    """`web_search`, `web_fetch` and `weather` with these settings."""
    guard = Guard(settings)
    return [WebSearch(guard, settings), WebFetch(guard, settings), Weather(guard, settings)]
