"""The tools that read an article, as far as it fits."""

from collections.abc import Sequence
from typing import Any

from fireside_agent.memory.articles import Heading
from fireside_agent.tools.memory_base import NAME_SCHEMA, MemoryTool, cut, more, object_schema
from fireside_agent.tools.tool import ToolError

MAX_READ_BYTES = 8 * 1024
MAX_LEAD_BYTES = 2 * 1024
MAX_HEADINGS = 100


class Read(MemoryTool):
    """`memory_read`"""

    name = "memory_read"
    description = (
        "READ one article, after finding its name. Of a long one it gives the beginning and the table of "
        "contents; then take parts with memory_section."
    )
    parameters = object_schema({"article": NAME_SCHEMA})

    async def look(self, arguments: dict[str, Any]) -> str:
        article = await self._vault.read(arguments["article"])
        if len(article.text.encode()) <= MAX_READ_BYTES:
            return article.text or "The article is empty."
        lead = cut(article.lead, MAX_LEAD_BYTES)
        size = len(article.text.encode())
        return f"# {article.title}\n\n{lead}\n\n{_contents(article.headings, size)}"


class Section(MemoryTool):
    """`memory_section`"""

    name = "memory_section"
    description = "READ one section of an article, with what is below it."
    parameters = object_schema(
        {
            "article": NAME_SCHEMA,
            "section": {
                "type": "string",
                "description": "A heading, or its path as `History > Early years`.",
            },
        }
    )

    async def look(self, arguments: dict[str, Any]) -> str:
        article = await self._vault.read(arguments["article"])
        found = article.section(arguments["section"])
        if not found:
            raise ToolError(
                f"There is no such section. {_contents(article.headings, len(article.text.encode()))}"
            )
        if len({heading.path for heading in found}) > 1:
            raise ToolError("Several sections have this title. Give the path of one:\n" + _paths(found))
        heading = found[0]
        text = article.text[heading.start : heading.end].strip()
        if len(text.encode()) <= MAX_READ_BYTES:
            return text
        below = [each for each in article.headings if heading.start < each.start < heading.end]
        return f"{cut(text, MAX_READ_BYTES)}\n\n{_contents(below, len(text.encode()))}"


class Infobox(MemoryTool):
    """`memory_infobox`"""

    name = "memory_infobox"
    description = "READ the facts at the head of an article (its front matter): dates, places, categories."
    parameters = object_schema({"article": NAME_SCHEMA})

    async def look(self, arguments: dict[str, Any]) -> str:
        fields = (await self._vault.read(arguments["article"])).fields
        lines = [
            f"{key}: {value if isinstance(value, str) else ', '.join(value)}" for key, value in fields.items()
        ]
        return cut("\n".join(lines), MAX_READ_BYTES) or "This article has no such facts. Use memory_read."


def _contents(headings: Sequence[Heading], size: int) -> str:
    if not headings:
        return f"({size:,} bytes in all, without further headings; memory_search finds lines of it.)"
    lines = [f"({size:,} bytes in all. Take sections with memory_section:)", _paths(headings[:MAX_HEADINGS])]
    return "\n".join(lines + more(len(headings), MAX_HEADINGS, ""))


def _paths(headings: Sequence[Heading]) -> str:
    return "\n".join(f"- {cut(path, 300)}" for path in dict.fromkeys(heading.path for heading in headings))
