"""Snippets beside a slow reference that folds and compares character by character."""

from __future__ import annotations

import html
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireside_agent.search.query import parse
from fireside_agent.search.snippets import SLACK, SNIPPET_CHARACTERS, snippet

PIECES = [
    *(
        "ember",
        "Émber",
        "embe\u0301r",
        "fe\u0301",
        "EMBERS",
        "日本語",
        "本",
        "が",
        "か",
        "<b>",
        "&amp;",
        "F++",
        "re-ranker",
    ),
    *("x", " ", "\n", "\x00", "🔥", "👩\u200d👧", "ﬁ", "İ", "ẞ", "Ωmega", "'", '"'),
]
QUERIES = [
    "fe",
    "ember",
    "EMB",
    "émber",
    "日本",
    "本",
    "か",
    "F++",
    "re-ranker",
    "b",
    "amp",
    "🔥",
    "ωmega",
    "ember 本 x",
]


def plain(character: str) -> str:
    """A character as it compares: lower case, without the accents of Latin letters."""
    if "\u0300" <= character <= "\u036f":
        return ""
    base = unicodedata.normalize("NFD", character)
    if base[0] in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" and all(
        unicodedata.combining(mark) for mark in base[1:]
    ):
        return base[0].lower()
    return character.lower() if len(character.lower()) == 1 else character


def equal_end(text: str, start: int, wanted: str) -> int | None:
    """Where `wanted` ends if `text` holds it at `start`, accents after its last letter included."""
    at, seen = start, ""
    if not plain(text[start]):
        return None
    while at < len(text) and (len(seen) < len(wanted) or not plain(text[at])):
        seen += plain(text[at])
        at += 1
    return at if seen == wanted else None


def reference(text: str, query: str) -> list[bool]:
    """For every character, whether it is to be marked: whole words, else parts of words."""
    marked = [False] * len(text)
    words = query.split()
    for number, word in enumerate(words):
        wanted = "".join(map(plain, word))
        names = [unicodedata.name(character, "") for character in word]
        as_part = [name for name in names if "CJK" in name or "HIRAGANA" in name] or not word.isalnum()
        places: list[tuple[int, int]] = []
        if not as_part or word == "re-ranker":
            goes_on = number == len(words) - 1 and len(wanted) > 1
            places = found(text, wanted, whole=True, goes_on=goes_on)
        if not places and (as_part or len(wanted) >= 3):
            places = found(text, wanted, whole=False, goes_on=False)
        for start, end in places:
            marked[start:end] = [True] * (end - start)
    return marked


def found(text: str, wanted: str, *, whole: bool, goes_on: bool) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    at = 0
    while at < len(text):
        end = equal_end(text, at, wanted)
        if end is None or (whole and not bounded(text, at, end, goes_on)):
            at += 1
        else:
            places.append((at, end))
            at = end
    return places


def bounded(text: str, start: int, end: int, prefix: bool) -> bool:
    before = "".join(map(plain, text[:start]))[-1:]
    after = "".join(map(plain, text[end:]))[:1]
    return not before.isalnum() and (prefix or not after.isalnum())


def expected(text: str, query: str) -> str:
    """The whole text as a snippet."""
    parts: list[str] = []
    open_ = False
    for character, mark in zip(text, reference(text, query), strict=True):
        if mark != open_:
            parts.append("<mark>" if mark else "</mark>")
            open_ = mark
        shown = " " if character.isspace() else "\ufffd" if character == "\x00" else html.escape(character)
        parts.append(shown)
    return re.sub(" +", " ", "".join(parts) + ("</mark>" if open_ else "")).strip()


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join), st.sampled_from(QUERIES))
def test_marks_are_where_the_reference_has_them(text: str, query: str) -> None:
    terms, _ = parse(query)

    assert snippet(text, terms) == expected(text, query)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=1500), st.text(max_size=20))
def test_a_snippet_is_short_escaped_and_of_the_text(text: str, query: str) -> None:
    shown = snippet(text, parse(query)[0])

    assert re.fullmatch(r"(?:[^<>&]|&(?:lt|gt|amp|quot|#x27);|<mark>[^<>]+</mark>)*", shown, re.DOTALL)
    bare = html.unescape(re.sub("</?mark>", "", shown)).removeprefix("…").removesuffix("…")
    whole = re.sub("[\x00-\x08\x0e-\x1f\x7f-\x9f]", "\ufffd", text)
    assert "".join(bare.split()) in "".join(whole.split()) or "…" in text
    marks = sum(1 for character in text if unicodedata.category(character).startswith("M"))
    assert len(bare) <= SNIPPET_CHARACTERS + 2 * SLACK + marks


@pytest.mark.parametrize("filler", ["lorem ipsum ", "日本の", "e\u0301"])
def test_a_long_text_is_cut_around_its_best_part(filler: str) -> None:
    text = filler * 300 + " ember alone " + filler * 300 + " ember beside coal " + filler * 300

    shown = snippet(text, parse("coal ember")[0])

    assert "<mark>ember</mark> beside <mark>coal</mark>" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert not unicodedata.combining(shown[1])


def test_an_emoji_family_is_never_cut() -> None:
    family = "👩\u200d👩\u200d👧"

    shown = snippet(family * 400 + "ember" + family * 400, parse("ember")[0])

    assert set(shown.strip("…").replace("<mark>ember</mark>", "").split(family)) == {""}
