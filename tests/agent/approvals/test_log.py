"""What was asked: kept once, answered once, good for exactly the call that was shown."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent.approvals.conftest import Clock
from agent.approvals.schema import create_tables
from fireside_agent.approvals.log import DAY_SECONDS, ApprovalLog, OtherCallError, Question
from fireside_agent.store.database import Database
from fireside_agent.tools.tool import Preview, Subject


def question(call_id: str = "c1", **changes: Any) -> Question:
    fields: dict[str, Any] = {
        "session_id": "chat", "message_id": "m1", "call_id": call_id, "tool": "bash",
        "subject": Subject(command="rm -r build"), "arguments": {"command": "rm -r build", "timeout": 5},
        "question": "It runs a program.", "preview": Preview("command", "rm -r build"),
    }  # fmt: skip
    return Question(**{**fields, **changes})


async def test_a_question_is_stored_whole(log: ApprovalLog, clock: Clock) -> None:
    asked = await log.ask(question(arguments={"text": "half \ud83d, é", "n": 2**63}))
    assert asked.arguments == {"text": "half \ud83d, é", "n": 2**63}
    assert (asked.preview, asked.subject) == (question().preview, question().subject)
    assert (asked.decision, asked.created_at, asked.settled_at) == (None, clock.now, None)
    assert await log.open("chat") == [asked]
    assert await log.open("other") == []


async def test_asking_again_gives_what_is_stored(log: ApprovalLog, clock: Clock) -> None:
    first = await log.ask(question())
    clock.now += 60
    assert await log.ask(question(preview=None, arguments={"timeout": 5, "command": "rm -r build"})) == first
    await log.settle("chat", "m1", "c1", "deny", "person", "not now")
    again = await log.ask(question())
    assert (again.decision, again.who, again.why, again.settled_at) == (
        "deny",
        "person",
        "not now",
        clock.now,
    )
    assert await log.open("chat") == []


@pytest.mark.parametrize(
    "changes", [{"arguments": {"command": "rm -r /"}}, {"tool": "write"}, {"arguments": {}}]
)
async def test_an_answer_is_not_for_other_arguments(log: ApprovalLog, changes: dict[str, Any]) -> None:
    await log.ask(question())
    await log.settle("chat", "m1", "c1", "allow", "person")
    with pytest.raises(OtherCallError):
        await log.ask(question(**changes))
    assert [approval.arguments for approval in await log.recent(1)] == [question().arguments]


async def test_an_answer_is_for_one_call(log: ApprovalLog) -> None:
    await log.ask(question("c1"))
    await log.ask(question("c2"))
    await log.ask(question("c1", message_id="m2"))
    await log.ask(question("c1", session_id="other"))
    assert await log.settle("chat", "m1", "c1", "allow", "person")
    assert not await log.settle("chat", "m1", "c1", "allow", "person")
    assert not await log.settle("chat", "m1", "c1", "deny", "other person")
    assert not await log.settle("chat", "m1", "unknown", "allow", "person")
    assert not await log.settle("unknown", "m1", "c2", "allow", "person")
    assert [(each.message_id, each.call_id) for each in await log.open("chat")] == [
        ("m1", "c2"),
        ("m2", "c1"),
    ]
    assert len(await log.open("other")) == 1
    assert (await log.ask(question("c1"))).decision == "allow"


async def test_of_many_answers_at_once_one_counts(
    log: ApprovalLog, database: Database, tmp_path: Path
) -> None:
    second = Database(tmp_path / "fireside.db")
    await second.open(create_tables)
    try:
        logs = [log, ApprovalLog(second)]
        asked = await asyncio.gather(*(logs[n % 2].ask(question()) for n in range(10)))
        assert len({approval.id for approval in asked}) == 1
        names = [f"person {n}" for n in range(20)]
        answers = [
            logs[n % 2].settle("chat", "m1", "c1", "allow" if n % 3 else "deny", name)
            for n, name in enumerate(names)
        ]
        won = [name for name, done in zip(names, await asyncio.gather(*answers), strict=True) if done]
        assert won == [(await log.ask(question())).who]
    finally:
        await second.close()


async def test_an_open_question_survives_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        database = Database(tmp_path / "fireside.db")
        await database.open(create_tables)
        log = ApprovalLog(database)
        await log.ask(question())
        assert [each.call_id for each in await log.open("chat")] == ["c1"]
        await database.close()


async def test_the_recent_ones_come_newest_first(log: ApprovalLog, clock: Clock) -> None:
    start = clock.now
    for age, call_id in ((40, "old"), (29, "older"), (1, "new")):
        clock.now = start - age * DAY_SECONDS
        await log.ask(question(call_id))
    clock.now = start
    assert [each.call_id for each in await log.recent(30)] == ["new", "older"]
