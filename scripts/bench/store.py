"""Search, listing and opening chats on a large store.

Makes a database of 200 sessions with 500 messages of 80 words each in a temporary folder (or keeps it in
`--keep` for further runs), then measures, warm, through the same classes that the routes use:

    PYTHONPATH=scripts:agent python -m bench.store
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.report import Table, percentile, publish
from fireside_agent.search.results import Search
from fireside_agent.search.searcher import Searcher
from fireside_agent.store.database import Database
from fireside_agent.store.migrations import migrate
from fireside_agent.store.sessions import SessionStore

SEED = 7
SESSIONS = 200
MESSAGES = 500
WORDS = 80
VOCABULARY = 50_000
ZIPF = 1.05
CJK_WORDS = 4_000
SPECIAL_SHARE = 0.05
"""Of messages with a sentence of Chinese, and as many with a line of code."""

QUERIES = 200
MIX = (("rare word", 0.6), ("prefix", 0.2), ("common word", 0.1), ("CJK and code", 0.1))
TARGET_P95_MS = 60.0
TARGET_OPEN_MS = 100.0

SYLLABLES = [a + b + c for a in "bcdfghklmnprstvw" for b in "aeiou" for c in ("", "", "n", "r", "s", "l")]
IDEOGRAMS = [chr(code) for code in range(0x4E00, 0x4E00 + 1500)]


@dataclass
class Texts:
    """Made-up words with frequencies as in real text."""

    rng: random.Random

    def __post_init__(self) -> None:
        self.words = self._distinct(VOCABULARY, SYLLABLES, (1, 2, 2, 3, 3, 4))
        self.weights = _zipf(VOCABULARY)
        self.cjk = self._distinct(CJK_WORDS, IDEOGRAMS, (1, 2, 2, 2, 3))
        self.cjk_weights = _zipf(CJK_WORDS)

    def message(self) -> str:
        """80 words, now and then with Chinese or code in between."""
        words = self.rng.choices(self.words, cum_weights=self.weights, k=WORDS)
        draw = self.rng.random()
        if draw < SPECIAL_SHARE:
            words[40:50] = ["".join(self.rng.choices(self.cjk, cum_weights=self.cjk_weights, k=20)) + "。"]
        elif draw < 2 * SPECIAL_SHARE:
            one, two = self.rng.choices(self.words, cum_weights=self.weights, k=2)
            words[40:50] = [f"`{one}_{two}(self.{two}[0], x++)`"]
        return " ".join(words)

    def queries(self) -> Iterator[tuple[str, str]]:
        """Kind and text; the same ones every time."""
        for kind, share in MIX:
            for number in range(round(QUERIES * share)):
                yield kind, self._query(kind, number)

    def _query(self, kind: str, number: int) -> str:
        rng = self.rng
        if kind == "rare word":
            return self.words[rng.randrange(2_000, VOCABULARY)]
        if kind == "prefix":
            word = self.words[rng.randrange(200, VOCABULARY)]
            return word[: rng.randint(2, max(2, len(word) - 1))]
        if kind == "common word":
            return self.words[rng.randrange(100)]
        one, two = rng.choices(self.words, cum_weights=self.weights, k=2)
        code = (f"{one}_{two}", f"self.{two}[0]", "x++", f"{one}_{two}(")
        return code[number // 2 % 4] if number % 2 else self.cjk[rng.randrange(CJK_WORDS)]

    def _distinct(self, count: int, parts: list[str], lengths: tuple[int, ...]) -> list[str]:
        made: dict[str, None] = {}
        while len(made) < count:
            made["".join(self.rng.choices(parts, k=self.rng.choice(lengths)))] = None
        return list(made)


def _zipf(count: int) -> list[float]:
    return list(itertools.accumulate(1 / rank**ZIPF for rank in range(1, count + 1)))


def fill(connection: sqlite3.Connection, texts: Texts) -> None:
    """Store the sessions, each message finished, through the triggers of the index."""
    start = 1_700_000_000.0
    for number in range(SESSIONS):
        session = f"s{number}"
        begun = start + number * 86_400
        title = " ".join(texts.message().split()[:6])
        connection.execute(
            "INSERT INTO sessions (id, title, created_at, modified_at) VALUES (?, ?, ?, ?)",
            [session, title, begun, begun],
        )
        connection.executemany(
            "INSERT INTO messages (id, session_id, parent_id, role, status, text, created_at, modified_at)"
            " VALUES (?, ?, ?, ?, 'done', ?, ?, ?)",
            [
                (
                    f"{session}m{at}", session, f"{session}m{at - 1}" if at else None,
                    "assistant" if at % 2 else "user", texts.message(), begun + at, begun + at,
                )
                for at in range(MESSAGES)
            ],
        )  # fmt: skip


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """The schema, with the index where no migration has made it yet."""
    migrate(connection, path)


async def measure(path: Path) -> list[Table]:
    """Fill the database if it is empty, and time everything."""
    texts = Texts(random.Random(SEED))
    database = Database(path)
    await database.open(prepare)
    if not await database.read(lambda c: c.execute("SELECT 1 FROM sessions LIMIT 1").fetchone()):
        began = time.perf_counter()
        await database.write(lambda connection: fill(connection, texts))
        print(f"Filled in {time.perf_counter() - began:.0f} s.\n")
    searcher = Searcher(path)
    texts.rng.seed(SEED)
    tables = [await _searches(searcher, list(texts.queries())), await _opening(SessionStore(database))]
    await searcher.close()
    await database.close()
    return tables


async def _searches(searcher: Searcher, queries: list[tuple[str, str]]) -> Table:
    for _, query in queries[::20]:
        await searcher.search(Search(query=query))
    times: dict[str, list[float]] = {kind: [] for kind, _ in MIX}
    found: dict[str, int] = dict.fromkeys(times, 0)
    random.Random(SEED).shuffle(queries)
    for kind, query in queries:
        began = time.perf_counter()
        answer = await searcher.search(Search(query=query))
        times[kind].append((time.perf_counter() - began) * 1000)
        found[kind] += bool(answer.hits)
    table = Table(
        f"Search in {SESSIONS * MESSAGES:,} messages of {WORDS} words (ms)",
        ["queries", "number", "with hits", "p50", "p95", "longest"],
    )
    everything = [one for kind in times.values() for one in kind]
    for kind, values in [*times.items(), ("all", everything)]:
        hits = found.get(kind, sum(found.values()))
        table.add(kind, len(values), hits, percentile(values, 0.5), percentile(values, 0.95), max(values))
    table.add("target", None, None, None, TARGET_P95_MS, None)
    return table


async def _opening(store: SessionStore) -> Table:
    table = Table(
        f"{SESSIONS} sessions of {MESSAGES} messages (ms)", ["step", "number", "p50", "p95", "longest"]
    )
    for step, act in (
        ("list the sessions", lambda number: store.list(frozenset())),
        ("open a session", lambda number: store.load(f"s{number * 7 % SESSIONS}")),
    ):
        times: list[float] = []
        for number in range(20):
            began = time.perf_counter()
            await act(number)
            times.append((time.perf_counter() - began) * 1000)
        table.add(step, len(times), percentile(times, 0.5), percentile(times, 0.95), max(times))
    table.add("target", None, None, TARGET_OPEN_MS, None)
    return table


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--keep", type=Path, help="a folder to keep the database in")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        publish(asyncio.run(measure(folder / "bench.db")), options.json)


if __name__ == "__main__":
    main()
