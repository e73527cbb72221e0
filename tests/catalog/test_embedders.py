"""Which model folders are embedders, and what their files say of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from fireside.catalog.embedders import Embedder, UnsupportedEmbedderError, read_embedder
from support.embedders import make_decoder, minilm
from support.server import POCKET

CHAT = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 8,
    "vocab_size": 16,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": True,
}
BERT = {**CHAT, "architectures": ["BertModel"], "model_type": "bert", "max_position_embeddings": 512}
MODULES = [
    {"type": "sentence_transformers.models.Transformer"},
    {"type": "sentence_transformers.models.Pooling"},
]
ENDING = {"post_processor": {"single": [{"Sequence": {}}, {"SpecialToken": {}}]}}
BEGINNING = {"post_processor": {"single": [{"SpecialToken": {}}, {"Sequence": {}}]}}


def folder_of(
    folder: Path, config: dict[str, Any], names: tuple[str, ...] = ("model.layers.0.a",), **files: Any
) -> Path:
    """A model folder. In names of further files `__` is a slash; texts end in .md, the others in .json."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: np.zeros(1, np.float32) for name in names}, folder / "model.safetensors")
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        text = isinstance(content, str)
        path.with_suffix(".md" if text else ".json").write_text(content if text else json.dumps(content))
    return folder


def test_minilm_is_read_from_its_files() -> None:
    assert read_embedder(minilm()) == Embedder("encoder", "mean", 384, 256, 30522)


def test_a_decoder_without_a_head_is_an_embedder(tmp_path: Path) -> None:
    found = read_embedder(make_decoder(tmp_path / "decoder"))
    assert found == Embedder("decoder", "last", 64, 1536, 2048, dimensions=(16, 32), query="Query:")


@pytest.mark.parametrize(
    ("config", "names", "files"),
    [
        (CHAT, ("model.layers.0.a",), {"modules": MODULES}),
        (CHAT, ("model.layers.0.a",), {"1_Pooling__config": {"pooling_mode_lasttoken": True}}),
        (CHAT, ("model.layers.0.a",), {"README": "---\ntags:\n- sentence-transformers\n---\nText"}),
        (CHAT, ("model.layers.0.a",), {"README": "---\npipeline_tag: feature-extraction\n---\nText"}),
        (CHAT, ("layers.0.a", "embed_tokens.weight"), {}),
        (
            {**CHAT, "architectures": ["Qwen3Model"], "tie_word_embeddings": False},
            ("model.layers.0.a", "model.embed_tokens.weight"),
            {},
        ),
        (BERT, ("encoder.layer.0.a",), {}),
    ],
)
def test_embedders(
    tmp_path: Path, config: dict[str, Any], names: tuple[str, ...], files: dict[str, Any]
) -> None:
    assert read_embedder(folder_of(tmp_path / "model", config, names, **files)) is not None


@pytest.mark.parametrize(
    ("config", "names", "files"),
    [
        (CHAT, ("model.layers.0.a",), {}),
        ({**CHAT, "architectures": ["ChatGLMModel"]}, ("transformer.layers.0.a",), {}),
        (
            {**CHAT, "tie_word_embeddings": False},
            ("model.layers.0.a", "model.embed_tokens.weight", "lm_head.weight"),
            {},
        ),
        (CHAT, ("model.layers.0.a",), {"tokenizer": ENDING}),
        (
            CHAT,
            ("model.layers.0.a",),
            {"README": "---\ntags:\n- chat\n---\nNo sentence-transformers\n- feature-extraction"},
        ),
        (
            {**CHAT, "architectures": ["Qwen3ForSequenceClassification"]},
            ("layers.0.a",),
            {"modules": MODULES},
        ),
        ({**BERT, "architectures": ["BertForMaskedLM"]}, ("encoder.layer.0.a",), {}),
    ],
)
def test_others_stay_what_they_are(
    tmp_path: Path, config: dict[str, Any], names: tuple[str, ...], files: dict[str, Any]
) -> None:
    assert read_embedder(folder_of(tmp_path / "model", config, names, **files)) is None


def test_a_chat_model_stays_one(tmp_path: Path) -> None:
    assert read_embedder(POCKET) is None
    assert read_embedder(tmp_path) is None


def test_a_converted_embedder_is_known_by_its_tokenizer_and_its_name(tmp_path: Path) -> None:
    hub = tmp_path / "models--mlx-community--Qwen3-Embedding-0.6B-8bit" / "snapshots"
    assert read_embedder(folder_of(hub / "abc", CHAT, tokenizer=ENDING)) is not None
    assert read_embedder(folder_of(hub / "abd", CHAT, tokenizer=BEGINNING)) is None
    sequence = {"post_processor": {"processors": [{"type": "ByteLevel"}, ENDING["post_processor"]]}}
    assert read_embedder(folder_of(tmp_path / "qwen3-embedding", CHAT, tokenizer=sequence)) is not None


def test_what_the_files_say_is_followed(tmp_path: Path) -> None:
    prompts = {
        "prompts": {"query": "Instruct: Find it\nQuery: ", "document": "doc: "},
        "default_prompt_name": "document",
    }
    found = read_embedder(
        folder_of(
            tmp_path / "model",
            {**CHAT, "is_matryoshka": True},
            modules=MODULES,
            config_sentence_transformers=prompts,
            sentence_bert_config={"max_seq_length": 8192},
            tokenizer_config={
                "model_max_length": 1e30,
                "add_eos_token": True,
                "eos_token": {"content": "</s>"},
            },
            **dict[str, Any]({"1_Pooling__config": {"pooling_mode": "cls"}}),
        )
    )
    assert found == Embedder(
        "decoder", "cls", 8, 8192, 16, dimensions=(), prompt="doc: ", query="Query: ", end_token="</s>"
    )


@pytest.mark.parametrize(
    ("config", "files", "message"),
    [
        (BERT, {"modules": [*MODULES, {"type": "sentence_transformers.models.Dense"}]}, "'Dense'"),
        (BERT, {"1_Pooling__config": {"pooling_mode_max_tokens": True}}, "pools by max_tokens"),
        (
            BERT,
            {"1_Pooling__config": {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}},
            " and ",
        ),
        ({**BERT, "position_embedding_type": "relative_key"}, {}, "relative_key"),
        ({**CHAT, "use_bidirectional_attention": True}, {"modules": MODULES}, "both directions"),
        (BERT, {"modules": {"no": "list"}}, "cannot be read"),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(
    tmp_path: Path, config: dict[str, Any], files: dict[str, Any], message: str
) -> None:
    with pytest.raises(UnsupportedEmbedderError, match=message):
        read_embedder(folder_of(tmp_path / "model", config, **files))
