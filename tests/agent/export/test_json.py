"""Our JSON: what goes out comes in again as it was, and what does not hold together stays out."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.export.place import START, Place, message, session
from agent.harness import purge_all
from fireside_agent.attachments.store import AttachmentStore
from fireside_agent.export.exporting import Exporter, Wanted
from fireside_agent.export.importing import Importer
from fireside_agent.export.json_format import Document, as_new, decode, encode
from fireside_agent.export.records import MessageRecord, WholeSession, write_sessions
from fireside_agent.messages import (
    Attachment,
    FileChange,
    Receipt,
    SamplingChoice,
    SessionSettings,
    Settled,
    Summary,
    ToolCall,
)
from fireside_agent.store.database import Database
from fireside_agent.store.migrations import migrate

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"


def comparable(exported: bytes) -> Any:
    """An export with every id replaced by the place where it first occurs, and without export time."""
    document = json.loads(exported)
    del document["exported_at"]
    ids = [document["session"]["id"], *(m["id"] for m in document["messages"])]
    ids += [summary["id"] for summary in document["summaries"]]
    places = {value: f"#{place}" for place, value in enumerate(ids)}

    def replaced(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: replaced(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [replaced(item) for item in value]
        return places[value] if key in ("id", "parent_id", "leaf_id", "upto_id") and value else value

    return replaced(document)


async def seventy_messages(place: Place) -> WholeSession:
    """A chat of 70 messages with all that a message can have; the last two are an edited prompt's branch."""
    picture = await place.attachments.add(b"name,size\nA,1\n", "tab\u00e9lle.csv", "text/csv")
    call = ToolCall(
        call_id="call_1", name="bash", arguments='{"command": "ls"}', status="done", result="a\nb\n", ms=12,
        settled=Settled("allow", "person"),
        changes=[FileChange(path="/w/a", before=None, after="abc", diff="+1\n", undone=True)],
    )  # fmt: skip
    failed = msgspec.structs.replace(call, call_id="call_2", status="failed", result="no", changes=[])
    messages: list[MessageRecord] = []
    for n in range(68):
        parent = messages[-1].id if messages else None
        created = START + n / 8
        role = "assistant" if n % 2 else "user"
        messages.append(message(f"m{n}", parent, role=role, created_at=created, client_id=f"client-{n}"))
    messages[0] = msgspec.structs.replace(messages[0], attachments=[picture], text=f"{FAMILY} \0 hello")
    messages[1] = msgspec.structs.replace(
        messages[1], tools=[call, failed], reasoning="why not", reasoning_ms=90, text=""
    )
    messages[5] = msgspec.structs.replace(
        messages[5],
        receipt=Receipt(model="m", decode_tps=12.345678901234567, sampling=SamplingChoice(temperature=0.1)),
    )
    messages[7] = msgspec.structs.replace(messages[7], status="error", error="it broke", text="")
    messages.append(message("edit", "m65", role="user", text="edited", steering=True))
    messages.append(message("last", "edit", text="the newest"))
    whole = session(
        messages,
        title=f"Chat {FAMILY}",
        titled_by="person",
        pinned=True,
        settings=SessionSettings(instructions="Be brief", tools=["read"], sampling=SamplingChoice(seed=7)),
    )
    summary = Summary(id="sum", upto_id="m40", text="so far", created_at=START, messages=40)
    return msgspec.structs.replace(whole, summaries=[summary])


async def test_a_session_comes_back_as_it_was(place: Place) -> None:
    whole = await seventy_messages(place)
    await place.add(whole)
    first = await place.export("id=s1&format=json")
    document = json.loads(first)
    assert [m["id"] for m in document["messages"]] == [m.id for m in whole.messages]
    assert base64.b64decode(document["attachments"][0]["data"]) == b"name,size\nA,1\n"

    await place.sessions.delete("s1")
    await purge_all(place.database)
    assert await place.attachments.collect(kept_seconds=-1) == 1
    answer = await place.load(first)

    (imported,) = answer["imported"]
    assert (imported["title"], imported["messages"], answer["skipped"]) == (f"Chat {FAMILY}", 70, [])
    assert imported["id"] != "s1"
    assert place.changes == [1]
    opened = await place.sessions.load(imported["id"])
    assert opened is not None
    assert len(opened.messages) == 70
    shown = {m.id: m for m in opened.messages}[opened.leaf_id or ""]
    assert shown.text == "the newest"
    assert (await place.attachments.find([whole.messages[0].attachments[0].sha256]))[0].size == 14

    second = await place.export(f"id={imported['id']}&format=json")
    assert comparable(second) == comparable(first)
    assert not {m["id"] for m in json.loads(second)["messages"]} & {m["id"] for m in document["messages"]}


async def test_importing_twice_gives_two_sessions(place: Place) -> None:
    await place.add(await seventy_messages(place))
    exported = await place.export("id=s1&format=json")
    one, two = await asyncio.gather(place.load(exported), place.load(exported))
    assert one["imported"][0]["id"] != two["imported"][0]["id"]
    assert [len(place.everything()[table]) for table in ("sessions", "messages", "files")] == [3, 210, 1]


async def test_what_was_unfinished_is_closed(place: Place) -> None:
    asking = ToolCall(call_id="c", name="bash", arguments="{}", status="asking", question="It runs.")
    await place.add(
        session(
            [
                message("p", None),
                message("a", "p", status="running", tools=[asking]),
                message("q", "a", role="user", status="queued"),
            ]
        )
    )
    answer = await place.load(await place.export("id=s1&format=json"))
    opened = await place.sessions.load(answer["imported"][0]["id"])
    assert opened is not None
    assert [m.status for m in opened.messages] == ["done", "interrupted", "interrupted"]
    (call,) = opened.messages[1].tools
    assert (call.status, call.question) == ("aborted", None)
    assert "not finished" in call.result
    assert await place.sessions.asking() == ["s1"]


async def test_a_prompt_that_waited_is_stored_before_its_parent(place: Place) -> None:
    """Its parent becomes the answer that is stored after it: children may come first in a file."""
    await place.add(session([message("p", None), message("q", "a", role="user"), message("a", "p")]))
    first = await place.export("id=s1&format=json")
    answer = await place.load(first)
    again = await place.export(f"id={answer['imported'][0]['id']}&format=json")
    assert comparable(again) == comparable(first)


async def test_a_lost_attachment_does_not_lose_the_chat(place: Place) -> None:
    whole = await seventy_messages(place)
    await place.add(whole)
    place.attachments.path(whole.messages[0].attachments[0].sha256).unlink()
    exported = await place.export("id=s1&format=json")
    assert json.loads(exported)["attachments"][0]["data"] is None
    answer = await place.load(exported)
    again = await place.export(f"id={answer['imported'][0]['id']}&format=json")
    assert comparable(again) == comparable(exported)


Change = Callable[[Any], None]


def assign(value: Any, *where: Any) -> Change:
    def change(document: Any) -> None:
        for step in where[:-1]:
            document = document[step]
        document[where[-1]] = value

    return change


def repeat_first(document: Any) -> None:
    document["messages"].append(document["messages"][0])


DAMAGED: dict[str, tuple[Change, str]] = {
    "another version": (assign(2, "version"), "version 2"),
    "another format": (assign("else", "format"), "not a chat that Fireside exported"),
    "dangling parent": (assign("nobody", "messages", 1, "parent_id"), "'nobody', which is not in the file"),
    "own parent": (assign("m1", "messages", 1, "parent_id"), "follows itself"),
    "circle": (assign("m2", "messages", 0, "parent_id"), "follows itself"),
    "id twice": (repeat_first, "'m0' occurs 2 times"),
    "client id twice": (assign("client-0", "messages", 1, "client_id"), "client id"),
    "dangling leaf": (assign("nobody", "session", "leaf_id"), "shown last"),
    "dangling summary": (assign("nobody", "summaries", 0, "upto_id"), "a summary ends"),
    "wrong role": (assign("system", "messages", 0, "role"), "$.messages[0].role"),
    "wrong type": (assign([], "messages", 0, "text"), "$.messages[0].text"),
    "no time": (assign(-1, "messages", 0, "created_at"), "$.messages[0].created_at"),
    "huge number": (assign(2**70, "messages", 0, "reasoning_ms"), "milliseconds"),
    "changed attachment": (assign("AAAA", "attachments", 0, "data"), "another hash"),
    "missing attachment": (assign([], "attachments"), "is not in the file"),
    "no messages": (lambda document: document.pop("messages"), "messages"),
}


@pytest.mark.parametrize("name", DAMAGED)
async def test_what_does_not_hold_together_writes_nothing(place: Place, name: str) -> None:
    await place.add(await seventy_messages(place))
    document = json.loads(await place.export("id=s1&format=json"))
    change, words = DAMAGED[name]
    change(document)
    before = place.everything()
    status, answer = await place.send(json.dumps(document).encode())
    assert status == 400, answer
    assert words in answer["error"]["message"]
    assert answer["error"].keys() == {"message", "type", "code", "param"}
    assert place.changes == []
    assert place.everything() == before


async def test_garbage_writes_nothing(place: Place) -> None:
    await place.add(await seventy_messages(place))
    exported = await place.export("id=s1&format=json")
    before = place.everything()
    pieces = [exported[:end] for end in (0, 1, len(exported) // 2, len(exported) - 1)]
    nested = [b"[" * 1_000_000, b'{"chat":' * 100_000, b'{"format":' + b"[" * 50_000 + b"]" * 50_000 + b"}"]
    text = exported.replace(b"text of m3", b"\\ud800 alone")
    other = [b"null", b"3", b"[]", b"[1]", b'"x"', b"{}", b"\xff\xfe", b"[{}]", b'[{"format": 1}]', text]
    for data in (*pieces, *nested, *other):
        status, answer = await place.send(data)
        assert (status, answer["error"]["code"]) == (400, "unreadable_file"), data[:40]
    assert place.everything() == before


async def test_an_attachment_that_could_not_be_uploaded_is_not_imported(place: Place) -> None:
    await place.add(await seventy_messages(place))
    document = json.loads(await place.export("id=s1&format=json"))
    program = b"\x7fELF\0\0"
    sha256 = hashlib.sha256(program).hexdigest()
    document["attachments"][0].update(sha256=sha256, data=base64.b64encode(program).decode())
    document["messages"][0]["attachments"][0].update(sha256=sha256, size=len(program))
    before = place.everything()
    status, answer = await place.send(json.dumps(document).encode())
    assert status == 400
    assert "only those can be attached" in answer["error"]["message"]
    assert place.everything() == before


async def test_several_files_are_imported_together_or_not_at_all(place: Place) -> None:
    await place.add(await seventy_messages(place))
    exported = await place.export("id=s1&format=json")
    before = place.everything()
    with pytest.raises(Exception, match="not JSON"):
        await Importer(place.attachments).load([exported, exported[:100]])
    assert place.everything() == before


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
times = st.floats(0, 2e11, allow_nan=False)


@st.composite
def trees(draw: st.DrawFn) -> WholeSession:
    """Any session: several roots, any order of parents and children."""
    count = draw(st.integers(1, 12))
    messages: list[MessageRecord] = []
    for n in range(count):
        parent = draw(st.sampled_from([None, *(m.id for m in messages)]))
        call = ToolCall(
            call_id=draw(words), name=draw(words), arguments=draw(words), status="denied",
            result=draw(words), ms=draw(st.none() | st.integers(0, 2**40)),
        )  # fmt: skip
        messages.append(
            message(
                f"m{n}", parent,
                role=draw(st.sampled_from(["user", "assistant"])),
                status=draw(st.sampled_from(["done", "aborted", "interrupted", "error"])),
                text=draw(words), reasoning=draw(words), error=draw(st.none() | words),
                created_at=draw(times), modified_at=draw(times), steering=draw(st.booleans()),
                tools=[call] * draw(st.integers(0, 2)),
                attachments=[Attachment(sha256="0" * 64, name=draw(words), media_type="a/b", size=3)]
                * draw(st.integers(0, 1)),
            )
        )  # fmt: skip
    messages = list(draw(st.permutations(messages)))
    return session(
        messages,
        title=draw(words),
        leaf_id=draw(st.sampled_from(messages)).id,
        archived=draw(st.booleans()),
        settings=SessionSettings(instructions=draw(words)),
    )


class Loop:
    """A database that stays open over many examples."""

    def __init__(self, folder: Path) -> None:
        self.runner = asyncio.Runner()
        self.database = Database(folder / "any.db")
        self.attachments = AttachmentStore(self.database, folder / "attachments")

    async def round_trip(self, whole: WholeSession) -> tuple[bytes, bytes]:
        def replace_all(connection: sqlite3.Connection) -> None:
            for table in ("messages", "sessions"):
                connection.execute(f"DELETE FROM {table}")
            write_sessions(connection, [whole])

        await self.database.write(replace_all)
        exporter = Exporter(self.database, self.attachments)
        first = await exporter.one("s1", Wanted("json"))
        assert first is not None
        outcome = await Importer(self.attachments).load([first.data])
        second = await exporter.one(outcome.imported[0].id, Wanted("json"))
        assert second is not None
        return first.data, second.data


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    made = Loop(tmp_path)
    with made.runner:
        made.runner.run(made.database.open(migrate))
        yield made
        made.runner.run(made.database.close())


@given(whole=trees())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_tree_round_trips(loop: Loop, whole: WholeSession) -> None:
    first, second = loop.runner.run(loop.round_trip(whole))
    assert json.loads(first)["messages"][0]["text"] == whole.messages[0].text
    assert comparable(second) == comparable(first)


def test_a_file_of_ours_is_its_structs_and_nothing_else() -> None:
    whole = session([message("a", None)])
    document = decode(encode(whole, [], START))
    assert msgspec.to_builtins(document).keys() == set(Document.__struct_fields__)
    assert as_new(document).messages[0].text == "text of a"
