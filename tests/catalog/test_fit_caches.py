"""What models keep for a row: against mlx-lm's own caches of tiny models, and by hand for real ones."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from fireside.catalog.fit_accounts import KvAccountant, KvRow
from fireside.catalog.fit_config import ShapeError
from fireside.catalog.fit_kv import KvScheme, KvSchemeError
from fireside.catalog.fit_shape import ModelShape

Config = dict[str, Any]

# Reads jobs, builds each model with random weights, feeds it, and says what its caches hold.
REFERENCE = r"""
import importlib, json, sys
import mlx.core as mx
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import MODEL_REMAPPING

mx.set_default_device(mx.cpu)
mx.disable_compile()  # a C++ compiler run for every fused kernel takes longer than all the rest

def flat(cache):
    return [leaf for part in cache.caches for leaf in flat(part)] if hasattr(cache, "caches") else [cache]

def measure(job):
    kind = job["config"]["model_type"]
    arch = importlib.import_module("mlx_lm.models." + MODEL_REMAPPING.get(kind, kind))
    model = arch.Model(arch.ModelArgs.from_dict(job["config"]))
    model.set_dtype(getattr(mx, job["dtype"]))
    mx.eval(model.parameters())
    cache = make_prompt_cache(model)
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    held = []
    for count in job["feed"]:
        model(mx.full((1, count), 3, mx.int32), cache=cache)
        mx.eval([part.state for part in cache])
        mx.clear_cache()
        held.append(sum(part.nbytes for part in cache))
    peak = mx.get_peak_memory() - before
    found = {"bytes": [leaf.nbytes for part in cache for leaf in flat(part)], "held": held, "peak": peak}
    if kind == "llama" and model.layers[0].self_attn.head_dim == 64:
        for bits in (4, 8):
            found[f"kv{bits}"] = sum(part.to_quantized(64, bits).nbytes for part in cache)
        short = make_prompt_cache(model)
        model(mx.full((1, 10), 3, mx.int32), cache=short)
        found["batch"] = sum(a.merge([a, b]).nbytes for a, b in zip(cache, short))
    return found

json.dump([measure(job) for job in json.load(sys.stdin)], sys.stdout)
"""

SLIDING, FULL = "sliding_attention", "full_attention"
WINDOW = 40
FEED = (64, 1)
"""Tokens: more than the window, then one step, which cuts the sliding caches to their windows."""
ALLOCATED = 256
"""Tokens that mlx-lm's full caches have room for after that."""

BASE: Config = json.loads("""{
    "hidden_size": 64, "num_hidden_layers": 4, "intermediate_size": 96, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 64, "rms_norm_eps": 1e-5, "norm_eps": 1e-5,
    "layer_norm_eps": 1e-5, "layer_norm_epsilon": 1e-5, "rope_theta": 1e4, "rope_scaling": null,
    "max_position_embeddings": 4096, "tie_word_embeddings": true, "attention_bias": false,
    "mlp_bias": false, "use_bias": false, "use_conv_bias": true}""")
MLA: Config = json.loads("""{
    "q_lora_rank": 24, "kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 12, "v_head_dim": 20,
    "num_key_value_heads": 4}""")
MOE: Config = json.loads("""{
    "moe_intermediate_size": 32, "n_routed_experts": 4, "num_experts": 4, "num_local_experts": 4,
    "num_experts_per_tok": 2, "n_shared_experts": 1, "shared_expert_intermediate_size": 32, "n_group": 1,
    "decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": true, "topk_group": 1,
    "routed_scaling_factor": 1.0, "first_k_dense_replace": 1, "moe_layer_freq": 1, "topk_method": "noaux_tc",
    "scoring_func": "sigmoid"}""")
DELTA: Config = json.loads("""{
    "linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 32,
    "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4, "full_attention_interval": 4,
    "linear_allow_neg_eigval": true, "partial_rotary_factor": 0.5}""")
SSM: Config = json.loads("""{
    "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_n_groups": 2, "mamba_d_state": 8, "mamba_d_conv": 4,
    "mamba_d_ssm": 64, "mamba_expand": 2, "mamba_proj_bias": false, "mamba_conv_bias": true,
    "embedding_multiplier": 1.0, "attention_multiplier": 1.0, "logits_scaling": 1.0,
    "residual_multiplier": 1.0}""")
KDA: Config = {"kda_layers": [1, 2, 3], "num_heads": 4, "head_dim": 16, "short_conv_kernel_size": 4}
YARN: Config = {"type": "yarn", "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}
LFM2: Config = json.loads("""{
    "conv_bias": false, "conv_L_cache": 3, "block_dim": 64, "block_multiple_of": 16,
    "block_ffn_dim_multiplier": 1.0, "block_auto_adjust_ff_dim": false}""")

TINY: dict[str, Config] = {
    "llama": {"head_dim": 64},
    "qwen3": {},
    "mistral": {"layer_types": [SLIDING, FULL] * 2, "sliding_window": WINDOW},
    "gemma3_text": {"num_hidden_layers": 7, "sliding_window": WINDOW, "sliding_window_pattern": 3},
    "gemma4_text": {
        "num_hidden_layers": 6,
        "layer_types": [SLIDING, SLIDING, FULL, SLIDING, FULL, FULL],
        "num_kv_shared_layers": 2,
        "sliding_window": WINDOW,
        "global_head_dim": 32,
        "attention_k_eq_v": True,
        "num_global_key_value_heads": 1,
        "hidden_size_per_layer_input": 0,
    },
    "gpt_oss": {**MOE, "sliding_window": WINDOW},
    "olmo3": {"sliding_window": WINDOW},
    "cohere2": {"sliding_window": WINDOW, "sliding_window_pattern": 4, "logit_scale": 1.0},
    "exaone4": {"sliding_window": WINDOW, "sliding_window_pattern": "LLG"},
    "deepseek_v2": {**MOE, **MLA, "topk_method": "greedy", "rope_scaling": YARN},
    "deepseek_v3": {**MOE, **MLA},
    "deepseek_v32": {**MOE, **MLA, "index_head_dim": 16, "index_n_heads": 2, "index_topk": 64},
    "glm4_moe_lite": {**MOE, **MLA},
    "kimi_linear": {**MOE, **MLA, "model_max_length": 4096, "linear_attn_config": KDA},
    "qwen3_next": {**MOE, **DELTA},
    "qwen3_5": {"text_config": {**BASE, **DELTA, "model_type": "qwen3_5_text"}},
    "olmo_hybrid": {**DELTA, "num_key_value_heads": 4},
    "lfm2": {**LFM2, "layer_types": ["conv", "conv", FULL, "conv"]},
    "mamba": {"state_size": 8, "conv_kernel": 4, "time_step_rank": 4},
    "mamba2": {
        "state_size": 8,
        "conv_kernel": 4,
        "num_heads": 4,
        "n_groups": 2,
        "time_step_limit": [0.0, 1.0],
        "time_step_rank": 4,
    },
    "nemotron_h": {
        "mamba_num_heads": 4,
        "mamba_head_dim": 16,
        "mamba_proj_bias": False,
        "ssm_state_size": 8,
        "conv_kernel": 4,
        "n_groups": 2,
        "hybrid_override_pattern": "M-M*",
    },
    "granitemoehybrid": {**SSM, "layer_types": ["mamba", "mamba", "attention", "mamba"]},
    "falcon_h1": SSM,
    "jamba": {
        **SSM,
        "attn_layer_offset": 1,
        "attn_layer_period": 2,
        "expert_layer_offset": 1,
        "expert_layer_period": 2,
        "num_experts": 1,
        "num_experts_per_tok": 1,
    },
    "nanbeige": {"num_loops": 2},
}
IN_BFLOAT16 = ("llama", "gemma3_text", "qwen3_5", "lfm2", "mamba2", "falcon_h1")
# Wide enough that arrays outweigh what is fixed.
WIDE: Config = {"hidden_size": 256, "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 512}
WORKED = ("llama", "gemma3_text", "gpt_oss", "deepseek_v3", "lfm2")
CHUNK = 128
CHUNKS = (CHUNK, CHUNK, CHUNK - 1, 1, 1)


def tiny(kind: str) -> Config:
    return {"model_type": kind, **({} if "text_config" in TINY[kind] else BASE), **TINY[kind]}


def wide(kind: str) -> Config:
    config = {**tiny(kind), **WIDE, "head_dim": 32}
    if kind == "lfm2":
        config |= {"block_dim": 256, "block_ff_dim": 1024}
    return {**config, "num_key_value_heads": 8} if kind == "deepseek_v3" else config


@pytest.fixture(scope="module")
def measured() -> dict[tuple[str, str], dict[str, Any]]:
    """What mlx-lm's caches really hold, by model type and number type ("work" for the wide models)."""
    jobs = {(kind, "float32"): (tiny(kind), FEED) for kind in TINY}
    jobs |= {(kind, "bfloat16"): (tiny(kind), FEED) for kind in IN_BFLOAT16}
    jobs |= {(kind, "work"): (wide(kind), CHUNKS) for kind in WORKED}
    request = [
        {"config": config, "dtype": "float32" if dtype == "work" else dtype, "feed": feed}
        for (_, dtype), (config, feed) in jobs.items()
    ]
    done = subprocess.run(
        [sys.executable, "-c", REFERENCE], input=json.dumps(request), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(jobs, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize(
    ("kind", "dtype"), [(k, "float32") for k in TINY] + [(k, "bfloat16") for k in IN_BFLOAT16]
)
def test_every_cache_is_as_large_as_mlx_lm_makes_it(
    measured: dict[tuple[str, str], dict[str, Any]], kind: str, dtype: str
) -> None:
    width = 4 if dtype == "float32" else 2
    expected = [
        cache.numbers_per_token * width * (ALLOCATED if cache.window is None else cache.kept(sum(FEED)))
        + cache.state * width
        + cache.state_float32 * 4
        for cache in ModelShape.from_config(tiny(kind)).caches
    ]
    assert expected == measured[kind, dtype]["bytes"]


@pytest.mark.parametrize("kind", WORKED)
def test_what_is_allocated_is_never_more_than_promised(
    measured: dict[tuple[str, str], dict[str, Any]], kind: str
) -> None:
    shape, tokens = ModelShape.from_config(wide(kind)), 0
    for count, held in zip(CHUNKS, measured[kind, "work"]["held"], strict=True):
        tokens += count
        assert held <= shape.kv_bytes_allocated(tokens, 4, CHUNK)
        assert shape.kv_bytes(tokens, 4) <= held


@pytest.mark.parametrize("kind", WORKED)
def test_the_peak_of_a_prefill_is_about_what_is_estimated(
    measured: dict[tuple[str, str], dict[str, Any]], kind: str
) -> None:
    shape, tokens = ModelShape.from_config(wide(kind)), sum(CHUNKS)
    estimate = shape.kv_bytes_allocated(tokens, 4) + shape.copy_bytes(tokens, 4)
    estimate += shape.prefill_bytes(tokens, 4, CHUNK, fused_attention=False)
    assert 0.9 < estimate / measured[kind, "work"]["peak"] < 2


@pytest.mark.parametrize("bits", [4, 8])
def test_quantised_caches_are_as_large_as_mlx_lm_makes_them(
    measured: dict[tuple[str, str], dict[str, Any]], bits: int
) -> None:
    shape, scheme = ModelShape.from_config(tiny("llama")), KvScheme.parse(str(bits))
    for dtype, width in (("float32", 4), ("bfloat16", 2)):
        quantized = measured["llama", dtype][f"kv{bits}"]
        assert shape.kv_bytes(ALLOCATED, width, scheme) == quantized


def test_rows_of_a_batch_are_as_long_as_the_longest(
    measured: dict[tuple[str, str], dict[str, Any]],
) -> None:
    shape, tokens = ModelShape.from_config(tiny("llama")), sum(FEED)
    accountant = KvAccountant(lambda count: shape.kv_bytes(count, 4), 10**9)
    rows = [KvRow(1, tokens, 1000), KvRow(2, 10, 1000)]
    assert accountant.charge(rows) == measured["llama", "float32"]["batch"]


LLAMA_3_2_1B: Config = {
    "model_type": "llama",
    "hidden_size": 2048,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "intermediate_size": 8192,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}

QWEN3_0_6B: Config = {
    **LLAMA_3_2_1B,
    "model_type": "qwen3",
    "hidden_size": 1024,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "head_dim": 128,
    "sliding_window": None,
}
GEMMA_3_4B: Config = {
    "model_type": "gemma3",
    "text_config": {
        "model_type": "gemma3_text",
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "num_hidden_layers": 34,
        "sliding_window": 1024,
    },
    "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
}
GPT_OSS_20B: Config = {
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "num_hidden_layers": 24,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "sliding_window": 128,
    "layer_types": [SLIDING, FULL] * 12,
    "num_local_experts": 32,
    "num_experts_per_tok": 4,
    "vocab_size": 201088,
    "max_position_embeddings": 131072,
}
QWEN3_NEXT_80B: Config = {
    "model_type": "qwen3_next",
    "hidden_size": 2048,
    "num_hidden_layers": 48,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "full_attention_interval": 4,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
    "vocab_size": 151936,
}
LFM2_1_2B: Config = {
    "model_type": "lfm2",
    "hidden_size": 2048,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "conv_L_cache": 3,
    "full_attn_idxs": [2, 5, 8, 10, 12, 14],
    "vocab_size": 65536,
}
DEEPSEEK_V3: Config = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "vocab_size": 129280,
}
MAMBA_2_8B: Config = {
    "model_type": "mamba",
    "hidden_size": 2560,
    "intermediate_size": 5120,
    "num_hidden_layers": 64,
    "state_size": 16,
    "conv_kernel": 4,
    "vocab_size": 50280,
}


@pytest.mark.parametrize(
    ("config", "per_token", "constant"),
    [
        # layers x (keys and values) x heads x dim x 2 bytes
        (LLAMA_3_2_1B, 16 * 2 * 8 * 64 * 2, 0),
        (QWEN3_0_6B, 28 * 2 * 8 * 128 * 2, 0),
        (GEMMA_3_4B, 5 * 2 * 4 * 256 * 2, 29 * 1024 * 2 * 4 * 256 * 2),
        (GPT_OSS_20B, 12 * 2 * 8 * 64 * 2, 12 * 128 * 2 * 8 * 64 * 2),
        (QWEN3_NEXT_80B, 12 * 2 * 2 * 256 * 2, 36 * (3 * 8192 * 2 + 32 * 128 * 128 * 4)),
        (LFM2_1_2B, 6 * 2 * 8 * 64 * 2, 10 * 2 * 2048 * 2),
        (DEEPSEEK_V3, 61 * (512 + 64) * 2, 0),
        (MAMBA_2_8B, 0, 64 * (3 * 5120 * 2 + 5120 * 16 * 4)),
    ],
    ids=["llama", "qwen3", "gemma3", "gpt-oss", "qwen3-next", "lfm2", "deepseek", "mamba"],
)
def test_real_models_keep_what_their_architecture_says(config: Config, per_token: int, constant: int) -> None:
    shape, tokens = ModelShape.from_config(config), 8192
    assert shape.kv_bytes_per_token(2) == per_token
    assert shape.kv_bytes(tokens, 2) == tokens * per_token + constant


def test_an_unknown_architecture_is_taken_to_keep_everything() -> None:
    config = {**LLAMA_3_2_1B, "model_type": "of-tomorrow", "sliding_window": 512}
    assert ModelShape.from_config(config).kv_bytes_per_token(2) == 32768


@pytest.mark.parametrize("missing", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_a_config_without_a_number_that_decides_names_it(missing: str) -> None:
    config = {name: value for name, value in LLAMA_3_2_1B.items() if name != missing}
    with pytest.raises(ShapeError, match=missing):
        ModelShape.from_config(config)


def test_a_scheme_touches_full_attention_only_and_is_told_in_the_stats() -> None:
    shape, scheme = ModelShape.from_config(GEMMA_3_4B), KvScheme.parse("turbo:k8v3")
    assert scheme.stats(shape.caches) == {
        "mode": "turbo k8v3",
        "layers": {"bf16": 29, "k8v3": 5},
        "attention": {"global": 5, "sliding_window": 29},
    }
    saved = shape.kv_bytes(8192, 2) - shape.kv_bytes(8192, 2, scheme)
    assert saved == 8192 * 5 * 4 * (2 * 256 * 2 - (256 + 96) - 2 * 4)


def test_a_mixed_scheme_gives_each_cache_its_bits() -> None:
    shape = ModelShape.from_config(LLAMA_3_2_1B)
    scheme = KvScheme.parse("config", [16, *[4] * 15])
    assert scheme.stats(shape.caches)["layers"] == {"bf16": 1, "4": 15}
    assert shape.kv_bytes_per_token(2, scheme) == 2048 + 15 * 2 * 8 * (32 + 4)


@pytest.mark.parametrize("spec", ["5", "fp8", "turbo:8", "config"])
def test_a_scheme_that_is_none_is_refused_with_those_that_are(spec: str) -> None:
    with pytest.raises(KvSchemeError, match="off"):
        KvScheme.parse(spec)
