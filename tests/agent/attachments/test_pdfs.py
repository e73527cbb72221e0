"""Attached PDFs: their text is read once, stored, found and shown; what cannot be read says why."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.attachments.test_attachments import rows
from agent.attachments.test_text import png
from agent.harness import Client, Served, served_agent
from agent.pdf.documents import document, endless, locked
from agent.scripted import Upstream
from fireside_agent.attachments.store import AttachmentStore
from fireside_agent.errors import StorageError
from fireside_agent.export.exporting import Wanted
from fireside_agent.pdf import reading
from fireside_agent.pdf.frames import Limits
from fireside_agent.search.results import Search
from fireside_agent.store.database import Database

BIRDS = document("Herons wade", "Terns dive")
TEXT = "[page 1]\nHerons wade\n\n[page 2]\nTerns dive"


async def upload(http: httpx.AsyncClient, data: bytes, name: str = "birds.pdf") -> dict[str, Any]:
    sent = await http.post("/api/attachments", files={"file": (name, data, "application/pdf")})
    assert sent.status_code == 201
    return sent.json()


async def read_to_the_end(http: httpx.AsyncClient, sha256: str) -> dict[str, Any]:
    async with asyncio.timeout(15):
        while True:
            answer = await http.get(f"/api/attachments/{sha256}/reading")
            if answer.json()["state"] != "reading":
                return answer.json()
            await asyncio.sleep(0.02)


def forget_texts(connection: sqlite3.Connection) -> None:
    """As a Fireside that read no PDFs has left them."""
    connection.execute("UPDATE attachments SET text = '', pages = NULL")


async def test_an_uploaded_pdf_is_read_and_its_text_shown(http: httpx.AsyncClient) -> None:
    sent = await upload(http, BIRDS)
    assert (sent["media_type"], sent["pages"]) == ("application/pdf", None)
    state = await read_to_the_end(http, sent["sha256"])
    assert state == {"state": "read", "read": 2, "pages": 2, "error": ""}
    shown = await http.get(f"/api/attachments/{sent['sha256']}/text")
    assert shown.text == TEXT
    assert shown.headers["content-type"] == "text/plain; charset=utf-8"
    assert shown.headers["content-disposition"].startswith("inline;")
    assert shown.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert (await upload(http, BIRDS))["pages"] == 2, "it is not read again"
    whole = await http.get(f"/api/attachments/{sent['sha256']}")
    assert (whole.content, whole.headers["content-type"]) == (BIRDS, "application/pdf")


async def test_the_text_of_what_is_no_pdf_and_of_what_is_not_there(http: httpx.AsyncClient) -> None:
    text = await upload(http, b"plain", "a.txt")
    assert (await http.get(f"/api/attachments/{text['sha256']}/text")).text == "plain"
    assert (await read_to_the_end(http, text["sha256"]))["state"] == "read"
    for route in ("text", "reading"):
        missing = await http.get(f"/api/attachments/{'f' * 64}/{route}")
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
    picture = await upload(http, png(3, 2), "a.png")
    none = await http.get(f"/api/attachments/{picture['sha256']}/text")
    assert (none.status_code, none.json()["error"]["code"]) == (404, "no_text")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (locked(BIRDS, "secret"), "locked with a password"),
        (document("", ""), "no text in it; it may be a scan"),
        (BIRDS[:200], "damaged"),
    ],
)
async def test_what_cannot_be_read_says_why(
    http: httpx.AsyncClient, store: AttachmentStore, data: bytes, why: str
) -> None:
    sent = await upload(http, data)
    state = await read_to_the_end(http, sent["sha256"])
    assert state["state"] == "failed"
    assert state["error"].startswith("This PDF cannot be read: ")
    assert why in state["error"]
    assert await store.texts([sent["sha256"]]) == {sent["sha256"]: state["error"]}


async def test_a_pdf_that_could_not_be_read_gets_another_try(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(reading.read_pdf, "__defaults__", (Limits(memory=1 << 20), None))
        sent = await upload(http, BIRDS)
        assert (await read_to_the_end(http, sent["sha256"]))["state"] == "failed"
    await upload(http, BIRDS)
    assert (await read_to_the_end(http, sent["sha256"]))["state"] == "read"


async def test_progress_is_told_and_closing_ends_the_reading(
    http: httpx.AsyncClient, store: AttachmentStore, database: Database
) -> None:
    sent = await upload(http, endless(1))
    going: dict[str, Any] = {}
    async with asyncio.timeout(10):
        while going.get("read") != 1:
            going = (await http.get(f"/api/attachments/{sent['sha256']}/reading")).json()
    assert going == {"state": "reading", "read": 1, "pages": 2, "error": ""}
    await store.close()
    assert (await rows(database))[0][3] == ""


async def test_several_who_ask_at_once_wait_for_one_reading(
    store: AttachmentStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: list[bytes] = []
    started = reading.lines_of
    monkeypatch.setattr(reading, "lines_of", lambda *asked: began.append(asked[1]) or started(*asked))
    added = await store.add(BIRDS, "a.pdf")
    texts = await asyncio.gather(*(store.texts([added.sha256]) for _ in range(5)), store.add(BIRDS, "b.pdf"))
    assert texts[:5] == [{added.sha256: TEXT}] * 5
    assert len(began) == 1


async def test_who_stops_waiting_ends_no_reading(store: AttachmentStore) -> None:
    added = await store.add(BIRDS, "a.pdf")
    waiting = asyncio.create_task(store.texts([added.sha256]))
    await asyncio.sleep(0)
    waiting.cancel()
    assert await store.texts([added.sha256]) == {added.sha256: TEXT}


async def test_a_file_that_is_gone_holds_nobody_up(store: AttachmentStore, database: Database) -> None:
    added = await store.add(BIRDS, "a.pdf")
    await store.texts([added.sha256])
    await database.write(forget_texts)
    store.path(added.sha256).unlink()
    assert await store.texts([added.sha256]) == {added.sha256: ""}
    assert await store.reading(added.sha256) is None


async def test_a_text_that_cannot_be_stored_is_an_error_and_read_again_later(
    http: httpx.AsyncClient, store: AttachmentStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = await store.add(BIRDS, "a.pdf")
    await store.texts([added.sha256])
    await database.write(forget_texts)

    async def full(work: object) -> None:
        raise StorageError("The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(database, "write", full)
        with pytest.raises(StorageError, match="full"):
            await store.texts([added.sha256])
        refused = await http.get(f"/api/attachments/{added.sha256}/reading")
        assert (refused.status_code, refused.json()["error"]["message"]) == (503, "The disk is full.")
    assert await store.texts([added.sha256]) == {added.sha256: TEXT}


async def asked_about(client: Client, served: Served, data: bytes, upstream: Upstream) -> str:
    """What the model is told when a chat asks about a PDF."""
    added = await served.agent.attachments.add(data, "birds.pdf")
    files = [{"sha256": added.sha256, "name": "birds.pdf"}]
    await client.send(
        "prompt", session_id=client.session_id, text="What dives?", client_id="c", attachments=files
    )
    await client.until("turn_end")
    return upstream.requests[-1]["messages"][-1]["content"]


async def test_the_model_gets_the_text_even_of_a_pdf_that_is_still_being_read(
    client: Client, served: Served, upstream: Upstream
) -> None:
    told = await asked_about(client, served, BIRDS, upstream)
    assert told == f"Attached file birds.pdf:\n\n```\n{TEXT}\n```\n\nWhat dives?"
    assert (await hits(served, "terns")) == [client.session_id]


async def test_the_model_is_told_why_there_is_no_text(
    client: Client, served: Served, upstream: Upstream
) -> None:
    assert "there is no text in it; it may be a scan" in await asked_about(
        client, served, document(""), upstream
    )


async def test_a_long_pdf_is_cut_to_what_the_model_holds(
    client: Client, served: Served, upstream: Upstream
) -> None:
    told = await asked_about(client, served, document(*("tern " * 150 for _ in range(30))), upstream)
    assert "[page 9]" in told
    assert "[page 12]" not in told
    assert "[cut here: 22," in told
    assert told.endswith("What dives?")


async def hits(served: Served, query: str) -> list[str | None]:
    found = await served.agent.searcher.search(Search(query=query, kinds=("attachment",)))
    return [hit.session_id for hit in found.hits]


async def found_in(session_id: str, served: Served) -> None:
    """Wait until a search for the birds finds the chat."""
    async with asyncio.timeout(10):
        while await hits(served, "terns") != [session_id]:  # noqa: ASYNC110 - the index tells nobody
            await asyncio.sleep(0.02)


async def test_pdfs_that_were_attached_earlier_are_read_and_found_after_a_start(
    upstream: Upstream, database_path: Path
) -> None:
    async with served_agent(database_path, upstream.base_url) as served, served.client() as client:
        await asked_about(await client.new_session(), served, BIRDS, upstream)
    with closing(sqlite3.connect(database_path)) as connection:
        forget_texts(connection)
        connection.commit()
    async with served_agent(database_path, upstream.base_url) as served:
        await found_in(client.session_id, served)


async def test_imported_pdfs_are_read_and_found_too(
    client: Client, served: Served, upstream: Upstream, tmp_path: Path
) -> None:
    await asked_about(client, served, BIRDS, upstream)
    exporter, _, _ = served.agent.transfer
    exported = await exporter.one(client.session_id, Wanted("json"))
    assert exported is not None
    (tmp_path / "other").mkdir()
    async with served_agent(tmp_path / "other" / "fireside.db", upstream.base_url) as other:
        _, importer, _ = other.agent.transfer
        (imported,) = (await importer.load([exported.data])).imported
        await found_in(imported.id, other)
        again = await other.agent.transfer[0].one(imported.id, Wanted("json"))
        assert again is not None
        assert json.loads(again.data)["attachments"] == json.loads(exported.data)["attachments"]
