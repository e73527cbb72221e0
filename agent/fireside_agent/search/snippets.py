"""Snippets: the best part of a text as escaped HTML, with `<mark>` around what was found."""

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice

from fireside_agent.search.folding import Folded
from fireside_agent.search.query import Term

SNIPPET_CHARACTERS = 240
LEAD = 60
"""Characters of context wanted before the first mark."""
SLACK = 20
"""How far a cut may move to fall between words."""

PART, OVERLAP = 100_000, 2_000
"""Characters that are looked through at once, and how many of them again with the next ones."""
MAX_PLACES = 2_000
"""Of one term."""

Place = tuple[int, int]

SPACES = re.compile(r"\s+")
UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
JOINERS = frozenset("\u200d\ufe0e\ufe0f")
SKIN_TONES = range(0x1F3FB, 0x1F400)


def snippet(text: str, terms: Sequence[Term], characters: int = SNIPPET_CHARACTERS) -> str:
    """The part of `text` where most of the terms are, marked; its beginning where there are none."""
    text, found = _find(text, terms)
    start, end = _window(text, found, characters)
    inside = merge((first, last) for first, last, _ in found if first < end and last > start)
    parts: list[str] = []
    at = start
    for first, last in inside:
        first, last = max(first, start), min(last, end)
        parts += [_escape(text[at:first]), "<mark>", _escape(text[first:last]), "</mark>"]
        at = last
    parts.append(_escape(text[at:end]))
    before, after = "…" if text[:start].strip() else "", "…" if text[end:].strip() else ""
    return before + "".join(parts).strip() + after


def _find(text: str, terms: Sequence[Term]) -> tuple[str, list[tuple[int, int, int]]]:
    """The first part of `text` with terms in it, and their places there, each with the term's number."""
    for start in range(0, max(1, len(text) - OVERLAP), PART - OVERLAP):
        folded = Folded(text[start : start + PART])
        found = [
            (*folded.place(*place), number)
            for number, term in enumerate(terms)
            for place in islice(term.places(folded.text), MAX_PLACES)
        ]
        if found:
            return folded.original, sorted(found)
    return text[:PART], []


def merge(places: Iterable[Place]) -> list[Place]:
    """Sorted places, those that overlap or touch made one."""
    merged: list[Place] = []
    for first, last in places:
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return merged


def _window(text: str, found: Sequence[tuple[int, int, int]], characters: int) -> Place:
    """Begins before the mark after which most different terms fit; the first such one."""
    if len(text) <= characters:
        return 0, len(text)
    best, most, ahead = 0, 0, 0
    counts: dict[int, int] = {}
    for first, _, number in found:
        while ahead < len(found) and found[ahead][1] <= first + characters - LEAD:
            counts[found[ahead][2]] = counts.get(found[ahead][2], 0) + 1
            ahead += 1
        different = sum(1 for count in counts.values() if count)
        if different > most:
            best, most = first, different
        if counts.get(number):
            counts[number] -= 1
    start = _cut(text, max(0, min(best - LEAD, len(text) - characters)), best)
    return start, _cut(text, min(len(text), start + characters), start + characters + SLACK)


def _cut(text: str, at: int, latest: int) -> int:
    """A place to cut from `at` on: after white space if that is near, never inside a composed character."""
    if at <= 0 or at >= len(text):
        return max(0, min(at, len(text)))
    for place in range(at, min(at + SLACK, latest, len(text))):
        if text[place - 1].isspace():
            return place
    while at < len(text) and _joins(text[at - 1], text[at]):
        at += 1
    return at


def _joins(before: str, after: str) -> bool:
    return (
        before == "\u200d"
        or after in JOINERS
        or ord(after) in SKIN_TONES
        or unicodedata.category(after).startswith("M")
    )


def _escape(text: str) -> str:
    return html.escape(SPACES.sub(" ", UNPRINTABLE.sub("\ufffd", text)))
