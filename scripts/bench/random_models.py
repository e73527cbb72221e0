"""Model folders of real shapes with random weights: as fast as real ones, and nothing to download.

    cd scripts
    ../.venv/bin/python -m bench.random_models 0.6B FOLDER

The tokenizer is that of `tests/models/pocket`, far smaller than the embedding. Rows of the output layer that
are not tokens of plain text are zero, so a greedy answer neither ends nor holds bytes back. All layers
are alike, which is as fast as if they differed.
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POCKET = Path(__file__).parents[2] / "tests" / "models" / "pocket"
_SCALE = 0.02


@dataclass(frozen=True)
class Shape:
    """A Llama's sizes."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    feed_forward: int
    vocabulary: int
    tied: bool

    def config(self) -> dict[str, Any]:
        """As `config.json` has it."""
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": self.width,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "intermediate_size": self.feed_forward,
            "max_position_embeddings": 32768,
            "rms_norm_eps": 1e-5,
            "rope_theta": 500000.0,
            "tie_word_embeddings": self.tied,
            "vocab_size": self.vocabulary,
            "eos_token_id": 2,
            "torch_dtype": "bfloat16",
        }

    def layer(self) -> dict[str, tuple[int, ...]]:
        """The arrays of a layer."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return {
            "self_attn.q_proj.weight": (queries, self.width),
            "self_attn.k_proj.weight": (keys, self.width),
            "self_attn.v_proj.weight": (keys, self.width),
            "self_attn.o_proj.weight": (self.width, queries),
            "mlp.gate_proj.weight": (self.feed_forward, self.width),
            "mlp.up_proj.weight": (self.feed_forward, self.width),
            "mlp.down_proj.weight": (self.width, self.feed_forward),
            "input_layernorm.weight": (self.width,),
            "post_attention_layernorm.weight": (self.width,),
        }


SHAPES = {
    "0.6B": Shape(28, 1024, 16, 8, 128, 3072, 151_936, tied=True),
    "8B": Shape(32, 4096, 32, 8, 128, 14_336, 128_256, tied=False),
    "tiny": Shape(2, 128, 4, 2, 32, 256, 4096, tied=True),
}
"""Qwen3-0.6B's and Llama 3.1 8B's sizes, and one to try the script with."""


def make(shape: Shape, folder: Path) -> None:
    """Write a model folder in bfloat16, a file a layer."""
    import mlx.core as mx

    folder.mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(POCKET / name, folder)
    (folder / "config.json").write_text(json.dumps(shape.config()))
    mx.random.seed(1)
    index: dict[str, str] = {}

    def save(name: str, arrays: dict[str, mx.array]) -> None:
        file = f"model-{name}.safetensors"
        mx.save_safetensors(str(folder / file), arrays, {"format": "mlx"})
        index.update(dict.fromkeys(arrays, file))

    arrays = {name: _filled(sizes) for name, sizes in shape.layer().items()}
    mx.eval(arrays)
    for number in range(shape.layers):
        save(f"layer-{number:02}", {f"model.layers.{number}.{name}": a for name, a in arrays.items()})
    rows = mx.zeros((shape.vocabulary, 1), mx.bfloat16)
    rows[mx.array(_plain_tokens())] = 1
    ends = {"model.norm.weight": mx.ones((shape.width,), mx.bfloat16)}
    embedding = _filled((shape.vocabulary, shape.width))
    if not shape.tied:
        ends["lm_head.weight"] = _filled((shape.vocabulary, shape.width)) * rows
    ends["model.embed_tokens.weight"] = embedding * rows if shape.tied else embedding
    save("ends", ends)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))


def _filled(sizes: tuple[int, ...]) -> Any:
    import mlx.core as mx

    if len(sizes) == 1:
        return mx.ones(sizes, mx.bfloat16)
    return (mx.random.normal(sizes, scale=_SCALE)).astype(mx.bfloat16)


def _plain_tokens() -> list[int]:
    """Tokens that stand for letters and digits, whatever comes next."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(POCKET / "tokenizer.json"))
    texts = {token: tokenizer.decode([token]) for token in range(tokenizer.get_vocab_size())}
    return [token for token, text in texts.items() if text.strip().isalnum() and text.isascii()]


def main() -> None:
    """Make one folder."""
    parser = argparse.ArgumentParser(description="A model folder of a real shape with random weights.")
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    make(SHAPES[arguments.shape], arguments.folder)


if __name__ == "__main__":
    main()
