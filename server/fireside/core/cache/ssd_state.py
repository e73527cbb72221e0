"""From mlx-lm's caches to arrays and plain values, and back."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import mlx.core as mx
import numpy as np
from mlx_lm.models.cache import KVCache, QuantizedKVCache
from numpy.typing import NDArray

from fireside.core.cache.prompt_cache import LayerCaches
from fireside.core.cache.ssd_layout import Layer, Tensor

PIECE = 16 << 20
"""Bytes that are copied from the device at a time at most: a request waits no longer than for one."""

_NAMES = {
    mx.bool_: "BOOL", mx.uint8: "U8", mx.int8: "I8", mx.uint16: "U16", mx.int16: "I16", mx.float16: "F16",
    mx.bfloat16: "BF16", mx.uint32: "U32", mx.int32: "I32", mx.float32: "F32", mx.uint64: "U64",
    mx.int64: "I64",
}  # fmt: skip
_TYPES = {name: dtype for dtype, name in _NAMES.items()}
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class UnknownStateError(Exception):
    """A cache's state has something that cannot be written."""


def flatten(caches: LayerCaches) -> tuple[list[Layer], list[mx.array]]:
    """The caches as they are written: nothing behind the end of what was read, where that is easily left out.

    Raises:
        UnknownStateError: a state has something other than arrays, numbers, texts, and lists of them.
    """
    arrays: list[mx.array] = []
    layers = [Layer(type(cache).__name__, _plain(_state(cache), arrays)) for cache in caches]
    return layers, arrays


def build(layers: Sequence[Layer], arrays: Sequence[mx.array], fresh: LayerCaches) -> LayerCaches:
    """The caches that were flattened.

    Args:
        arrays: without the tokens.
        fresh: of the same model, with nothing in them; they are filled and returned.

    Raises:
        ValueError: they are caches of other kinds.
    """
    kinds = [type(cache).__name__ for cache in fresh]
    if kinds != [layer.kind for layer in layers]:
        raise ValueError("the caches of this model are of other kinds now")
    for cache, layer in zip(fresh, layers, strict=True):
        cache.state = _filled(layer.state, arrays)
    return fresh


def shortened(layers: Sequence[Layer], length: int) -> list[Layer] | None:
    """What is left of layers after so many tokens; None where that cannot be told without their arrays.

    Of the arrays `restored` then has to keep as many rows.
    """
    if any(layer.kind != KVCache.__name__ for layer in layers):
        return None
    return [Layer(layer.kind, [*layer.state[:2], min(layer.state[2], length)]) for layer in layers]


def described(array: mx.array) -> Tensor:
    """Type and shape.

    Raises:
        UnknownStateError: of a type that is not written.
    """
    if array.dtype not in _NAMES:
        raise UnknownStateError(f"an array of {array.dtype}")
    return Tensor(_NAMES[array.dtype], list(array.shape))


def pieces(arrays: list[mx.array]) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Copies of the bytes of arrays, a piece at a time, each with the place of its array in the list.

    The device makes the next one while a piece is used, on the stream that the caller has set. An array is
    let go of when its turn comes: the list holds nothing of it from then on.
    """
    ahead: tuple[int, mx.array] | None = None
    for number, copy in _copies(arrays):
        mx.async_eval(copy)
        if ahead is not None:
            yield ahead[0], np.array(ahead[1])
        ahead = number, copy
    if ahead is not None:
        yield ahead[0], np.array(ahead[1])


def _copies(arrays: list[mx.array]) -> Iterator[tuple[int, mx.array]]:
    for number in range(len(arrays)):
        array, arrays[number] = arrays[number], mx.array(0)
        for part in _parts(array) if array.size else ():
            flat = mx.contiguous(part).reshape(-1).view(mx.uint8)
            # A new array: the memory of one that the host has looked at is no longer the device's alone.
            yield number, mx.bitwise_or(flat, mx.array(0, mx.uint8))


def _parts(array: mx.array) -> Iterator[mx.array]:
    """Slices of a piece at most, one after the other: to make a whole array contiguous takes too long."""
    if array.nbytes <= PIECE:
        yield array
        return
    axis = next(number for number, length in enumerate(array.shape) if length > 1)
    rows = max(1, PIECE // (array.nbytes // array.shape[axis]))
    before = (slice(None),) * axis
    for begin in range(0, array.shape[axis], rows):
        yield from _parts(array[(*before, slice(begin, begin + rows))])


def restored(data: NDArray[np.uint8], tensor: Tensor, rows: int | None = None) -> mx.array:
    """An array of its own with these bytes, or with no more than so many rows of its last axis but one."""
    dtype = _TYPES[tensor.dtype]
    numbers = data.view(_UNSIGNED[dtype.size]).reshape(tensor.shape)
    return mx.array(numbers if rows is None else numbers[..., :rows, :]).view(dtype)


def _state(cache: Any) -> Any:
    if type(cache) is KVCache and cache.keys is not None:
        return (*cache.keys_and_values(), cache.offset)
    if type(cache) is QuantizedKVCache and cache.keys is not None:
        return (*cache.keys_and_values(), cache.offset, cache.group_size, cache.bits)
    return cache.state


def _plain(value: Any, arrays: list[mx.array]) -> Any:
    if isinstance(value, mx.array):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, list | tuple):
        return [_plain(each, arrays) for each in cast("Sequence[Any]", value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UnknownStateError(f"a {type(value).__name__}")


def _filled(value: Any, arrays: Sequence[mx.array]) -> Any:
    if isinstance(value, dict):
        return arrays[cast("dict[str, int]", value)["array"]]
    if isinstance(value, list):
        return [_filled(each, arrays) for each in cast("list[Any]", value)]
    return value
