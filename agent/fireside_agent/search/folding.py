"""Text as the index sees it: lower case, Latin accents dropped, so that places found can be marked."""

import re
import unicodedata
from bisect import bisect_left
from itertools import accumulate

COMBINING = range(0x0300, 0x0370)
"""Diacritics that follow their letter; the word index skips them."""

WORD = r"[^\W_]"
"""A character of a word, as the word index sees it."""

CJK = (
    "\u1100-\u11ff\u2e80-\u303f\u3040-\u30ff\u3130-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Han, kana and hangul, for the inside of a character class."""

WORDS = re.compile(f"{WORD}+")


class _Folding(dict[int, str]):
    """For `str.translate`: what every character becomes, one character or nothing."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold_character(chr(code))
        return folded


def _fold_character(character: str) -> str:
    if ord(character) in COMBINING:
        return ""
    parts = unicodedata.normalize("NFD", character)
    # As the index does it: accents of Latin letters are dropped, kana keep their voicing marks.
    if parts[0].isascii() and all(unicodedata.category(part) == "Mn" for part in parts[1:]):
        return parts[0].lower()
    lower = character.lower()
    return lower if len(lower) == 1 else character


_FOLDING = _Folding()


def fold(text: str) -> str:
    """`text` folded. It may get shorter, never longer: combining accents vanish."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


class Folded:
    """A text folded, with the way back from its places to those of the original."""

    def __init__(self, text: str) -> None:
        self.original = text
        self.text = fold(text)
        self._kept: list[int] | None = None
        if len(self.text) != len(text):
            # For every place of the original: how many characters before it have survived.
            self._kept = [0, *accumulate(len(_FOLDING[ord(character)]) for character in text)]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """The place in the original of `text[start:end]`, with accents that follow its last letter."""
        if self._kept is None:
            return start, end
        first = bisect_left(self._kept, start + 1) - 1
        last = bisect_left(self._kept, end)
        while last < len(self.original) and not _FOLDING[ord(self.original[last])]:
            last += 1
        return first, last
