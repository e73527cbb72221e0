"""Any string is a query, and any text is found by its words."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agent.search.stock import Stock
from fireside_agent.search.query import MAX_TERMS, parse

TEXTS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from('ab"*-^:()é日本\x00 ')), max_size=60
)
ANYTHING = st.one_of(
    st.text(st.characters(), max_size=40),
    st.text(st.sampled_from('"*-^:(){}+~ANDORNEAR日🔥\x00\ud800 ab'), max_size=40),
)
SHARED = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@SHARED
@given(text=TEXTS)
@example("\x00foremost \\u0000")
@example("00\U00020000")
async def test_any_text_is_found_by_any_of_its_words(stock: Stock, text: str) -> None:
    stock.db.execute("DELETE FROM messages")
    stock.message("m", text, session="s")
    if not stock.db.execute("SELECT 1 FROM sessions").fetchone():
        stock.session()

    for word in set(re.findall(r"[^\W_]{3,}", text)):
        assert await stock.found(word) == ["m"], word


@SHARED
@given(query=ANYTHING)
async def test_any_query_is_answered(stock: Stock, query: str) -> None:
    if not stock.db.execute("SELECT 1 FROM sessions").fetchone():
        stock.session("s", "a title")
        stock.message("m", 'a text with 日本 and 🔥 near "quotes"')

    answer = await stock.find(query)

    if not parse(query)[0]:
        assert answer.hits == []
        assert answer.note is not None


@pytest.mark.parametrize(
    "query",
    ["", " ", '"', '""', "*", "-", "^", ":", "(", "...", "\x00", "\ud800", "*" * 10_000, '"' * 10_001],
)
async def test_nothing_to_search_for_is_said(stock: Stock, query: str) -> None:
    answer = await stock.find(query)

    assert answer.hits == []
    assert "nothing to search for" in (answer.note or "")


async def test_very_long_queries_are_answered(stock: Stock) -> None:
    stock.session()
    stock.message("m", "ember " * 3000)

    cut = await stock.find("ember " * 2000)
    assert [hit.message_id for hit in cut.hits] == ["m"]
    assert "first 2000 characters" in (cut.note or "")
    assert await stock.found("x" * 10_000) == []
    many = await stock.find(" ".join(f"word{number}" for number in range(100)))
    assert f"first {MAX_TERMS} words" in (many.note or "")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("naive", "accents"), ("NAÏVE", "accents"), ("nai\u0308ve", "accents"), ("resume", "accents"),
        ("emb", "words"), ("ember gl", "words"), ("glow emb", "words"), ("gl ember", None),
        ('"ember glow"', "words"), ('"glow ember"', None), ('"ember gl', None), ("“ember glow”", "words"),
        ("and or not", "operators"), ("NOT", "operators"), ("near", None), ("NEAR(or, not)", None),
        ("日本", "cjk"), ("本", "cjk"), ("語", "cjk"), ("本語", "cjk"), ("検索する", "cjk"), ("語検", None),
        ("が", "kana"), ("か", None), ("한국", "hangul"), ("국어", "hangul"), ("日", "cjk"),
        ("検索 日本", "cjk"), ("Python日本語", "cjk"), ("Py日本", "cjk"),
        ("🔥", "emoji"), ("👩\u200d👧", "emoji"),
        ("foo_bar()", "code"), ("foo_ba", "code"), ("oo_ba", "code"), ("->", "code"), ("C#", "code"),
        ("std::vec", "code"), ("a[0]", "code"), ("glowing", None), ("C", "code"), ("()", "code"),
        ("nd_a_nu", "nul"),
    ],
)  # fmt: skip
async def test_what_finds_what(stock: Stock, query: str, found: str | None) -> None:
    stock.session()
    for name, text in {
        "nul": "beyond\x00and_a_nul \\u0000",
        "accents": "a naïve RE\u0301SUME\u0301",
        "words": "Ember, glow on",
        "operators": "and/or, not",
        "cjk": "日本語を検索する Python で",
        "kana": "が",
        "hangul": "한국어입니다",
        "emoji": "fire 🔥 family 👩\u200d👧",
        "code": "foo_bar(p->a[0]) in C# is std::vector, main()",
    }.items():
        stock.message(name, text)

    assert await stock.found(query) == ([found] if found else [])


async def test_whole_words_come_before_parts_of_words(stock: Stock) -> None:
    stock.session()
    stock.message("part", "smart smart smart", at=2)
    stock.message("word", "the art of it, " + "and more " * 50, at=1)

    assert await stock.found("art of") == ["word"]
    assert await stock.found("art") == ["word", "part"]


async def test_a_word_and_a_part_of_a_word_meet(stock: Stock) -> None:
    stock.session()
    stock.message("m", "café with a re-ranker")

    assert await stock.found("anker cafe") == ["m"]
    assert await stock.found("cafe anker") == ["m"]
