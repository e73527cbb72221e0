"""Markdown to safe HTML, whole and while it is being written."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.parser_block import ParserBlock
from markdown_it.parser_inline import ParserInline

from fireside_agent import markdown, markdown_stream
from fireside_agent.markdown import MAX_INLINE_CHARACTERS, render_blocks
from fireside_agent.markdown_stream import Change, StreamRenderer

# What can change the meaning of text before it, or be changed by text after it, whole and in pieces.
ATOMS = [
    *("a", "b", " ", "  ", "    ", "\t", "\n", "\n\n", "\r", "\r\n", "\0", "é", "\U0001f642", "\u2028"),
    *("- ", "* ", "+", "1. ", "2) ", "1.", "> ", "#", "# ", "===", "---", "***", "\\", "  \n"),
    *("```", "~~~", "`", "```py\n", "    code\n", "|", "a|b\n", "-|-\n", "|:-:|", "-|-"),
    *("[a]", "[b]", "[A][b]", "[a]: /x\n", "[a]: http://x.example", "[a]:\n", "[b]: <http://y.example>\n"),
    *(
        "\n[a]: http://z.example 't'\n\n",
        '"title"',
        "'t\n",
        "](http://l.example)",
        "![",
        "![i](http://i.example)",
    ),
    *("*", "**", "_", "~~", "&amp;", "&lt", "<b>", "<!--", "<http://u.example>", "http://plain.example"),
    *(
        "$",
        "$$",
        "$$\n",
        "\\(",
        "\\)",
        "\\[",
        "\\]",
        "$x^2$",
        "\\frac",
        "{",
        "}",
        "\\begin{align}\n",
        "\\end{align}",
    ),
    *("[^a]", "[^a]: ", "[^b]:\n", "    more\n", "[ ] ", "[x] ", "www.w.example", "kit@x.example", "$5 "),
]
LINKLESS = [atom for atom in ATOMS if not any(sign in atom for sign in ("[", "http", "www", "@", "$", "\\"))]
PIECES = st.lists(st.sampled_from(ATOMS), max_size=30)

LIVE = re.compile(r"(https?://|mailto:)", re.IGNORECASE)
ALLOWED_TAGS = set(
    "p h2 h3 h4 h5 h6 em strong s code pre a ul ol li blockquote hr br table thead tbody tr th td".split()
)
ALLOWED_TAGS |= set(
    "span div sup button math mrow mi mo mn mfrac mtable mtr mtd mtext mspace msup msub".split()
)
ALLOWED_ATTRIBUTES = {
    "a": {"href", "title", "rel", "target", "class"}, "code": {"class", "title", "data-name"},
    "ol": {"start"}, "td": {"class"}, "th": {"class"}, "li": {"class"},
    "span": {"class", "role", "aria-label"},
    "div": {"class", "role", "aria-label", "data-note-text"}, "sup": {"class"},
    "button": {"type", "class", "aria-label", "data-note", "data-note-back"},
    "math": {"display", "dir", "alttext"}, "mo": {"stretchy", "fence", "lspace", "rspace"},
    "mtable": {"displaystyle"},
    "mtd": {"class"}, "mspace": {"width"},
}  # fmt: skip


class Inspector(HTMLParser):
    """Fails on any tag or attribute that could do something by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[dict[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED_TAGS
        assert {name for name, _ in attrs} <= ALLOWED_ATTRIBUTES.get(tag, set())
        if tag == "a" and attrs:
            self.links.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def inspect(text: str) -> Inspector:
    inspector = Inspector()
    inspector.feed("".join(render_blocks(text)))
    inspector.close()
    for link in inspector.links:
        assert LIVE.match(link["href"] or "")
        assert (link["rel"], link["target"]) == ("noopener noreferrer", "_blank")
    return inspector


def apply(shown: list[str], change: Change | None) -> list[str]:
    return shown if change is None else shown[: change.start] + change.html


# Safety


@pytest.mark.parametrize(
    "payload",
    [
        '<img src=x onerror="window.__x=1">',
        '<svg onload="window.__x=1"></svg>',
        "[a](javascript:window.__x=1)",
        "[b](JaVaScRiPt&colon;window.__x=1)",
        "<javascript:window.__x=1>",
        "[c](data:text/html,<script>opener.__x=1</script>)",
        '```svg\n<svg xmlns="http://www.w3.org/2000/svg"><script>window.__x=1</script></svg>\n```',
        "```html\n<script>parent.__x=1</script>\n```",
        '<details open ontoggle="window.__x=1">t</details>',
        "</textarea><script>window.__x=1</script>",
        "`<b>` stays text",
        "[d](vbscript:x)",
        "[e](file:///etc/passwd)",
        "[f](//evil.example)",
        "[g](/api/status)",
        "[h](#top)",
        "[i]()",
        "[j](<>)",
        "[k](https:evil)",
        "[l](\\javascript:x)",
        "[m]\n\n[m]: javascript:window.__x=1",
        '```x" onload="window.__x=1\ny\n```',
        "![](javascript:window.__x=1)",
        "![]()",
        "[![x](y)](z)",
    ],
)
def test_payloads_are_inert(payload: str) -> None:
    assert inspect(payload).links == []


@pytest.mark.parametrize("payload", ['<b onclick="x">', "<!-- c -->", "&lt;script>"])
def test_html_in_the_text_is_shown(payload: str) -> None:
    shown = inspect(payload).text.strip()
    assert shown == payload.replace("&lt;", "<")


@given(PIECES)
@settings(max_examples=300, deadline=None)
def test_nothing_live_comes_out_of_nasty_text(pieces: list[str]) -> None:
    inspect("".join(pieces))


@pytest.mark.parametrize("url", ["http://x.example/", "HTTPS://x.example/", "mailto:kit@x.example"])
def test_absolute_links_are_live_and_guarded(url: str) -> None:
    [link] = inspect(f'[text]({url} "title")').links
    assert link["href"] == url
    assert link["title"] == "title"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("![a *cat*](http://x.example/c.png)", "a cat"),
        ("![](http://x.example/c.png)", "http://x.example/c.png"),
    ],
)
def test_an_image_is_a_link_named_by_its_text(text: str, name: str) -> None:
    inspector = inspect(text)
    assert [link["href"] for link in inspector.links] == ["http://x.example/c.png"]
    assert inspector.text.strip() == name


def test_an_image_inside_a_link_is_its_text() -> None:
    inspector = inspect("[![build](http://x.example/badge.svg) status](http://x.example/ci)")
    assert [link["href"] for link in inspector.links] == ["http://x.example/ci"]
    assert inspector.text.strip() == "build status"


# Rendering


def test_columns_are_aligned_by_class() -> None:
    [table] = render_blocks("|a|b|c|d|\n|:-|:-:|-:|-|\n|1|2|3|4|\n")
    classes = re.findall(r"<t[hd](?: class=\"([a-z-]+)\")?>", table)
    assert classes == ["align-left", "align-center", "align-right", ""] * 2
    assert "style" not in table


def test_blocks_are_the_top_level_elements() -> None:
    blocks = render_blocks("# H\n\npara\n\n- a\n\n  b\n- c\n\n> q\n\n---\n\n```py\nx\n```\n\n    y\n")
    tags = [re.match(r"<(\w+)", block).group(1) for block in blocks]  # type: ignore[union-attr]
    assert tags == ["h2", "p", "ul", "blockquote", "hr", "pre", "pre"]


@given(st.lists(st.sampled_from(LINKLESS), max_size=30))
@example(["```", "'t", "\n"])
@settings(max_examples=300, deadline=None)
def test_joined_blocks_equal_the_plain_renderer(pieces: list[str]) -> None:
    text = "".join(pieces)
    plain = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).render(text)
    assert "".join(render_blocks(text)) == in_the_page(plain)


def in_the_page(plain: str) -> str:
    """The plain renderer's HTML with alignment by class and headings one level lower."""
    by_class = re.sub(r'style="text-align:(\w+)"', r'class="align-\1"', plain)
    return re.sub(r"(</?h)([1-5])(?=>)", lambda tag: tag[1] + str(int(tag[2]) + 1), by_class)


def test_a_huge_paragraph_is_shown_without_markup() -> None:
    text = "[a][" * MAX_INLINE_CHARACTERS
    assert render_blocks(text) == [f"<p>{text}</p>\n"]


@pytest.mark.parametrize("parser", [ParserBlock, ParserInline])
def test_a_fault_of_the_parser_leaves_the_text_readable(
    monkeypatch: pytest.MonkeyPatch, parser: type[Any]
) -> None:
    def fail(*args: Any) -> None:
        raise IndexError

    monkeypatch.setattr(parser, "parse", fail)
    text = "*one* <b>\n\ntwo"
    assert inspect(text).text.split() == ["*one*", "<b>", "two"]
    renderer = StreamRenderer()
    for character in text:
        renderer.feed(character)
    assert renderer.blocks == render_blocks(text, growing=True)


# While it is being written


@given(PIECES)
@example(["[a]\n\nb\n\n", "[a]: http://x.example", ".com\n\n", "c\n\n", "[a]: http://y.example\n\nd"])
@example(["[a]\n\nb\n\n", "[a]: http://x.example", ".com\n\nc\n\nd\n\ne"])
@example(["[a]\n\nb\n\n", "[a]: http://x.example", " no definition"])
@example(["[a]: http://x.example\n", "'title\n", "goes on'\n\n", "[a]\n"])
@example(["- a\n\n", "b\n", "===", "\n- c\n\n  d"])
@example(["a|b\n", "-|", "-\n", "1|2\n", "\n", "x"])
@example(["```\ncode\n", "``", "`\n", "after"])
@example(["> a\n", "lazy\n", "\n", "b\r", "\nc\r", "d"])
@example(["$$\n", "# h\n", "x", "\n\n", "y"])
@example(["$$\n", "# h\n", "x\n$$", "\n", "y"])
@example(["> $$\n> x\n", "y\n", "$$\n\nz"])
@example(["a[^a]\n\n", "b\n\n", "[^a]", ": note\n\n    more\n", "\nc"])
@example(["- \\[\n  x\n", "y\n", "\\]\n", "\nz"])
@settings(max_examples=600, deadline=None)
def test_at_every_moment_the_shown_blocks_equal_the_rendered_text(pieces: list[str]) -> None:
    renderer, shown, text = StreamRenderer(), list[str](), ""
    for piece in pieces:
        text += piece
        shown = apply(shown, renderer.feed(piece))
        assert shown == renderer.blocks == render_blocks(text, growing=True)


@given(st.text(st.sampled_from("ab[]:*`>-=|#1. \n\r()<!/\\\"'$^{"), max_size=80), st.integers(1, 9))
@settings(max_examples=300, deadline=None)
def test_chunks_of_any_size_come_to_the_same(text: str, size: int) -> None:
    renderer, shown = StreamRenderer(), list[str]()
    for start in range(0, len(text), size):
        shown = apply(shown, renderer.feed(text[start : start + size]))
    assert shown == render_blocks(text, growing=True)


def test_nothing_is_sent_when_nothing_changes() -> None:
    renderer = StreamRenderer()
    assert renderer.feed("word") == Change(0, ["<p>word</p>\n"])
    assert renderer.feed("\n") is None
    assert renderer.feed("\nnext") == Change(1, ["<p>next</p>\n"])


def test_a_late_definition_reaches_back_to_the_block_that_asked_for_it() -> None:
    renderer = StreamRenderer()
    renderer.feed("one\n\n[a]\n\nthree\n\nfour\n\n")
    change = renderer.feed("[a]: http://x.example\n")
    assert change is not None
    assert change.start == 1
    assert "http://x.example" in change.html[0]


def test_the_work_for_a_long_answer_grows_with_its_length_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def characters_parsed(paragraphs: int) -> int:
        parsed = 0

        def counting(text: str, *args: Any, **named: Any) -> Any:
            nonlocal parsed
            parsed += len(text)
            return markdown.outline(text, *args, **named)

        monkeypatch.setattr(markdown_stream, "outline", counting)
        renderer = StreamRenderer()
        for number in range(paragraphs):
            for piece in (f"Paragraph {number} ", "asks for [a], ", f"[b{number}] ", "and ends.\n\n"):
                renderer.feed(piece)
            renderer.feed(f"[b{number}]: http://x.example/{number}\n\n")
        return parsed

    assert characters_parsed(400) < 4.5 * characters_parsed(100)


def test_text_is_shown_however_deeply_people_nest_it() -> None:
    items = "\n".join("  " * depth + f"- item{depth}" for depth in range(50))
    assert "item49" in "".join(render_blocks(items))
    assert "SECRET" in "".join(render_blocks("> " * 100 + "SECRET"))
