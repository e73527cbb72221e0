"""How many bytes a model's weights take, from the headers of its files, before anything is loaded."""

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec
from safetensors import SafetensorError, safe_open

from fireside.catalog.fit_config import Config
from fireside.catalog.json_file import UnreadableError, read_json

_FLOAT32 = 4
_FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
_FLOAT8 = frozenset({"F8_E4M3", "F8_E5M2"})
_INDEX = "model.safetensors.index.json"
_ENDLESS = 1 << 62

# What other packers store beside packed numbers.
_UNPACKS = frozenset({"qzeros", "g_idx", "weight_scale", "weight_scale_inv", "input_scale"})
_SCALES = ("_scales",)

# Packed layers that mlx-lm cannot unpack: those between latent vectors and heads.
_STAYS_PACKED = (".embed_q", ".unembed_out")


class WeightsError(ValueError):
    """The weight files cannot be read; the message says which and what to do."""


@dataclass(frozen=True)
class Tensor:
    """An array in a weight file: its safetensors type (`BF16`) and its shape."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def bits(self) -> int:
        """Bits of a number."""
        digits = re.search(r"\d+", self.dtype)
        return int(digits[0]) if digits else 8

    @property
    def nbytes(self) -> int:
        return (self.size * self.bits + 7) // 8


@dataclass(frozen=True)
class RunningWeights:
    """Weights in the form in which they run.

    Attributes:
        bytes: that they take.
        width: bytes of a number in what they compute, so also in keys and values.
        form: "float32", "packed, float32 scales" or "as stored".
    """

    bytes: int
    width: int
    form: str


@dataclass(frozen=True)
class StoredWeights:
    """The arrays of a model's weight files, by name, and how they are packed."""

    tensors: dict[str, Tensor]
    group_size: int = 64
    bits_of: dict[str, int] | None = None
    bits: int | None = None

    def as_stored(self) -> RunningWeights:
        """As a GPU runs them: unchanged, except that 8-bit floats become bfloat16."""
        total = sum(2 * t.size if t.dtype in _FLOAT8 else t.nbytes for t in self.tensors.values())
        return RunningWeights(total, self._width(), "as stored")

    def for_cpu(self, budget_bytes: int) -> RunningWeights:
        """As a CPU without a GPU runs them: as float32 if they fit, else with float32 scales, else as stored.

        The same steps as the core's, which measures loaded arrays.

        Args:
            budget_bytes: what the weights may take.
        """
        unpacked = sum(self._unpacked_bytes(name) for name in self.tensors)
        widened = sum(self._widened_bytes(tensor) for tensor in self.tensors.values())
        if self._can_unpack and unpacked <= budget_bytes:
            return RunningWeights(unpacked, _FLOAT32, "float32")
        if self._packed and widened <= budget_bytes:
            return RunningWeights(widened, _FLOAT32, "packed, float32 scales")
        return self.as_stored()

    def forms(self) -> tuple[RunningWeights, ...]:
        """All forms in which a CPU may run them, the largest and fastest first, the stored one last."""
        found = [self.for_cpu(_ENDLESS)]
        while found[-1].form != "as stored":
            found.append(self.for_cpu(found[-1].bytes - 1))
        return tuple(found)

    @property
    def parameters(self) -> int:
        """How many numbers the model has learned; what unpacks them is not counted."""
        return sum(self._numbers(name) for name in self.tensors)

    def _numbers(self, name: str) -> int:
        tensor, (layer, _, part) = self.tensors[name], name.rpartition(".")
        if part in _UNPACKS or name.endswith(_SCALES):
            return 0
        if part == "qweight":
            return tensor.size * tensor.bits // self._packed_bits_of(layer)
        if name.endswith("_blocks"):
            return 2 * tensor.size
        scales = self.tensors.get(f"{layer}.scales")
        if scales is None or part == "bias":
            return tensor.size
        if part != "weight":
            return 0
        return tensor.size * tensor.bits // self._packed_bits(layer, tensor, scales)

    def _packed_bits_of(self, layer: str) -> int:
        return (self.bits_of or {}).get(layer) or self.bits or 4

    @property
    def _packed(self) -> bool:
        return any(name.endswith(".scales") for name in self.tensors)

    @property
    def _can_unpack(self) -> bool:
        return not any(
            name.endswith((".global_scale", *(f"{layer}.scales" for layer in _STAYS_PACKED)))
            for name in self.tensors
        )

    def _unpacked_bytes(self, name: str) -> int:
        """Bytes with every weight a float32; the scales and biases of packed layers are gone then."""
        tensor, (layer, _, part) = self.tensors[name], name.rpartition(".")
        scales = self.tensors.get(f"{layer}.scales")
        if scales is None or part == "bias":
            return self._widened_bytes(tensor)
        if part != "weight":
            return 0
        return tensor.size * tensor.bits // self._packed_bits(layer, tensor, scales) * _FLOAT32

    def _packed_bits(self, layer: str, weight: Tensor, scales: Tensor) -> int:
        """Bits of a packed number: as the config says, or as the two shapes do."""
        if self.bits_of and layer in self.bits_of:
            return self.bits_of[layer]
        return max(1, weight.size * weight.bits // (max(1, scales.size) * self.group_size))

    @staticmethod
    def _widened_bytes(tensor: Tensor) -> int:
        floating = tensor.dtype in _FLOATS | _FLOAT8
        return tensor.size * _FLOAT32 if floating else tensor.nbytes

    def _width(self) -> int:
        """Bytes of a number in the floats that most of the stored bytes are."""
        sizes: Counter[int] = Counter()
        for tensor in self.tensors.values():
            if tensor.dtype in _FLOATS:
                sizes[min(tensor.bits // 8, _FLOAT32)] += tensor.nbytes
        return sizes.most_common(1)[0][0] if sizes else 2


def read_weights(folder: Path, config: Config) -> StoredWeights:
    """Read the headers of a model's weight files; no weight is read.

    Parts that a text model leaves out, such as a vision tower, are counted: the sum is never too small.

    Raises:
        WeightsError: a file is missing, damaged or cut off.
    """
    tensors: dict[str, Tensor] = {}
    for path in _files(folder):
        tensors.update(_read_header(path))
    return StoredWeights(tensors, *_quantization(config))


class _Index(msgspec.Struct):
    weight_map: dict[str, str]


def _files(folder: Path) -> Iterable[Path]:
    index = folder / _INDEX
    if index.is_file():
        try:
            weight_map = read_json(index, _Index).weight_map
        except UnreadableError as error:
            raise WeightsError(f"{index} cannot be read ({error}); get the model again.") from error
        return [folder / name for name in sorted(set(weight_map.values()))]
    found = sorted(folder.glob("model*.safetensors"))
    if not found:
        raise WeightsError(f"{folder} has no weights: a file model.safetensors was expected there.")
    return found


def _read_header(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise WeightsError(f"{path} is missing or no file; get it again.")
    try:
        opened: Any = safe_open(path, framework="numpy")
        with opened as file:
            slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - not a dict
            return {name: Tensor(part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"{path} is missing, damaged or cut off ({error}); get it again.") from error


def _quantization(config: Config) -> tuple[int, dict[str, int], int | None]:
    """The usual group size, the bits of the layers that the config names, and those of the others."""
    value = config.get("quantization") or config.get("quantization_config")
    settings = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    group_size, bits_of = settings.get("group_size"), dict[str, int]()
    for layer, own in settings.items():
        bits = cast("dict[str, object]", own).get("bits") if isinstance(own, dict) else None
        if isinstance(bits, int):
            bits_of[layer] = bits
    usual = settings.get("bits")
    return (
        group_size if isinstance(group_size, int) and group_size > 0 else 64,
        bits_of,
        usual if isinstance(usual, int) and usual > 0 else None,
    )
