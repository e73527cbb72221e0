"""Small models with random weights, one for each way in which a model remembers."""

from __future__ import annotations

import random
from types import MethodType
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_map_with_path
from mlx_lm.models import gemma3_text, lfm2, llama
from mlx_lm.models.cache import QuantizedKVCache

VOCAB = 320
WINDOW = 24


def prompt(seed: int, length: int) -> list[int]:
    """Token ids that only the same seed gives."""
    rng = random.Random(seed)
    return [rng.randrange(VOCAB) for _ in range(length)]


def full_attention() -> nn.Module:
    """Every token attends to all before it; its caches can be trimmed."""
    return _loud(
        llama.Model(
            llama.ModelArgs(
                model_type="llama",
                hidden_size=64,
                num_hidden_layers=2,
                intermediate_size=128,
                num_attention_heads=2,
                rms_norm_eps=1e-5,
                vocab_size=VOCAB,
            )
        )
    )


def sliding_window() -> nn.Module:
    """One layer in two sees the last `WINDOW` tokens; its caches cannot be trimmed once they are full."""
    return _loud(
        gemma3_text.Model(
            gemma3_text.ModelArgs(
                model_type="gemma3_text",
                hidden_size=64,
                num_hidden_layers=2,
                intermediate_size=128,
                num_attention_heads=2,
                head_dim=32,
                vocab_size=VOCAB,
                sliding_window=WINDOW,
                sliding_window_pattern=2,
                query_pre_attn_scalar=32,
            )
        )
    )


def hybrid() -> nn.Module:
    """A convolution's state beside attention; it can never be trimmed."""
    return _loud(
        lfm2.Model(
            lfm2.ModelArgs(
                model_type="lfm2",
                vocab_size=VOCAB,
                hidden_size=64,
                num_hidden_layers=2,
                num_attention_heads=2,
                num_key_value_heads=1,
                max_position_embeddings=4096,
                norm_eps=1e-5,
                conv_bias=False,
                conv_L_cache=3,
                block_dim=64,
                block_multiple_of=32,
                block_ffn_dim_multiplier=1.0,
                block_auto_adjust_ff_dim=False,
                intermediate_size=128,
                layer_types=["conv", "full_attention"],
            )
        )
    )


def unmergeable() -> nn.Module:
    """Its caches have no batched form."""
    model = full_attention()

    def make_cache(self: Any) -> list[QuantizedKVCache]:
        return [QuantizedKVCache(group_size=32, bits=8) for _ in self.layers]

    object.__setattr__(model, "make_cache", MethodType(make_cache, model))
    return model


def _loud(model: nn.Module) -> nn.Module:
    """Random weights with clear favourites, which one other token long before is enough to change.

    Else the answer follows from the last token alone, and is right whatever a cache holds.
    """
    mx.random.seed(3)
    model.update({"model": {"embed_tokens": {"weight": mx.random.normal((VOCAB, 64))}}})
    model.update(tree_map_with_path(_louder, model.parameters()))
    mx.eval(model.parameters())
    return model


def _louder(name: str, weight: mx.array) -> mx.array:
    kind = name.split(".")[-2]
    if kind in ("q_proj", "k_proj"):
        return weight * 3  # so that attention is to single tokens
    return weight * 16 if kind in ("v_proj", "o_proj", "out_proj") else weight
