"""HTML trees. `lxml` has no type declarations: what is used of it is declared here."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol, cast

# Not the whole page, which some scripts show only when they are ready.
_HIDDEN = (
    "//script|//style|//noscript|//template|//svg|//iframe|//object|//head/*[not(self::title)]"
    "|//body//*[@hidden or contains(translate(@style, ' ', ''), 'display:none')]"
)
_BLOCKS = frozenset(
    "address article aside blockquote br caption dd details div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr legend li main nav ol option p pre "
    "section summary table td th title tr ul".split()
)


class Element(Protocol):
    """An element of a page."""

    tag: str
    text: str | None
    tail: str | None

    def get(self, key: str) -> str | None: ...
    def findtext(self, path: str) -> str | None: ...
    def xpath(self, path: str) -> "list[Element]": ...
    def text_content(self) -> str: ...
    def drop_tree(self) -> None: ...


def parse_html(html: str) -> Element | None:
    """The tree of a page, however broken; None if there is nothing in it."""
    lxml_html, etree = cast(Any, import_module("lxml.html")), cast(Any, import_module("lxml.etree"))
    # As bytes: text with an XML declaration is refused. The parser's encoding beats what the page says.
    parser = lxml_html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    data = html.replace("\0", "").encode("utf-8", "replace")
    try:
        return lxml_html.document_fromstring(data, parser=parser)
    except etree.ParserError:
        return None


def parse_visible(html: str) -> Element | None:
    """The tree without what a browser does not show: there orders to a model may hide from people."""
    tree = parse_html(html)
    if tree is not None:
        for element in tree.xpath(_HIDDEN):
            element.drop_tree()
    return tree


def visible_text(html: str) -> str:
    """What a browser would show, one line for each block."""
    tree = parse_visible(html)
    if tree is None:
        return ""
    pieces: list[str] = []
    for event, element in _walk(tree):
        if element.tag in _BLOCKS:
            pieces.append("\n")
        pieces.append((element.text if event == "start" else element.tail) or "")
    return "\n".join(" ".join(line.split()) for line in "".join(pieces).split("\n"))


def plain_text(markup: str) -> str:
    """A short piece of markup without its tags."""
    tree = parse_html(markup)
    return "" if tree is None else str(tree.text_content())


def with_class(name: str) -> str:
    """An XPath condition: the element has this class."""
    return f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"


def _walk(tree: Element) -> Iterator[tuple[str, Element]]:
    etree = cast(Any, import_module("lxml.etree"))
    return etree.iterwalk(tree, events=("start", "end"))
