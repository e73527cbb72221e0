"""Weights on a CPU: float32 where that fits, and the same model whatever it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import psutil
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models import llama
from mlx_lm.models.switch_layers import SwitchLinear
from mlx_lm.utils import load_model, load_tokenizer

from fireside.core.weights import describe, weight_budget, widen_for_cpu

ENOUGH = 10**9
FLOAT32_BYTES = 134_515_008 * 4
PROMPTS = ["The capital of France is", "2 + 2 =", "Once upon a time there was a"]


def lazy(folder: Path) -> nn.Module:
    return load_model(folder, lazy=True)[0]


def tiny(dtype: mx.Dtype = mx.bfloat16) -> nn.Module:
    """A llama of two layers with random weights and a head of its own."""
    args = llama.ModelArgs(
        model_type="llama",
        hidden_size=64,
        num_hidden_layers=2,
        intermediate_size=128,
        num_attention_heads=2,
        rms_norm_eps=1e-5,
        vocab_size=320,
        attention_bias=True,
        tie_word_embeddings=False,
    )
    mx.random.seed(0)
    model = llama.Model(args)
    model.set_dtype(dtype)
    return model


def arrays(model: nn.Module) -> list[tuple[str, mx.array]]:
    flat: Any = tree_flatten(model.parameters())
    return flat


def size(model: nn.Module) -> int:
    return sum(array.nbytes for _, array in arrays(model))


def logits(model: nn.Module, ids: list[int]) -> mx.array:
    return model(mx.array([ids]))[0].astype(mx.float32)


def test_the_embedded_model_becomes_float32_when_that_fits(folder: Path) -> None:
    model = lazy(folder)
    assert describe(model) == "4-bit"
    assert widen_for_cpu(model, FLOAT32_BYTES) == "float32"
    assert {array.dtype for _, array in arrays(model)} == {mx.float32}
    assert size(model) == FLOAT32_BYTES


def test_one_byte_too_little_leaves_it_packed_with_float32_scales(folder: Path) -> None:
    model = lazy(folder)
    assert widen_for_cpu(model, FLOAT32_BYTES - 1) == "4-bit"
    assert {array.dtype for _, array in arrays(model)} == {mx.float32, mx.uint32}


def test_without_memory_for_wider_scales_nothing_is_changed(folder: Path) -> None:
    model = lazy(folder)
    assert widen_for_cpu(model, 0) == "4-bit"
    assert {array.dtype for _, array in arrays(model)} == {mx.float16, mx.uint32}


def test_widened_and_packed_weights_give_the_same_answers(folder: Path) -> None:
    packed, widened, tokenizer = lazy(folder), lazy(folder), load_tokenizer(folder)
    widen_for_cpu(packed, FLOAT32_BYTES - 1)
    widen_for_cpu(widened, ENOUGH)
    for prompt in PROMPTS:
        ids: list[int] = tokenizer.encode(prompt)
        expected, found = logits(packed, ids), logits(widened, ids)
        assert mx.allclose(expected, found, rtol=0, atol=1e-3 * float(mx.abs(expected).max()))
        assert mx.array_equal(expected.argmax(-1), found.argmax(-1))


def test_memory_never_holds_the_model_twice(folder: Path) -> None:
    model = lazy(folder)
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    widen_for_cpu(model, ENOUGH)
    assert mx.get_peak_memory() - before < 1.25 * FLOAT32_BYTES
    assert mx.get_active_memory() - before < 1.01 * FLOAT32_BYTES


@pytest.mark.parametrize(("mode", "bits", "group"), [("affine", 8, 64), ("affine", 3, 32), ("mxfp4", 4, 32)])
def test_every_way_of_packing_is_unpacked_biases_included(mode: str, bits: int, group: int) -> None:
    packed, widened = tiny(), tiny()
    for model in (packed, widened):
        nn.quantize(model, group, bits, mode=mode)
    packed.set_dtype(mx.float32)
    assert widen_for_cpu(widened, ENOUGH) == "float32"
    expected, found = logits(packed, [1, 2, 3, 4]), logits(widened, [1, 2, 3, 4])
    assert mx.allclose(expected, found, rtol=1e-3, atol=1e-3)


def test_experts_are_unpacked_too() -> None:
    experts = nn.Sequential(SwitchLinear(64, 32, 4, bias=True))
    experts.set_dtype(mx.bfloat16)
    nn.quantize(experts, 32, 4)
    assert widen_for_cpu(experts, ENOUGH) == "float32"
    assert size(experts) == 4 * 32 * (64 + 1) * 4


def test_unpacked_weights_are_widened_when_they_fit_and_kept_when_not() -> None:
    model = tiny()
    needed = 2 * size(model)
    assert widen_for_cpu(model, needed - 1) == "bfloat16"
    assert widen_for_cpu(model, needed) == "float32"
    assert widen_for_cpu(tiny(mx.float16), needed) == "float32"


def test_weights_that_mlx_lm_cannot_unpack_stay_packed() -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64))
    nn.quantize(model, 16, 4, mode="nvfp4")
    model.layers[0].global_scale = mx.array(2.0)
    assert widen_for_cpu(model, ENOUGH) == "4-bit"
    assert model.layers[1].weight.dtype == mx.uint32


def test_progress_counts_bytes_up_to_the_end() -> None:
    seen: list[tuple[int, int]] = []
    model = tiny()
    widen_for_cpu(model, ENOUGH, lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (size(model), size(model))


def test_the_budget_leaves_room_for_others() -> None:
    assert 0 < weight_budget() < 0.7 * psutil.virtual_memory().total
