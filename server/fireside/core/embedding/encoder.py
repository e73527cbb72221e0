"""BERT and RoBERTa encoders: every token attends to every other one of its text."""

import math
import re
from collections.abc import Callable
from typing import Any

import mlx.core as mx
import mlx.nn as nn

_ACTIVATIONS: dict[str, Callable[[mx.array], mx.array]] = {
    "gelu": nn.gelu,
    "gelu_new": nn.gelu_approx,
    "gelu_pytorch_tanh": nn.gelu_approx,
    "relu": nn.relu,
}

_PREFIX = re.compile(r"^(bert|roberta|model)\.")
_PARTS = ("embeddings.", "encoder.layer.")
_RENAMED = (
    ("encoder.layer.", "layers."),
    (".attention.self.", "."),
    (".attention.output.dense.", ".attended."),
    (".attention.output.LayerNorm.", ".attended_norm."),
    (".intermediate.dense.", ".wide."),
    (".output.dense.", ".narrow."),
    (".output.LayerNorm.", ".norm."),
    ("embeddings.LayerNorm.", "embeddings.norm."),
    ("_embeddings.", "."),
    ("norm.gamma", "norm.weight"),
    ("norm.beta", "norm.bias"),
)


class Encoder(nn.Module):
    """An encoder without heads, of a transformers config of type `bert` or `roberta`.

    Raises:
        ValueError: its activation is not known.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.embeddings = _Embeddings(config)
        self.layers = [_Layer(config) for _ in range(config["num_hidden_layers"])]

    def __call__(self, ids: mx.array, mask: mx.array | None = None) -> mx.array:
        """The last layer's vectors, (texts, tokens, width).

        Args:
            ids: (texts, tokens), padded on the right.
            mask: of the same shape, False for padding; None if there is none.
        """
        hidden = self.embeddings(ids)
        keys = None if mask is None else mask[:, None, None, :]
        for layer in self.layers:
            hidden = layer(hidden, keys)
        return hidden

    @staticmethod
    def renamed(weights: dict[str, mx.array]) -> dict[str, mx.array]:
        """A transformers checkpoint's arrays under this module's names; poolers and heads are left out."""
        found: dict[str, mx.array] = {}
        for name, array in weights.items():
            name = _PREFIX.sub("", name)
            if not name.startswith(_PARTS) or name.endswith("_ids"):
                continue
            for old, new in _RENAMED:
                name = name.replace(old, new)
            found[name] = array
        return found


class _Embeddings(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width = config["hidden_size"]
        self.word = nn.Embedding(config["vocab_size"], width)
        self.position = nn.Embedding(config["max_position_embeddings"], width)
        self.token_type = nn.Embedding(config.get("type_vocab_size", 2), width)
        self.norm = nn.LayerNorm(width, eps=config.get("layer_norm_eps", 1e-12))
        # RoBERTa counts its positions from the one after its padding token.
        self._first = 0 if config["model_type"] == "bert" else config.get("pad_token_id", 1) + 1

    def __call__(self, ids: mx.array) -> mx.array:
        positions = mx.arange(self._first, self._first + ids.shape[1])
        return self.norm(self.word(ids) + self.position(positions) + self.token_type(mx.zeros_like(ids)))


class _Layer(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        eps = config.get("layer_norm_eps", 1e-12)
        activation = config.get("hidden_act", "gelu")
        if activation not in _ACTIVATIONS:
            raise ValueError(f"the activation {activation!r} is not one of {', '.join(_ACTIVATIONS)}")
        self._activation = _ACTIVATIONS[activation]
        self._heads = config["num_attention_heads"]
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.attended = nn.Linear(width, width)
        self.attended_norm = nn.LayerNorm(width, eps=eps)
        self.wide = nn.Linear(width, inner)
        self.narrow = nn.Linear(inner, width)
        self.norm = nn.LayerNorm(width, eps=eps)

    def __call__(self, hidden: mx.array, keys: mx.array | None) -> mx.array:
        hidden = self.attended_norm(hidden + self.attended(self._attend(hidden, keys)))
        return self.norm(hidden + self.narrow(self._activation(self.wide(hidden))))

    def _attend(self, hidden: mx.array, keys: mx.array | None) -> mx.array:
        texts, tokens, width = hidden.shape
        head = width // self._heads

        def split(linear: nn.Module) -> mx.array:
            return linear(hidden).reshape(texts, tokens, self._heads, head).transpose(0, 2, 1, 3)

        attended = mx.fast.scaled_dot_product_attention(
            split(self.query), split(self.key), split(self.value), scale=1 / math.sqrt(head), mask=keys
        )
        return attended.transpose(0, 2, 1, 3).reshape(texts, tokens, width)
