"""`web_search`: titles, addresses and snippets of what a search provider finds."""

import asyncio
from typing import Any, ClassVar

from fireside_agent.tools.tool import (
    Arguments,
    BlockedError,
    Call,
    Preview,
    Subject,
    ToolError,
    ToolResult,
)
from fireside_agent.tools.web.address import parse_address
from fireside_agent.tools.web.base import WebTool, host_of
from fireside_agent.tools.web.providers import Hit, Provider, SearchRequest, make_provider
from fireside_agent.tools.web.readable import framed, one_line
from fireside_agent.tools.web.transfer import decode_text, read_body

DEFAULT_COUNT, MAX_COUNT = 5, 10
MAX_QUERY_CHARACTERS = 400
TITLE_CHARACTERS, SNIPPET_CHARACTERS = 150, 400


class WebSearch(WebTool):
    """Search the web."""

    name: ClassVar[str] = "web_search"
    description: ClassVar[str] = "Search the web. Gives titles, URLs and snippets; web_fetch reads a page."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARACTERS},
            "count": {
                "type": "integer",
                "description": f"how many results, {DEFAULT_COUNT} if left out",
                "minimum": 1,
                "maximum": MAX_COUNT,
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    carries: ClassVar[str] = "a search"

    def subject(self, arguments: Arguments) -> Subject:
        return host_of(self._settings.search_address)

    async def preview(self, arguments: Arguments) -> Preview:
        provider = make_provider(self._settings)
        host = provider.request(arguments["query"], _count(arguments)).address.authority
        return Preview("request", f"Search {provider.title} ({host}) for:\n{arguments['query']}")

    async def run(self, call: Call) -> ToolResult:
        query, count = str(call.arguments["query"]), _count(call.arguments)
        if not query.strip():
            raise ToolError("The query is empty. Say what to search for.")
        provider = make_provider(self._settings)
        seconds = self._settings.search_seconds
        try:
            async with asyncio.timeout(seconds):
                hits = await self._ask(provider, provider.request(query, count))
        except TimeoutError as error:
            raise ToolError(
                f"{provider.title} did not answer within {seconds:g} seconds. Try again."
            ) from error
        usable = _usable(hits)[:count]
        if not usable:
            raise ToolError(f"{provider.title} found nothing for “{query}”. Try other or fewer words.")
        lines = "\n\n".join(_entry(number, hit) for number, hit in enumerate(usable, 1))
        return ToolResult(
            framed(f"Results of {provider.title}", lines), urls=tuple(hit.url for hit in usable)
        )

    async def _ask(self, provider: Provider, request: SearchRequest) -> list[Hit]:
        async with self._guard.send(
            request.method, request.address, request.headers, request.content
        ) as response:
            # A redirect is a failure too: the key and the query are meant for this host alone.
            if not 200 <= response.status_code < 300:
                raise ToolError(_refusal(provider, response.status_code))
            body = await read_body(response, self._settings.body_bytes)
        text = decode_text(body, response.charset_encoding)
        return await asyncio.to_thread(provider.hits, response.status_code, text)


def _count(arguments: Arguments) -> int:
    return max(1, min(int(arguments.get("count") or DEFAULT_COUNT), MAX_COUNT))


def _usable(hits: list[Hit]) -> list[Hit]:
    """With readable text and addresses that may be fetched, each address once."""
    usable: dict[str, Hit] = {}
    for hit in hits:
        try:
            url = str(parse_address(hit.url))
        except BlockedError:
            continue
        title = one_line(hit.title, TITLE_CHARACTERS) or url
        usable.setdefault(url, Hit(title, url, one_line(hit.snippet, SNIPPET_CHARACTERS)))
    return list(usable.values())


def _entry(number: int, hit: Hit) -> str:
    return f"{number}. {hit.title}\n{hit.url}" + (f"\n{hit.snippet}" if hit.snippet else "")


def _refusal(provider: Provider, status: int) -> str:
    match status:
        case 401 | 403 | 422 if provider.needs_key:
            return f"{provider.title} refused the key or the query (status {status}). Check the key."
        case 429 | 432 | 433:
            return f"{provider.title} allows no more searches for now (status {status}). Try again later."
        case 403:
            return f"{provider.title} blocks searches from this machine (status 403). Try again later."
        case _ if 300 <= status < 400:
            return f"{provider.title} redirected the search, which is not followed (status {status})."
        case _:
            return f"{provider.title} answered with status {status}. Try again later."
