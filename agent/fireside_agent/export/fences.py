"""Text put into Markdown so that nothing in it can change what comes after it."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_BACKTICKS = re.compile("`+")
_AFTER = "after"
_HTML_ENDS = ("-->", "?>", "]]>", ">", "</script>", "</pre>", "</style>", "</textarea>")
"""What ends the kinds of raw HTML that a blank line does not end (CommonMark 0.31, section 4.6)."""


def longest_run(text: str) -> int:
    """How many backticks follow each other in `text` at most."""
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def fence(text: str, info: str = "") -> str:
    """`text` as a code block that nothing inside it can end."""
    marks = "`" * max(3, longest_run(text) + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{marks}{info}\n{text}{end}{marks}"


def close_blocks(text: str) -> str:
    """`text` as it is, with an end to a code block or raw HTML that it leaves open at its own end."""
    if _is_closed(text):
        return text
    start = text if text.endswith("\n") else f"{text}\n"
    for end in _endings(text):
        if _is_closed(start + end):
            return start + end
    return fence(text)


def _endings(text: str) -> Iterator[str]:
    last = _parse(text)[-1]
    if last.type == "fence":
        yield last.markup
    yield from _HTML_ENDS


def _is_closed(text: str) -> bool:
    """Whether a paragraph after `text` is a paragraph of its own."""
    tokens = _parse(f"{text}\n\n{_AFTER}\n")
    return len(tokens) >= 3 and tokens[-3].level == 0 and tokens[-2].content == _AFTER


def _parse(text: str) -> "list[Token]":
    return _block_parser().parse(text)


@cache
def _block_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
