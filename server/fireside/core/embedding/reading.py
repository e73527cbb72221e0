"""Token ids of texts to vectors of unit length."""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import numpy.typing as npt
from mlx_lm.models.cache import make_prompt_cache

from fireside.catalog.embedders import Embedder, Pooling

Floats = npt.NDArray[np.float32]

_SMALLEST_NORM = 1e-12


class Reader:
    """A loaded model and how it makes a vector.

    Args:
        block: batches are padded to a multiple of so many tokens; more than 1 where new shapes are dear.
    """

    def __init__(self, model: nn.Module, embedder: Embedder, block: int = 1) -> None:
        self._model: Any = model
        self._block = block
        self.embedder = embedder

    @property
    def causal(self) -> bool:
        """Whether a text can be read in pieces."""
        return self.embedder.kind == "decoder"

    def vectors(self, texts: Sequence[Sequence[int]]) -> Floats:
        """The vectors of some texts, read together, (texts, size)."""
        longest = max(map(len, texts))
        width = min(-(-longest // self._block) * self._block, max(longest, self.embedder.max_tokens))
        ids = np.zeros((len(texts), width), np.int32)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = text
        lengths = mx.array([len(text) for text in texts])
        mask = mx.arange(width)[None] < lengths[:, None]
        if self.causal:
            # What follows a token changes nothing of it, so padding needs no mask.
            hidden = self._model.model(mx.array(ids))
        else:
            hidden = self._model(mx.array(ids), mask if any(len(text) < width for text in texts) else None)
        return _normal(_pooled(hidden.astype(mx.float32), mask, lengths, self.embedder.pooling))

    def long_text(self, text: Sequence[int]) -> "LongText":
        """A text to be read in pieces."""
        return LongText(self._model, text, self.embedder.pooling)


class LongText:
    """A text that a decoder reads piece by piece, its keys and values kept between them.

    Attributes:
        done: tokens that have been read.
    """

    def __init__(self, model: Any, text: Sequence[int], pooling: Pooling) -> None:
        self._model = model
        self._text = text
        self._pooling: Pooling = pooling
        self._caches = make_prompt_cache(model)
        self.done = 0
        self._pooled = mx.zeros(1)

    def read(self, most: int) -> Floats | None:
        """Read the next tokens, `most` of them at most; the vector once the whole text has been read."""
        piece = self._text[self.done : self.done + most]
        hidden = self._model.model(mx.array([piece]), cache=self._caches).astype(mx.float32)
        self.done += len(piece)
        match self._pooling:
            case "mean":
                self._pooled = self._pooled + hidden.sum(axis=1)
            case "cls":
                self._pooled = self._pooled if self.done > len(piece) else hidden[:, 0]
            case "last":
                self._pooled = hidden[:, -1]
        if self.done == len(self._text):
            return _normal(self._pooled)[0]
        mx.eval(self._pooled, [cache.state for cache in self._caches])
        return None


def _pooled(hidden: mx.array, mask: mx.array, lengths: mx.array, pooling: Pooling) -> mx.array:
    match pooling:
        case "cls":
            return hidden[:, 0]
        case "last":
            return hidden[mx.arange(hidden.shape[0]), lengths - 1]
        case "mean":
            return mx.where(mask[..., None], hidden, 0).sum(axis=1) / lengths[:, None]


def _normal(pooled: mx.array) -> Floats:
    norm = mx.maximum(mx.linalg.norm(pooled, axis=-1, keepdims=True), _SMALLEST_NORM)
    return np.array(pooled / norm, dtype=np.float32)
