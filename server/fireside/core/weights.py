"""How weights run on a CPU: as float32 where they fit.

On a CPU, MLX multiplies float32 with BLAS and everything else in scalar loops. Measured on two x86-64
cores with OpenBLAS: float32 250 GFLOP/s; 4-bit 3.1 with float32 scales, 0.35 with bfloat16 scales,
0.07 with float16 scales. So even weights that must stay packed gain by float32 scales.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten
from mlx_lm.models.switch_layers import QuantizedSwitchLinear
from mlx_lm.utils import dequantize_model

from fireside.catalog.memory import SHARE_FOR_FLOAT32, available_memory

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all."""

_FLOAT32_BYTES = 4
_UNPACKABLE = (nn.QuantizedLinear, nn.QuantizedEmbedding, QuantizedSwitchLinear)


def weight_budget() -> int:
    """Bytes that the weights may take now: a share of what the machine, or the container, has left."""
    return int(available_memory() * SHARE_FOR_FLOAT32)


def widen_for_cpu(model: nn.Module, budget_bytes: int, progress: Progress | None = None) -> str:
    """Bring a lazily loaded model into memory in the form that runs fastest on a CPU.

    Arrays are evaluated one at a time, so the peak is the result and one array more.

    Args:
        model: as mlx-lm loads it with `lazy=True`; changed in place.
        budget_bytes: what the weights may take.

    Returns:
        What the weights are now: "float32", "4-bit" (or other bits), "bfloat16" or "float16".
    """
    parameters = _parameters(model)
    if _can_unpack(model) and sum(p.unpacked_bytes for p in parameters) <= budget_bytes:
        # Scales first, so that unpacking rounds once, to float32; the second call is for the
        # formats whose scales are not floats: they unpack to bfloat16, which holds them exactly.
        model.set_dtype(mx.float32)
        dequantize_model(model)
        model.set_dtype(mx.float32)
    elif _packed_modules(model) and sum(p.widened_bytes for p in parameters) <= budget_bytes:
        model.set_dtype(mx.float32)
    return materialise(model, progress)


def materialise(model: nn.Module, progress: Progress | None = None) -> str:
    """Bring a lazily loaded model into memory as it is, one array at a time; returns `describe`."""
    parameters = _parameters(model)
    total, done = sum(parameter.array.nbytes for parameter in parameters), 0
    for parameter in parameters:
        mx.eval(parameter.array)
        done += parameter.array.nbytes
        if progress:
            progress(done, total)
    return describe(model)


def describe(model: nn.Module) -> str:
    """The form that most of the weights have: "float32", "4-bit", "bfloat16", …"""
    forms: Counter[str] = Counter()
    for parameter in _parameters(model):
        forms[parameter.form] += parameter.unpacked_bytes
    return forms.most_common(1)[0][0] if forms else "none"


@dataclass(frozen=True)
class _Parameter:
    """An array of a model, and the width of its packed values if it belongs to a packed layer."""

    name: str
    array: mx.array
    packed_bits: int | None

    @property
    def unpacked_bytes(self) -> int:
        """Bytes with every weight a float32; scales and their biases are gone by then."""
        if self.packed_bits is None or self.name.endswith(".bias"):
            return self.widened_bytes
        if not self.name.endswith(".weight"):
            return 0
        return self.array.nbytes * 8 // self.packed_bits * _FLOAT32_BYTES

    @property
    def widened_bytes(self) -> int:
        """Bytes with floats widened to float32 and packed weights as they are."""
        if mx.issubdtype(self.array.dtype, mx.floating):
            return self.array.size * _FLOAT32_BYTES
        return self.array.nbytes

    @property
    def form(self) -> str:
        if self.packed_bits is not None:
            return f"{self.packed_bits}-bit"
        return str(self.array.dtype).rpartition(".")[2]


def _parameters(model: nn.Module) -> list[_Parameter]:
    bits = {name: cast("int", module.bits) for name, module in _packed_modules(model).items()}
    arrays = cast("list[tuple[str, mx.array]]", tree_flatten(model.parameters()))
    return [_Parameter(name, array, bits.get(name.rpartition(".")[0])) for name, array in arrays]


def _packed_modules(model: nn.Module) -> dict[str, nn.Module]:
    return {name: module for name, module in model.named_modules() if "scales" in module}


def _can_unpack(model: nn.Module) -> bool:
    """Whether mlx-lm unpacks every packed layer, and fully: it leaves out nvfp4's global scale."""
    return all(
        isinstance(module, _UNPACKABLE) and module.get("global_scale") is None
        for module in _packed_modules(model).values()
    )
