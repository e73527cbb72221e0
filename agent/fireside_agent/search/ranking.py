"""Which entries match a query, the best first.

Texts that hold all terms as words come first, ranked by FTS5's bm25. Then come those that hold some of them
only as parts; their score is the same formula with every term of one weight, over the text itself. Only the
newest matches of either sort are ranked, so that a word that is everywhere costs no more than others.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fireside_agent.search.articles import Article
from fireside_agent.search.finder import SATURATION, Finder, Scored, score_text
from fireside_agent.search.folding import fold
from fireside_agent.search.limit import Limit
from fireside_agent.search.query import Term
from fireside_agent.search.results import Search

NEWEST = 5000
TINY = 1e-12


@dataclass
class Ranking:
    """Entries by id and articles, the best first.

    Attributes:
        all: nothing that matches was left out.
        in_time: the time limit left nothing out.
    """

    items: list[int | Article] = field(default_factory=list[int | Article])
    all: bool = True
    in_time: bool = True


def rank(
    connection: sqlite3.Connection,
    search: Search,
    terms: Sequence[Term],
    upto: int,
    articles: Iterable[Article],
    limit: Limit,
    newest: int = NEWEST,
) -> Ranking:
    """Find and order everything that matches, among entries up to `upto`."""
    ranking = Ranking()
    finder = Finder(connection, search, upto, newest)
    found: list[Scored] = []
    try:
        if all(term.by_word for term in terms):
            found.extend(finder.as_words(terms))
        strongest = max((scored.score for scored in found), default=1.0)
        if len(found) >= newest:
            ranking.all = False
        elif any(term.by_part for term in terms):
            candidates = finder.rarest(terms)
            ranking.all = len(candidates) < newest
            known = {scored.item for scored in found}
            found.extend(finder.in_texts(terms, [one for one in candidates if one not in known], limit))
        found.extend(_in_articles(articles, terms, strongest, limit))
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
    if limit.over:
        ranking.all = ranking.in_time = False
    ranking.items = _in_order(found)
    return ranking


def _in_order(found: Sequence[Scored]) -> list[int | Article]:
    """Words before parts, then the better ones, newer ones first among those that are about as good."""
    best = {True: TINY, False: TINY}
    for scored in found:
        best[scored.as_words] = max(best[scored.as_words], scored.score)

    def order(one: Scored) -> tuple[bool, float, float, int]:
        newer = one.item if isinstance(one.item, int) else 0
        return not one.as_words, -round(one.score / best[one.as_words], 2), -one.created_at, -newer

    return [scored.item for scored in sorted(found, key=order)]


def _in_articles(
    articles: Iterable[Article], terms: Sequence[Term], strongest: float, limit: Limit
) -> Iterator[Scored]:
    full = len(terms) * (SATURATION + 1)
    for article in articles:
        if limit.over:
            return
        text = f"{article.name}\n{article.heading}\n{article.text}"
        score = score_text(text, terms)
        if not score:
            continue
        folded = fold(text)
        as_words = all(term.by_word and term.words.search(folded) for term in terms)
        yield Scored(article, as_words, score / full * strongest if as_words else score, article.modified)
