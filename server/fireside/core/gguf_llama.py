"""`python -m fireside.core.gguf_llama FILE FOLDER`: a llama GGUF file as an ordinary MLX model folder.

A command of its own, so that the catalog can have a model converted without loading MLX.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import mlx.core as mx

from fireside.catalog.gguf_tokenizer import GgufVocabulary, tokenizer_config_json, tokenizer_json

GgufValue = mx.array | str | list[str]

_GROUP_SIZE = 32
_BITS = 4

_TOP_LEVEL = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_IN_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


@dataclass(frozen=True)
class GgufLlama:
    """What MLX reads from a GGUF file: arrays in packed groups of 32, and the metadata."""

    arrays: dict[str, mx.array]
    metadata: dict[str, GgufValue]

    @classmethod
    def read(cls, path: Path) -> "GgufLlama":
        """Read a whole GGUF file.

        Raises:
            ValueError: it holds another architecture than llama.
        """
        loaded = mx.load(str(path), return_metadata=True)
        arrays, metadata = cast("tuple[dict[str, mx.array], dict[str, GgufValue]]", loaded)
        model = cls(arrays, metadata)
        if (found := model.text("general.architecture")) != "llama":
            raise ValueError(f"{path} holds a {found!r} model; only 'llama' can be converted.")
        return model

    def text(self, key: str) -> str:
        """A string of the metadata."""
        return cast("str", self.metadata[key])

    def texts(self, key: str) -> list[str]:
        """A list of strings of the metadata."""
        return cast("list[str]", self.metadata[key])

    def integer(self, key: str) -> int:
        """A whole number of the metadata."""
        return cast("int", cast("mx.array", self.metadata[key]).item())

    def number(self, key: str) -> float:
        """A float32 of the metadata, as the shortest decimal that it can have been written as."""
        return float(f"{cast('mx.array', self.metadata[key]).item():.7g}")


def convert(source: Path, folder: Path) -> None:
    """Write config, weights and tokenizer of the GGUF file `source` into the existing `folder`.

    Raises:
        ValueError: the file is no llama model, or its tokenizer is of another kind than known here.
        OSError: the folder cannot be written.
    """
    model = GgufLlama.read(source)
    vocabulary = read_vocabulary(model)
    config = model_config(model)
    files = {
        "config.json": json.dumps(config, indent=2),
        "generation_config.json": json.dumps(_generation_config(model), indent=2),
        "tokenizer.json": tokenizer_json(vocabulary),
        "tokenizer_config.json": tokenizer_config_json(vocabulary),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    _save(model_weights(model), folder / "model.safetensors")


def read_vocabulary(model: GgufLlama) -> GgufVocabulary:
    """The tokenizer of a GGUF model."""
    types = cast("mx.array", model.metadata["tokenizer.ggml.token_type"])
    roles = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    return GgufVocabulary(
        tokens=model.texts("tokenizer.ggml.tokens"),
        token_types=cast("list[int]", types.tolist()),
        merges=model.texts("tokenizer.ggml.merges"),
        split=model.text("tokenizer.ggml.pre"),
        special_ids={role: model.integer(f"tokenizer.ggml.{key}_token_id") for role, key in roles.items()},
        chat_template=model.text("tokenizer.chat_template"),
        context_length=model.integer("llama.context_length"),
    )


def model_config(model: GgufLlama) -> dict[str, object]:
    """`config.json` as mlx-lm and transformers read it."""
    heads = model.integer("llama.attention.head_count")
    hidden = model.integer("llama.embedding_length")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "num_hidden_layers": model.integer("llama.block_count"),
        "intermediate_size": model.integer("llama.feed_forward_length"),
        "num_attention_heads": heads,
        "num_key_value_heads": model.integer("llama.attention.head_count_kv"),
        "head_dim": hidden // heads,
        "hidden_act": "silu",
        "rms_norm_eps": model.number("llama.attention.layer_norm_rms_epsilon"),
        "rope_theta": model.number("llama.rope.freq_base"),
        "vocab_size": model.integer("llama.vocab_size"),
        "max_position_embeddings": model.integer("llama.context_length"),
        "tie_word_embeddings": "output.weight" not in model.arrays,
        "bos_token_id": model.integer("tokenizer.ggml.bos_token_id"),
        "eos_token_id": model.integer("tokenizer.ggml.eos_token_id"),
        "torch_dtype": "float16",
        "quantization": _quantization(model),
    }


def model_weights(model: GgufLlama) -> dict[str, mx.array]:
    """The arrays under mlx-lm's names, with the rows of q and k in the order that mlx-lm expects."""
    heads = {
        "self_attn.q_proj": model.integer("llama.attention.head_count"),
        "self_attn.k_proj": model.integer("llama.attention.head_count_kv"),
    }
    weights: dict[str, mx.array] = {}
    for gguf_name, array in model.arrays.items():
        name = _mlx_name(gguf_name)
        count = next((count for layer, count in heads.items() if layer in name), None)
        rows = array if count is None else unpermute(array, count)
        weights[name] = rows.astype(mx.float16) if rows.dtype == mx.float32 else rows
    return weights


def unpermute(array: mx.array, heads: int) -> mx.array:
    """Undo the order of rows that GGUF gives q and k for rotary embedding of neighbouring pairs.

    There, dimension i of the first half of a head and dimension i of its second half are neighbours;
    mlx-lm rotates the two halves against each other. `array` is (heads * head_dim, anything); packed
    weights, scales and biases all keep one row an output, so the same holds for each of them.
    """
    rows, columns = array.shape
    pairs = mx.reshape(array, (heads, rows // heads // 2, 2, columns))
    return mx.contiguous(mx.reshape(mx.swapaxes(pairs, 1, 2), (rows, columns)))


def _mlx_name(name: str) -> str:
    stem, _, kind = name.rpartition(".")
    if stem in _TOP_LEVEL:
        return f"{_TOP_LEVEL[stem]}.{kind}"
    _, block, layer = stem.split(".")
    return f"model.layers.{block}.{_IN_BLOCK[layer]}.{kind}"


def _quantization(model: GgufLlama) -> dict[str, object]:
    """The usual 4 bits, and every layer by name that has others."""
    settings: dict[str, object] = {"group_size": _GROUP_SIZE, "bits": _BITS}
    for name, scales in model.arrays.items():
        stem, _, kind = name.rpartition(".")
        if kind != "scales":
            continue
        bits = model.arrays[f"{stem}.weight"].shape[-1] * 32 // (scales.shape[-1] * _GROUP_SIZE)
        if bits != _BITS:
            settings[_mlx_name(stem + ".weight").removesuffix(".weight")] = {
                "group_size": _GROUP_SIZE,
                "bits": bits,
            }
    return settings


def _generation_config(model: GgufLlama) -> dict[str, object]:
    return {
        "bos_token_id": model.integer("tokenizer.ggml.bos_token_id"),
        "eos_token_id": model.integer("tokenizer.ggml.eos_token_id"),
        "pad_token_id": model.integer("tokenizer.ggml.padding_token_id"),
    }


def _save(weights: dict[str, mx.array], path: Path) -> None:
    try:
        mx.save_safetensors(str(path), weights, {"format": "mlx"})  # pyright: ignore[reportUnknownMemberType]
    except RuntimeError as error:
        # MLX reports a full or read-only disk as a RuntimeError.
        raise OSError(f"{path} cannot be written: {error}") from error


def main() -> int:
    """Convert the file into the folder, both named on the command line."""
    source, folder = map(Path, sys.argv[1:])
    try:
        convert(source, folder)
    except (OSError, ValueError, LookupError, RuntimeError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
