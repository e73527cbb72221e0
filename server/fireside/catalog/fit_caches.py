"""What one row of a model keeps in memory: one shape for every cache that mlx-lm makes for it.

The rules restate, without MLX, what `make_cache` and the attention layers of mlx-lm's models do. A
model type without a rule is taken to keep all keys and values of all layers, which no sparser
scheme exceeds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fireside.catalog.fit_config import Fields

CacheKind = Literal["full", "sliding", "state"]

ALLOCATION_STEP = 256
"""Tokens by which mlx-lm's caches grow."""


@dataclass(frozen=True)
class CacheShape:
    """One cache of one row.

    Attributes:
        heads: vectors of each kind a token; 0 where nothing grows with the text.
        key_dim: length of a key (of the latent vector, with compressed keys and values).
        value_dim: length of a value (of the rotary part, with compressed keys and values).
        window: tokens that are kept at most, None for all.
        state: numbers of the model's type that are kept whatever the length.
        state_float32: the same for those that are always float32.
        held: numbers a token of the chunk read last that stay in memory with the state, because
            mlx-lm keeps the end of a convolution's input as a view into all of it.
        scan_heads: heads for which a prompt's steps are computed as a matrix (state space duality).
    """

    heads: int = 0
    key_dim: int = 0
    value_dim: int = 0
    window: int | None = None
    state: int = 0
    state_float32: int = 0
    held: int = 0
    scan_heads: int = 0

    @property
    def kind(self) -> CacheKind:
        if self.heads == 0:
            return "state"
        return "full" if self.window is None else "sliding"

    @property
    def numbers_per_token(self) -> int:
        return self.heads * (self.key_dim + self.value_dim)

    def kept(self, tokens: int) -> int:
        """How many of a text's tokens are in this cache between two decode steps."""
        return tokens if self.window is None else min(tokens, self.window)

    def allocated(self, tokens: int, chunk: int) -> int:
        """Tokens that there is memory for, at most, while chunks of a prompt are read."""
        room = tokens + ALLOCATION_STEP - 1
        return room if self.window is None else min(room, self.window + chunk - 1)


def cache_shapes(fields: Fields) -> tuple[CacheShape, ...]:
    """The caches of one row, in the order in which mlx-lm makes them.

    Raises:
        ShapeError: the config lacks a number that decides.
    """
    rule = _rule(fields.outer) or _rule(fields.inner) or _plain
    return tuple(rule(fields))


def attention(fields: Fields) -> CacheShape:
    """Keys and values of a layer that keeps them all, uncompressed."""
    heads = fields.number("num_attention_heads")
    kv_heads = 1 if fields.flag("multi_query") else fields.optional("num_key_value_heads") or heads
    if (rank := fields.optional("kv_lora_rank")) and (rope := fields.optional("qk_rope_head_dim")):
        key_dim = fields.number("qk_nope_head_dim", rank) + rope
        return CacheShape(heads, key_dim, fields.number("v_head_dim", key_dim))
    head_dim = fields.optional("head_dim") or fields.number("hidden_size") // heads
    return CacheShape(kv_heads, head_dim, fields.optional("v_head_dim") or head_dim)


def is_compressed(fields: Fields) -> bool:
    """Whether the caches hold latent vectors, from which keys and values are made again."""
    return any(kind in _COMPRESSED for kind in (fields.outer, fields.inner))


def has_sinks(fields: Fields) -> bool:
    """Whether attention may rest on a learned sink, which an unfused kernel appends to the weights."""
    return fields.inner in ("gpt_oss", "mimo_v2_flash")


def _layers(fields: Fields) -> int:
    return fields.number("num_hidden_layers")


def _plain(fields: Fields) -> list[CacheShape]:
    return [attention(fields)] * _layers(fields)


def _windowed(full: CacheShape, window: int | None) -> CacheShape:
    return CacheShape(full.heads, full.key_dim, full.value_dim, window)


def _by_type(fields: Fields) -> list[CacheShape]:
    """Layers named one by one in the config."""
    full = attention(fields)
    sliding = _windowed(full, fields.optional("sliding_window"))
    types = fields.words("layer_types") or _default_types(fields)
    return [sliding if kind == "sliding_attention" else full for kind in types[: _layers(fields)]]


def _default_types(fields: Fields) -> list[str]:
    sliding, full = "sliding_attention", "full_attention"
    pattern = {"gpt_oss": [sliding, full], "olmo3": [sliding, sliding, sliding, full]}
    return (pattern.get(fields.inner, [full]) * _layers(fields))[: _layers(fields)]


def _every_nth_is_full(fields: Fields) -> list[CacheShape]:
    full = attention(fields)
    sliding = _windowed(full, fields.number("sliding_window"))
    period = fields.number("sliding_window_pattern")
    return [full if index % period == period - 1 else sliding for index in range(_layers(fields))]


def _lettered(fields: Fields) -> list[CacheShape]:
    """L for a sliding layer, G for a full one, repeated."""
    full = attention(fields)
    letters = fields.words("sliding_window_pattern") or ["G"]
    sliding = _windowed(full, fields.optional("sliding_window"))
    return [sliding if letters[i % len(letters)] == "L" else full for i in range(_layers(fields))]


def _chunked(fields: Fields) -> list[CacheShape]:
    """Layers that forget what came before the chunk they are in; their cache grows in steps."""
    full = attention(fields)
    chunked = _windowed(full, fields.number("attention_chunk_size") + ALLOCATION_STEP)
    return [chunked if (index + 1) % 4 else full for index in range(_layers(fields))]


def _gemma3n(fields: Fields) -> list[CacheShape]:
    """The last layers use the keys and values of earlier ones."""
    return _by_type(fields)[: _layers(fields) - fields.number("num_kv_shared_layers")]


def _gemma4(fields: Fields) -> list[CacheShape]:
    """Full layers have heads of another size, and another number of them where values are keys."""
    local = attention(fields)
    heads = fields.optional("num_global_key_value_heads") if fields.flag("attention_k_eq_v") else None
    dim = fields.number("global_head_dim", 512)
    full = CacheShape(heads or local.heads, dim, dim)
    sliding = _windowed(
        CacheShape(local.heads, local.key_dim, local.key_dim), fields.number("sliding_window")
    )
    period = fields.number("sliding_window_pattern", 5)
    types = fields.words("layer_types") or (
        ["sliding_attention"] * (period - 1) + ["full_attention"]
    ) * _layers(fields)
    own = _layers(fields) - fields.number("num_kv_shared_layers", 20)
    return [full if kind == "full_attention" else sliding for kind in types[:own]]


def _latent(fields: Fields) -> CacheShape:
    return CacheShape(1, fields.number("kv_lora_rank", 512), fields.number("qk_rope_head_dim", 64))


def _compressed(fields: Fields) -> list[CacheShape]:
    return [_latent(fields)] * _layers(fields)


def _indexed(fields: Fields) -> list[CacheShape]:
    """DeepSeek's sparse attention: a cache of index keys beside the latent one."""
    dim = fields.number("index_head_dim", 128)
    return [_latent(fields), CacheShape(1, dim, dim)] * _layers(fields)


def _double(fields: Fields) -> list[CacheShape]:
    layers = fields.optional("num_layers") or _layers(fields)
    return [_latent(fields)] * (2 * layers)


def _looped(fields: Fields) -> list[CacheShape]:
    return _plain(fields) * fields.number("num_loops", 1)


def _gated_delta_state(fields: Fields) -> CacheShape:
    keys = fields.number("linear_num_key_heads") * fields.number("linear_key_head_dim")
    values = fields.number("linear_num_value_heads") * fields.number("linear_value_head_dim")
    conv = (fields.number("linear_conv_kernel_dim", 4) - 1) * (2 * keys + values)
    return CacheShape(state=conv, state_float32=values * fields.number("linear_key_head_dim"))


def _gated_delta(fields: Fields) -> list[CacheShape]:
    full, linear = attention(fields), _gated_delta_state(fields)
    period = fields.number("full_attention_interval", 4)
    return [linear if (index + 1) % period else full for index in range(_layers(fields))]


def _olmo_hybrid(fields: Fields) -> list[CacheShape]:
    full, linear = attention(fields), _gated_delta_state(fields)
    types = fields.words("layer_types") or (["linear_attention"] * 3 + ["full_attention"]) * _layers(fields)
    return [linear if kind == "linear_attention" else full for kind in types[: _layers(fields)]]


def _kimi_linear(fields: Fields) -> list[CacheShape]:
    part = fields.part("linear_attn_config")
    dim = part.number("head_dim")
    width = part.number("num_heads") * dim
    conv = 3 * (part.number("short_conv_kernel_size", 4) - 1) * width
    linear, counted = CacheShape(state=conv, state_float32=width * dim), set(part.numbers("kda_layers"))
    return [linear if index + 1 in counted else _latent(fields) for index in range(_layers(fields))]


def _short_conv(fields: Fields) -> list[CacheShape]:
    full = attention(fields)
    hidden = fields.number("hidden_size")
    conv = CacheShape(state=(fields.number("conv_L_cache") - 1) * hidden, held=hidden)
    kinds = enumerate(fields.words("layer_types"))
    indices = set(fields.numbers("full_attn_idxs")) or {i for i, kind in kinds if kind == "full_attention"}
    return [full if index in indices else conv for index in range(_layers(fields))]


def _mamba(fields: Fields) -> list[CacheShape]:
    inner = fields.optional("intermediate_size") or fields.number("d_inner")
    conv = (fields.number("conv_kernel", 4) - 1) * inner
    state = CacheShape(state=conv, state_float32=inner * fields.number("state_size"), held=inner)
    return [state] * _layers(fields)


def _ssm(heads: int, dim: int, groups: int, state: int, kernel: int) -> CacheShape:
    channels = heads * dim + 2 * groups * state
    numbers = heads * dim * state
    return CacheShape(state=(kernel - 1) * channels, state_float32=numbers, held=channels, scan_heads=heads)


def _mamba2(fields: Fields) -> list[CacheShape]:
    state = fields.optional("ssm_state_size") or fields.number("state_size")
    heads, groups = fields.number("num_heads"), fields.number("n_groups")
    kernel = fields.number("conv_kernel")
    return [_ssm(heads, fields.number("head_dim"), groups, state, kernel)] * _layers(fields)


def _prefixed_ssm(fields: Fields) -> CacheShape:
    return _ssm(
        fields.number("mamba_n_heads"),
        fields.number("mamba_d_head"),
        fields.number("mamba_n_groups"),
        fields.number("mamba_d_state"),
        fields.number("mamba_d_conv"),
    )


def _granite_hybrid(fields: Fields) -> list[CacheShape]:
    full = attention(fields)
    types = fields.words("layer_types")
    return [_prefixed_ssm(fields) if kind == "mamba" else full for kind in types]


def _falcon_h1(fields: Fields) -> list[CacheShape]:
    """Every layer has both, side by side."""
    return [_prefixed_ssm(fields), attention(fields)] * _layers(fields)


def _nemotron_h(fields: Fields) -> list[CacheShape]:
    full = attention(fields)
    state = _ssm(
        fields.number("mamba_num_heads"),
        fields.number("mamba_head_dim"),
        fields.number("n_groups"),
        fields.number("ssm_state_size"),
        fields.number("conv_kernel"),
    )
    kinds = fields.words("hybrid_override_pattern") or fields.words("layers_block_type")
    caches = {"M": state, "mamba": state, "linear_attention": state, "conv": state}
    caches |= {"*": full, "attention": full, "full_attention": full}
    return [caches[kind] for kind in kinds or fields.words("layer_types") if kind in caches]


def _jamba(fields: Fields) -> list[CacheShape]:
    full, inner = attention(fields), fields.number("mamba_expand") * fields.number("hidden_size")
    conv = (fields.number("mamba_d_conv") - 1) * inner
    state = CacheShape(state=conv, state_float32=inner * fields.number("mamba_d_state"), held=inner)
    if types := fields.words("layers_block_type"):
        return [full if kind == "attention" else state for kind in types]
    period, offset = fields.number("attn_layer_period"), fields.number("attn_layer_offset")
    return [full if index % period == offset else state for index in range(_layers(fields))]


_Rule = Callable[[Fields], list[CacheShape]]

_COMPRESSED = frozenset(
    "deepseek_v3 kimi_k2 kimi_k25 kimi_vl glm4_moe_lite joyai_llm_flash mistral4"
    " deepseek_v32 glm_moe_dsa longcat_flash kimi_linear".split()
)

_RULES: tuple[tuple[str, _Rule], ...] = (
    ("llama mistral ministral3 gpt_oss olmo3 mellum afmoe laguna exaone_moe spark2_5", _by_type),
    ("gemma3 gemma3_text cohere2", _every_nth_is_full),
    ("exaone4", _lettered),
    ("llama4", _chunked),
    ("gemma3n", _gemma3n),
    ("gemma4 gemma4_text gemma4_unified", _gemma4),
    ("deepseek_v3 kimi_k2 kimi_k25 kimi_vl glm4_moe_lite joyai_llm_flash mistral4", _compressed),
    ("deepseek_v32 glm_moe_dsa", _indexed),
    ("longcat_flash", _double),
    ("nanbeige", _looped),
    ("qwen3_next qwen3_5 qwen3_5_moe", _gated_delta),
    ("olmo_hybrid", _olmo_hybrid),
    ("kimi_linear", _kimi_linear),
    ("lfm2 lfm2_moe lfm2_vl lfm2-vl", _short_conv),
    ("mamba falcon_mamba", _mamba),
    ("mamba2", _mamba2),
    ("granitemoehybrid", _granite_hybrid),
    ("falcon_h1", _falcon_h1),
    ("nemotron_h", _nemotron_h),
    ("jamba", _jamba),
)


def _rule(model_type: str) -> _Rule | None:
    return next((rule for types, rule in _RULES if model_type in types.split()), None)
