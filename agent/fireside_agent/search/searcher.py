"""Searches on a thread and a connection of their own, so that none holds up the opening of a chat."""

import asyncio
import hashlib
import sqlite3
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import msgspec

from fireside_agent.errors import DatabaseClosedError, StorageError
from fireside_agent.search.articles import Article, Articles
from fireside_agent.search.hits import make_hit
from fireside_agent.search.limit import Limit
from fireside_agent.search.query import Term, parse
from fireside_agent.search.ranking import NEWEST, Ranking, rank
from fireside_agent.search.results import (
    DEFAULT_LIMIT,
    Answer,
    Considered,
    Cursor,
    Hit,
    Search,
    SupersededError,
)

T = TypeVar("T")

LIMIT_SECONDS = 2.0
BUSY_SECONDS = 2.0
STEPS_BETWEEN_CHECKS = 2000
RANKINGS_KEPT = 16
CACHE_KIB = 32768


class Searcher:
    """Answers searches over the database at `path`, which must have the index, and over `articles`."""

    def __init__(
        self,
        path: Path,
        articles: Articles | None = None,
        limit_seconds: float = LIMIT_SECONDS,
        newest: int = NEWEST,
    ) -> None:
        self._path = path
        self._articles = articles
        self._limit_seconds = limit_seconds
        self._newest = newest
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fireside-search")
        self._connection: sqlite3.Connection | None = None
        self._rankings: OrderedDict[str, Ranking] = OrderedDict()
        self._latest: dict[str, Limit] = {}
        self._running: set[Limit] = set()
        self._closed = False

    async def search(
        self, search: Search, cursor: str | None = None, limit: int = DEFAULT_LIMIT, client: str | None = None
    ) -> Answer:
        """The page of hits after `cursor`, at most `limit` of them.

        A newer search of the same `client` takes the place of one that still runs. Cancelling ends it too.

        Raises:
            InvalidSearchError: the cursor is not one of this search.
            SupersededError: a newer search of the client came.
            StorageError: the database cannot be read.
        """
        digest = hashlib.sha256(repr(search).encode()).hexdigest()[:16]
        after = Cursor.decode(cursor, digest) if cursor is not None else None
        terms, note = parse(search.query)
        if not terms:
            return Answer(hits=[], cursor=None, considered=Considered(self._newest, True), note=note)
        time = Limit(self._limit_seconds)
        if client is not None:
            if client in self._latest:
                self._latest[client].stop()
            self._latest[client] = time
        self._running.add(time)
        try:
            articles: Sequence[Article] = ()
            if self._articles is not None and search.searches_memory:
                articles = [
                    article
                    for article in await self._articles.search_documents()
                    if (search.before is None or article.modified < search.before)
                    and (search.after is None or article.modified >= search.after)
                ]
            job = _Job(search, terms, note, digest, after, limit, articles, time)
            return await self._submit(lambda: self._answer(job))
        except asyncio.CancelledError:
            time.stop()
            raise
        finally:
            self._running.discard(time)
            if client is not None and self._latest.get(client) is time:
                del self._latest[client]

    async def close(self) -> None:
        """End what runs and close. May be called again."""
        if self._closed:
            return
        self._closed = True
        for time in self._running:
            time.stop()
        await asyncio.shield(asyncio.wrap_future(self._thread.submit(self._disconnect)))
        self._thread.shutdown()

    async def _submit(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise DatabaseClosedError(f"The database {self._path} is closed.")
        return await asyncio.wrap_future(self._thread.submit(work))

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
        # Arguments that a model has written may hold half a character.
        connection.text_factory = _decode
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        return connection

    def _answer(self, job: "_Job") -> Answer:
        self._check_wanted(job)
        try:
            if self._connection is None:
                self._connection = self._connect()
            connection = self._connection
            job.time.begin()
            connection.execute("BEGIN")
            try:
                return self._page(connection, job)
            finally:
                connection.set_progress_handler(None, 0)
                connection.execute("ROLLBACK")
        except sqlite3.DatabaseError as error:
            raise StorageError(f"The database {self._path} cannot be searched: {error}.") from error

    def _check_wanted(self, job: "_Job") -> None:
        if self._closed:
            raise DatabaseClosedError(f"The database {self._path} is closed.")
        if job.time.stopped:
            raise SupersededError("A newer search of this client was made.")

    def _page(self, connection: sqlite3.Connection, job: "_Job") -> Answer:
        cursor, ranking = self._ranked(connection, job)
        self._check_wanted(job)
        hits: list[Hit] = []
        at = cursor.offset
        while at < len(ranking.items) and len(hits) < job.limit:
            hit = make_hit(connection, ranking.items[at], job.terms)
            at += 1
            if hit is not None:
                hits.append(hit)
        following = msgspec.structs.replace(cursor, offset=at).encode() if at < len(ranking.items) else None
        note = job.note
        if not ranking.in_time:
            note = f"The search was ended after {self._limit_seconds:g} s; there may be more."
        considered = Considered(self._newest, ranking.all)
        return Answer(hits=hits, cursor=following, considered=considered, note=note)

    def _ranked(self, connection: sqlite3.Connection, job: "_Job") -> tuple[Cursor, Ranking]:
        cursor = job.after
        if cursor is not None and cursor.ranking in self._rankings:
            self._rankings.move_to_end(cursor.ranking)
            return cursor, self._rankings[cursor.ranking]
        if cursor is None:
            upto: int = connection.execute("SELECT coalesce(max(id), 0) FROM search_entries").fetchone()[0]
            cursor = Cursor(ranking=uuid.uuid4().hex, digest=job.digest, upto=upto, offset=0)
        connection.set_progress_handler(lambda: job.time.over, STEPS_BETWEEN_CHECKS)
        ranking = rank(connection, job.search, job.terms, cursor.upto, job.articles, job.time, self._newest)
        connection.set_progress_handler(None, 0)
        if not job.time.stopped:
            self._rankings[cursor.ranking] = ranking
            if len(self._rankings) > RANKINGS_KEPT:
                self._rankings.popitem(last=False)
        return cursor, ranking


class _Job(msgspec.Struct, frozen=True):
    """One search on its way to the thread."""

    search: Search
    terms: list[Term]
    note: str | None
    digest: str
    after: Cursor | None
    limit: int
    articles: Sequence[Article]
    time: Limit


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
