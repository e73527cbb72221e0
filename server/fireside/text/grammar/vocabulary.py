"""A tokenizer's tokens, as the grammar worker is told of them: it loads no tokenizer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from fireside.text.grammar.spec import GrammarUnsupported


class VocabularyDescription(msgspec.Struct, frozen=True):
    """What makes an `xgrammar.TokenizerInfo`."""

    tokens: list[str]
    """By id, as the tokenizer writes them; empty where no answer may have the token."""
    backend: str
    """The tokenizer as `tokenizer.json`: it says how a token's bytes are written."""
    begins_with_space: bool
    """Whether a text gets a space in front when it is tokenized."""
    stop_ids: list[int]


def describe(tokenizer: Any, hidden: Collection[int], stop_ids: Collection[int]) -> VocabularyDescription:
    """Describe a tokenizer. Not to be called in two threads at once.

    Args:
        tokenizer: of transformers, or mlx-lm's wrapper around one.
        hidden: tokens that an answer does not show, so that no grammar may take them for their text.

    Raises:
        GrammarUnsupported: it is not one of the `tokenizers` library, the only ones that can be described.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise GrammarUnsupported(
            "this model's tokenizer is not described by a tokenizer.json, so that no grammar can be "
            "enforced; use a conversion of the model that has one"
        )
    ids: dict[str, int] = tokenizer.get_vocab()
    tokens = [""] * (max(ids.values(), default=-1) + 1)
    for token, index in ids.items():
        if index not in hidden:
            tokens[index] = token
    first: list[int] = tokenizer.encode("a", add_special_tokens=False)
    begins_with_space = bool(first) and tokenizer.convert_ids_to_tokens(first)[0].startswith(("▁", "Ġ"))
    return VocabularyDescription(tokens, backend.to_str(), begins_with_space, sorted(stop_ids))
