"""Regular expressions: read and checked, to be written again so that xgrammar means the same by them.

xgrammar passes over what it does not know (an anchor inside, a lookahead, an escape), so that an answer would
be held to another expression than the one asked for. What is read here is the part that all dialects share.
"""

from __future__ import annotations

from fireside.text.grammar.characters import CLASSES, LINE_ENDS, Ranges, complement, one, union
from fireside.text.grammar.expressions import Alt, Anchor, Cat, Chars, Node, Repeat
from fireside.text.grammar.spec import GrammarUnsupported, GrammarWrong

_SPECIAL_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
_MOST_REPEATS = 100_000


def parse(pattern: str) -> Node:
    """Read a regular expression.

    Raises:
        GrammarWrong: it is none, or uses lookbehind, which not even all dialects know.
        GrammarUnsupported: it says what no grammar can.
    """
    reader = _Reader(pattern)
    try:
        node = reader.alternatives()
    except RecursionError as error:
        raise GrammarUnsupported("the regular expression is nested too deeply") from error
    if reader.peek:
        raise reader.wrong("an unmatched ')'")
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    @property
    def peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def wrong(self, what: str) -> GrammarWrong:
        return GrammarWrong(f"the regular expression is broken: {what} at character {self._at}")

    def unsupported(self, what: str) -> GrammarUnsupported:
        return GrammarUnsupported(f"the regular expression has {what}, which no grammar can enforce")

    def alternatives(self) -> Node:
        branches = [self._sequence()]
        while self._skip("|"):
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else Alt(branches)

    def _skip(self, text: str) -> bool:
        found = self._text.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found

    def _next(self, where: str) -> str:
        character = self.peek
        if not character:
            raise self.wrong(f"{where} is not closed")
        self._at += 1
        return character

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self.peek not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        return parts[0] if len(parts) == 1 else Cat(parts)

    def _repeated(self, part: Node) -> Node:
        counts = self._counts()
        if counts is None:
            return part
        if isinstance(part, Anchor):
            raise self.wrong("nothing to repeat")
        least, most = counts
        if most is not None and least > most:
            raise self.wrong("the least number of repetitions is above the most")
        if max(least, most or 0) > _MOST_REPEATS:
            raise self.unsupported(f"more than {_MOST_REPEATS} repetitions")
        if not self._skip("?") and self._skip("+"):
            raise self.unsupported("a possessive quantifier")
        if self._counts() is not None:
            raise self.wrong("a repetition is repeated")
        return Repeat(part, least, most)

    def _counts(self) -> tuple[int, int | None] | None:
        for mark, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._skip(mark):
                return counts
        if self.peek != "{":
            return None
        end = self._text.find("}", self._at)
        low, comma, high = self._text[self._at + 1 : end].partition(",") if end > 0 else ("", "", "")
        if not (low or high) or not all(
            not n or (n.isascii() and n.isdigit() and len(n) < 10) for n in (low, high)
        ):
            return None  # braces that are text
        self._at = end + 1
        least = int(low or 0)
        return least, (int(high) if high else None) if comma else least

    def _atom(self) -> Node:
        character = self._next("it")
        match character:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case ".":
                return Chars(complement(LINE_ENDS))
            case "^" | "$":
                return Anchor(character == "^")
            case "*" | "+" | "?":
                self._at -= 1
                raise self.wrong("nothing to repeat")
            case "\\":
                return Chars(self._escape(inside=False))
            case _:
                return Chars(((ord(character), ord(character)),))

    def _group(self) -> Node:
        if self._skip("?"):
            if self._skip("<=") or self._skip("<!"):
                raise GrammarWrong(
                    "the regular expression has a lookbehind, which JSON Schema advises against"
                )
            if self._skip("=") or self._skip("!"):
                raise self.unsupported("a lookahead")
            if self._skip("P<") or self._skip("<"):
                end = self._text.find(">", self._at)
                if not self._text[self._at : end].isidentifier():
                    raise self.wrong("a group's name is none")
                self._at = end + 1
            elif not self._skip(":"):
                raise self.unsupported("an extension in a group")
        node = self.alternatives()
        if not self._skip(")"):
            raise self.wrong("a group is not closed")
        return node

    def _class(self) -> Node:
        negated = self._skip("^")
        ranges: Ranges = ()
        first = True
        while first or self.peek != "]":
            first = False
            low = self._member(wide=negated)
            if self.peek == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                high = self._member(wide=negated)
                if not (_single(low) and _single(high)) or low[0][0] > high[0][0]:
                    raise self.wrong("a range in a class is none")
                low = ((low[0][0], high[0][0]),)
            ranges = union(ranges, low)
        self._at += 1
        return Chars(complement(ranges) if negated else ranges)

    def _member(self, *, wide: bool) -> Ranges:
        """A character or a class; a wide one has all that any dialect counts in."""
        character = self._next("a class")
        if character == "\\" and wide and self.peek and self.peek in CLASSES:
            return complement(CLASSES[self._next("an escape").swapcase()])
        if character == "\\":
            return self._escape(inside=True)
        if character == "[" and self.peek in (":", "=", "."):
            raise self.unsupported("a POSIX class")
        return ((ord(character), ord(character)),)

    def _escape(self, inside: bool) -> Ranges:
        character = self._next("an escape")
        if character in CLASSES:
            return CLASSES[character]
        if character in _SPECIAL_ESCAPES and not (character == "0" and self.peek.isdigit()):
            return one(ord(_SPECIAL_ESCAPES[character]))
        if character in "xu":
            return one(self._hexadecimal(2 if character == "x" else 4))
        if inside and character == "b":
            return one(8)
        if character in "bB":
            raise self.unsupported("a word boundary")
        if character in "123456789k":
            raise self.unsupported("a backreference")
        if character in "pP":
            raise self.unsupported("a Unicode property")
        if character.isalnum():
            raise self.unsupported(f"the escape \\{character}")
        return one(ord(character))

    def _hexadecimal(self, digits: int) -> int:
        if digits == 4 and self._skip("{"):
            end = self._text.find("}", self._at)
            digits = end - self._at
            code = self._digits(digits)
            self._at += 1
        else:
            code = self._digits(digits)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise self.unsupported("half of a character")
        return code

    def _digits(self, count: int) -> int:
        digits = self._text[self._at : self._at + max(count, 0)]
        if not digits or len(digits) != count or not all(d in "0123456789abcdefABCDEF" for d in digits):
            raise self.wrong("a hexadecimal escape is incomplete")
        self._at += count
        return int(digits, 16)


def _single(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]
