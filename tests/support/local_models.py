"""Model folders with small real weights: plain ones, and those of the Hugging Face cache."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER_COMMIT = "fedcba9876543210fedcba9876543210fedcba98"

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 96,
    "vocab_size": 320,
    "max_position_embeddings": 4096,
}
TEMPLATE = "{% if tools %}{{ tools }}{% endif %}{{ messages }}{% if enable_thinking %}<think>{% endif %}"
CARD = "---\nlicense: apache-2.0\ntags:\n- text-generation\n---\n# A model\n"

Arrays = dict[str, Any]


def weights(seed: int = 0, layers: int = 2) -> Arrays:
    """The arrays of such a model, or of some of its layers."""
    rng = np.random.default_rng(seed)
    arrays: Arrays = {"model.embed_tokens.weight": rng.normal(size=(320, 64)).astype(np.float16)}
    for layer in range(layers):
        for name, shape in (("self_attn.q_proj", (64, 64)), ("mlp.down_proj", (64, 96))):
            arrays[f"model.layers.{layer}.{name}.weight"] = rng.normal(size=shape).astype(np.float16)
    return arrays


def write_model(folder: Path, config: dict[str, Any] | None = None, shards: int = 1, **files: str) -> Path:
    """A complete model.

    Args:
        config: besides or instead of what `LLAMA` says.
        files: further files, or others, by their names with `__` for a dot.
    """
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({**LLAMA, **(config or {})}))
    (folder / "tokenizer.json").write_text("{}")
    arrays = weights()
    if shards == 1:
        save_file(arrays, folder / "model.safetensors")
    else:
        names = [f"model-{n:05}-of-{shards:05}.safetensors" for n in range(1, shards + 1)]
        places = {name: names[number % shards] for number, name in enumerate(arrays)}
        for shard in names:
            save_file(
                {name: arrays[name] for name, place in places.items() if place == shard}, folder / shard
            )
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    for name, text in {"chat_template__jinja": TEMPLATE, "README__md": CARD, **files}.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def write_cached(
    cache: Path,
    repo_id: str,
    config: dict[str, Any] | None = None,
    shards: int = 1,
    commit: str = COMMIT,
    *,
    main: bool = True,
) -> Path:
    """A model as huggingface_hub lays it out, with its contents in `blobs`; returns the snapshot."""
    repo = cache / f"models--{repo_id.replace('/', '--')}"
    (repo / "blobs").mkdir(parents=True, exist_ok=True)
    snapshot = write_model(repo / "snapshots" / commit, config, shards)
    for file in sorted(snapshot.iterdir()):
        blob = repo / "blobs" / hashlib.sha256(file.read_bytes()).hexdigest()
        file.rename(blob)
        file.symlink_to(Path("../../blobs") / blob.name)
    if main:
        (repo / "refs").mkdir(exist_ok=True)
        (repo / "refs" / "main").write_text(commit)
    return snapshot


def spoil(weights: Path) -> None:
    """Let no number of a file of weights be one: in every type of numbers these bits are none."""
    whole = weights.read_bytes()
    begin = 8 + int.from_bytes(whole[:8], "little")
    weights.write_bytes(whole[:begin] + b"\xff" * (len(whole) - begin))
