"""Regular expressions as trees, and what is made of them for xgrammar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fireside.text.grammar.characters import ALL, Ranges, complement, intersection, one, union, written
from fireside.text.grammar.spec import GrammarUnsupported, GrammarWrong


@dataclass(frozen=True)
class Chars:
    """One character out of a set."""

    ranges: Ranges


@dataclass(frozen=True)
class Cat:
    """One after the other."""

    parts: Sequence[Node]


@dataclass(frozen=True)
class Alt:
    """One of several."""

    branches: Sequence[Node]


@dataclass(frozen=True)
class Repeat:
    """The same again; `most` is None for no limit."""

    part: Node
    least: int
    most: int | None


@dataclass(frozen=True)
class Anchor:
    """`^` or `$`."""

    start: bool


Node = Chars | Cat | Alt | Repeat | Anchor

_MOST_STEPS = 100_000
"""Of finding out whether a text fits: a tenth of a second."""


def whole(node: Node) -> Node:
    """What a whole text must be that an expression fits from beginning to end.

    Raises:
        GrammarUnsupported: an anchor stands inside.
    """
    return _anchored(node, Cat(()))


def searched(node: Node) -> Node:
    """What a whole text must be in which an expression, with its anchors, is found.

    Raises:
        GrammarUnsupported: an anchor stands inside.
    """
    return _anchored(node, Repeat(Chars(ALL), 0, None))


def limited(node: Node, allowed: Ranges) -> Node:
    """The same out of allowed characters only.

    Raises:
        GrammarUnsupported: nothing is left of a character that it asks for.
    """
    match node:
        case Chars():
            left = intersection(node.ranges, allowed)
            if not left:
                raise GrammarUnsupported(
                    "the regular expression asks for a character that has to be escaped in JSON"
                )
            return Chars(left)
        case Cat():
            return Cat([limited(part, allowed) for part in node.parts])
        case Alt():
            return Alt([limited(branch, allowed) for branch in node.branches])
        case Repeat():
            return Repeat(limited(node.part, allowed), node.least, node.most)
        case Anchor():
            return node


def sized(node: Node, least: int, most: int | None) -> Node:
    """The same, with so many characters.

    Raises:
        GrammarUnsupported: the length depends on more than one part of the expression.
        GrammarWrong: no text that fits has such a length.
    """
    low, high = length(node)
    if low >= least and (most is None or (high is not None and high <= most)):
        return node
    if (most is not None and low > most) or (high is not None and high < least):
        raise GrammarWrong("no text that fits the regular expression has the length asked for")
    parts = list(node.parts) if isinstance(node, Cat) else [node]
    loose = [index for index, part in enumerate(parts) if length(part)[0] != length(part)[1]]
    at = loose[0]
    part = parts[at]
    if len(loose) > 1 or not isinstance(part, Repeat) or length(part.part) != (1, 1):
        raise GrammarUnsupported("a length cannot be enforced together with this regular expression")
    rest = sum(length(other)[0] for index, other in enumerate(parts) if index != at)
    tops = [top for top in (part.most, None if most is None else most - rest) if top is not None]
    parts[at] = Repeat(part.part, max(part.least, least - rest), min(tops, default=None))
    return Cat(parts)


def other_than(texts: Iterable[str], allowed: Ranges) -> Node:
    """Every text of allowed characters but some."""
    any_text = Repeat(Chars(allowed), 0, None)
    beginnings: dict[str, list[str]] = {}
    for text in texts:
        beginnings.setdefault(text[:1], []).append(text[1:])
    ended = beginnings.pop("", None) is not None
    begun: Ranges = ()
    branches: list[Node] = [] if ended else [Cat(())]
    for character, rests in beginnings.items():
        begun = union(begun, one(ord(character)))
        if intersection(one(ord(character)), allowed):
            branches.append(Cat([Chars(one(ord(character))), other_than(rests, allowed)]))
    return Alt([*branches, Cat([Chars(intersection(complement(begun), allowed)), any_text])])


def length(node: Node) -> tuple[int, int | None]:
    """The least and the most characters of a text that fits; None for no limit."""
    match node:
        case Chars():
            return 1, 1
        case Anchor():
            return 0, 0
        case Cat():
            sizes = [length(part) for part in node.parts]
            tops = [top for _, top in sizes if top is not None]
            return sum(low for low, _ in sizes), sum(tops) if len(tops) == len(sizes) else None
        case Alt():
            sizes = [length(branch) for branch in node.branches]
            tops = [top for _, top in sizes if top is not None]
            return min(low for low, _ in sizes), max(tops) if len(tops) == len(sizes) else None
        case Repeat():
            low, high = length(node.part)
            top = None if high is None or (node.most is None and high) else high * (node.most or 0)
            return low * node.least, top


def text_of(node: Node) -> str:
    """A node as xgrammar reads it; without anchors, which stand for themselves there."""
    match node:
        case Chars():
            return written(node.ranges)
        case Cat():
            return "".join(f"({text_of(p)})" if isinstance(p, Alt) else text_of(p) for p in node.parts)
        case Alt():
            texts = [text_of(branch) for branch in node.branches]
            some = "|".join(filter(None, texts))
            return some if all(texts) or not some else f"({some})?"
        case Anchor():
            return ""
        case Repeat():
            inner = text_of(node.part)
            if not inner:
                return ""
            body = inner if isinstance(node.part, Chars) else f"({inner})"
            return body + _count(node.least, node.most)


def found(node: Node, text: str) -> bool:
    """Whether a whole text fits. Python's `re` would be right too, but may never end and stops all threads.

    Raises:
        GrammarUnsupported: that takes too long to find out.
    """
    return bool(_Fitting(text).ends(node, 1) >> len(text))


class _Fitting:
    """Follows expressions through one text, from all places at once: place `n` of a set is its bit `n`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._left = _MOST_STEPS
        self._places: dict[Ranges, int] = {}
        self._known: dict[tuple[int, int], int] = {}

    def ends(self, node: Node, starts: int) -> int:
        """Where what fits can end that begins in one of some places."""
        key = id(node), starts
        if key not in self._known:
            self._spend(1 + len(self._text) // 64)
            self._known[key] = self._ends(node, starts)
        return self._known[key]

    def _ends(self, node: Node, starts: int) -> int:
        match node:
            case Chars():
                return (starts & self._of(node.ranges)) << 1
            case Anchor():
                return starts  # what it asks for stands around the expression by now
            case Cat():
                for part in node.parts:
                    starts = self.ends(part, starts)
                return starts
            case Alt():
                reached = 0
                for branch in node.branches:
                    reached |= self.ends(branch, starts)
                return reached
            case Repeat():
                return self._repeated(node, starts)

    def _repeated(self, node: Repeat, starts: int) -> int:
        reached = starts if node.least == 0 else 0
        count = 0
        while starts and (node.most is None or count < node.most):
            following = self.ends(node.part, starts)
            count += 1
            if following == starts:
                return reached | following  # and so it goes on, however often
            if count >= node.least:
                following &= ~reached
                reached |= following
            starts = following
        return reached

    def _of(self, ranges: Ranges) -> int:
        """The places of the characters out of a set."""
        if ranges not in self._places:
            self._spend(len(self._text))
            here = (any(low <= ord(character) <= high for low, high in ranges) for character in self._text)
            self._places[ranges] = sum(1 << place for place, fits in enumerate(here) if fits)
        return self._places[ranges]

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise GrammarUnsupported("whether a text fits the regular expression takes too long to find out")


def _count(least: int, most: int | None) -> str:
    short: dict[tuple[int, int | None], str] = {(0, None): "*", (1, None): "+", (0, 1): "?", (1, 1): ""}
    if (least, most) in short:
        return short[least, most]
    return f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"


def _anchored(node: Node, around: Node) -> Node:
    if isinstance(node, Alt):
        return Alt([_anchored(branch, around) for branch in node.branches])
    parts = list(node.parts) if isinstance(node, Cat) else [node]
    starts = bool(parts) and parts[0] == Anchor(True)
    while parts and parts[0] == Anchor(True):
        parts.pop(0)
    ends = bool(parts) and parts[-1] == Anchor(False)
    while parts and parts[-1] == Anchor(False):
        parts.pop()
    if len(parts) == 1 and isinstance(parts[0], Alt | Cat) and not (starts or ends):
        return _anchored(parts[0], around)
    if any(_has_anchor(part) for part in parts):
        raise GrammarUnsupported("the regular expression has '^' or '$' inside")
    return Cat([*(() if starts else (around,)), *parts, *(() if ends else (around,))])


def _has_anchor(node: Node) -> bool:
    match node:
        case Anchor():
            return True
        case Chars():
            return False
        case Cat():
            return any(map(_has_anchor, node.parts))
        case Alt():
            return any(map(_has_anchor, node.branches))
        case Repeat():
            return _has_anchor(node.part)
