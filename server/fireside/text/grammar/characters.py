"""Sets of characters, as ranges of code points."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Ranges = tuple[tuple[int, int], ...]
"""In order, without overlap, both ends included."""

ALL: Ranges = ((0x01, 0xD7FF), (0xE000, 0x10FFFF))
"""Every character but NUL, which xgrammar's expressions cannot name."""


def one(code: int) -> Ranges:
    """A single character."""
    return ((code, code),)


def union(some: Ranges, other: Ranges) -> Ranges:
    """The characters of either."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted((*some, *other)):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """All other characters."""
    left: list[tuple[int, int]] = []
    at = 0
    for low, high in ranges:
        left.append((at, low - 1))
        at = high + 1
    left.append((at, 0x10FFFF))
    return intersection(tuple((low, high) for low, high in left if low <= high), ALL)


def intersection(some: Ranges, other: Ranges) -> Ranges:
    """The characters of both."""
    pairs = ((max(a, c), min(b, d)) for a, b in some for c, d in other)
    return tuple(sorted((low, high) for low, high in pairs if low <= high))


def written(ranges: Ranges) -> str:
    """A set as a regular expression that xgrammar reads."""
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _character(ranges[0][0])
    if ranges[0][0] == ord("^"):
        # However it is escaped, xgrammar takes it for a negation as the first character of a class.
        behind = ((ord("^") + 1, ranges[0][1]),) if ranges[0][1] > ord("^") else ()
        ranges = (*behind, *ranges[1:], (ord("^"), ord("^")))
    return f"[{''.join(_range(low, high) for low, high in ranges)}]"


def _range(low: int, high: int) -> str:
    return _character(low) if low == high else f"{_character(low)}-{_character(high)}"


def _character(code: int) -> str:
    character = chr(code)
    return character if code >= 0xA0 or (character.isascii() and character.isalnum()) else f"\\u{code:04x}"


_DIGIT: Ranges = ((0x30, 0x39),)
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20))
_STRANGE_SPACE: Ranges = (
    (0x1C, 0x1F), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x180E, 0x180E), (0x2000, 0x200A),
    (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
_ASCII: Ranges = ((0x01, 0x7F),)
_BELOW_FOREIGN_DIGITS: Ranges = ((0x01, 0x65F),)

LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
IN_STRING: Ranges = intersection(complement(((0x22, 0x22), (0x5C, 0x5C))), ((0x20, 0x10FFFF),))
"""What a JSON string may hold as it is."""

CLASSES: Mapping[str, Ranges] = MappingProxyType({
    "d": _DIGIT,
    "w": _WORD,
    "s": _SPACE,
    "D": intersection(complement(_DIGIT), _BELOW_FOREIGN_DIGITS),
    "W": intersection(complement(_WORD), _ASCII),
    "S": complement(union(_SPACE, _STRANGE_SPACE)),
})  # fmt: skip
"""What backslash letters stand for in every dialect; some count foreign letters and digits in."""
