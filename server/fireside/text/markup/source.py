"""Text that arrives in pieces, read by generators that wait where the next piece is needed.

A reader is written as if the whole text were there; `yield from` on a method of `Source` suspends it until
that method can answer. What a reader sees depends on the text alone, never on where the pieces were cut.
Each character is looked at a bounded number of times: while a reader waits, at most a marker's length of
text is unread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from functools import cached_property
from typing import Protocol, TypeVar

T = TypeVar("T")
Steps = Generator[None, None, T]


class Ended(Exception):
    """The text is over, and the reader needs more of it."""


class Malformed(Exception):
    """The text is not in the format that is being read."""


class Markers:
    """A set of texts to look for together. None may be empty or contain another one."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(dict.fromkeys(texts))
        if not all(self.texts):
            raise ValueError("a marker is empty; leave it out")

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds the first of them; with no texts, nothing."""
        return re.compile("|".join(map(re.escape, self.texts)) or r"(?!)")

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        return frozenset(text[:length] for text in self.texts for length in range(1, len(text)))

    @cached_property
    def longest(self) -> int:
        """Characters in the longest one."""
        return max(map(len, self.texts), default=0)

    def possible_begin(self, text: str) -> int:
        """The length of the longest end of `text` that begins a marker."""
        for length in range(min(self.longest - 1, len(text)), 0, -1):
            if text[-length:] in self._beginnings:
                return length
        return 0


class Scanner(Protocol):
    """Finds the end of something, piece by piece."""

    done: bool

    def scan(self, text: str, at: int) -> int:
        """Read on from `at`; the position behind the last character that belongs to it.

        Raises:
            Misfit: a character cannot follow; its position.
        """
        ...


class Misfit(Exception):
    """A scanner met a character that cannot follow.

    Attributes:
        at: its position in the text that was being scanned.
    """

    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at = at


class Source:
    """The text of one answer.

    Attributes:
        looked_at: characters handed to searches so far, for tests of the work done.
    """

    def __init__(self) -> None:
        self._text = ""
        self._at = 0
        self._closed = False
        self._tape: list[str] | None = None
        self.looked_at = 0

    def push(self, text: str) -> None:
        """Add the next piece."""
        self._text = self._text[self._at :] + text
        self._at = 0
        self.looked_at += len(self._text)

    def close(self) -> None:
        """Nothing follows: a reader that needs more gets `Ended`."""
        self._closed = True

    def record(self, begin: str = "") -> None:
        """Keep what is read from here on, behind `begin`, until `forget`."""
        self._tape = [begin]

    def forget(self) -> str:
        """What was kept since `record`; keeps nothing more."""
        tape, self._tape = self._tape, None
        return "".join(tape or ())

    def rest(self) -> str:
        """Read what is there, without waiting."""
        return self._take(len(self._text) - self._at)

    def peek(self) -> Steps[str]:
        """The next character, unread."""
        while self._at == len(self._text):
            yield from self._more()
        return self._text[self._at]

    def space(self) -> Steps[None]:
        """Read white space, if any."""
        yield from self.while_in(_SPACE)

    def literal(self, text: str) -> Steps[None]:
        """Read exactly `text`.

        Raises:
            Malformed: something else follows; it stays unread.
        """
        if (yield from self.one_of((text,))) is None:
            raise Malformed(f"expected {text!r}")

    def one_of(self, texts: tuple[str, ...]) -> Steps[str | None]:
        """Read the one of these texts that follows; None, and nothing is read, if none does."""
        longest = max(map(len, texts))
        while True:
            window = self._text[self._at : self._at + longest]
            for text in texts:
                if window.startswith(text):
                    self._take(len(text))
                    return text
            if not any(text.startswith(window) for text in texts):
                return None
            yield from self._more()

    def while_in(self, kind: re.Pattern[str]) -> Steps[str]:
        """Read the run of characters that `kind`, a repeated character class, matches."""
        pieces: list[str] = []
        while True:
            found = kind.match(self._text, self._at)
            if found:
                pieces.append(self._take(found.end() - self._at))
            if self._at < len(self._text):
                return "".join(pieces)
            yield from self._more()

    def until(self, markers: Markers) -> Steps[tuple[str, str]]:
        """Read up to the first of these markers, which is read too; the text before it and the marker."""
        pieces: list[str] = []
        marker = yield from self.stream_until(markers, pieces.append)
        return "".join(pieces), marker

    def stream_until(self, markers: Markers, sink: Callable[[str], None]) -> Steps[str]:
        """The same, but the text goes to `sink` as it comes. What may begin a marker is held back."""
        while True:
            found = markers.pattern.search(self._text, self._at)
            if found:
                if found.start() > self._at:
                    sink(self._take(found.start() - self._at))
                self._take(len(found.group()))
                return found.group()
            rest = len(self._text) - self._at
            sure = rest - markers.possible_begin(
                self._text[max(self._at, len(self._text) - markers.longest) :]
            )
            if sure:
                sink(self._take(sure))
            if self._closed and sure < rest:
                sink(self._take(rest - sure))
            yield from self._more()

    def scan(self, scanner: Scanner, sink: Callable[[str], None]) -> Steps[None]:
        """Read what a scanner accepts, into `sink`, until it is done.

        Raises:
            Malformed: the scanner met a misfit, which stays unread; what is before it has gone to `sink`.
        """
        while not scanner.done:
            if self._at == len(self._text):
                yield from self._more()
                continue
            try:
                end = scanner.scan(self._text, self._at)
            except Misfit as misfit:
                if misfit.at > self._at:
                    sink(self._take(misfit.at - self._at))
                raise Malformed(str(misfit)) from misfit
            if end > self._at:
                sink(self._take(end - self._at))

    def _more(self) -> Steps[None]:
        if self._closed:
            raise Ended
        yield

    def _take(self, length: int) -> str:
        text = self._text[self._at : self._at + length]
        self._at += length
        if self._tape is not None:
            self._tape.append(text)
        return text


_SPACE = re.compile(r"\s*")
