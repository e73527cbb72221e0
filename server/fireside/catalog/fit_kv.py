"""How keys and values are stored: as computed, or with fewer bits, and how many bytes that takes."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fireside.catalog.fit_caches import CacheShape

UNIFORM_BITS = (4, 8)
GROUP = 64
"""Numbers that share a scale and a bias."""

_TURBO = re.compile(r"turbo(?::k(?P<k>\d)v(?P<v>\d))?")
_TURBO_DEFAULT = (8, 3)
_TURBO_NORM_BYTES = 4
_CONFIG_NAME = "config"


class KvSchemeError(ValueError):
    """Not a scheme for keys and values; the message lists those that there are."""


@dataclass(frozen=True)
class KvScheme:
    """Bits of a number in the caches of full attention; None stands for the model's own type.

    Sliding and state caches keep their type under every scheme: they are small, and mlx-lm's rotating
    cache cannot be quantised.

    Attributes:
        mode: its name in `/stats`.
        per_cache: bits of keys and of values for each cache; the last pair stands for all that follow.
        turbo: one norm a vector instead of a scale and a bias a group.
    """

    mode: str = "bf16"
    per_cache: tuple[tuple[int, int] | None, ...] = (None,)
    turbo: bool = False

    @classmethod
    def parse(cls, spec: str | None, bits_by_cache: Sequence[int] | None = None) -> "KvScheme":
        """From `--kv-quant`: `off`, `4`, `8`, `config`, `turbo` or `turbo:k8v3`.

        Args:
            bits_by_cache: for `config`, the bits of each cache that the model recommends; 16 for plain.

        Raises:
            KvSchemeError: it is none of these, or the model recommends nothing.
        """
        if spec is None or spec in ("", "off", "bf16"):
            return cls()
        if spec in map(str, UNIFORM_BITS):
            return cls(f"uniform-kv{spec}", ((int(spec), int(spec)),))
        if spec == _CONFIG_NAME and bits_by_cache:
            pairs = tuple(None if bits >= 16 else (bits, bits) for bits in bits_by_cache)
            return cls("mixed (kv_config.json)", pairs)
        if spec == _CONFIG_NAME:
            raise KvSchemeError(
                "This model comes without kv_config.json, which `config` asks for; use 4, 8 or off."
            )
        if found := _TURBO.fullmatch(spec):
            bits = (int(found["k"]), int(found["v"])) if found["k"] else _TURBO_DEFAULT
            return cls("turbo k{}v{}".format(*bits), (bits,), turbo=True)
        raise KvSchemeError(
            f"{spec!r} is no way to store keys and values; there are off, 4, 8, config and turbo:k8v3."
        )

    @property
    def plain(self) -> bool:
        return not any(self.per_cache)

    def bits(self, index: int, cache: CacheShape) -> tuple[int, int] | None:
        """Bits of keys and of values in the cache of this number, None where they keep their type."""
        return self.per_cache[min(index, len(self.per_cache) - 1)] if cache.kind == "full" else None

    def token_bytes(self, index: int, cache: CacheShape, width: int) -> int:
        """Bytes that a kept token takes in the cache of this number.

        Args:
            width: bytes of a number in the model's type.
        """
        bits = self.bits(index, cache)
        if bits is None:
            return cache.numbers_per_token * width
        keys = self._vector_bytes(cache.key_dim, bits[0], width)
        return cache.heads * (keys + self._vector_bytes(cache.value_dim, bits[1], width))

    def _vector_bytes(self, dim: int, bits: int, width: int) -> int:
        packed = -(-dim * bits // 32) * 4
        return packed + (_TURBO_NORM_BYTES if self.turbo else -(-dim // GROUP) * 2 * width)

    def stats(self, caches: Sequence[CacheShape]) -> dict[str, object]:
        """`/stats.kv_quant`: the mode, how many caches have how many bits, and their kinds."""
        kinds = Counter(cache.kind for cache in caches)
        used = Counter(self._label(index, cache) for index, cache in enumerate(caches) if cache.heads)
        return {
            "mode": self.mode,
            "layers": dict(used),
            "attention": {"global": kinds["full"], "sliding_window": kinds["sliding"]},
        }

    def _label(self, index: int, cache: CacheShape) -> str:
        bits = self.bits(index, cache)
        if bits is None:
            return "bf16"
        return str(bits[0]) if bits[0] == bits[1] else "k{}v{}".format(*bits)


PLAIN = KvScheme()
