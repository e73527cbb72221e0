"""What a person typed, as terms that must all occur. Every string is a query; nothing is an operator."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from fireside_agent.search.folding import CJK, COMBINING, WORD, WORDS, fold

MAX_CHARACTERS = 2000
MAX_TERMS = 16
MIN_PREFIX = 2
"""Letters that a word needs to be taken for the beginning of another."""
RUN = 3
"""Characters of a run in `search_parts`."""
MAX_RUNS = 12
"""Runs of one term that are looked up; the text itself decides anyway."""

QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"'))
UNSTORABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
PIECES = re.compile(r'"([^"]*)"?|[^\s"]+')
SCRIPTS = re.compile(f"[{CJK}]+|[^{CJK}]+")
IDEOGRAMS = re.compile(f"[{CJK}]")
PROSE = ".,;:!?'\"()[]{}<>*^-…‘’`、。，．！？：；（）「」『』【】・"
"""Punctuation around a word that does not belong to it."""
LAST = chr(0x10FFFF)
UNSEEN = re.compile(f"[{chr(COMBINING.start)}-{chr(COMBINING.stop - 1)}]")
"""Accents that the word index skips, so that they do not end a word."""


@dataclass(frozen=True)
class Term:
    """One thing that must occur: as a word or words in a row, or as a part of the text.

    Attributes:
        typed: as it is for the index, which folds by its own tables.
        text: folded, for looking into texts.
        by_word: looked up as words.
        by_part: looked up inside of words too, or only so. Short words are not: they are in most texts.
        prefix: its last word may go on.
    """

    typed: str
    text: str
    by_word: bool
    by_part: bool
    prefix: bool

    @cached_property
    def words(self) -> "re.Pattern[str]":
        """Finds it as words in folded text."""
        between = r"[\W_]+".join(map(re.escape, WORDS.findall(self.text)))
        return re.compile(f"(?<!{WORD}){between}" + ("" if self.prefix else f"(?!{WORD})"))

    @property
    def word_match(self) -> str:
        """For MATCH on `search_words`."""
        return f'"{" ".join(WORDS.findall(UNSEEN.sub("", self.typed)))}"' + (" *" if self.prefix else "")

    @property
    def part_match(self) -> str | None:
        """For MATCH on `search_parts`, None when it is too short for that. The text may hold it, or not."""
        last = len(self.typed) - RUN
        if last < 0:
            return None
        step = max(1, -(-last // (MAX_RUNS - 1)))
        starts = dict.fromkeys([*range(0, last, step), last])
        return " ".join('"' + self.typed[start : start + RUN].replace('"', '""') + '"' for start in starts)

    @property
    def part_range(self) -> tuple[str, str]:
        """First term of `search_part_terms` that begins with it, and where they end."""
        start = "".join(low if len(low := letter.lower()) == 1 else letter for letter in self.typed)
        return start, start + LAST

    @cached_property
    def may_differ(self) -> bool:
        """Whether it may be there as words but not as it is written, with something else between them."""
        return self.by_word and (not self.by_part or WORDS.fullmatch(self.text) is None)

    def count(self, folded: str) -> int:
        """How often folded text holds it."""
        found = folded.count(self.text) if self.by_part else 0
        return found or (sum(1 for _ in self.words.finditer(folded)) if self.may_differ else 0)

    def places(self, folded: str) -> Iterator[tuple[int, int]]:
        """Where it is in folded text: as words, and only where there are none, inside of words."""
        found = False
        if self.by_word:
            for match in self.words.finditer(folded):
                found = True
                yield match.span()
        start = -1 if found or not self.by_part else folded.find(self.text)
        while start >= 0:
            yield start, start + len(self.text)
            start = folded.find(self.text, start + len(self.text))


def parse(query: str) -> tuple[list[Term], str | None]:
    """The terms of a query, and what should be said about it; no terms when nothing can be searched."""
    note = None
    if len(query) > MAX_CHARACTERS:
        query, note = query[:MAX_CHARACTERS], f"Only the first {MAX_CHARACTERS} characters were looked for."
    pieces = list(PIECES.finditer(UNSTORABLE.sub(" ", query).translate(QUOTES)))
    terms: dict[str, Term] = {}
    for piece in pieces:
        phrase: str | None = piece[1]
        final = piece is pieces[-1] and phrase is None
        segments = [piece[0]] if phrase is None else [" ".join(phrase.split())]
        if phrase is None:
            segments = SCRIPTS.findall(piece[0])
        for segment in segments:
            term = _term(segment, prefix=final and segment is segments[-1], joined=len(segments) > 1)
            if term is not None:
                terms[term.text] = term
    if not terms:
        return [], "There is nothing to search for; type a letter, a digit or a symbol."
    if len(terms) > MAX_TERMS:
        note = f"Only the first {MAX_TERMS} words were looked for."
    return list(terms.values())[:MAX_TERMS], note


def _term(segment: str, *, prefix: bool, joined: bool) -> Term | None:
    """The term for what was typed; `joined`: something in another script stands right before or after it."""
    typed = segment.strip(PROSE + " ")
    text = fold(typed)
    words = WORDS.findall(text)
    if not words:
        symbols = segment.strip()
        meant = typed or len(set(symbols)) > 1
        return Term(symbols, fold(symbols), by_word=False, by_part=True, prefix=False) if meant else None
    # `F++` and `30%` mean their symbols; `foo-bar` and `can't` are also words in a row.
    by_word = text.startswith(words[0]) and text.endswith(words[-1]) and not IDEOGRAMS.search(text)
    by_part = not by_word or joined or len(text) >= RUN
    goes_on = prefix and segment[-1] not in PROSE and len(words[-1]) >= MIN_PREFIX
    return Term(typed, text, by_word, by_part, prefix=by_word and goes_on)
