"""What Markdown's own elements need in a page: boxes of tasks, headings below the page's own, named code."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_TASK = re.compile(r"\[([ xX])\][ \t]+(?=\S)")
_NAME = re.compile(r"(?:^|[\s{,])(?:title|file_?name|file|name)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s,}]+))")


def enable_extras(parser: "MarkdownIt") -> None:
    """Let `parser` read and render them."""
    parser.core.ruler.push("headings", _lower_headings)
    parser.core.ruler.push("alignment", _align_by_class)
    parser.add_render_rule("fence", _render_fence)
    parser.add_render_rule("task", _render_task)


def take_task(tokens: "Sequence[Token]", index: int) -> "Token | None":
    """Cut the box off the text at `index` if that begins a list's item; returns the box."""
    from markdown_it.token import Token

    if index < 2 or tokens[index - 2].type != "list_item_open":
        return None
    found = _TASK.match(tokens[index].content)
    if found is None:
        return None
    tokens[index].content = tokens[index].content[found.end() :]
    tokens[index - 2].attrs["class"] = "task"
    return Token("task", "", 0, content=found[1].strip())


def language_and_name(info: str) -> tuple[str, str]:
    """What opens a code block: `python title="a.py"`, `python name=a.py`, `python:a.py`."""
    info = info.strip()
    found = _NAME.search(info)
    name = next((group for group in found.groups() if group), "") if found else ""
    language = info.split(maxsplit=1)[0] if info else ""
    if found and language and found.start() < len(language):
        language = info[: found.start()]
    before, colon, after = language.partition(":")
    if colon and before[:1].isalnum() and "." in after and not name:
        return before, after
    return language, name


def _lower_headings(state: "StateCore") -> None:
    """The page's title is its only heading of the first level."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"


def _align_by_class(state: "StateCore") -> None:
    for token in state.tokens:
        style = token.attrs.pop("style", None)
        if style is not None:
            token.attrs["class"] = "align-" + str(style).rpartition(":")[2]


def _render_fence(_: Any, tokens: "Sequence[Token]", index: int, *__: Any) -> str:
    from markdown_it.common.utils import escapeHtml, unescapeAll

    language, name = language_and_name(unescapeAll(tokens[index].info))
    kind = f' class="language-{escapeHtml(language)}"' if language else ""
    named = f' data-name="{escapeHtml(name)}"' if name else ""
    return f"<pre><code{kind}{named}>{escapeHtml(tokens[index].content)}</code></pre>\n"


def _render_task(_: Any, tokens: "Sequence[Token]", index: int, *__: Any) -> str:
    done = bool(tokens[index].content)
    state, words = ("task__box task__box--done", "Done") if done else ("task__box", "To do")
    return f'<span class="{state}" role="img" aria-label="{words}"></span>'
