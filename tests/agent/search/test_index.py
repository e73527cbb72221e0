"""The index follows what is stored, by whatever path it is written."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.search.stock import Stock, attached, call, connect, indexed_and_rebuilt
from fireside_agent.search.index import check, rebuild

WORDS = "ember coal naïve 日本語 foo_bar() F++ 30% glow \x00 🔥 Straße".split(" ")

WRITER = """
import itertools, sys
from pathlib import Path
from agent.search.stock import Stock, call
from fireside_agent.search.searcher import Searcher
import json
path = Path(sys.argv[1])
stock = Stock(path, Searcher(path))
stock.session()
for number in itertools.count():
    text = f"number{number} " + "ember coal " * 40
    stock.message(f"m{number}", status="running", tools=json.dumps([call("bash", {"a": "b"}, text)]))
    stock.db.execute("UPDATE messages SET text = ?, status = 'done' WHERE id = ?", [text, f"m{number}"])
    if number == 50:
        print("writing", flush=True)
"""


@pytest.mark.parametrize("seed", range(6))
def test_random_writes_leave_the_index_as_if_made_anew(stock: Stock, seed: int) -> None:
    rng = random.Random(seed)

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randrange(6)))

    def tools() -> str:
        arguments = rng.choice([{"a": text(), "b": [1, None, {"c": text()}]}, "{broken " + text(), ""])
        return json.dumps(
            [call(text(), arguments, text(), f"c{number}") for number in range(rng.randrange(3))]
        )

    def files() -> str:
        return json.dumps([attached(f"f{rng.randrange(4)}", text()) for _ in range(rng.randrange(3))])

    def fields() -> dict[str, Any]:
        status = rng.choice(["queued", "running", "done", "aborted", "interrupted", "error"])
        return {
            "status": status,
            "text": text(),
            "reasoning": text(),
            "tools": tools(),
            "attachments": files(),
        }

    for number in range(3):
        stock.session(f"s{number}", text())
    for step in range(120):
        known = f"m{rng.randrange(step + 1)}"
        match rng.randrange(8):
            case 0 | 1 | 2:
                stock.message(f"m{step}", session=f"s{rng.randrange(3)}", **fields(), role="assistant")
            case 3 | 4:
                changes = dict(rng.sample(sorted(fields().items()), rng.randint(1, 2)))
                columns = ", ".join(f"{name} = ?" for name in changes)
                stock.db.execute(f"UPDATE messages SET {columns} WHERE id = ?", [*changes.values(), known])
            case 5:
                stock.db.execute("DELETE FROM messages WHERE id = ?", [known])
            case 6:
                stock.db.execute("UPDATE sessions SET title = ? WHERE id = 's1'", [text()])
            case _:
                sha256 = f"f{rng.randrange(4)}"
                stock.db.execute(
                    "INSERT INTO attachments VALUES (?, '', 1, ?, 1, NULL)"
                    " ON CONFLICT (sha256) DO UPDATE SET text = excluded.text",
                    [sha256, text()],
                )
                if rng.random() < 0.3:
                    stock.db.execute("DELETE FROM attachments WHERE sha256 = ?", [sha256])
    stock.db.execute("DELETE FROM messages WHERE session_id = 's2'")
    stock.db.execute("DELETE FROM sessions WHERE id = 's2'")

    indexed, rebuilt = indexed_and_rebuilt(stock.db)

    assert len(indexed) > 200
    assert indexed == rebuilt
    assert check(stock.db, thorough=True) is None


async def test_an_answer_is_found_when_it_is_finished_and_not_while_it_runs(stock: Stock) -> None:
    stock.session()
    stock.message("m", status="running", role="assistant")
    entries = "SELECT count(*) FROM search_entries WHERE kind <> 'title'"
    changed_before = stock.db.total_changes
    for saved in ("ember", "ember coal", "ember coal glow"):
        stock.db.execute("UPDATE messages SET text = ?, reasoning = 'hmm' WHERE id = 'm'", [saved])
    assert stock.db.total_changes - changed_before == 3, "a save of a running answer costs one row"
    assert stock.db.execute(entries).fetchone() == (0,)
    assert await stock.found("ember") == []

    stock.db.execute("UPDATE messages SET status = 'interrupted' WHERE id = 'm'")
    assert await stock.found("glow") == ["m"]
    assert await stock.found("hmm") == ["m"]

    stock.db.execute("UPDATE messages SET status = 'running' WHERE id = 'm'")
    assert await stock.found("glow") == []


async def test_an_edit_keeps_the_place_of_a_message(stock: Stock) -> None:
    stock.session()
    stock.message("m", "ember")
    before = stock.db.execute("SELECT id FROM search_entries WHERE kind = 'message'").fetchone()

    stock.db.execute("UPDATE messages SET text = 'coal' WHERE id = 'm'")

    assert stock.db.execute("SELECT id FROM search_entries WHERE kind = 'message'").fetchone() == before
    assert await stock.found("ember") == []
    assert await stock.found("coal") == ["m"]


def test_what_was_stored_before_the_index_is_in_it(stock: Stock) -> None:
    stock.session("s", "Fireside")
    stock.message("m", "ember", tools=json.dumps([call("bash", {"command": "ls"}, "coal")]))
    indexed, _ = indexed_and_rebuilt(stock.db)

    rebuild(stock.db)

    assert indexed_and_rebuilt(stock.db)[0] == indexed


def test_check_sees_what_the_triggers_did_not(stock: Stock) -> None:
    stock.session()
    stock.message("m", "ember")
    assert check(stock.db) is None
    definition = stock.db.execute("SELECT sql FROM sqlite_master WHERE name = 'search_messages_insert'")
    sql = definition.fetchone()[0]

    stock.db.execute("DROP TRIGGER search_messages_insert")
    stock.message("forgotten", "coal")
    stock.db.execute(sql)

    assert check(stock.db) == "1 messages are not in the index."
    rebuild(stock.db)
    assert check(stock.db, thorough=True) is None
    stock.db.execute("DELETE FROM search_entries WHERE kind = 'message'")
    assert "were expected" in (check(stock.db) or "")


def test_a_killed_writer_leaves_a_true_index(database_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(database_path)], env=environment, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        time.sleep(random.Random().uniform(0, 0.05))
        writer.send_signal(signal.SIGKILL)

    with closing(connect(database_path)) as connection:
        assert check(connection, thorough=True) is None
        indexed, rebuilt = indexed_and_rebuilt(connection)
        assert len(indexed) > 50
        assert indexed == rebuilt
