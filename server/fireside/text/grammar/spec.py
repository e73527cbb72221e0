"""A grammar as it is written, and what may be wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GrammarKind = Literal["json_schema", "regex", "ebnf", "structural_tag"]


@dataclass(frozen=True)
class GrammarSpec:
    """A grammar that is still to be compiled for a tokenizer.

    Attributes:
        kind: how `text` is to be read.
        text: a JSON schema, a regular expression, a grammar in xgrammar's EBNF, or a structural tag as JSON.
    """

    kind: GrammarKind
    text: str


class GrammarError(Exception):
    """A grammar cannot be compiled; the message says why, in words for the person who wrote it."""


class GrammarWrong(GrammarError):
    """It is no grammar: nobody could enforce it."""


class GrammarUnsupported(GrammarError):
    """It may be a right one, but cannot be enforced here: too large, too slow, or not expressible."""
