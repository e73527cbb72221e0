"""What hits say, filters, pages, and searches that are cut short."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.search.stock import Stock, attached, call
from fireside_agent.errors import DatabaseClosedError, StorageError
from fireside_agent.search.articles import Article
from fireside_agent.search.results import Considered, InvalidSearchError, Search, SupersededError
from fireside_agent.search.searcher import Searcher


@dataclass
class Vault:
    """Articles that never change."""

    articles: Sequence[Article]

    async def search_documents(self) -> Sequence[Article]:
        return self.articles


def fill_every_kind(stock: Stock) -> None:
    """One hit of each kind for `ember`, a second apart."""
    stock.session("s", "The ember session", at=10)
    stock.file("hash", "an attached ember")
    stock.message("prompt", "an ember <b>", at=11, attachments=json.dumps([attached("hash", "notes.txt")]))
    stock.message(
        "answer", "nothing", at=12, role="assistant", reasoning="thought of an ember",
        tools=json.dumps([
            call("read", {"path": "x"}, "none"), call("bash", {"command": "grep ember"}, "out", "c2"),
        ]),
    )  # fmt: skip


async def test_every_kind_of_hit(stock: Stock) -> None:
    fill_every_kind(stock)

    hits = {hit.kind: hit for hit in (await stock.find("ember")).hits}

    assert set(hits) == {"title", "message", "attachment", "reasoning", "tool"}
    assert {hit.session_id for hit in hits.values()} == {"s"}
    assert {hit.session_title for hit in hits.values()} == {"The ember session"}
    assert hits["title"].snippet == "The <mark>ember</mark> session"
    assert (hits["title"].message_id, hits["title"].role, hits["title"].created_at) == (None, None, 10)
    assert hits["message"].snippet == "an <mark>ember</mark> &lt;b&gt;"
    assert (hits["message"].message_id, hits["message"].role) == ("prompt", "user")
    assert (hits["attachment"].message_id, hits["attachment"].name) == ("prompt", "notes.txt")
    assert hits["attachment"].snippet == "notes.txt an attached <mark>ember</mark>"
    assert (hits["reasoning"].message_id, hits["reasoning"].role) == ("answer", "assistant")
    tool = hits["tool"]
    assert (tool.message_id, tool.call_id, tool.name, tool.created_at) == ("answer", "c2", "bash", 12)
    assert tool.snippet == "bash grep <mark>ember</mark> out"
    assert await stock.found("bash") == ["answer"]
    assert await stock.found("notes.txt") == ["prompt"]


@pytest.mark.parametrize(
    ("filters", "kinds"),
    [
        ({"kinds": ("title",)}, {"title"}),
        ({"kinds": ("tool", "reasoning")}, {"tool", "reasoning"}),
        ({"role": "user"}, {"message", "attachment"}),
        ({"role": "assistant"}, {"reasoning", "tool"}),
        ({"before": 11}, {"title"}),
        ({"after": 12}, {"reasoning", "tool"}),
        ({"after": 11, "before": 12}, {"message", "attachment"}),
        ({"session_id": "other"}, set()),
        ({"session_id": "s", "kinds": ("title", "message")}, {"title", "message"}),
    ],
)
@pytest.mark.parametrize("query", ["ember", "mbe"])
async def test_filters(stock: Stock, filters: dict[str, Any], kinds: set[str], query: str) -> None:
    fill_every_kind(stock)

    hits = (await stock.find(query, **filters)).hits

    assert {hit.kind for hit in hits} == kinds


async def test_deleted_sessions_are_left_out_and_archived_ones_marked(stock: Stock) -> None:
    for name in ("kept", "archived", "deleted"):
        stock.session(name, f"ember {name}")
        stock.message(f"m-{name}", "ember here", session=name)
    stock.db.execute("UPDATE sessions SET deleted_at = 1 WHERE id = 'deleted'")
    stock.db.execute("UPDATE sessions SET archived = 1 WHERE id = 'archived'")

    found = {(hit.session_id, hit.kind, hit.archived) for hit in (await stock.find("ember")).hits}
    assert found == {
        (name, kind, name == "archived") for name in ("kept", "archived") for kind in ("title", "message")
    }

    stock.db.execute("UPDATE sessions SET deleted_at = NULL WHERE id = 'deleted'")
    assert len((await stock.find("mber")).hits) == 6


async def test_titles_come_first_and_newer_ones_among_equals(stock: Stock) -> None:
    stock.session("s", "ember and coal")
    for number in (2, 3, 1):
        stock.message(f"m{number}", "ember and coal", at=number)

    assert await stock.found("ember") == [None, "m3", "m2", "m1"]
    assert await stock.found("mber") == [None, "m3", "m2", "m1"]


@pytest.mark.parametrize("query", ["ember", "mbe"])
async def test_pages_walk_everything_once_while_messages_come(
    stock: Stock, database_path: Path, query: str
) -> None:
    stock.session()
    for number in range(45):
        stock.message(f"m{number}", "ember " * (number % 7 + 1), at=number)
    before = await stock.found(query)
    seen: list[str | None] = []
    cursor: str | None = None
    other = Searcher(database_path)
    try:
        for page in range(100):
            # A searcher that was started anew has to make the ranking again.
            searcher = other if page % 2 else stock.searcher
            answer = await searcher.search(Search(query=query), cursor, limit=7)
            seen += [hit.message_id for hit in answer.hits]
            stock.message(f"new{page}", "ember " * (page + 1), at=100 + page)
            cursor = answer.cursor
            if cursor is None:
                break
    finally:
        await other.close()

    assert len(before) == 45
    assert sorted(map(str, seen)) == sorted(map(str, before))
    assert seen == before


async def test_a_deleted_message_only_leaves_a_gap_between_pages(stock: Stock) -> None:
    stock.session()
    for number in range(10):
        stock.message(f"m{number}", "ember", at=number)
    first = await stock.find("ember", limit=4)
    stock.db.execute("DELETE FROM messages WHERE id IN ('m5', 'm9')")

    rest = await stock.searcher.search(Search(query="ember"), first.cursor, limit=100)

    assert [hit.message_id for hit in rest.hits] == ["m4", "m3", "m2", "m1", "m0"]
    assert rest.cursor is None


@pytest.mark.parametrize("cursor", ["", "x", "é", "AAAA", "lKFhoWIBAg", "=" * 5])
async def test_a_foreign_cursor_is_refused(stock: Stock, cursor: str) -> None:
    with pytest.raises(InvalidSearchError, match="cursor"):
        await stock.searcher.search(Search(query="ember"), cursor)


async def test_a_cursor_is_good_for_its_own_search_only(stock: Stock) -> None:
    stock.session()
    for number in range(3):
        stock.message(f"m{number}", "ember coal")
    first = await stock.find("ember", limit=1)

    with pytest.raises(InvalidSearchError, match="another search"):
        await stock.searcher.search(Search(query="coal"), first.cursor)
    with pytest.raises(InvalidSearchError, match="another search"):
        await stock.searcher.search(Search(query="ember", role="user"), first.cursor)


@pytest.mark.parametrize("query", ["ember", "mbe"])
async def test_only_the_newest_are_considered_and_that_is_said(
    stock: Stock, database_path: Path, query: str
) -> None:
    stock.session()
    for number in range(8):
        stock.message(f"m{number}", "ember " * (9 - number), at=number)
    searcher = Searcher(database_path, newest=5)

    answer = await searcher.search(Search(query=query))
    await searcher.close()

    assert {hit.message_id for hit in answer.hits} == {"m3", "m4", "m5", "m6", "m7"}
    assert answer.considered == Considered(5, False)
    assert (await stock.find(query)).considered == Considered(5000, True)


async def test_deleted_sessions_do_not_crowd_out_others(stock: Stock, database_path: Path) -> None:
    for name in ("kept", "deleted"):
        stock.session(name)
        for number in range(5):
            stock.message(f"{name}{number}", "ember", session=name)
    stock.db.execute("UPDATE sessions SET deleted_at = 1 WHERE id = 'deleted'")
    searcher = Searcher(database_path, newest=5)

    for query in ("ember", "mbe", "m"):
        answer = await searcher.search(Search(query=query))
        assert len(answer.hits) == (0 if query == "m" else 5)
    await searcher.close()


async def test_memory_articles_are_hits_too(stock: Stock, database_path: Path) -> None:
    stock.session()
    stock.message("m", "ember")
    vault = Vault([
        Article("Fire", "Glow", "an <i>ember</i> glows", 5.0),
        Article("Ember", "", "the lead", 6.0),
        Article("Water", "", "is wet", 7.0),
    ])  # fmt: skip
    searcher = Searcher(database_path, vault)

    everything = await searcher.search(Search(query="ember"))
    only = await searcher.search(Search(query="ember", kinds=("memory",), after=5.5))
    by_role = await searcher.search(Search(query="ember", role="user"))
    await searcher.close()

    assert {(hit.kind, hit.name, hit.heading) for hit in everything.hits} == {
        ("message", None, None), ("memory", "Fire", "Glow"), ("memory", "Ember", ""),
    }  # fmt: skip
    assert [hit.snippet for hit in everything.hits if hit.name == "Fire"] == [
        "an &lt;i&gt;<mark>ember</mark>&lt;/i&gt; glows"
    ]
    assert [(hit.name, hit.created_at) for hit in only.hits] == [("Ember", 6.0)]
    assert [hit.kind for hit in by_role.hits] == ["message"]


@pytest.fixture
async def slow(stock: Stock, database_path: Path) -> AsyncIterator[Searcher]:
    """Takes seconds to look for what is in no article."""
    stock.session()
    stock.message("m", "ember")
    searcher = Searcher(database_path, Vault([Article("Long", "", "é bcd abc " * 20_000, 1.0)] * 5000))
    yield searcher
    await searcher.close()


async def test_a_search_ends_in_time_and_says_so(slow: Searcher, database_path: Path) -> None:
    searcher = Searcher(database_path, Vault([Article("Long", "", "é bcd " * 20_000, 1.0)] * 5000), 0.1)
    began = time.perf_counter()

    answer = await searcher.search(Search(query="ember"))
    await searcher.close()

    assert time.perf_counter() - began < 0.5
    assert [hit.message_id for hit in answer.hits] == ["m"]
    assert not answer.considered.all
    assert "ended after 0.1 s" in (answer.note or "")


async def test_the_database_itself_is_interrupted(stock: Stock, database_path: Path) -> None:
    stock.session()
    for number in range(1500):
        stock.message(f"m{number}", "ember")
    searcher = Searcher(database_path, limit_seconds=0)

    answer = await searcher.search(Search(query="ember"), limit=2000)
    await searcher.close()

    assert 0 < len(answer.hits) < 1500
    assert not answer.considered.all
    assert answer.note is not None
    assert len((await stock.find("ember", limit=2000)).hits) == 1500


async def test_a_newer_search_of_the_client_takes_over(slow: Searcher) -> None:
    older = asyncio.create_task(slow.search(Search(query="abcd"), client="one"))
    other = asyncio.create_task(slow.search(Search(query="ember", role="user"), client="two"))
    await asyncio.sleep(0.05)
    began = time.perf_counter()

    answer = await slow.search(Search(query="nothing", role="user"), client="one")

    assert answer.hits == []
    assert time.perf_counter() - began < 0.25
    with pytest.raises(SupersededError):
        await older
    assert [hit.message_id for hit in (await other).hits] == ["m"]


async def test_a_search_that_nobody_waits_for_is_ended(slow: Searcher) -> None:
    task = asyncio.create_task(slow.search(Search(query="abcd")))
    await asyncio.sleep(0.05)
    task.cancel()
    began = time.perf_counter()

    await slow.search(Search(query="nothing", role="user"))

    assert time.perf_counter() - began < 0.25
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_closing_ends_what_runs(slow: Searcher) -> None:
    task = asyncio.create_task(slow.search(Search(query="abcd")))
    await asyncio.sleep(0.05)
    began = time.perf_counter()

    await slow.close()
    await slow.close()

    assert time.perf_counter() - began < 0.25
    with pytest.raises(DatabaseClosedError):
        await task
    with pytest.raises(DatabaseClosedError):
        await slow.search(Search(query="ember"))


async def test_a_database_that_cannot_be_read_is_a_storage_error(tmp_path: Path) -> None:
    path = tmp_path / "broken.db"
    path.write_bytes(b"not a database" * 100)
    searcher = Searcher(path)

    with pytest.raises(StorageError, match="cannot be searched"):
        await searcher.search(Search(query="ember"))
    await searcher.close()


async def test_half_a_character_in_arguments_is_shown_as_such(stock: Stock) -> None:
    stock.session()
    stock.message("m", tools=json.dumps([call("bash", '{"command": "ember \\ud83d"}')]))

    hits = (await stock.find("ember")).hits

    assert [hit.snippet.rstrip("\ufffd") for hit in hits] == ["bash <mark>ember</mark> "]
