"""Attachments in the store and over HTTP."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import os
import stat
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.attachments.test_text import png
from agent.harness import purge_all
from fireside_agent.attachments.names import clean_name
from fireside_agent.attachments.store import KEPT_SECONDS, MAX_BYTES, AttachmentStore
from fireside_agent.errors import StorageError
from fireside_agent.messages import Attachment, Message
from fireside_agent.store.database import Database
from fireside_agent.store.sessions import SessionStore

LONG_AGO = time.time() - 2 * KEPT_SECONDS


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.glob("**/*") if path.is_file())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def rows(database: Database) -> list[tuple[Any, ...]]:
    query = "SELECT sha256, media_type, size, text FROM attachments ORDER BY size"
    return await database.read(lambda connection: [tuple(row) for row in connection.execute(query)])


async def refer(database: Database, *attachments: Attachment, session_id: str = "s") -> None:
    prompt = Message(
        id=f"p-{session_id}",
        role="user",
        text="look",
        html=[],
        status="done",
        created_at=1.0,
        attachments=list(attachments),
    )
    await SessionStore(database).add_prompt(session_id, "title", prompt)


def age(database: Database, folder: Path) -> Any:
    """Let everything be two hours old."""
    for path in folder.glob("??/*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return database.write(
        lambda connection: connection.execute("UPDATE attachments SET created_at = ?", [LONG_AGO])
    )


async def test_a_file_is_kept_under_its_hash(
    store: AttachmentStore, database: Database, folder: Path
) -> None:
    data = "grüße".encode("cp1252")
    added = await store.add(data, "C:\\Users\\me\\grüße.txt", "text/plain")
    sha256 = hashlib.sha256(data).hexdigest()
    assert added == Attachment(sha256=sha256, name="grüße.txt", media_type="text/plain", size=5)
    assert files(folder) == [f"{sha256[:2]}/{sha256}"]
    path = store.path(sha256)
    assert await store.read(sha256) == data
    assert mode(path) == 0o600
    assert mode(folder) == mode(path.parent) == 0o700
    assert await rows(database) == [(sha256, "text/plain", 5, "grüße")]


async def test_the_same_file_at_once_is_kept_once(
    store: AttachmentStore, database: Database, folder: Path
) -> None:
    added = await asyncio.gather(*(store.add(b"same", f"{n}.txt") for n in range(20)))
    assert {a.sha256 for a in added} == {hashlib.sha256(b"same").hexdigest()}
    assert [a.name for a in added] == [f"{n}.txt" for n in range(20)]
    assert len(files(folder)) == len(await rows(database)) == 1


async def test_a_file_that_was_damaged_on_disk_is_written_again(store: AttachmentStore) -> None:
    added = await store.add(b"whole", "a")
    store.path(added.sha256).write_bytes(b"wh")
    await store.add(b"whole", "a")
    assert await store.read(added.sha256) == b"whole"


async def test_find_gives_what_is_there_in_order(store: AttachmentStore) -> None:
    one, two = [(await store.add(data, "x")).sha256 for data in (b"1", b"2")]
    assert [a.sha256 for a in await store.find([two, "f" * 64, one, two, "../x"])] == [two, one]
    assert await store.read("f" * 64) is None


@pytest.mark.parametrize(
    "name", ["../../fireside.db", "", "a" * 63, "A" * 64, "a" * 64 + "\n", "..", "/etc/passwd"]
)
def test_no_path_leaves_the_folder(store: AttachmentStore, name: str) -> None:
    with pytest.raises(ValueError, match="not a SHA-256"):
        store.path(name)


async def test_collect_removes_what_is_old_and_not_referred_to(
    store: AttachmentStore, database: Database, folder: Path
) -> None:
    kept, deleted, _ = [await store.add(data, "a") for data in (b"kept", b"deleted", b"loose")]
    await refer(database, kept)
    await refer(database, deleted, session_id="gone")
    await SessionStore(database).delete("gone")
    stray = folder / "ab" / "half.partial"
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"x")
    await age(database, folder)
    fresh = await store.add(b"fresh!", "a")

    assert await store.collect() == 2
    assert {Path(name).name for name in files(folder)} == {kept.sha256, deleted.sha256, fresh.sha256}
    assert len(await rows(database)) == 3, "what can be undone is still referred to"

    await purge_all(database)
    await age(database, folder)
    assert await store.collect() == 2
    assert [Path(name).name for name in files(folder)] == [kept.sha256]
    assert await store.collect() == 0


async def test_a_file_that_is_about_to_be_used_is_not_collected(
    store: AttachmentStore, database: Database, folder: Path
) -> None:
    again = await store.add(b"uploaded again", "a")
    found = await store.add(b"found", "a")
    await age(database, folder)
    await store.add(b"found", "a")
    await store.add(b"uploaded again", "a")
    assert await store.collect() == 0
    await age(database, folder)
    results = await asyncio.gather(
        store.add(b"uploaded again", "a"), store.find([found.sha256]), *(store.collect() for _ in range(5))
    )
    assert results[0] == again
    assert await store.read(again.sha256) is not None
    assert await store.read(found.sha256) is not None
    assert len(await store.find([again.sha256, found.sha256])) == 2


async def test_collecting_while_files_come_in_loses_none(
    store: AttachmentStore, database: Database, folder: Path
) -> None:
    async def upload(n: int) -> Attachment:
        added = await store.add(b"%d" % (n % 7), "a")
        await refer(database, added, session_id=f"s{n}")
        return added

    jobs = [upload(n) if n % 2 else age(database, folder) for n in range(40)]
    results = await asyncio.gather(*jobs, *(store.collect() for _ in range(20)))
    added = [result for result in results if isinstance(result, Attachment)]
    for attachment in added:
        assert await store.read(attachment.sha256) is not None


async def test_a_full_disk_leaves_nothing(
    store: AttachmentStore, database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="the disk is full; free some space"):
        await store.add(b"x", "a")
    assert (files(folder), await rows(database)) == ([], [])


async def test_upload_and_download(http: httpx.AsyncClient) -> None:
    image = png(3, 2)
    form = await http.post("/api/attachments", files={"file": ("bild ä.png", image, "image/png")})
    assert (form.status_code, form.json()["name"], form.json()["media_type"]) == (
        201,
        "bild ä.png",
        "image/png",
    )
    raw = await http.post(
        "/api/attachments",
        content=b"<script>",
        headers={"Content-Type": "text/html", "X-File-Name": "..%2Fb%C3%A4.html"},
    )
    assert raw.json()["name"] == "bä.html"

    shown = await http.get(f"/api/attachments/{form.json()['sha256']}", params={"name": "bild ä.png"})
    assert (shown.content, shown.headers["content-type"]) == (image, "image/png")
    assert (
        shown.headers["content-disposition"]
        == "inline; filename=\"bild a.png\"; filename*=UTF-8''bild%20%C3%A4.png"
    )
    page = await http.get(f"/api/attachments/{raw.json()['sha256']}")
    assert page.content == b"<script>"
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["content-disposition"].startswith("attachment;")
    for response in (shown, page):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert response.headers["cache-control"] == "no-store"


async def test_limits(http: httpx.AsyncClient, folder: Path) -> None:
    most = await http.post("/api/attachments", content=b"a" * MAX_BYTES, headers={"X-File-Name": "a.txt"})
    assert most.status_code == 201
    kept = files(folder)

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(400):
            yield b"a" * 65536

    async def endless_form() -> AsyncIterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        async for piece in endless():
            yield piece

    over = [
        await http.post("/api/attachments", content=b"a" * (MAX_BYTES + 1)),
        await http.post("/api/attachments", files={"file": b"a" * (MAX_BYTES + 1)}),
        await http.post("/api/attachments", content=endless()),
        await http.post(
            "/api/attachments",
            content=endless_form(),
            headers={"Content-Type": "multipart/form-data; boundary=x"},
        ),
    ]
    for response in over:
        assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")
    refused = await http.post("/api/attachments", files={"file": ("a.png", b"\x7fELF\0", "image/png")})
    assert (refused.status_code, refused.json()["error"]["param"]) == (415, "file")
    empty = await http.post("/api/attachments", content=b"", headers={"X-File-Name": "empty.pdf"})
    assert (empty.status_code, empty.json()["error"]["message"]) == (415, "empty.pdf is empty.")
    two = await http.post("/api/attachments", files=[("file", b"1"), ("file", b"2")])
    assert (two.status_code, two.json()["error"]["code"]) == (400, "one_file")
    assert files(folder) == kept


@pytest.mark.parametrize("name", ["f" * 64, "..%2Ffireside.db", "x", "A" * 64])
async def test_what_is_not_there(http: httpx.AsyncClient, name: str) -> None:
    response = await http.get(f"/api/attachments/{name}")
    assert response.status_code == 404
    if "%" not in name:
        assert json.loads(response.content)["error"]["code"] == "not_found"


async def test_the_same_upload_at_once_over_http(http: httpx.AsyncClient, folder: Path) -> None:
    sent = await asyncio.gather(*(http.post("/api/attachments", files={"file": b"same"}) for _ in range(10)))
    assert {response.status_code for response in sent} == {201}
    assert len(files(folder)) == 1


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("a\\b\\c.txt", "c.txt"),
        ("..", "file"),
        ("", "file"),
        ("a\0\n b", "a b"),
        ("\u202egpj.exe", "gpj.exe"),
        ("e\u0301", "\u00e9"),
        ("ä" * 300, "ä" * 90),
        (".hidden", "hidden"),
    ],
)
def test_names_from_outside(given: str, kept: str) -> None:
    assert clean_name(given, "file") == kept
