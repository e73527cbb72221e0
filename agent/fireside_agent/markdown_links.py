"""Links and images of Markdown, made safe.

Only absolute `http`, `https` and `mailto` links are live. Images are shown where nothing is fetched from
elsewhere: `data:` and our own attachments. All others become links: nothing is fetched without a click.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_LIVE_LINK = re.compile(r"(https?://[^/]|mailto:.)", re.IGNORECASE)
"""A scheme without the two slashes (`https:x`) would be resolved against the page's own address."""

_DATA = r"data:image/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/]+={0,2}"
_PICTURE = re.compile(rf"{_DATA}|/api/attachments/[0-9a-f]{{64}}(?:\?name=[^\s\"'<>&#]*)?")
_ONE_PICTURE = re.compile(rf"!\[([^\[\]\\]*)\]\(\s*({_DATA})\s*\)")


def enable_links(parser: "MarkdownIt") -> None:
    """Let `parser` find bare addresses, and make only safe links and images."""
    from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

    parser.use(gfm_autolink_plugin)
    parser.validateLink = _is_allowed  # pyright: ignore[reportAttributeAccessIssue]
    parser.core.ruler.push("links", _secure_links)


def lone_picture(content: str) -> "Token | None":
    """The image that all of a paragraph's text is, however long its data, or None."""
    from markdown_it.token import Token

    found = _ONE_PICTURE.fullmatch(content.strip())
    if found is None:
        return None
    name = Token("text", "", 0, content=found[1])
    return Token("image", "img", 0, attrs={"src": found[2], "alt": ""}, content=found[1], children=[name])


def _is_allowed(url: str) -> bool:
    return _is_live(url) or _PICTURE.fullmatch(url) is not None


def _is_live(url: str) -> bool:
    return _LIVE_LINK.match(url) is not None


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
            yield from _picture(token, state, inside_link)
        else:
            inside_link = inside_link and token.type != "link_close"
            yield token


def _secured(link: "Token") -> "Token":
    """The opening tag with its guards; a destination that is not live loses its `href` and so its effect."""
    href = str(link.attrs.pop("href", ""))
    if _is_live(href):
        guards = {"rel": "noopener noreferrer", "target": "_blank"}
        link.attrs = {"href": href, **link.attrs, **guards}
    return link


def _picture(image: "Token", state: "StateCore", inside_link: bool) -> "Iterator[Token]":
    """The image if nothing is fetched from elsewhere, else a link to it, named by its alternative text.

    Inside a link, which leads elsewhere already, only the text.
    """
    from markdown_it.token import Token

    url = str(image.attrs.get("src", ""))
    if _PICTURE.fullmatch(url):
        image.attrs = {**image.attrs, "loading": "lazy", "decoding": "async"}
        yield image
        return
    renderer = cast("RendererHTML", state.md.renderer)
    alt = renderer.renderInlineAsText(image.children or [], state.md.options, state.env)
    if inside_link or not _is_live(url):
        yield Token("text", "", 0, content=alt)
        return
    yield _secured(Token("link_open", "a", 1, attrs={"href": url, "class": "image"}))
    yield Token("text", "", 0, content=alt or url)
    yield Token("link_close", "a", -1)
