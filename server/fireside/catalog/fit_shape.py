"""The sizes of a model that decide what a conversation with it takes, from its config.json."""

from dataclasses import dataclass
from pathlib import Path

from fireside.catalog.fit_caches import CacheShape, attention, cache_shapes, has_sinks, is_compressed
from fireside.catalog.fit_config import AbsurdShapeError, Config, Fields, ShapeError
from fireside.catalog.fit_kv import PLAIN, KvScheme
from fireside.catalog.json_file import UnreadableError, read_json

_FLOAT32 = 4
_LONG, _CHUNK = 1 << 24, 1 << 13
_ENDLESS = 1 << 62
"""Bytes, beyond which numbers are no longer those of a model."""
_SCORE_BYTES = 4
"""Attention weights are float32 whatever the model's type."""

# Arrays of one layer that are alive at once while a chunk is read, in numbers a token. MLX frees each
# as soon as its readers have run, but runs some layers' operations ahead.
_RESIDUALS = 10
_MLP_ARRAYS = 3
_MIXER_ARRAYS = 4

_SINK_COPIES = 4
"""Attention weights with a sink: as computed, joined, as probabilities, without it again."""

_SCAN_STEP = 256
_SCAN_COPIES = 16
"""A scan's matrices of one step: decays, products, sums, and those of the operations queued ahead."""

_LAYER_COPIES = 2
"""A cache that grows, or that another row joins, is copied layer by layer: the old, the new, a slice."""

_LOGIT_COPIES = 4
"""Logits as computed, as float32, as log-probabilities, and sorted for a filter."""


@dataclass(frozen=True)
class ModelShape:
    """What a model keeps for a row, and what it needs beside that while it works.

    Attributes:
        caches: of one row, in mlx-lm's order.
        heads: query heads, each with its own attention weights.
        head_dim: length of a query.
        hidden: width of the stream between the layers.
        mlp: numbers that a token has inside the widest MLP, all its experts together.
        vocab: tokens.
        expanded: numbers a token of the whole context that keys and values made from latent vectors
            take while a chunk is read; 0 without compression.
        score_copies: how often attention weights are in memory when they are written out.
        context_window: tokens that the model was made for, None where its config does not say.
    """

    caches: tuple[CacheShape, ...]
    heads: int
    head_dim: int
    hidden: int
    mlp: int
    vocab: int
    expanded: int = 0
    score_copies: int = 1
    context_window: int | None = None

    @classmethod
    def from_config(cls, config: Config) -> "ModelShape":
        """Read a config.json.

        Raises:
            ShapeError: a number that decides is not there, or they make no sense together.
        """
        try:
            shape = cls._read(Fields(config))
            row = shape.kv_bytes_allocated(_LONG, _FLOAT32) + shape.prefill_bytes(_LONG, _FLOAT32, _CHUNK)
            endless = row + shape.copy_bytes(_LONG, _FLOAT32) + shape.decode_bytes(_CHUNK) > _ENDLESS
            shape.copy_share()
        except ArithmeticError as error:
            raise AbsurdShapeError(f"The sizes in config.json make no sense together: {error}.") from error
        if not (shape.hidden and shape.vocab and shape.caches):
            raise AbsurdShapeError("config.json describes a model without layers, width or words.")
        if endless:
            raise AbsurdShapeError("The sizes in config.json come to more memory than any machine has.")
        return shape

    @classmethod
    def _read(cls, fields: Fields) -> "ModelShape":
        caches = cache_shapes(fields)
        heads = fields.optional("num_attention_heads") or 0
        full = attention(fields) if heads else CacheShape()
        expanded = full.heads * (full.key_dim + full.value_dim) if is_compressed(fields) else 0
        return cls(
            caches=caches,
            heads=heads,
            head_dim=max([full.key_dim, *(cache.key_dim for cache in caches)]),
            hidden=fields.number("hidden_size"),
            mlp=_mlp(fields),
            vocab=fields.number("vocab_size"),
            expanded=expanded,
            score_copies=_SINK_COPIES if has_sinks(fields) else 1,
            context_window=fields.optional("max_position_embeddings"),
        )

    def kv_bytes(self, tokens: int, width: int, scheme: KvScheme = PLAIN) -> int:
        """Bytes that a row of so many tokens keeps: keys, values and states.

        Args:
            width: bytes of a number in the model's type, 2 for bfloat16.
        """
        return sum(
            cache.kept(tokens) * scheme.token_bytes(index, cache, width) + _state_bytes(cache, width)
            for index, cache in enumerate(self.caches)
        )

    def kv_bytes_allocated(self, tokens: int, width: int, chunk: int = 1, scheme: KvScheme = PLAIN) -> int:
        """Bytes that mlx-lm holds for such a row at most, the steps in which it allocates included.

        Args:
            chunk: prompt tokens read at a time; a sliding cache holds a chunk beside its window.
        """
        return sum(
            cache.allocated(tokens, chunk) * scheme.token_bytes(index, cache, width)
            + _state_bytes(cache, width)
            for index, cache in enumerate(self.caches)
        )

    def kv_bytes_per_token(self, width: int, scheme: KvScheme = PLAIN) -> int:
        """Bytes by which a row grows a token once every window is full."""
        caches = enumerate(self.caches)
        return sum(scheme.token_bytes(i, cache, width) for i, cache in caches if cache.kind == "full")

    def prefill_bytes(
        self, tokens: int, width: int, chunk: int, rows: int = 1, *, fused_attention: bool = True
    ) -> int:
        """Bytes needed for a moment while the last chunk of a prompt of so many tokens is read.

        An estimate from above: activations of a layer, attention weights where they are written out,
        keys and values made from latent vectors, and what sliding caches hold beside their windows.
        Comes on top of what the row keeps and of `copy_bytes`.

        Args:
            chunk: tokens of each prompt that are read at a time.
            rows: prompts read together.
            fused_attention: whether attention weights stay inside one kernel; so on a GPU with plain keys
                and values, not on a CPU.
        """
        read = min(tokens, chunk) * rows
        layer = _RESIDUALS * self.hidden + _MLP_ARRAYS * self.mlp + _MIXER_ARRAYS * self._mixer()
        return (
            read * layer * width
            + tokens * rows * self.expanded * width
            + read * tokens * self._score_bytes(width, fused=fused_attention)
            + rows * (self._overhang_bytes(tokens, width, chunk) + self._scan_bytes(min(tokens, chunk)))
        )

    def _overhang_bytes(self, tokens: int, width: int, chunk: int) -> int:
        """Bytes that caches hold beside windows and states until the next decode step."""
        held = min(tokens, chunk) * width * sum(cache.held for cache in self.caches)
        most = self.kv_bytes_allocated(tokens, width, chunk)
        return held + most - self.kv_bytes_allocated(tokens, width)

    def _scan_bytes(self, read: int) -> int:
        heads = max((cache.scan_heads for cache in self.caches), default=0)
        return heads * min(read, _SCAN_STEP) ** 2 * _FLOAT32 * _SCAN_COPIES

    def copy_bytes(self, tokens: int, width: int) -> int:
        """Bytes for the copies of the largest layer's cache of a row while it grows."""
        return _LAYER_COPIES * max(
            (cache.allocated(tokens, 1) * cache.numbers_per_token * width for cache in self.caches),
            default=0,
        )

    def copy_share(self) -> float:
        """The largest cache's part of all that grows, times its copies: extra bytes a byte of KV."""
        numbers = [cache.numbers_per_token for cache in self.caches if cache.kind == "full"]
        return _LAYER_COPIES * max(numbers) / sum(numbers) if numbers else 0.0

    def decode_bytes(self, rows: int) -> int:
        """Bytes for one step's logits and the sampling from them."""
        return rows * self.vocab * _FLOAT32 * _LOGIT_COPIES

    def _mixer(self) -> int:
        """Numbers a token has in the widest attention or state layer: queries, keys, values, gates."""
        widest = max((cache.numbers_per_token for cache in self.caches), default=0)
        states = max((cache.state for cache in self.caches), default=0)
        return max(self.heads * self.head_dim + widest, states)

    def _score_bytes(self, width: int, *, fused: bool) -> int:
        """Bytes for each pair of a token that is read and one that is kept."""
        attends = any(cache.heads for cache in self.caches)
        if not attends:
            return 0
        mask = 1
        # With latent vectors the rotary part's weights are added as a mask, written out in any case.
        rotary = self.heads * width if self.expanded else 0
        weights = 0 if fused else self.heads * _SCORE_BYTES * self.score_copies
        return mask + rotary + weights


def read_shape(folder: Path) -> ModelShape:
    """The shape of the model in a folder.

    Raises:
        ShapeError: its config.json cannot be read or lacks a number that decides.
    """
    return ModelShape.from_config(read_config(folder))


def read_config(folder: Path) -> dict[str, object]:
    """A folder's config.json.

    Raises:
        ShapeError: it cannot be read.
    """
    path = folder / "config.json"
    try:
        return read_json(path, dict[str, object])
    except UnreadableError as error:
        raise ShapeError(f"{path} cannot be read ({error}); get the model again.") from error


def _state_bytes(cache: CacheShape, width: int) -> int:
    return cache.state * width + cache.state_float32 * _FLOAT32


def _mlp(fields: Fields) -> int:
    """The widest MLP: the dense one, or the experts that a token visits and those that all visit."""
    dense = fields.number("intermediate_size", 4 * fields.number("hidden_size"))
    experts = fields.optional("num_experts_per_tok") or 0
    if not experts:
        return dense
    expert = fields.number("moe_intermediate_size", dense)
    shared = fields.number("shared_expert_intermediate_size", 0)
    shared += fields.number("n_shared_experts", 0) * expert
    return max(dense, experts * expert + shared)
