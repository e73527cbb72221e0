"""What an article says: front matter, headings, sections.

Read is the subset of YAML that note programs write (`key: value`, `[a, b]`, `- item`, `key: |`) and ATX
headings (`## …`). Whatever else stands there is kept as text and means nothing.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from fireside_agent.memory.code import hide_code
from fireside_agent.memory.diffs import text_hash
from fireside_agent.memory.folding import fold

Field = str | list[str]

PATH_SEPARATOR = " > "

_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t](.*))?$", re.MULTILINE)
_FRONT_MATTER = re.compile(
    r"\ufeff?---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE
)
_KEY = re.compile(r"([^\s:#\-][^:]*?)[ \t]*:(?:[ \t]+(.*))?")
_WIKILINK = re.compile(r"(!?)\[\[([^\[\]\n|]+)(?:\|([^\[\]\n]*))?\]\]")
_ATTACHMENT = re.compile(r"\.(?!md(?:#|$))[A-Za-z0-9]{1,5}$")

KINDS = {"category": ("category", "categories"), "type": ("type", "types"), "series": ("series",)}
"""The ways to group articles, and the front matter that says so."""


@dataclass(frozen=True)
class Heading:
    """One heading.

    Attributes:
        path: the headings above it and its own, below the article's title: `History > Early years`.
        line: from 1.
        start: of the heading, in characters; `end` is that of its section, subsections included.
    """

    level: int
    title: str
    path: str
    line: int
    start: int
    end: int


@dataclass(frozen=True)
class Wikilink:
    """A link as written: `words` are the article's name, perhaps with `#` and a heading.

    `start` and `end` are where it stands in the text, in characters.
    """

    words: str
    label: str
    line: int
    start: int
    end: int


@dataclass(frozen=True)
class Article:
    """One article as it was on disk. Parts are worked out when asked for, once."""

    name: str
    text: str
    modified: float
    """Seconds since the epoch."""

    @property
    def path(self) -> str:
        """Relative to the vault."""
        return f"articles/{self.name}.md"

    @cached_property
    def hash(self) -> str:
        return text_hash(self.text)

    @cached_property
    def visible(self) -> str:
        """The text with blanks in place of code, so that positions stay."""
        return hide_code(self.text)

    @cached_property
    def folded(self) -> str:
        """The text for searching, line by line as in `text`."""
        return fold(self.text)

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The front matter."""
        found = _FRONT_MATTER.match(self.text)
        return parse_fields(found[1]) if found else {}

    @cached_property
    def headings(self) -> list[Heading]:
        return list(_read_headings(self.text, self.visible, self.body_start))

    @cached_property
    def title(self) -> str:
        """The front matter's title, else the first heading, else the file's name."""
        stated = self.fields.get("title", "")
        if isinstance(stated, str) and stated:
            return stated
        named = next((heading.title for heading in self.headings if heading.title), "")
        return named or self.name.rpartition("/")[2]

    @cached_property
    def lead(self) -> str:
        """What stands before the first section, without front matter and title."""
        start, end = self.body_start, len(self.text)
        for heading in self.headings:
            if heading.level > 1:
                end = heading.start
                break
            if not self.text[start : heading.start].strip():
                start = _line_end(self.text, heading.start)
            else:
                end = heading.start
                break
        return self.text[start:end].strip()

    @cached_property
    def wikilinks(self) -> list[Wikilink]:
        """The links, in order; pictures and other embedded files are none."""
        return list(_read_wikilinks(self.visible)) if "[[" in self.visible else []

    @cached_property
    def aliases(self) -> list[str]:
        return self.values("aliases", "alias")

    def values(self, *keys: str) -> list[str]:
        """What the front matter says under any of `keys`, wikilinks as their names."""
        found: list[str] = []
        for key, value in self.fields.items():
            if key.casefold() in keys:
                found += [value] if isinstance(value, str) else value
        return [_WIKILINK.sub(lambda link: link[2].strip(), value) for value in found if value]

    def kind(self, kind: str) -> list[str]:
        """The article's categories, types or series; `kind` is a key of `KINDS`."""
        return self.values(*KINDS[kind])

    def section(self, wanted: str) -> list[Heading]:
        """The headings meant by a title or path: those with that path, else those with that title."""
        parts = [part.strip().lstrip("#").strip() for part in re.split(r"[>\n]", wanted)]
        key = fold(PATH_SEPARATOR.join(part for part in parts if part))
        whole = fold(wanted.strip().lstrip("#").strip())
        by_path = [each for each in self.headings if fold(each.path) in (key, whole)]
        return by_path or [each for each in self.headings if fold(each.title) in (key, whole)]

    def heading_at(self, line: int) -> Heading | None:
        """The nearest heading at or above a line."""
        index = bisect_right([heading.line for heading in self.headings], line)
        return self.headings[index - 1] if index else None

    @cached_property
    def body_start(self) -> int:
        """Where the front matter ends, in characters."""
        found = _FRONT_MATTER.match(self.text)
        return found.end() if found else 0


def parse_fields(text: str) -> dict[str, Field]:
    """Front matter, without its fences."""
    fields: dict[str, Field] = {}
    key = ""
    for raw in text.split("\n"):
        line = raw.rstrip()
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        found = _KEY.fullmatch(line)
        if found:
            key = _unquote(found[1])
            fields[key] = _read_value(found[2] or "")
        elif key:
            fields[key] = _extend(fields[key], stripped)
    return fields


def _read_value(text: str) -> Field:
    text = text.strip()
    if text.startswith("[") and text.endswith("]") and not text.startswith("[["):
        items = re.findall(r"""\s*("[^"]*"|'[^']*'|[^,]+)\s*(?:,|$)""", text[1:-1])
        return [item for item in map(_unquote, items) if item]
    return "" if text in {"|", ">", "|-", ">-"} else _unquote(text)


def _extend(value: Field, line: str) -> Field:
    """A value that goes on in the next line: a list's item, or more text."""
    if line == "-" or line.startswith("- "):
        items = value if isinstance(value, list) else [value] if value else []
        item = _unquote(line[1:])
        return [*items, item] if item else items
    if isinstance(value, list):
        return value
    return f"{value}\n{line}" if value else line


def _unquote(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


def _read_headings(text: str, visible: str, body: int) -> list[Heading]:
    marks = list(_HEADING.finditer(visible, body))
    levels = [len(found[1]) for found in marks]
    headings: list[Heading] = []
    above: list[tuple[int, str]] = []
    line, seen = 1, 0
    ends = _section_ends(levels, [found.start() for found in marks], len(text))
    for found, level, end in zip(marks, levels, ends, strict=True):
        line += text.count("\n", seen, found.start())
        seen = found.start()
        title = _heading_title(text[found.start(2) : found.end(2)] if found[2] else "")
        above = [(upper, name) for upper, name in above if 1 < upper < level]
        above.append((level, title))
        path = PATH_SEPARATOR.join(name for _, name in above)
        headings.append(Heading(level, title, path, line, found.start(), end))
    return headings


def _read_wikilinks(visible: str) -> Iterator[Wikilink]:
    line, seen = 1, 0
    for found in _WIKILINK.finditer(visible):
        line += visible.count("\n", seen, found.start())
        seen = found.start()
        # In a table the bar is written `\|`.
        words = found[2].removesuffix("\\").strip()
        if words and not (found[1] and _ATTACHMENT.search(words)):
            yield Wikilink(words, (found[3] or words).strip(), line, *found.span())


def _section_ends(levels: list[int], starts: list[int], length: int) -> list[int]:
    """Where each section ends: at the next heading that is not below it."""
    ends = [length] * len(levels)
    is_open: list[int] = []
    for index, level in enumerate(levels):
        while is_open and levels[is_open[-1]] >= level:
            ends[is_open.pop()] = starts[index]
        is_open.append(index)
    return ends


def _heading_title(raw: str) -> str:
    """Without the closing run of `#`."""
    title = raw.strip()
    bare = title.rstrip("#")
    return bare.strip() if not bare or bare[-1] in " \t" else title


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end + 1
