"""`reference_*`: Fireside's own documentation, found and read in pieces that fit a small context."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from fireside_agent.tools.tool import Arguments, Call, Risk, Tool, ToolError, ToolResult

FULL_READ_BYTES = 8_192
LEAD_CHARACTERS, LISTED_LEAD_CHARACTERS = 1_200, 140
MAX_PAGES, MAX_HITS = 8, 30
LINE_CHARACTERS = 200
NEAR_MISSES = 3


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it, without the sections of the same or a higher level.

    Attributes:
        level: 1 to 6; 0 for what precedes the first heading.
        start, own_end, end: lines; the own text ends where the next heading of any level begins.
    """

    title: str
    level: int
    start: int
    own_end: int
    end: int


@dataclass(frozen=True, slots=True)
class Page:
    """One Markdown file. `name` is its path in the folder, without `.md`."""

    name: str
    lines: list[str]
    sections: list[Section]

    @property
    def title(self) -> str:
        return next((section.title for section in self.sections if section.level == 1), self.name)

    @property
    def lead(self) -> str:
        """The first paragraph below the first heading."""
        first = next((section for section in self.sections if section.level), None)
        own = self.lines[first.start + 1 : first.own_end] if first else self.lines
        return "\n".join(own).strip().split("\n\n")[0]

    def text(self, section: Section) -> str:
        return "\n".join(self.lines[section.start : section.end]).strip()


class ReferenceTool(Tool):
    """What the reference tools share: the folder, read anew at each call, off the event loop."""

    risk: ClassVar[Risk] = "read"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def run(self, call: Call) -> ToolResult:
        return ToolResult(await asyncio.to_thread(self._answer, call.arguments))

    def _answer(self, arguments: Arguments) -> str:
        """The result's text. Raises ToolError."""
        raise NotImplementedError

    def _pages(self) -> list[Page]:
        pages = [
            _page(path.relative_to(self._folder).with_suffix("").as_posix(), path)
            for path in sorted(self._folder.rglob("*.md"))
            if path.is_file()
        ]
        if not pages:
            raise ToolError("The documentation is not installed.")
        return pages


class ReferenceSearch(ReferenceTool):
    """Find the pages and sections that hold words."""

    name: ClassVar[str] = "reference_search"
    description: ClassVar[str] = "Search Fireside's own documentation. Then read with reference_read."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"query": {"type": "string", "minLength": 1, "maxLength": 400}},
        "required": ["query"],
        "additionalProperties": False,
    }

    def _answer(self, arguments: Arguments) -> str:
        terms = list(dict.fromkeys(re.findall(r"\w[\w.-]*", str(arguments["query"]).casefold())))
        if not terms:
            raise ToolError("The query holds no word. Say what to look for.")
        found = [(_score(page, terms), page) for page in self._pages()]
        best = [page for score, page in sorted(found, key=lambda each: -each[0]) if score][:MAX_PAGES]
        if not best:
            raise ToolError("No page of the documentation holds these words. reference_list names the pages.")
        share = MAX_HITS // len(best)
        blocks = [
            "\n".join([f"{page.name}: {page.title}", *islice(_hits(page, terms), share)]) for page in best
        ]
        return "\n\n".join(blocks)


class ReferenceList(ReferenceTool):
    """Name the pages."""

    name: ClassVar[str] = "reference_list"
    description: ClassVar[str] = "List the pages of Fireside's own documentation."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }

    def _answer(self, arguments: Arguments) -> str:
        return "\n".join(
            f"{page.name}: {page.title}. {_short(page.lead, LISTED_LEAD_CHARACTERS)}"
            for page in self._pages()
        )


class ReferenceRead(ReferenceTool):
    """Read a page, or a section of it."""

    name: ClassVar[str] = "reference_read"
    description: ClassVar[str] = "Read a page of Fireside's own documentation, or one section of it."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "the page, as reference_list names it"},
            "section": {"type": "string", "description": "a heading; left out: the whole page"},
        },
        "required": ["name"],
        "additionalProperties": False,
    }

    def _answer(self, arguments: Arguments) -> str:
        # Looked up among the pages there are, never as a path.
        pages = {page.name.casefold(): page for page in self._pages()}
        name = str(arguments["name"]).strip().casefold().removesuffix(".md")
        page = pages.get(name)
        if page is None:
            raise ToolError(f"There is no page “{arguments['name']}”.{_near(name, list(pages))}")
        if wanted := str(arguments.get("section") or "").strip():
            return _read(page, _section(page, wanted))
        return _read(page, None)


def reference_tools(folder: Path) -> list[Tool]:
    """The three tools over a folder of Markdown files."""
    return [ReferenceSearch(folder), ReferenceList(folder), ReferenceRead(folder)]


def _page(name: str, path: Path) -> Page:
    from markdown_it import MarkdownIt

    text = path.read_text(encoding="utf-8", errors="replace")
    tokens = MarkdownIt("commonmark").parse(text)
    # Splitting at other line ends than the parser would shift what it reports.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    heads = [
        (token.map[0], int(token.tag[1:]), tokens[index + 1].content)
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.map and token.level == 0
    ]
    starts = [start for start, _, _ in heads]
    sections = [Section("", 0, 0, starts[0] if starts else len(lines), starts[0] if starts else len(lines))]
    for index, (start, level, title) in enumerate(heads):
        own_end = starts[index + 1] if index + 1 < len(heads) else len(lines)
        end = next((later for later, depth, _ in heads[index + 1 :] if depth <= level), len(lines))
        sections.append(Section(title, level, start, own_end, end))
    return Page(name, lines, sections)


def _read(page: Page, section: Section | None) -> str:
    text = page.text(section) if section else "\n".join(page.lines).strip()
    if len(text.encode()) <= FULL_READ_BYTES:
        return text
    inner = [
        other
        for other in page.sections
        if other.level and (section is None or section.start < other.start < section.end)
    ]
    if not inner:
        cut = text.encode()[:FULL_READ_BYTES].decode(errors="ignore")
        return f"{cut}\n[The first {FULL_READ_BYTES:,} of {len(text.encode()):,} bytes.]"
    top = min(other.level for other in inner)
    contents = "\n".join(f"{'  ' * (other.level - top)}- {other.title}" for other in inner)
    lead = "\n".join(page.lines[section.start : section.own_end]).strip() if section else page.lead
    return (
        f"{_cut(lead, LEAD_CHARACTERS)}\n\n"
        f"[{len(text.encode()):,} bytes, too long to read at once. Read one of its sections:]\n{contents}"
    )


def _section(page: Page, wanted: str) -> Section:
    title = wanted.lstrip("#").strip().casefold()
    sections = {section.title.casefold(): section for section in reversed(page.sections) if section.level}
    if title in sections:
        return sections[title]
    close = get_close_matches(title, list(sections), NEAR_MISSES, 0.4)
    within = [name for name in sections if title in name]
    names = [sections[name].title for name in dict.fromkeys([*within, *close])][:NEAR_MISSES]
    hint = " Close to it: " + ", ".join(f"“{name}”" for name in names) + "." if names else ""
    raise ToolError(f"The page {page.name} has no section “{wanted}”.{hint}")


def _score(page: Page, terms: list[str]) -> int:
    """How often the terms occur, ten times in headings; pages with more of the terms come first."""
    text = "\n".join(page.lines).casefold()
    heads = "\n".join([page.name, *(section.title for section in page.sections)]).casefold()
    counts = [text.count(term) + 10 * heads.count(term) for term in terms]
    return sum(counts) + 10_000 * sum(1 for count in counts if count)


def _hits(page: Page, terms: list[str]) -> Iterator[str]:
    """The lines that hold most of the terms first, with the heading that they stand below."""
    rated = [
        (sum(term in line.casefold() for term in terms), number) for number, line in enumerate(page.lines)
    ]
    for count, number in sorted(rated, key=lambda each: (-each[0], each[1])):
        if count:
            section = next(part for part in reversed(page.sections) if part.start <= number)
            yield f"  [{section.title or page.title}] {_short(page.lines[number], LINE_CHARACTERS)}"


def _near(name: str, names: list[str]) -> str:
    close = get_close_matches(name, names, NEAR_MISSES, 0.4)
    return f" Close to it: {', '.join(close)}." if close else f" There are: {', '.join(names[:20])}."


def _short(text: str, limit: int) -> str:
    return _cut(" ".join(text.split()), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
