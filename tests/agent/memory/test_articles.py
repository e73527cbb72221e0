"""What is read out of an article's Markdown."""

from __future__ import annotations

import pytest

from fireside_agent.memory.articles import Article, parse_fields

BREAD = """---
title: Bread
aliases: [Loaf, "Daily, bread"]
category:
  - Food
  - "[[Baking|Things baked]]"
born: 1990-01-02
url: https://example.org/a:b
note: |
  two
  lines
# a comment
---
# Bread

The lead.
Second line.

## History #

Old.

### Egypt

Very old.

## History of rye

```sh
# no heading
## nor this
```

### Egypt

~~~
## neither
~~~
"""


def article(text: str, name: str = "Folder/Name") -> Article:
    return Article(name, text, 0.0)


def test_front_matter_becomes_fields() -> None:
    bread = article(BREAD)
    assert bread.fields == {
        "title": "Bread",
        "aliases": ["Loaf", "Daily, bread"],
        "category": ["Food", "[[Baking|Things baked]]"],
        "born": "1990-01-02",
        "url": "https://example.org/a:b",
        "note": "two\nlines",
    }
    assert bread.kind("category") == ["Food", "Baking"]
    assert bread.aliases == ["Loaf", "Daily, bread"]


@pytest.mark.parametrize(
    "text", ["", "---", "---\n", "---\nnever closed: 1\n", "text\n---\na: b\n---\n", "----\na: b\n----\n"]
)
def test_other_texts_have_no_front_matter(text: str) -> None:
    assert article(text).fields == {}


def test_front_matter_with_other_line_ends_and_a_byte_order_mark() -> None:
    assert article("\ufeff---\r\ntitle: X\r\ntags: [a, b]\r\n---\r\ntext").fields == {
        "title": "X",
        "tags": ["a", "b"],
    }
    assert article("---\n---\ntext").lead == "text"
    assert parse_fields("- lonely\n  nested: x\n: y\n") == {"nested": "x"} or parse_fields("- lonely") == {}


def test_headings_have_paths_lines_and_ends() -> None:
    found = article(BREAD).headings
    lines = BREAD.split("\n")
    assert [(each.level, each.path) for each in found] == [
        (1, "Bread"),
        (2, "History"),
        (3, "History > Egypt"),
        (2, "History of rye"),
        (3, "History of rye > Egypt"),
    ]
    assert [lines[each.line - 1].strip("# ") for each in found] == [
        "Bread",
        "History",
        "Egypt",
        "History of rye",
        "Egypt",
    ]
    assert BREAD[found[1].start : found[1].end] == "## History #\n\nOld.\n\n### Egypt\n\nVery old.\n\n"
    assert found[0].end == len(BREAD)


def test_titles_come_from_front_matter_then_heading_then_file() -> None:
    assert article("---\ntitle: A\n---\n# B").title == "A"
    assert article("text\n\n## `B` #\n").title == "`B`"
    assert article("#not a heading\n```\n# code\n```").title == "Name"
    assert article("---\ntitle:\n---\n#\n").title == "Name"


def test_the_lead_stands_before_the_first_section() -> None:
    assert article(BREAD).lead == "The lead.\nSecond line."
    assert article("before\n\n# Title\nafter").lead == "before"
    assert article("## Only\nsection").lead == ""
    assert article("all of it").lead == "all of it"


def test_sections_are_found_by_title_or_path() -> None:
    bread = article(BREAD)
    assert [each.line for each in bread.section("history > egypt")] == [bread.headings[2].line]
    assert [each.line for each in bread.section("## History > Egypt")] == [bread.headings[2].line]
    assert len(bread.section("Egypt")) == 2
    assert bread.section("Nowhere") == []
    assert article("## A > B\n").section("A > B")[0].title == "A > B"


LINKS = """---
related: "[[Front]]"
---
# T [[Head]]
[[A]] [[B|label]] [[C#Part]] [[#Own]] [[D#Part|x]] ![[picture.png]] ![[Embedded]] [[ E ]] [[v1.2]]
| [[Table\\|cell]] | `[[code]]` ``[[code` ]]`` [[ ]] [[un
closed]] [text](url) \\`

    [[Indented]]

```
[[fenced]]
```
> ```
> [[quoted fence]]
> ```
`open [[F]]

`[[G]]
"""


def test_wikilinks_outside_code() -> None:
    found = article(LINKS).wikilinks
    assert [(each.words, each.label) for each in found] == [
        ("Front", "Front"),
        ("Head", "Head"),
        ("A", "A"),
        ("B", "label"),
        ("C#Part", "C#Part"),
        ("#Own", "#Own"),
        ("D#Part", "x"),
        ("Embedded", "Embedded"),
        ("E", "E"),
        ("v1.2", "v1.2"),
        ("Table", "cell"),
        ("Indented", "Indented"),
        ("F", "F"),
        ("G", "G"),
    ]
    lines = LINKS.split("\n")
    assert all(f"[[{each.label}" in lines[each.line - 1] for each in found[:1])
    assert [lines[each.line - 1].startswith("`open") for each in found if each.words == "F"] == [True]


@pytest.mark.parametrize(
    "piece", ["`", "` `` ", "[[", "[[a|", "# ", "#", "---\n", "```\n", "> ", "\n\n", " ", "~~~`"]
)
def test_hostile_texts_are_read_in_linear_time(piece: str) -> None:
    import time

    began = time.process_time()
    text = article(piece * (200_000 // len(piece)))
    assert len(text.visible) == len(text.text)
    _ = text.headings, text.lead, text.title, text.fields, text.wikilinks
    assert time.process_time() - began < 1.5
