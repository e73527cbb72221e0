"""Search: what is found, and in which order."""

from __future__ import annotations

import time

import pytest

from fireside_agent.memory import folder
from fireside_agent.memory.articles import Article
from fireside_agent.memory.errors import InvalidQuery
from fireside_agent.memory.search import LIMIT, search, split_terms
from fireside_agent.memory.vault import Vault


def library(**texts: str) -> dict[str, Article]:
    return {name: Article(name, text, 0.0) for name, text in texts.items()}


def found(articles: dict[str, Article], query: str) -> list[str]:
    return [result.name for result in search(articles, query).results]


@pytest.mark.parametrize("query", ["", "  ", "\n\t"])
def test_an_empty_query_is_an_error(query: str) -> None:
    with pytest.raises(InvalidQuery, match="empty"):
        split_terms(query)


def test_stop_words_are_dropped_unless_there_is_nothing_else() -> None:
    assert split_terms("the history of the bread") == ["history", "bread"]
    assert split_terms("The who") == ["the", "who"]
    assert split_terms("Für Élise") == ["elise"]
    assert split_terms("++") == ["++"]
    assert split_terms("東京tower 東京") == ["東京", "tower"]


def test_more_matched_terms_come_first_then_the_title_then_the_count() -> None:
    articles = library(
        often="rye " * 30,
        both="rye and wheat",
        rye="about something",
        once="rye",
        none="barley",
    )
    assert found(articles, "rye wheat") == ["both", "rye", "often", "once"]
    assert found(articles, "rye") == ["rye", "often", "both", "once"]


def test_an_answer_says_what_was_found_where() -> None:
    text = "---\ntitle: Brot\n---\nRye at first\n## History\n### Egypt\nno\nOld RYE, rye and bryer\n"
    answer = search(library(a=text), "the rye brot")
    assert (answer.terms, answer.total) == (["rye", "brot"], 1)
    result = answer.results[0]
    assert (result.title, result.terms, result.occurrences) == ("Brot", ["rye", "brot"], 4)
    assert [(hit.line, hit.heading, hit.text) for hit in result.hits] == [
        (2, "", "title: Brot"),
        (4, "", "Rye at first"),
        (8, "History > Egypt", "Old RYE, rye and bryer"),
    ]


def test_words_match_at_their_beginning() -> None:
    articles = library(a="baking bread", b="unbaked", c="foo_bar()")
    assert found(articles, "bak") == ["a"]
    assert found(articles, "foo_bar()") == ["c"]
    assert found(articles, "oo_bar") == []


def test_accents_and_case_are_ignored() -> None:
    articles = library(a="Crème brûlée", b="STRASSE", c="ÅNGSTRÖM")
    assert found(articles, "creme BRULEE") == ["a"]
    assert found(articles, "straße") == ["b"]
    assert found(articles, "angstrom") == ["c"]
    # Two letters of Japanese that differ by a mark are two letters.
    assert found(library(a="かき"), "がき") == []


def test_scripts_without_spaces_match_anywhere() -> None:
    articles = library(a="昨日東京に行った", b="한국어를배운다", c="京都", d="สวัสดีครับ")
    assert found(articles, "東京") == ["a"]
    assert found(articles, "국어") == ["b"]
    assert found(articles, "京") == ["a", "c"] or found(articles, "京") == ["c", "a"]
    assert found(articles, "ดี") == ["d"]
    assert found(library(a="東京tower"), "tower") == ["a"]


@pytest.mark.parametrize(
    "query", ['"', "a AND (b", "*", "-x", "🍞", "東", ".*+?[", "\\", "' OR 1=1 --", "\ud800", "\0"]
)
def test_any_query_is_answered(query: str) -> None:
    articles = library(a=f"before {query} after")
    assert found(articles, query) == ["a"]


def test_at_most_fifty_articles_of_all_that_are_counted() -> None:
    answer = search({str(n): Article(str(n), "rye", 0.0) for n in range(70)}, "rye")
    assert (len(answer.results), answer.total) == (LIMIT, 70) == (50, 70)


def test_a_long_line_is_cut_around_the_word() -> None:
    hit = search(library(a="x " * 5_000 + "rye" + " y" * 5_000), "rye").results[0].hits[0]
    assert "rye" in hit.text
    assert len(hit.text) <= 245


async def test_two_thousand_articles_are_fast(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "SETTLED_NS", 0)

    words = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor".split()
    for n in range(2_000):
        lines = (
            f"{words[(n + k) % 12]} {words[(n * k) % 12]} [[Note {(n * 7 + k) % 2_000}]]" for k in range(8)
        )
        path = vault.root / "articles" / f"Note {n}.md"
        path.write_text("\n".join([f"# Note {n}", *lines]))
    await vault.links("Note 1")
    await vault.search("lorem")
    for work in (
        vault.search("tempor elit"),
        vault.status(),
        vault.summaries(),
        vault.read("Note 7"),
        vault.links("Note 7"),
    ):
        began = time.process_time()
        await work
        assert time.process_time() - began < 1.0
