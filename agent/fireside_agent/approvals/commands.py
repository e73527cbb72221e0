"""Reads a shell command, in order to say that it runs one program and with which words.

Anything that is not plainly that is refused, so that it is asked about. The scanner is our own: `shlex`
gives words without saying whether a character was quoted, so `ls ";"` and `ls ;` look the same with
`punctuation_chars`; it drops newlines as blanks, knows nothing of `$` and backticks, and keeps the
backslash of `"\\$"`, which a shell removes (POSIX.1-2017, Shell Command Language, 2.2).
"""

import unicodedata
from dataclasses import dataclass

from fireside_agent.approvals.programs import (
    NotSimpleError,
    check_options,
    check_program,
    known_prefix,
)

MAX_CHARACTERS = 10_000

OPERATORS = {
    ";": "it runs commands one after the other",
    "&": "it chains commands or runs one in the background",
    "|": "it pipes into another command",
    "<": "it redirects",
    ">": "it redirects",
    "(": "it uses a subshell",
    ")": "it uses a subshell",
    "{": "it uses braces",
    "}": "it uses braces",
    "!": "it negates or takes up history",
    "$": "it substitutes",
    "`": "it substitutes",
}
IN_DOUBLE_QUOTES = "$`!"
"""What keeps its meaning there; `!` only in interactive shells."""

GLOB = "*?["
HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls, invisible and direction marks, surrogates: the card could show another command than runs."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command, quotes removed.

    Attributes:
        literal: the program gets exactly `text`; otherwise the shell may expand it to file names.
    """

    text: str
    literal: bool = True


def read_command(text: str) -> tuple[Word, ...]:
    """The words of `text`, which is one simple command in POSIX shells, bash and zsh.

    Raises:
        NotSimpleError: it is, or might be, anything else.
    """
    if len(text) > MAX_CHARACTERS:
        raise NotSimpleError(f"it is longer than {MAX_CHARACTERS} characters")
    for character in text:
        category = unicodedata.category(character)
        if category in HIDDEN_CATEGORIES or (category == "Zs" and character != " "):
            raise NotSimpleError(f"it holds the character U+{ord(character):04X}")
    words = _Scanner(text).words()
    if not words:
        raise NotSimpleError("it is empty")
    if not words[0].literal:
        raise NotSimpleError("the name of the program is a pattern")
    check_program(words[0].text)
    return words


def covers(prefix: tuple[str, ...], command: str) -> bool:
    """Whether `command` is one program's run that begins with the words of `prefix`, and runs no other."""
    try:
        words = read_command(command)
        check_words(words)
    except NotSimpleError:
        return False
    # An expanding word is never equal to one of the rule's: it may stand for another.
    return bool(prefix) and words[: len(prefix)] == tuple(map(Word, prefix))


def check_words(words: tuple[Word, ...]) -> None:
    """Raises NotSimpleError where the program would run others because of its arguments."""
    texts = tuple(word.text for word in words)
    known_prefix(texts)
    checked = check_options(texts)
    if checked and any(word.text[:1] in GLOB and not word.literal for word in words[1:]):
        raise NotSimpleError(f"a file's name could become an option of {texts[0]}")


def check_prefix(prefix: tuple[str, ...]) -> None:
    """Raises NotSimpleError where no rule may have these words."""
    if not prefix:
        raise NotSimpleError("it is empty")
    check_program(prefix[0])
    check_words(tuple(Word(text) for text in prefix))


def suggest_prefix(command: str) -> tuple[str, ...] | None:
    """The words that a rule made from `command` would have; None where no prefix is safe to offer.

    Only programs known to look, build or test are offered. A person's own program can have an exact rule.
    """
    try:
        words = read_command(command)
        check_words(words)
        prefix = known_prefix(tuple(word.text for word in words))
    except NotSimpleError:
        return None
    if prefix is None or not all(word.literal for word in words[: len(prefix)]):
        return None
    return prefix


class _Scanner:
    """Splits as a shell does, and stops at the first character that would do more than that."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def words(self) -> tuple[Word, ...]:
        words: list[Word] = []
        while self._skip_blanks():
            words.append(self._word())
        return tuple(words)

    def _skip_blanks(self) -> bool:
        while self._peek() == " ":
            self._at += 1
        return self._at < len(self._text)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        character = self._peek()
        if not character:
            raise NotSimpleError("a quote or a backslash at its end is left open")
        self._at += 1
        return character

    def _word(self) -> Word:
        if self._peek() == "#":
            raise NotSimpleError("it holds a comment")
        parts: list[str] = []
        literal = self._peek() != "~"
        while (character := self._peek()) not in ("", " "):
            self._at += 1
            if character in OPERATORS:
                raise NotSimpleError(OPERATORS[character])
            if character == "'":
                parts.append(self._single_quoted())
            elif character == '"':
                parts.append(self._double_quoted())
            elif character == "\\":
                parts.append(self._next())
            else:
                # A tilde also expands after `=` and `:` in what looks like an assignment.
                literal = literal and character not in GLOB and character != "~"
                parts.append(character)
        return Word("".join(parts), literal)

    def _single_quoted(self) -> str:
        parts: list[str] = []
        while (character := self._next()) != "'":
            parts.append(character)
        return "".join(parts)

    def _double_quoted(self) -> str:
        parts: list[str] = []
        while (character := self._next()) != '"':
            if character in IN_DOUBLE_QUOTES:
                raise NotSimpleError(OPERATORS[character])
            if character == "\\":
                character = self._escaped()
            parts.append(character)
        return "".join(parts)

    def _escaped(self) -> str:
        """After a backslash inside double quotes, where most characters keep it."""
        character = self._next()
        if character == "!":
            raise NotSimpleError(OPERATORS[character])
        return character if character in '$`"\\' else "\\" + character
