"""The embedded model speaks: what is read from the GGUF file is a working language model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx_lm import generate
from mlx_lm.utils import load_model, load_tokenizer

from fireside.catalog.embedded import find_gguf
from fireside.core.gguf_llama import GgufLlama, model_config, unpermute
from fireside.core.weights import widen_for_cpu

TEXT = (
    "The sun rises in the east and sets in the west. Water freezes at zero degrees and boils at one hundred"
    " degrees. Paris is the capital of France."
)


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    return load_tokenizer(folder)


@pytest.fixture
def model(folder: Path) -> nn.Module:
    loaded, _ = load_model(folder, lazy=True)
    widen_for_cpu(loaded, 10**9)
    return loaded


def permute(array: mx.array, heads: int) -> mx.array:
    """As llama.cpp's converter orders the rows of q and k."""
    rows, columns = array.shape
    return array.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def surprise(model: nn.Module, ids: list[int]) -> float:
    """Perplexity: how many tokens the next one could as well have been."""
    tokens = mx.array([ids])
    losses: mx.array = nn.losses.cross_entropy(model(tokens[:, :-1]), tokens[:, 1:])
    return float(mx.exp(losses.mean()))


def reorder(model: Any, order: Callable[[mx.array, int], mx.array]) -> None:
    for layer in model.layers:
        attention = layer.self_attn
        attention.q_proj.weight = order(attention.q_proj.weight, attention.n_heads)
        attention.k_proj.weight = order(attention.k_proj.weight, attention.n_kv_heads)


def test_asked_for_the_capital_of_france_it_names_paris(model: nn.Module, tokenizer: Any) -> None:
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    assert "Paris" in generate(model, tokenizer, prompt, max_tokens=12)


def test_plain_english_surprises_it_little_and_less_than_in_any_other_order_of_rows(
    model: nn.Module, tokenizer: Any
) -> None:
    ids = tokenizer.encode(TEXT)
    right = surprise(model, ids)
    assert 1 < right < 12
    reorder(model, permute)
    assert surprise(model, ids) > 2 * right


@pytest.mark.parametrize("columns", [1, 18, 72])
def test_unpermute_undoes_the_order_of_llama_cpp(columns: int) -> None:
    array = mx.arange(3 * 64 * columns).reshape(3 * 64, columns)
    assert not mx.array_equal(permute(array, 3), array)
    assert mx.array_equal(unpermute(permute(array, 3), 3), array)


def test_the_config_has_the_sizes_of_the_file() -> None:
    config = model_config(GgufLlama.read(find_gguf()))
    assert config["hidden_size"] == 576
    assert config["num_attention_heads"] == 9
    assert config["num_key_value_heads"] == 3
    assert config["rope_theta"] == 100000.0
    assert config["rms_norm_eps"] == 1e-05


def test_a_file_that_is_not_there_is_an_error_of_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fireside.core.gguf_llama", tmp_path / "none.gguf", tmp_path]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1
    assert "none.gguf" in run.stderr
    assert len(run.stderr.splitlines()) == 1
