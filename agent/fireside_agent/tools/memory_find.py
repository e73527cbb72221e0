"""The tools that find: they give names of articles, and enough to choose from."""

from typing import Any

from fireside_agent.memory.articles import KINDS, Article
from fireside_agent.memory.links import InboundLink, OutboundLink, names_of
from fireside_agent.memory.search import Result
from fireside_agent.tools.memory_base import NAME_SCHEMA, MemoryTool, more, named, object_schema
from fireside_agent.tools.tool import ToolError

MAX_SUMMARIES = 8
MAX_LINE_HITS = 30
MAX_LISTED = 100
MAX_CATEGORY_ROWS = 40
MAX_CATEGORY_LEAD = 140
MAX_LINKS = 25
NEAR_MISSES = 3


class Status(MemoryTool):
    """`memory_status`"""

    name = "memory_status"
    description = (
        "How much the person's memory holds, and its newest articles. Start with memory_search instead."
    )
    parameters = object_schema({})

    async def look(self, arguments: dict[str, Any]) -> str:
        status = await self._vault.status()
        lines = [f"{status.articles} articles, {status.references} references. Changed last:"]
        return "\n".join([*lines, *(f"- {each.name}" for each in status.recent)])


class List(MemoryTool):
    """`memory_list`"""

    name = "memory_list"
    description = "FIND, last resort: the names of the articles in memory. memory_search finds by content."
    parameters = object_schema({})

    async def look(self, arguments: dict[str, Any]) -> str:
        articles = await self._vault.summaries()
        lines = [f"{len(articles)} articles:"]
        lines += [f"- {named(each.name, each.title)}" for each in articles[:MAX_LISTED]]
        return "\n".join(lines + more(len(articles), MAX_LISTED, "Use memory_search for the others."))


class Search(MemoryTool):
    """`memory_search`"""

    name = "memory_search"
    description = (
        "Search the memory for words. Gives names and lines; then read the article with memory_read."
    )
    parameters = object_schema({"query": {"type": "string", "description": "A few telling words."}})

    async def look(self, arguments: dict[str, Any]) -> str:
        found = await self._vault.search(arguments["query"])
        if not found.results:
            return f"Nothing in memory about {', '.join(found.terms)}. Try other words."
        lines = [f"{found.total} articles, best first:"]
        left = MAX_LINE_HITS
        shown = found.results[:MAX_SUMMARIES]
        for index, result in enumerate(shown):
            # Every article gets its share, and what the ones before it have left over.
            hits = _hit_lines(result, left // (len(shown) - index))
            left -= len(hits)
            lines += [
                f"- {named(result.name, result.title)}: {result.occurrences} × {', '.join(result.terms)}"
            ]
            lines += hits
        return "\n".join(lines + more(found.total, MAX_SUMMARIES, "Search for something more precise."))


class Resolve(MemoryTool):
    """`memory_resolve`"""

    name = "memory_resolve"
    description = (
        "FIND: the article that a name, title or alias means, or the names nearest to it; then READ."
    )
    parameters = object_schema({"article": {"type": "string", "description": "As the person called it."}})

    async def look(self, arguments: dict[str, Any]) -> str:
        wanted = arguments["article"]
        articles = await self._vault.articles()
        names = names_of(articles)
        found = names.find(wanted)
        if found is not None:
            return f"It is the article {named(found, articles[found].title)}."
        near = names.near(wanted, NEAR_MISSES)
        if not near:
            return "There is no article of that name, nor one like it. Try memory_search."
        return "There is no article of that name. Near it:\n" + "\n".join(f"- {name}" for name in near)


class Category(MemoryTool):
    """`memory_category`"""

    name = "memory_category"
    description = (
        "FIND: the articles of one category, type or series (give exactly one), each with its first words."
    )
    parameters = object_schema({kind: {"type": "string"} for kind in KINDS}, ())

    async def look(self, arguments: dict[str, Any]) -> str:
        given = [kind for kind in KINDS if arguments.get(kind)]
        if len(given) != 1:
            raise ToolError("Give exactly one of `category`, `type` and `series`.")
        kind, wanted = given[0], arguments[given[0]].strip().casefold()
        articles = (await self._vault.articles()).values()
        found = [each for each in articles if wanted in (value.casefold() for value in each.kind(kind))]
        if not found:
            known = sorted({value for each in articles for value in each.kind(kind)})
            rest = f"There is: {', '.join(known[:MAX_CATEGORY_ROWS])}." if known else "No article has one."
            return f"No article has this {kind}. {rest}"
        lines = [f"{len(found)} articles:"]
        lines += [
            f"- {named(each.name, each.title)}: {_first_words(each)}" for each in found[:MAX_CATEGORY_ROWS]
        ]
        return "\n".join(lines + more(len(found), MAX_CATEGORY_ROWS, "Use memory_search for the others."))


class Links(MemoryTool):
    """`memory_links`"""

    name = "memory_links"
    description = "FIND: what an article links to and which articles link to it."
    parameters = object_schema({"article": NAME_SCHEMA})

    async def look(self, arguments: dict[str, Any]) -> str:
        links = await self._vault.links(arguments["article"])
        outbound = list(dict.fromkeys(_outbound(link) for link in links.outbound))
        inbound = list(dict.fromkeys(_inbound(link) for link in links.inbound))
        lines = [f"Links to {len(outbound)}:", *outbound[:MAX_LINKS], *more(len(outbound), MAX_LINKS, "")]
        lines += [f"Linked from {len(inbound)}:", *inbound[:MAX_LINKS], *more(len(inbound), MAX_LINKS, "")]
        return "\n".join(lines)


def _hit_lines(result: Result, count: int) -> list[str]:
    return [
        f"    line {hit.line}{f', {hit.heading}' if hit.heading else ''}: {hit.text}"
        for hit in result.hits[:count]
    ]


def _first_words(article: Article) -> str:
    lead = " ".join(article.lead.split())
    return lead if len(lead) <= MAX_CATEGORY_LEAD else lead[: MAX_CATEGORY_LEAD - 1].rstrip() + "…"


def _outbound(link: OutboundLink) -> str:
    place = f"#{link.heading}" if link.heading else ""
    return f"- {link.article or link.target}{place}" + (f" (broken: {link.broken})" if link.broken else "")


def _inbound(link: InboundLink) -> str:
    return f"- {named(link.article, link.title)}" + (f" (broken: {link.broken})" if link.broken else "")
