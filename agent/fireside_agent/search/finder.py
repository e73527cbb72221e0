"""Candidates for the terms of a query, from the index and from the texts, with their scores."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fireside_agent.search.articles import Article
from fireside_agent.search.folding import fold
from fireside_agent.search.limit import Limit
from fireside_agent.search.query import Term
from fireside_agent.search.results import SESSION_KINDS, Search

FEW = 200
"""Candidates that are few enough not to look for a term with fewer."""
BATCH = 200
TITLE_BOOST = 2.0
SATURATION, LENGTH_WEIGHT = 1.2, 0.75
"""bm25's k1 and b, as FTS5 has them."""
USUAL_LENGTH = 500
"""Characters of a text, where bm25 has the average; a constant, so that scores stay as they are."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Something that matches: an entry by its id, or an article. The higher `score`, the better."""

    item: int | Article
    as_words: bool
    score: float
    created_at: float


class Finder:
    """Candidates for terms, with the filters of a search."""

    def __init__(self, connection: sqlite3.Connection, search: Search, upto: int, newest: int) -> None:
        self._connection = connection
        self._newest = newest
        conditions = [
            "e.id <= :upto",
            "e.session_id NOT IN (SELECT id FROM sessions WHERE deleted_at IS NOT NULL)",
        ]
        if not set(SESSION_KINDS) <= set(search.kinds):
            conditions.append("e.kind IN (SELECT value FROM json_each(:kinds))")
        for name, condition in (
            ("role", "e.role = :role"),
            ("before", "e.created_at < :before"),
            ("after", "e.created_at >= :after"),
            ("session_id", "e.session_id = :session_id"),
        ):
            if getattr(search, name) is not None:
                conditions.append(condition)
        self._filter = " AND ".join(conditions)
        self._values = {
            "upto": upto,
            "kinds": json.dumps(search.kinds),
            "role": search.role,
            "before": search.before,
            "after": search.after,
            "session_id": search.session_id,
            "newest": newest,
        }

    def as_words(self, terms: Sequence[Term]) -> Iterator[Scored]:
        """The newest entries that hold all terms as words."""
        match = " AND ".join(term.word_match for term in terms)
        for row in self._rows("search_words", "e.id, e.kind, e.created_at, bm25(search_words)", match=match):
            yield Scored(row[0], True, -row[3] * (TITLE_BOOST if row[1] == "title" else 1), row[2])

    def rarest(self, terms: Sequence[Term]) -> list[int]:
        """The newest entries that may hold one of the terms, the one with the fewest of them."""
        best: list[int] | None = None
        for term in sorted(terms, key=lambda term: (term.by_word, -len(term.text))):
            candidates = self._may_hold(term)
            if best is None or len(candidates) < len(best):
                best = candidates
            if len(best) <= FEW:
                break
        return best or []

    def in_texts(self, terms: Sequence[Term], ids: Sequence[int], limit: Limit) -> Iterator[Scored]:
        """Those of `ids` whose texts hold all terms, in words or not."""
        for first in range(0, len(ids), BATCH):
            rows = self._connection.execute(
                "SELECT id, kind, created_at, body FROM search_documents"
                " WHERE id IN (SELECT value FROM json_each(?))",
                [json.dumps(ids[first : first + BATCH])],
            )
            for id_, kind, created_at, body in rows:
                if limit.over:
                    return
                score = score_text(body or "", terms)
                if score:
                    yield Scored(id_, False, score * (TITLE_BOOST if kind == "title" else 1), created_at)

    def _may_hold(self, term: Term) -> list[int]:
        ids: set[int] = set()
        if term.by_word:
            ids.update(row[0] for row in self._rows("search_words", "e.id", match=term.word_match))
        if term.by_part and term.part_match is not None:
            ids.update(row[0] for row in self._rows("search_parts", "e.id", match=term.part_match))
        elif term.by_part:
            start, end = term.part_range
            ids.update(
                row[0]
                for row in self._connection.execute(
                    "SELECT DISTINCT e.id FROM search_part_terms AS t CROSS JOIN search_entries AS e"
                    f" ON e.id = t.doc WHERE t.term >= :start AND t.term < :end AND {self._filter}"
                    " ORDER BY e.id DESC LIMIT :newest",
                    {**self._values, "start": start, "end": end},
                )
            )
        return sorted(ids, reverse=True)[: self._newest]

    def _rows(self, table: str, columns: str, *, match: str) -> Iterator[tuple[int, str, float, float]]:
        yield from self._connection.execute(
            f"SELECT {columns} FROM {table} CROSS JOIN search_entries AS e ON e.id = {table}.rowid"
            f" WHERE {table} MATCH :match AND {table}.rowid <= :upto AND {self._filter}"
            f" ORDER BY {table}.rowid DESC LIMIT :newest",
            {**self._values, "match": match},
        )


def score_text(text: str, terms: Sequence[Term]) -> float:
    """bm25 of a text with every term of weight 1; 0 when one of them does not occur."""
    folded = fold(text)
    length = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * len(folded) / USUAL_LENGTH)
    score = 0.0
    for term in terms:
        count = term.count(folded)
        if not count:
            return 0.0
        score += count * (SATURATION + 1) / (count + length)
    return score
