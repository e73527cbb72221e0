"""Markdown to HTML that is safe to insert as it is.

CommonMark with tables, strikethrough, task lists, footnotes, formulas and bare addresses. HTML in the text
is shown, not obeyed; links and images are as `markdown_links` says; headings begin at the second level;
alignment is a class, because the page's content security policy forbids `style=`.
"""

import html
import logging
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fireside_agent.markdown_extras import enable_extras, take_task
from fireside_agent.markdown_formulas import GROWING, enable_formulas
from fireside_agent.markdown_links import enable_links, lone_picture
from fireside_agent.markdown_notes import enable_notes, keys_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

logger = logging.getLogger(__name__)

MAX_INLINE_CHARACTERS = 10_000
"""Inline markup in one paragraph beyond this is shown as plain text: its parser takes quadratic time."""

_LAST_TEXT = "last text"
"""In a parser's `env`: the inline token with which the text ends for now."""

Reference = Mapping[str, Any]


class References(dict[str, Reference]):
    """Link reference definitions of a text, on top of those `settled` in the text before it.

    The first definition of a label wins. `asked` collects the labels that were looked up, found or not.
    """

    def __init__(self, settled: Mapping[str, Reference]) -> None:
        super().__init__()
        self.settled = settled
        self.asked: set[str] = set()

    def __contains__(self, label: object) -> bool:
        return super().__contains__(label) or label in self.settled

    def get(self, label: str, default: Any = None, /) -> Any:
        self.asked.add(label)
        return self.settled.get(label) or super().get(label, default)

    def own(self, label: str) -> Reference | None:
        """The label's definition in the text itself."""
        return super().get(label)


class Block(NamedTuple):
    """A top-level block before its inline markup is parsed.

    `end` is the line after its last one; `growing`: the text ends within it, and goes on.
    """

    tokens: "list[Token]"
    end: int
    growing: bool


def render_blocks(text: str, growing: bool = False) -> list[str]:
    """Render a whole text: one HTML string for each top-level block.

    `growing`: more of the text will come, so a formula that is not complete at its end is one all the same.
    """
    references = References({})
    return [render_block(block, references) for block in outline(text, references, growing)]


def outline(text: str, references: References, growing: bool = False) -> list[Block]:
    """Find the top-level blocks of `text` and add its link definitions and notes to `references`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    env: dict[str, Any] = {"references": references, GROWING: growing}
    try:
        tokens = _block_parser().parse(text, env)
    except Exception:
        # A fault of the parser, whatever it is, must not make a chat unreadable for good.
        logger.exception("a text of %d characters is shown without markup", len(text))
        tokens = [_as_it_is(text)]
    for key in keys_of(env):
        references.setdefault(key, {"href": "", "title": ""})
    lines = text.count("\n") + (not text.endswith("\n"))
    groups = [(group, (group[0].map or [0, 0])[1]) for group in _top_level(tokens)]
    return [Block(group, end, growing and end >= lines) for group, end in groups]


def render_block(block: Block, references: References) -> str:
    """The block's HTML. Its tokens are used up: outline again to render again."""
    try:
        return _render(block, references)
    except Exception:
        logger.exception("a block of %d tokens is shown without markup", len(block.tokens))
        text = "\n".join(token.content for token in block.tokens if token.content)
        return f"<pre>{html.escape(text)}</pre>\n"


def _render(block: Block, references: References) -> str:
    from markdown_it.rules_core import StateCore

    parser = _inline_parser()
    texts = [token for token in block.tokens if token.type == "inline"]
    env = {"references": references, _LAST_TEXT: texts[-1] if texts and block.growing else None}
    state = StateCore("", parser, env, block.tokens)
    parser.core.process(state)
    return str(parser.renderer.render(state.tokens, parser.options, env))


def _top_level(tokens: "list[Token]") -> "Iterator[list[Token]]":
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield group
            group = []


_MAX_NESTING = 120
"""What is nested deeper is not shown, so it is more than anybody writes; a list takes two levels. The
parser is recursive, which is what bounds it."""


def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    options = {"html": False, "maxNesting": _MAX_NESTING}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    for enable in (enable_links, enable_formulas, enable_notes, enable_extras):
        enable(parser)
    return parser


@cache
def _block_parser() -> "MarkdownIt":
    parser = _parser()
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _inline_parser() -> "MarkdownIt":
    parser = _parser()
    parser.core.ruler.at("inline", _parse_inline)
    parser.core.ruler.disable(["normalize", "block"])
    return parser


def _parse_inline(state: "StateCore") -> None:
    for index, token in enumerate(state.tokens):
        if token.type != "inline":
            continue
        box = take_task(state.tokens, index)
        token.children = [box] if box else []
        state.env[GROWING] = token is state.env[_LAST_TEXT]
        if len(token.content) <= MAX_INLINE_CHARACTERS:
            state.md.inline.parse(token.content, state.md, state.env, token.children)
        else:
            token.children.append(lone_picture(token.content) or _text(token.content))


def _text(content: str) -> "Token":
    from markdown_it.token import Token

    return Token("text", "", 0, content=content)


def _as_it_is(text: str) -> "Token":
    from markdown_it.token import Token

    return Token("code_block", "", 0, content=text, map=[0, text.count("\n") + 1])
