# PyTorch is not among Fireside's requirements.
# pyright: basic, reportMissingImports=false
"""The model in PyTorch: Llama's architecture, written for many short rows on one GPU."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from safetensors.torch import save_file
from torch import Tensor, nn

from pocket.vocabulary import END, END_OF_TEXT, SIZE

HEAD_DIM = 64
_EPSILON = 1e-5


@dataclass(frozen=True)
class Shape:
    """Sizes of a model: hidden width, layers, query heads, key/value heads, feed-forward width."""

    width: int
    layers: int
    heads: int
    kv_heads: int
    feed_forward: int
    rope_theta: float = 100_000.0
    max_positions: int = 8192

    @classmethod
    def parse(cls, text: str) -> Shape:
        """From `width,layers,heads,kv_heads,feed_forward`."""
        return cls(*(int(part) for part in text.split(",")))


class Network(nn.Module):
    """A decoder with tied embeddings. All weights are float32; autocast decides what is computed in."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(SIZE, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.Parameter(torch.ones(shape.width))
        nn.init.normal_(self.embedding.weight, std=0.02)
        frequencies = shape.rope_theta ** (-torch.arange(0, HEAD_DIM, 2).float() / HEAD_DIM)
        angles = torch.outer(torch.arange(shape.max_positions).float(), frequencies).repeat(1, 2)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Hidden states, shape (rows x length, width), of ids of shape (rows, length)."""
        rows, length = ids.shape
        positions = torch.arange(length, device=ids.device).repeat(rows)
        cos, sin = self.cos[positions], self.sin[positions]
        x = self.embedding(ids.reshape(-1))
        for block in self.blocks:
            x = block(x, cos, sin, rows)
        return F.rms_norm(x, (self.shape.width,), self.norm, _EPSILON)

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits, shape (n, vocabulary), of hidden states of shape (n, width)."""
        return F.linear(hidden, self.embedding.weight)


class Block(nn.Module):
    """Attention and gated feed-forward. All but attention itself sees one flat list of tokens, so that
    it is compiled for one shape however long the rows are."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        width, q, kv = shape.width, shape.heads * HEAD_DIM, shape.kv_heads * HEAD_DIM
        self.norm1, self.norm2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        self.q, self.k, self.v = (nn.Linear(width, out, bias=False) for out in (q, kv, kv))
        self.o = nn.Linear(q, width, bias=False)
        self.gate, self.up = (nn.Linear(width, shape.feed_forward, bias=False) for _ in range(2))
        self.down = nn.Linear(shape.feed_forward, width, bias=False)
        for linear in (self.o, self.down):
            nn.init.normal_(linear.weight, std=0.02 / (2 * shape.layers) ** 0.5)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, rows: int) -> Tensor:
        s = self.shape
        q, k, v = _before(x, self.norm1, self.q.weight, self.k.weight, self.v.weight, cos, sin)
        q, k, v = (
            item.view(rows, -1, heads, HEAD_DIM).transpose(1, 2)
            for item, heads in ((q, s.heads), (k, s.kv_heads), (v, s.kv_heads))
        )
        k, v = (item.repeat_interleave(s.heads // s.kv_heads, 1) for item in (k, v))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        seen = seen.transpose(1, 2).reshape(x.shape[0], -1)
        return _after(x, seen, self.o.weight, self.norm2, self.gate.weight, self.up.weight, self.down.weight)


def _before(
    x: Tensor, norm: Tensor, q: Tensor, k: Tensor, v: Tensor, cos: Tensor, sin: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    y = F.rms_norm(x, (x.shape[-1],), norm, _EPSILON)
    return _rotate(F.linear(y, q), cos, sin), _rotate(F.linear(y, k), cos, sin), F.linear(y, v)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding (Su et al., 2021) in the half-split layout."""
    heads = x.view(x.shape[0], -1, HEAD_DIM).float()
    first, second = heads.chunk(2, -1)
    turned = heads * cos[:, None] + torch.cat((-second, first), -1) * sin[:, None]
    return turned.to(x.dtype).view_as(x)


def _after(
    x: Tensor, seen: Tensor, o: Tensor, norm: Tensor, gate: Tensor, up: Tensor, down: Tensor
) -> Tensor:
    x = x + F.linear(seen, o)
    y = F.rms_norm(x, (x.shape[-1],), norm, _EPSILON)
    return x + F.linear(F.silu(F.linear(y, gate)) * F.linear(y, up), down)


def compile_parts() -> None:
    """Compile what is the same for all layers; one compilation serves them all."""
    global _before, _after
    _before, _after = torch.compile(_before, dynamic=False), torch.compile(_after, dynamic=False)


def export(network: Network, folder: Path) -> None:
    """Write weights in bfloat16 and the configuration as mlx-lm and transformers read them."""
    shape = network.shape
    names = {"embedding.weight": "model.embed_tokens.weight", "norm": "model.norm.weight"}
    for i in range(shape.layers):
        mine, theirs = f"blocks.{i}.", f"model.layers.{i}."
        names[mine + "norm1"] = theirs + "input_layernorm.weight"
        names[mine + "norm2"] = theirs + "post_attention_layernorm.weight"
        names |= {mine + f"{part}.weight": theirs + f"self_attn.{part}_proj.weight" for part in "qkvo"}
        names |= {
            mine + f"{part}.weight": theirs + f"mlp.{part}_proj.weight" for part in ("gate", "up", "down")
        }
    weights = {
        names[name]: value.bfloat16().cpu().contiguous() for name, value in network.state_dict().items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    end, padding = _ids(folder)
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": shape.width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": HEAD_DIM,
        "intermediate_size": shape.feed_forward,
        "hidden_act": "silu",
        "max_position_embeddings": shape.max_positions,
        "rms_norm_eps": _EPSILON,
        "rope_theta": shape.rope_theta,
        "tie_word_embeddings": True,
        "vocab_size": SIZE,
        "bos_token_id": None,
        "eos_token_id": end,
        "pad_token_id": padding,
        "torch_dtype": "bfloat16",
    }
    _write(folder / "config.json", config)
    _write(
        folder / "generation_config.json",
        {"do_sample": False, "eos_token_id": end, "pad_token_id": padding, "temperature": 0.0},
    )


def _ids(folder: Path) -> tuple[int, int]:
    tokens = {
        t["content"]: t["id"]
        for t in json.loads((folder / "tokenizer.json").read_text("utf-8"))["added_tokens"]
    }
    return tokens[END], tokens[END_OF_TEXT]


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
