"""Search of the articles: which hold the words, how often, and in which lines."""

import math
import re
from collections.abc import Mapping

import msgspec

from fireside_agent.memory.articles import Article
from fireside_agent.memory.errors import InvalidQuery
from fireside_agent.memory.folding import fold

LIMIT = 50
MAX_HITS = 20
MAX_TERMS = 32
MAX_LINE = 240
TITLE_BONUS = 4.0
EXACT_TITLE_BONUS = 8.0

STOP_WORDS = frozenset(
    "a about an and are as at be been but by can did do does for from had has have how i in is it its me my "
    "of on or our that the their them there these they this to was we were what when where which who why "
    "will with you your "
    "aber als am auch auf aus bei das dass dem den der des die ein eine einen einer es für hat ich im ist "
    "mit nicht oder sich sie sind und von war was wer wie wir zu zum zur".split()
)

# Scripts without spaces between words: their runs are found anywhere.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_TERM = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")


class LineHit(msgspec.Struct, frozen=True):
    """A line that holds a term. `line` counts from 1; `heading` is the path of the nearest one above."""

    line: int
    heading: str
    text: str


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One article that was found."""

    name: str
    title: str
    terms: list[str]
    occurrences: int
    score: float
    hits: list[LineHit]


class Results(msgspec.Struct, frozen=True):
    """The best `LIMIT` articles of `total`, best first."""

    query: str
    terms: list[str]
    total: int
    results: list[Result]


def split_terms(query: str) -> list[str]:
    """The words that are looked for. Of nothing but stop words all are kept; of no words, the query itself.

    Raises InvalidQuery when it is empty.
    """
    # An accent alone folds to nothing; it is looked for as it is, and not found.
    text = fold(query).strip() or query.strip()
    if not text:
        raise InvalidQuery("The search is empty. Give it at least one word.", "q")
    words = list(dict.fromkeys(_TERM.findall(text)))
    telling = [word for word in words if word not in _FOLDED_STOP_WORDS]
    return (telling or words or [text])[:MAX_TERMS]


def search(articles: Mapping[str, Article], query: str) -> Results:
    """Articles with any of the query's words: those with most of them first, then by how often and by title.

    A word counts at the beginning of words, in scripts without spaces anywhere. Case and accents are ignored.
    """
    terms = split_terms(query)
    patterns = {term: _pattern(term) for term in terms}
    found = [each for each in (_rate(article, patterns, query) for article in articles.values()) if each]
    found.sort(key=lambda rated: (-len(rated[1]), -rated[3], rated[0].name))
    results = [
        Result(
            name=article.name,
            title=article.title,
            terms=matched,
            occurrences=occurrences,
            score=round(score, 3),
            hits=_lines(article, [patterns[term] for term in matched]),
        )
        for article, matched, occurrences, score in found[:LIMIT]
    ]
    return Results(query, terms, len(found), results)


def _pattern(term: str) -> re.Pattern[str]:
    escaped = re.escape(term)
    if _IS_UNSPACED.search(term) or not _TERM.search(term):
        return re.compile(escaped)
    # Looking back from the end lets the engine jump from one occurrence to the next.
    return re.compile(rf"{escaped}(?<![^\W{_UNSPACED}]{escaped})")


def _rate(
    article: Article, patterns: Mapping[str, re.Pattern[str]], query: str
) -> tuple[Article, list[str], int, float] | None:
    title = fold(f"{article.title}\n{article.name}\n" + "\n".join(article.aliases))
    matched: list[str] = []
    total, score = 0, 0.0
    for term, pattern in patterns.items():
        # The plain look is many times faster than the pattern, and most articles hold no term.
        count = len(pattern.findall(article.folded)) if term in article.folded else 0
        in_title = term in title and pattern.search(title) is not None
        if count or in_title:
            matched.append(term)
            total += count
            score += math.log1p(count) + TITLE_BONUS * in_title
    if not matched:
        return None
    wanted = fold(query).strip()
    return article, matched, total, score + EXACT_TITLE_BONUS * (wanted in title.split("\n"))


def _lines(article: Article, patterns: list[re.Pattern[str]]) -> list[LineHit]:
    hits: list[LineHit] = []
    lines = article.text.split("\n")
    for index, folded in enumerate(article.folded.split("\n")):
        start = next((found.start() for each in patterns if (found := each.search(folded))), None)
        if start is None:
            continue
        heading = article.heading_at(index + 1)
        hits.append(LineHit(index + 1, heading.path if heading else "", _cut(lines[index], start)))
        if len(hits) == MAX_HITS:
            break
    return hits


def _cut(line: str, start: int) -> str:
    """A long line around the place; folding moves it by a few characters, which does not matter."""
    line = line.rstrip("\r")
    if len(line) <= MAX_LINE:
        return line.strip()
    begin = max(0, min(start - MAX_LINE // 3, len(line) - MAX_LINE))
    end = begin + MAX_LINE
    return ("…" if begin else "") + line[begin:end].strip() + ("…" if end < len(line) else "")


_FOLDED_STOP_WORDS = frozenset(map(fold, STOP_WORDS))
