"""The table of downloads: what becomes of it when its file is not what it should be."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from fireside.catalog.hub import downloads, jobs_kept
from fireside.catalog.hub.downloads import Downloads
from fireside.catalog.hub.jobs_kept import Download, DownloadStore
from fireside.catalog.hub.worker import Worker

JOB = Download(id="a", repo_id="org/model", state="paused")


def scripted(script: str) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        with closing(sqlite3.connect(file)) as database:
            database.executescript(script)

    return write


@pytest.mark.parametrize("spoil", [
    pytest.param(spoil, id=name) for name, spoil in {
        "nonsense": lambda file: file.write_bytes(b"not a database" * 500),
        "a folder": lambda file: file.mkdir(),
        "more columns": scripted("CREATE TABLE downloads (id TEXT PRIMARY KEY, created, job, more NOT NULL)"),
        "others": scripted("CREATE VIEW downloads AS SELECT 1"),
    }.items()
])  # fmt: skip
def test_a_damaged_file_is_set_aside(spoil: Callable[[Path], None], tmp_path: Path) -> None:
    store = DownloadStore(tmp_path / "downloads.db")
    spoil(tmp_path / "downloads.db")
    store.load()
    store.save(JOB)
    assert store.load() == [JOB]
    assert len(list(tmp_path.glob("downloads.db.damaged-*"))) == 1


def test_rows_of_nonsense_are_left_out(tmp_path: Path) -> None:
    store = DownloadStore(tmp_path / "downloads.db")
    store.save(JOB)
    with closing(sqlite3.connect(tmp_path / "downloads.db")) as database, database:
        for number, body in enumerate((5, "none", b'{"id": "b", "repo_id": "../../x"}', b"[]")):
            database.execute("INSERT INTO downloads VALUES (?, ?, ?)", (str(number), number, body))
    assert store.load() == [JOB]


def test_a_file_that_cannot_be_written_now_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DownloadStore(tmp_path / "downloads.db")
    store.save(JOB)
    monkeypatch.setattr(jobs_kept, "_BUSY_S", 0.05)
    with closing(sqlite3.connect(tmp_path / "downloads.db")) as database:
        database.execute("BEGIN EXCLUSIVE")
        store.save(Download(id="b", repo_id="org/other"))
        assert store.load() == []
    assert store.load() == [JOB]


async def test_a_download_that_fails_oddly_makes_way_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told, and those behind it are begun."""
    store = DownloadStore(tmp_path / "downloads.db")
    for number in range(downloads.AT_ONCE + 1):
        store.save(Download(id=str(number), repo_id=f"org/m{number}", created_at=number))
    begun: list[str] = []

    async def start(command: tuple[str, ...]) -> Worker:
        begun.append(command[-3])
        raise ValueError("odd")

    monkeypatch.setattr(Worker, "start", start)
    changed = asyncio.Event()
    queue = Downloads(tmp_path / "downloads.db", tmp_path / "models", changed.set, tmp_path / "hub")
    await queue.start()
    async with asyncio.timeout(10):
        while any(job.state != "failed" for job in queue.listing()):
            await changed.wait()
            changed.clear()
    assert begun == ["org/m0", "org/m1", "org/m2"]
    assert {job.error.message for job in queue.listing() if job.error} == {"The download failed: odd"}
    await queue.close()


async def test_a_line_may_be_long() -> None:
    """A plan names every file."""
    code = """print('{"kind": "failed", "message": "' + 'x' * 1_000_000 + '"}')"""
    worker = await Worker.start((sys.executable, "-c", code))
    (event,) = [event async for event in worker.events()]
    assert (event.kind, len(event.message or "")) == ("failed", 1_000_000)
    await worker.end()
