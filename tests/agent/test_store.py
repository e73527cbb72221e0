"""The database, its migrations, and the sessions in it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from fireside_agent.errors import DatabaseClosedError, NewerDatabaseError, StorageError
from fireside_agent.messages import Message, Receipt
from fireside_agent.store.database import Database
from fireside_agent.store.migrations import BACKUPS_KEPT, STEPS, Step, migrate
from fireside_agent.store.sessions import SessionStore, in_reading_order, make_title

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"


@pytest.fixture
async def database(database_path: Path) -> AsyncIterator[Database]:
    opened = Database(database_path, busy_seconds=0.01)
    await opened.open(migrate)
    yield opened
    await opened.close()


@pytest.fixture
def store(database: Database) -> SessionStore:
    return SessionStore(database)


def prompt(name: str, parent: str | None = None) -> Message:
    return Message(
        id=name, role="user", text=f"text of {name}", html=[], status="queued", created_at=1700000000.5,
        parent_id=parent, client_id=f"client-{name}",
    )  # fmt: skip


def answer(name: str, parent: str) -> Message:
    return msgspec.structs.replace(
        prompt(name, parent), role="assistant", status="running", text="", client_id=None
    )


def names(path: Path, sql: str) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute(sql)]


def contents(path: Path) -> bytes:
    return path.read_bytes()


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def insert_session(connection: sqlite3.Connection) -> None:
    connection.execute(
        "INSERT INTO sessions (id, title, created_at, modified_at) VALUES ('s', 'Title', 1.0, 1.0)"
    )


# The database


async def test_the_journal_survives_a_killed_process_and_keys_are_enforced(database: Database) -> None:
    def pragma(name: str) -> object:
        return lambda connection: connection.execute(f"PRAGMA {name}").fetchone()[0]

    assert await database.write(pragma("journal_mode")) == "wal"  # type: ignore[arg-type]
    assert await database.write(pragma("synchronous")) == 1  # type: ignore[arg-type]
    assert await database.write(pragma("foreign_keys")) == 1  # type: ignore[arg-type]


async def test_a_write_is_all_or_nothing(database: Database, database_path: Path) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        insert_session(connection)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.write(fail)
    assert names(database_path, "SELECT id FROM sessions") == []
    await database.write(insert_session)
    assert names(database_path, "SELECT id FROM sessions") == ["s"]


async def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(StorageError, match="read-only"):
        await database.read(insert_session)


async def test_writes_happen_in_the_order_they_were_asked_for(database: Database) -> None:
    done: list[int] = []
    await asyncio.gather(*(database.write(lambda _, i=i: done.append(i)) for i in range(50)))  # type: ignore[misc]
    assert done == list(range(50))


async def test_reads_go_on_while_a_write_takes_its_time(database: Database) -> None:
    release = threading.Event()
    writing = asyncio.create_task(database.write(lambda _: release.wait(10)))
    assert await database.read(lambda c: c.execute("SELECT COUNT(*) FROM sessions").fetchone()[0]) == 0
    assert not writing.done()
    release.set()
    assert await writing


async def test_close_finishes_the_writes_that_were_asked_for(database: Database, database_path: Path) -> None:
    release = threading.Event()
    slow = asyncio.create_task(database.write(lambda _: release.wait(10)))
    last = asyncio.create_task(database.write(insert_session))
    await asyncio.sleep(0)
    closing_twice = asyncio.gather(database.close(), database.close())
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(slow, last, closing_twice)
    assert names(database_path, "SELECT id FROM sessions") == ["s"]


async def test_a_closed_database_refuses(database: Database) -> None:
    await database.close()
    await database.close()
    with pytest.raises(DatabaseClosedError):
        await database.write(insert_session)
    with pytest.raises(DatabaseClosedError):
        await database.read(lambda connection: None)


async def test_a_full_disk_is_named_and_can_be_recovered_from(database: Database) -> None:
    await database.write(lambda c: c.execute("PRAGMA max_page_count = 1").fetchone())
    with pytest.raises(StorageError, match="disk is full"):
        await database.write(lambda c: c.execute("CREATE TABLE big AS SELECT zeroblob(1000000) AS x"))
    await database.write(lambda c: c.execute("PRAGMA max_page_count = 100000").fetchone())
    await database.write(insert_session)


async def test_a_lock_held_by_another_program_is_named(database: Database, database_path: Path) -> None:
    with closing(sqlite3.connect(database_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="another program holds it"):
            await database.write(insert_session)
    await database.write(insert_session)


async def test_a_read_only_database_is_named(database: Database) -> None:
    await database.write(lambda c: c.execute("PRAGMA query_only = ON"))
    with pytest.raises(StorageError, match="read-only"):
        await database.write(insert_session)


@pytest.mark.parametrize("content", [b"this is not a database", b"SQLite format 3\0" + b"\xff" * 4096])
async def test_a_damaged_file_is_named_and_left_alone(database_path: Path, content: bytes) -> None:
    write(database_path, content)
    database = Database(database_path)
    with pytest.raises(StorageError, match="restore a backup"):
        await database.open(migrate)
    assert contents(database_path) == content
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("fireside-db")]


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="nowhere"):
        await Database(tmp_path / "nowhere" / "fireside.db").open(migrate)


async def test_only_the_owner_can_read_chats(database: Database, database_path: Path) -> None:
    await database.write(insert_session)
    files = list(database_path.parent.glob("fireside.db*"))
    assert len(files) > 1
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


# Migrations


def m900_stars(tables: object) -> None:
    tables.conn.execute("ALTER TABLE sessions ADD COLUMN starred INTEGER")  # type: ignore[attr-defined]


def m900_broken(tables: object) -> None:
    m900_stars(tables)
    raise ZeroDivisionError


async def open_with(path: Path, *steps: Step) -> None:
    database = Database(path)
    await database.open(lambda connection, path: migrate(connection, path, steps))
    await database.close()


def backups(path: Path) -> list[Path]:
    return sorted(path.parent.glob("fireside.db.backup-*"))


async def test_a_new_database_needs_no_backup_and_a_current_one_no_step(database_path: Path) -> None:
    await open_with(database_path, *STEPS)
    await open_with(database_path, *STEPS)
    assert backups(database_path) == []
    assert names(database_path, "SELECT name FROM _sqlite_migrations") == [step.__name__ for step in STEPS]


async def test_an_old_database_is_copied_and_then_brought_up_to_date(database_path: Path) -> None:
    await open_with(database_path, *STEPS)
    with closing(sqlite3.connect(database_path)) as connection:
        insert_session(connection)
        connection.commit()
    await open_with(database_path, *STEPS, m900_stars)
    columns = "SELECT name FROM pragma_table_info('sessions')"
    assert names(database_path, "SELECT id FROM sessions WHERE starred IS NULL") == ["s"]
    [backup] = backups(database_path)
    assert "starred" not in names(backup, columns)
    assert names(backup, "SELECT id FROM sessions") == ["s"]
    assert backup.stat().st_mode & 0o777 == 0o600


async def test_a_step_that_fails_changes_nothing(database_path: Path) -> None:
    await open_with(database_path, *STEPS)
    with pytest.raises(ZeroDivisionError):
        await open_with(database_path, *STEPS, m900_broken)
    assert "starred" not in names(database_path, "SELECT name FROM pragma_table_info('sessions')")
    await open_with(database_path, *STEPS, m900_stars)


async def test_a_database_of_a_newer_fireside_is_refused_untouched(database_path: Path) -> None:
    await open_with(database_path, *STEPS, m900_stars)
    before = contents(database_path)
    with pytest.raises(NewerDatabaseError, match=r"newer Fireside.*m900_stars"):
        await open_with(database_path, *STEPS)
    assert contents(database_path) == before


async def test_only_the_newest_backups_are_kept(database_path: Path) -> None:
    await open_with(database_path, *STEPS)
    for day in range(5):
        write(Path(f"{database_path}.backup-2020010{day}T000000-m000"), b"")
    await open_with(database_path, *STEPS, m900_stars)
    kept = backups(database_path)
    assert len(kept) == BACKUPS_KEPT
    assert [path.name[19:27] for path in kept[:-1]] == ["20200103", "20200104"]


# Sessions


async def test_messages_come_back_as_they_were_stored(store: SessionStore) -> None:
    receipt = Receipt(model="m", completion_tokens=3, ttft_ms=1.5)
    await store.add_prompt("s", "Title", prompt("p1"))
    await store.begin_answer("s", answer("a1", "p1"))
    done = msgspec.structs.replace(
        answer("a1", "p1"), text="Hi \0 \U0001f642", status="done", receipt=receipt
    )
    await store.finish_answer("s", done)
    session = await store.load("s")
    assert session is not None
    assert session.title == "Title"
    assert [m.status for m in session.messages] == ["done", "done"]
    assert session.messages[1] == done


async def test_a_queued_prompt_hangs_on_the_answer_before_it(store: SessionStore) -> None:
    await store.add_prompt("s", "Title", prompt("p1"))
    await store.add_prompt("s", "Title", prompt("p2", "p1"))
    await store.add_prompt("s", "Title", prompt("p3", "p2"))
    await store.begin_answer("s", answer("a1", "p1"))
    await store.begin_answer("s", answer("a2", "p2"))
    session = await store.load("s")
    assert session is not None
    assert [(m.id, m.parent_id) for m in session.messages] == [
        ("p1", None), ("a1", "p1"), ("p2", "a1"), ("a2", "p2"), ("p3", "a2"),
    ]  # fmt: skip


async def test_a_client_id_is_unique_in_its_session_only(store: SessionStore) -> None:
    await store.add_prompt("s", "Title", prompt("p1"))
    same = msgspec.structs.replace(prompt("p2"), client_id="client-p1")
    with pytest.raises(sqlite3.IntegrityError):
        await store.add_prompt("s", "Title", same)
    await store.add_prompt("other", "Title", same)


async def test_a_chain_of_thousands_of_messages_is_deleted(store: SessionStore, database: Database) -> None:
    def fill(connection: sqlite3.Connection) -> None:
        insert_session(connection)
        for i in range(3000):
            parent = f"m{i - 1}" if i else None
            connection.execute(
                "INSERT INTO messages"
                " (id, session_id, parent_id, role, status, text, created_at, modified_at)"
                " VALUES (?, 's', ?, 'user', 'done', '', 0, 0)",
                [f"m{i}", parent],
            )

    await database.write(fill)
    session = await store.load("s")
    assert session is not None
    assert [m.id for m in session.messages] == [f"m{i}" for i in range(3000)]
    assert await store.delete("s")
    assert not await store.delete("s")
    assert await store.load("s") is None


def test_reading_order_follows_the_tree() -> None:
    tree = [prompt("a"), prompt("b", "a"), prompt("c"), prompt("d", "a"), prompt("e", "b")]
    assert [m.id for m in in_reading_order(tree)] == ["a", "b", "e", "d", "c"]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Hello", "Hello"),
        ("\n\n  First line  \nSecond", "First line"),
        (" \n\t", "New chat"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 80),
        ("word " * 40, ("word " * 16).strip()),
        ("two words " * 9, ("two words " * 8).strip()),
        ("longer words " * 7, ("longer words " * 6).strip()),
        ("a " + "x" * 60 + " seventeenletters!!", "a " + "x" * 60),
        ("a " + "x" * 99, "a " + "x" * 78),
        ("x" * 79 + "e\u0301", "x" * 79),
        ("x" * 78 + "e\u0301y", "x" * 78 + "e\u0301"),
        ("x" * 78 + FAMILY, "x" * 78),
        ("x" * 79 + "\U0001f44d\U0001f3fd", "x" * 79),
        ("x" * 79 + "\u2764\ufe0f", "x" * 79),
        ("\u0301" * 200, "New chat"),
    ],
)
def test_a_title_is_the_first_line_cut_between_characters(text: str, title: str) -> None:
    assert make_title(text) == title
