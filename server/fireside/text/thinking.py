"""Closing a thinking block in a model's own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fireside.text.markup import MarkupSpec

_HARMONY = ("<|channel|>", "<|end|>", "<|end|><|start|>assistant<|channel|>final<|message|>")


@dataclass(frozen=True)
class ThinkingTokens:
    """What begins and ends a model's thoughts, in token ids.

    Attributes:
        open_id: begins them, where the prompt has not.
        close_id: shows that they are over.
        closing: written in the model's place, ends them and begins the answer.
    """

    open_id: int
    close_id: int
    closing: Sequence[int]


def thinking_tokens(markup: MarkupSpec, tokenizer: Any) -> ThinkingTokens | None:
    """None for a model that does not think, or whose marks are not single tokens: nothing could tell
    between two steps whether it still does."""
    if markup.harmony:
        start, end, closing = _HARMONY
    elif markup.think is not None:
        start, end = markup.think
        closing = f"\n{end}\n\n"
    else:
        return None
    ids: list[list[int]] = [tokenizer.encode(text, add_special_tokens=False) for text in (start, end)]
    if any(len(mark) != 1 for mark in ids):
        return None
    return ThinkingTokens(ids[0][0], ids[1][0], tokenizer.encode(closing, add_special_tokens=False))
