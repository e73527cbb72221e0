"""Numbers out of a model's config.json, under whatever names its family gives them."""

from collections.abc import Mapping
from typing import cast

Config = Mapping[str, object]

_ALIASES = {
    "hidden_size": ("hidden_size", "n_embd", "d_model"),
    "num_hidden_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "num_attention_heads": ("num_attention_heads", "n_head", "n_heads"),
    "num_key_value_heads": ("num_key_value_heads", "num_kv_heads", "n_kv_heads"),
    "num_experts_per_tok": ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "top_k_experts"),
    "max_position_embeddings": ("max_position_embeddings", "n_positions", "model_max_length", "max_seq_len"),
}

# mlx-lm's own defaults, for the families whose published configs leave these keys out.
_DEFAULTS: dict[str, dict[str, int]] = {
    "gemma3": {
        "hidden_size": 1152,
        "num_hidden_layers": 26,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "sliding_window": 512,
        "sliding_window_pattern": 6,
        "vocab_size": 262208,
        "max_position_embeddings": 32768,
    },
    "gemma3_text": {
        "hidden_size": 1152,
        "num_hidden_layers": 26,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "head_dim": 256,
        "sliding_window": 512,
        "sliding_window_pattern": 6,
        "vocab_size": 262144,
        "max_position_embeddings": 32768,
    },
    "gemma4": {"head_dim": 256, "num_key_value_heads": 1, "sliding_window": 512},
    "gemma4_text": {"head_dim": 256, "num_key_value_heads": 1, "sliding_window": 512},
    "gpt_oss": {"head_dim": 64, "num_key_value_heads": 8, "sliding_window": 128},
    "cohere2": {"head_dim": 128, "sliding_window": 4096, "sliding_window_pattern": 4},
}


_WINDOW = "max_position_embeddings"
_LARGEST = 1 << 40
"""Of a single number; those of real models are below 2^24."""
_OF_LAYERS = frozenset({"num_hidden_layers", "num_layers", "num_loops", "sliding_window_pattern"})
_MOST_LAYERS = 1000


class ShapeError(ValueError):
    """A config does not say how large its model is; the message names what is missing."""


class AbsurdShapeError(ShapeError):
    """A config has sizes that no model has; building one would take all memory, or forever."""


class Fields:
    """A config's values. For a model with other senses than text, those of its text part.

    Attributes:
        outer: `model_type` of the whole model.
        inner: `model_type` of its text part, the same where there is none.
    """

    def __init__(self, config: Config) -> None:
        text = config.get("text_config") or config.get("llm_config")
        values = {**config, **cast("Config", text)} if isinstance(text, dict) else dict(config)
        self.outer = str(config.get("model_type", ""))
        self.inner = str(values.get("model_type", ""))
        defaults = _DEFAULTS.get(self.outer) or _DEFAULTS.get(self.inner, {})
        given = {name: value for name, value in values.items() if value is not None}
        self._values: dict[str, object] = {**defaults, **given}

    def number(self, name: str, default: int | None = None) -> int:
        """A whole number; the largest one where the config has one a layer.

        Raises:
            ShapeError: it is not there and has no default, or is something else.
        """
        found = self.optional(name)
        if found is not None:
            return found
        if default is not None:
            return default
        kind = self.inner or self.outer or "unnamed"
        raise ShapeError(
            f"config.json of this {kind} model has no {name}, so its memory cannot be calculated."
            " Get the file again from where the model came from."
        )

    def optional(self, name: str) -> int | None:
        """As `number`, None where the config says nothing."""
        for alias in _ALIASES.get(name, (name,)):
            value = self._values.get(alias)
            if isinstance(value, list) and value:
                value = max(self.numbers(alias))
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if isinstance(value, int) and not isinstance(value, bool):
                if value < 0:
                    raise AbsurdShapeError(f"config.json has {alias} = {value}; a size cannot be negative.")
                if name == _WINDOW:
                    return min(value, _LARGEST)  # Some say "endless" with a 1 and thirty zeros.
                if value > (_MOST_LAYERS if name in _OF_LAYERS else _LARGEST):
                    raise AbsurdShapeError(
                        f"config.json has {alias} = {str(value)[:40]}; no model is that large."
                    )
                return value
            if value is not None and not isinstance(value, bool | str):
                raise ShapeError(f"config.json has {alias} = {value!r}; a whole number was expected.")
        return None

    def flag(self, name: str) -> bool:
        """A switch, off where the config says nothing."""
        return self._values.get(name) is True

    def words(self, name: str) -> list[str]:
        """A list of names, or the letters of a word; empty where the config says nothing."""
        value = self._values.get(name)
        if isinstance(value, str):
            return list(value)
        return [str(item) for item in cast("list[object]", value)] if isinstance(value, list) else []

    def numbers(self, name: str) -> list[int]:
        """A list of whole numbers; empty where the config says nothing."""
        value = self._values.get(name)
        items = cast("list[object]", value) if isinstance(value, list) else []
        if not all(isinstance(item, int) for item in items):
            raise ShapeError(f"config.json has {name} = {items!r}; whole numbers were expected.")
        return cast("list[int]", items)

    def part(self, name: str) -> "Fields":
        """The values of an object inside the config."""
        value = self._values.get(name)
        if not isinstance(value, dict):
            raise ShapeError(f"config.json has no {name}, so the model's memory cannot be calculated.")
        return Fields(cast("Config", value))
