"""Footnotes, tasks, images, addresses, headings and names of code; and CommonMark as it was."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from agent.test_markdown import in_the_page
from fireside_agent.markdown import MAX_INLINE_CHARACTERS, render_blocks
from fireside_agent.markdown_extras import language_and_name
from fireside_agent.markdown_stream import StreamRenderer

PNG = "data:image/png;base64,iVBORw0KGgo="
SHA = "a" * 64


def html(text: str) -> str:
    return "".join(render_blocks(text))


# Footnotes


def test_a_note_is_named_by_its_label_and_reached_by_buttons() -> None:
    text, note = render_blocks("One[^1] and again[^1].\n\n[^1]: It *is*.\n\n    - more\n")
    assert (
        len(re.findall('<button type="button" data-note="1" aria-label="Footnote 1">1</button>', text)) == 2
    )
    assert 'data-note-text="1"' in note
    assert "<em>is</em>" in note
    assert "<li>more</li>" in note


def test_what_has_no_note_is_text() -> None:
    assert html("a[^1] [^ b]") == "<p>a[^1] [^ b]</p>\n"


def test_a_label_cannot_break_out() -> None:
    shown = html('a[^"><script>]\n\n[^"><script>]: b')
    assert "<script" not in shown
    assert shown.count("<button") == 2


def test_a_note_that_comes_late_reaches_back() -> None:
    renderer = StreamRenderer()
    renderer.feed("one[^a]\n\ntwo\n\nthree\n\n")
    assert "[^a]" in renderer.blocks[0]
    change = renderer.feed("[^a]: note")
    assert change is not None
    assert change.start == 0
    assert 'data-note="a"' in change.html[0]


# Tasks


def test_boxes_of_tasks_are_pictures_with_names() -> None:
    shown = html("- [x] did *it*\n- [ ] do it\n- [X]no\n\n1. [x] and\n\n   more\n")
    assert re.findall(r'role="img" aria-label="([^"]+)"', shown) == ["Done", "To do", "Done"]
    assert shown.count('<li class="task">') == 3
    assert "[X]no" in shown
    assert html("[x] alone") == "<p>[x] alone</p>\n"


# Images and addresses


@pytest.mark.parametrize("url", [PNG, f"/api/attachments/{SHA}", f"/api/attachments/{SHA}?name=a.png"])
def test_images_of_our_own_are_shown(url: str) -> None:
    assert html(f'![a *cat*]({url} "title")') == (
        f'<p><img src="{url}" alt="a cat" title="title" loading="lazy" decoding="async" /></p>\n'
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://x.example/c.png",
        "//x.example/c.png",
        "/c.png",
        "/api/status",
        "/api/attachments/../status",
        f"/api/attachments/{SHA}/x",
        "data:image/svg+xml;base64,AAAA",
        "data:text/html;base64,AAAA",
        'data:image/png;base64,A"onload=x',
        "blob:x",
    ],
)
def test_no_other_image_is_loaded(url: str) -> None:
    assert "<img" not in html(f"![a]({url})")
    assert "<img" not in html(f"![a](<{url}>)")


def test_an_image_of_our_own_is_no_link() -> None:
    assert "href" not in html(f"[a]({PNG}) [b](/api/attachments/{SHA})")


def test_a_picture_longer_than_a_paragraph_may_be_is_shown() -> None:
    data = "data:image/png;base64," + "A" * (2 * MAX_INLINE_CHARACTERS)
    assert f'<img src="{data}" alt="big"' in html(f"![big]({data})")


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("see https://x.example/a_b(c).", "https://x.example/a_b(c)"),
        ("see www.x.example now", "http://www.x.example"),
        ("write kit@x.example!", "mailto:kit@x.example"),
        ("**https://x.example**", "https://x.example"),
    ],
)
def test_bare_addresses_are_links(text: str, href: str) -> None:
    assert re.findall('href="([^"]*)" rel="noopener noreferrer" target="_blank"', html(text)) == [href]


@pytest.mark.parametrize(
    "text", ["`https://x.example`", "ftp://x.example", "javascript:x", "xmpp:a@b.example", "https:x"]
)
def test_others_are_text(text: str) -> None:
    assert "<a" not in html(text)


# Code


@pytest.mark.parametrize(
    ("info", "language", "name"),
    [
        ("python", "python", ""),
        ('python title="my app.py"', "python", "my app.py"),
        ("js name=src/a.js", "js", "src/a.js"),
        ("rust filename='a.rs' x", "rust", "a.rs"),
        ("python:app/main.py", "python", "app/main.py"),
        ("python {title=a.py}", "python", "a.py"),
        ("title=a.py", "", "a.py"),
        ("c++", "c++", ""),
        ("", "", ""),
    ],
)
def test_the_line_that_opens_code_names_its_language_and_file(info: str, language: str, name: str) -> None:
    assert language_and_name(info) == (language, name)


def test_a_name_cannot_break_out() -> None:
    shown = html("```py title='\"><script>'\nx\n```")
    assert "<script" not in shown
    assert 'data-name="&quot;&gt;&lt;script&gt;"' in shown


# CommonMark (0.31) stays what it was


@pytest.mark.parametrize(
    "text",
    [
        "\\!\\\"\\#\\$\\%\\&\\'\\(\\)\\*\\+\\,\\-\\.\\/\\:\\;\\<\\=\\>\\?\\@\\[\\\\\\]\\^\\_\\`\\{\\|\\}\\~",
        "\\*not emphasized*\n\\[not a link](/foo)\n\\`not code`\n1\\. no list\n\\* no list\n\\# no heading",
        '\\[foo]: /url "not a reference"',
        "`` \\[\\` ``",
        "    \\[\\]",
        "~~~\n\\[\\]\n~~~",
        "[foo]: <bar>(baz)\n\n[foo]",
        "[foo][bar]\n\n[bar]: http://x.example 'title'",
        "*foo [bar* baz]",
        "![foo *bar*][]\n",
        "[link \\[bar](http://x.example)",
        "[foo*]: http://x.example\n\n*[foo*]",
        "- [foo]: http://x.example\n\n[foo]",
        "[[*foo* bar]]\n\n[*foo* bar]: http://x.example",
        "\\\\[\\*a*]",
        "a $ b $ c",
        "# a #\n\n####### b\n\nc\n===",
        "- a\n- b\n\n\n- c",
        "1.  A paragraph\n    with two lines.\n\n        indented code\n\n    > A block quote.",
        "[a]: http://x.example\n[^]: no note\n\n[a]",
    ],
)
def test_commonmark_stays_true(text: str) -> None:
    plain = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).render(text)
    plain = plain.replace('<img src="" alt="foo bar" />', "foo bar")
    guarded = re.sub(
        r'(<a href="[^"]*"(?: title="[^"]*")?)>', r'\1 rel="noopener noreferrer" target="_blank">', plain
    )
    assert html(text) == in_the_page(guarded)
