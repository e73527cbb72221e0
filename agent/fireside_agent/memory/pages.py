"""An article as a person reads it: rendered, with links that lead to other articles."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from fireside_agent.markdown import render_blocks
from fireside_agent.memory.articles import Article, Wikilink
from fireside_agent.memory.links import Links, OutboundLink

ADDRESS = "#/memory/"
"""Of the page's view of an article. A heading follows after `//`, which no name holds."""

# A link is rendered as one private character on each side of its number: Markdown leaves it as it is.
_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
_MARK_CHARACTERS = re.compile(f"[{_OPEN}{_CLOSE}]")
_TAG = re.compile(r"(<[^>]*>)")


@dataclass(frozen=True)
class Page:
    """`blocks` are HTML that is safe to insert, without front matter and without a heading of the title."""

    article: Article
    blocks: list[str]
    links: Links


def page_of(article: Article, links: Links) -> Page:
    """Render an article whose links are `links`."""
    shown = list(zip(article.wikilinks, links.outbound, strict=True))
    blocks = [_insert_links(block, article, shown) for block in render_blocks(_marked(article))]
    return Page(article, blocks, links)


def address_of(name: str, heading: str = "") -> str:
    """The address of an article's view."""
    place = f"{name}//{heading}" if heading else name
    return ADDRESS + quote(place, safe="/")


def _marked(article: Article) -> str:
    """The article's text from its body on, each link a mark."""
    start = _text_start(article)
    pieces: list[str] = []
    for index, link in enumerate(article.wikilinks):
        if link.start < start:
            continue
        pieces += [_plain(article.text[start : link.start]), f"{_OPEN}{index}{_CLOSE}"]
        start = link.end
    return "".join([*pieces, _plain(article.text[start:])])


def _text_start(article: Article) -> int:
    """Behind the front matter, and behind the first heading where that is the title, which stands above."""
    start = article.body_start
    first = article.headings[0] if article.headings else None
    if (
        first is None
        or first.level != 1
        or first.title != article.title
        or article.text[start : first.start].strip()
    ):
        return start
    end = article.text.find("\n", first.start)
    return len(article.text) if end < 0 else end + 1


def _plain(text: str) -> str:
    return _MARK_CHARACTERS.sub("\ufffd", text)


def _insert_links(block: str, article: Article, shown: Sequence[tuple[Wikilink, OutboundLink]]) -> str:
    """Links in place of their marks; what was written where there can be none: in a tag, a link or code."""
    if _OPEN not in block:
        return block

    def source(found: re.Match[str]) -> str:
        link = shown[int(found[1])][0]
        return html.escape(article.text[link.start : link.end])

    def label(found: re.Match[str]) -> str:
        return html.escape(shown[int(found[1])][0].label)

    def anchor(found: re.Match[str]) -> str:
        return _anchor(shown[int(found[1])][1], article.name)

    pieces: list[str] = []
    in_code = in_link = 0
    for piece in _TAG.split(block):
        if piece.startswith("<"):
            in_code += piece.startswith("<code") - piece.startswith("</code")
            in_link += piece.startswith(("<a ", "<a>")) - piece.startswith("</a>")
            pieces.append(_MARK.sub(label, piece))
        else:
            pieces.append(_MARK.sub(source if in_code else label if in_link else anchor, piece))
    return "".join(pieces)


def _anchor(link: OutboundLink, own: str) -> str:
    """A broken link leads where the article would be, for whoever wants to write it."""
    name = link.article or link.target or own
    heading = "" if link.heading.startswith("^") or link.broken else link.heading
    address = html.escape(address_of(name, heading))
    words = html.escape(link.label)
    if link.broken is None:
        return f'<a class="wikilink" href="{address}">{words}</a>'
    why = html.escape(link.broken)
    return f'<a class="wikilink wikilink--broken" href="{address}" title="{why}">{words}</a>'
