"""Rules in force: scopes, expiry, breadth, revoking, and the same after a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent.approvals.conftest import Clock
from agent.approvals.schema import create_tables
from fireside_agent.approvals.book import RuleBook
from fireside_agent.approvals.rules import GrantedFrom, Rule, RuleRefusedError
from fireside_agent.approvals.store import RuleStore
from fireside_agent.errors import StorageError
from fireside_agent.store.database import Database
from fireside_agent.tools.tool import Subject

CARD = GrantedFrom("chat", "call")
STATUS = Subject(command="git status -s")


async def grant_status(book: RuleBook, **changes: Any) -> Rule:
    fields: dict[str, Any] = {
        "tool": "bash", "kind": "command_prefix", "value": ("git", "status"), "scope": "always",
        "risk": "execute",
        "granted_from": CARD,
    }  # fmt: skip
    return await book.grant(**{**fields, **changes})


async def rows(database: Database) -> list[Rule]:
    return await RuleStore(database).load()


async def test_a_rule_allows_its_own_tool_only(book: RuleBook, clock: Clock) -> None:
    assert book.allows("bash", STATUS, "chat", clock.now) is None
    rule = await grant_status(book)
    assert rule.words == "Always allow `git status …`"
    assert rule.granted_from == CARD
    assert book.allows("bash", STATUS, "another chat", clock.now) == rule
    assert book.allows("other", STATUS, "chat", clock.now) is None
    assert book.allows("bash", Subject(command="git status; ls"), "chat", clock.now) is None


async def test_a_rule_of_a_chat_holds_there_only(book: RuleBook, clock: Clock, database: Database) -> None:
    rule = await grant_status(book, scope="session")
    assert rule.words == "In this chat, allow `git status …`"
    assert book.allows("bash", STATUS, "chat", clock.now) == rule
    assert book.allows("bash", STATUS, "other", clock.now) is None
    assert await rows(database) == [rule]
    await book.forget_session("other")
    assert book.list() == [rule]
    await book.forget_session("chat")
    assert book.list() == await rows(database) == []


async def test_forgetting_a_chat_keeps_what_it_granted_for_all(book: RuleBook) -> None:
    rule = await grant_status(book)
    await book.forget_session("chat")
    assert book.list() == [rule]


async def test_an_expired_rule_is_ignored_and_then_purged(
    book: RuleBook, clock: Clock, database: Database
) -> None:
    rule = await grant_status(book, expires_at=clock.now + 10)
    assert book.allows("bash", STATUS, "chat", clock.now + 9.9) == rule
    assert book.allows("bash", STATUS, "chat", clock.now + 10) is None
    clock.now += 10
    assert book.list() == []
    assert await book.revoke(rule.id) is None
    assert await rows(database) == []
    with pytest.raises(RuleRefusedError, match="expired"):
        await grant_status(book, expires_at=clock.now)


async def test_whole_tools_are_allowed_unless_they_run_programs(book: RuleBook, clock: Clock) -> None:
    rule = await book.grant(tool="write", kind="tool", scope="always", risk="change", granted_from=CARD)
    assert book.allows("write", Subject(path="/w/a"), "chat", clock.now) == rule
    for scope in ("always", "session"):
        with pytest.raises(RuleRefusedError, match="runs programs"):
            await grant_status(book, kind="tool", value="", scope=scope)
    with pytest.raises(RuleRefusedError, match="env runs the program"):
        await grant_status(book, value=("env", "ls"))
    assert book.list() == [rule]


async def test_the_same_rule_is_made_once(book: RuleBook, database: Database) -> None:
    made = await asyncio.gather(*(grant_status(book) for _ in range(5)))
    assert len({rule.id for rule in made}) == 1
    assert await grant_status(book, scope="session") != made[0]
    assert len(await rows(database)) == 2


async def test_rules_survive_a_restart(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "fireside.db"
    first = Database(path)
    await first.open(create_tables)
    book = RuleBook(RuleStore(first), clock=clock)
    await book.load()
    kept = [
        await grant_status(book),
        await grant_status(book, kind="command", value="make; echo 'é\n'", scope="session"),
        await book.grant(
            tool="edit", kind="path", value="/w/**", scope="always", risk="change", granted_from=CARD,
            expires_at=clock.now + 100,
        ),
    ]  # fmt: skip
    await grant_status(book, value=("ls",), expires_at=clock.now + 5)
    await grant_status(book, value=("pwd",), scope="session", stored=False)
    gone = await grant_status(book, value=("id",))
    assert await book.revoke(gone.id) == gone
    await first.close()

    clock.now += 50
    second = Database(path)
    await second.open(create_tables)
    try:
        again = RuleBook(RuleStore(second), clock=clock)
        await again.load()
        assert again.list() == kept == await rows(second)
        assert again.allows("bash", STATUS, "chat", clock.now) == kept[0]
        assert again.allows("edit", Subject(path="/w/a/b"), "x", clock.now) == kept[2]
    finally:
        await second.close()


async def test_a_temporary_chat_keeps_its_rules_off_the_disk(
    book: RuleBook, clock: Clock, database: Database
) -> None:
    rule = await grant_status(book, scope="session", stored=False)
    assert book.allows("bash", STATUS, "chat", clock.now) == rule
    assert await rows(database) == []
    with pytest.raises(RuleRefusedError, match="temporary"):
        await grant_status(book, stored=False)
    await book.forget_session("chat")
    assert book.list() == []


async def test_revoking_takes_back_one_or_all_of_a_tool(
    book: RuleBook, clock: Clock, database: Database
) -> None:
    status, folder = await grant_status(book), await grant_status(book, value=("ls",), scope="session")
    other = await book.grant(tool="write", kind="tool", scope="always", risk="change", granted_from=CARD)
    assert await book.revoke(status.id) == status
    assert await book.revoke(status.id) is None
    assert book.allows("bash", STATUS, "chat", clock.now) is None
    assert await book.revoke_tool("bash") == [folder]
    assert await book.revoke_tool("bash") == []
    assert book.list() == [other] == await rows(database)


class FailingStore(RuleStore):
    failing = False

    async def add(self, rule: Rule) -> None:
        if self.failing:
            raise StorageError("full")
        await super().add(rule)

    async def remove(self, rule_ids: list[str]) -> None:
        if self.failing:
            raise StorageError("full")
        await super().remove(rule_ids)


async def test_when_the_disk_fails_nothing_more_is_allowed(database: Database, clock: Clock) -> None:
    store = FailingStore(database)
    book = RuleBook(store, clock=clock)
    rule = await grant_status(book)
    store.failing = True
    with pytest.raises(StorageError):
        await grant_status(book, value=("ls",))
    with pytest.raises(StorageError):
        await book.revoke(rule.id)
    assert book.list() == []
    store.failing = False
    assert await book.revoke(rule.id) is None
    assert await rows(database) == []
