"""Markdown to HTML that is safe to insert as it is.

CommonMark with tables and strikethrough. HTML in the text is shown, not obeyed; only absolute `http`,
`https` and `mailto` links are live; images become links, so that nothing is fetched without a click;
table alignment is a class, because the page's content security policy forbids `style=`.
"""

import html
import logging
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

logger = logging.getLogger(__name__)

LIVE_LINK = re.compile(r"(https?://[^/]|mailto:.)", re.IGNORECASE)
"""A scheme without the two slashes (`https:x`) would be resolved against the page's own address."""

MAX_INLINE_CHARACTERS = 10_000
"""Inline markup in one paragraph beyond this is shown as plain text: its parser takes quadratic time."""

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
    """A top-level block before its inline markup is parsed. `end` is the line after its last one."""

    tokens: "list[Token]"
    end: int


def render_blocks(text: str) -> list[str]:
    """Render a whole text: one HTML string for each top-level block."""
    references = References({})
    return [render_block(block, references) for block in outline(text, references)]


def outline(text: str, references: References) -> list[Block]:
    """Find the top-level blocks of `text` and add its link definitions to `references`."""
    try:
        tokens = _block_parser().parse(text, {"references": references})
    except Exception:
        # A fault of the parser, whatever it is, must not make a chat unreadable for good.
        logger.exception("a text of %d characters is shown without markup", len(text))
        tokens = [_as_it_is(text)]
    return [Block(group, (group[0].map or [0, 0])[1]) for group in _top_level(tokens)]


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
    env = {"references": references}
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
    parser.validateLink = _is_live  # pyright: ignore[reportAttributeAccessIssue]
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
    parser.core.ruler.push("links", _secure_links)
    parser.core.ruler.push("alignment", _align_by_class)
    parser.core.ruler.disable(["normalize", "block"])
    return parser


def _is_live(url: str) -> bool:
    return LIVE_LINK.match(url) is not None


def _parse_inline(state: "StateCore") -> None:
    for token in state.tokens:
        if token.type != "inline":
            continue
        token.children = []
        if len(token.content) > MAX_INLINE_CHARACTERS:
            token.children.append(_text(token.content))
        else:
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def _secure_links(state: "StateCore") -> None:
    for token in state.tokens:
        if token.children:
            token.children = list(_with_safe_links(token.children, state))


def _with_safe_links(tokens: "list[Token]", state: "StateCore") -> "Iterator[Token]":
    inside_link = False
    for token in tokens:
        if token.type == "link_open":
            inside_link = True
            yield _secured(token)
        elif token.type == "image":
            yield from _as_link(token, state, inside_link)
        else:
            inside_link = inside_link and token.type != "link_close"
            yield token


def _secured(link: "Token") -> "Token":
    """The opening tag with its guards; an empty destination loses its `href` and so its effect."""
    href = str(link.attrs.pop("href", ""))
    if _is_live(href):
        guards = {"rel": "noopener noreferrer", "target": "_blank"}
        link.attrs = {"href": href, **link.attrs, **guards}
    return link


def _as_link(image: "Token", state: "StateCore", inside_link: bool) -> "Iterator[Token]":
    """A link to the image, named by its alternative text; inside a link only the text."""
    from markdown_it.token import Token

    renderer = cast("RendererHTML", state.md.renderer)
    alt = renderer.renderInlineAsText(image.children or [], state.md.options, state.env)
    url = str(image.attrs.get("src", ""))
    if inside_link or not _is_live(url):
        yield _text(alt)
        return
    yield _secured(Token("link_open", "a", 1, attrs={"href": url, "class": "image"}))
    yield _text(alt or url)
    yield Token("link_close", "a", -1)


def _text(content: str) -> "Token":
    from markdown_it.token import Token

    return Token("text", "", 0, content=content)


def _as_it_is(text: str) -> "Token":
    from markdown_it.token import Token

    return Token("code_block", "", 0, content=text, map=[0, text.count("\n") + 1])


def _align_by_class(state: "StateCore") -> None:
    for token in state.tokens:
        style = token.attrs.pop("style", None)
        if style is not None:
            token.attrs["class"] = "align-" + str(style).rpartition(":")[2]
