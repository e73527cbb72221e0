"""What has to be the same for keys and values of one run to be those of another."""

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten
from mlx_lm.models.cache import make_prompt_cache

from fireside.core.cache.ssd_layout import FORMAT
from fireside.core.cache.ssd_state import UnknownStateError, build, flatten

_WEIGHTS = (".safetensors", ".gguf", ".npz", ".bin")
_CONFIGS = ("config.json",)
_TOKENIZERS = (
    "tokenizer*", "*.model", "*.tiktoken", "vocab*", "merges*", "special_tokens_map.json",
    "added_tokens.json", "tekken.json",
)  # fmt: skip
_SAMPLES = 16
_SAMPLE = 1 << 16


def model_key(model: nn.Module, folder: Path) -> str:
    """32 hexadecimal digits for a loaded model: its graph, its weights, its tokenizer, how it remembers.

    Of the weights' files their names, sizes, times and samples of what is in them are looked at: to read all
    of them would take longer than loading the model does. Adapters are namespaces, and not a part of this.

    Raises:
        OSError: a file of the model cannot be read.
        UnknownStateError: the model's caches cannot be written.
    """
    key = hashlib.blake2b(digest_size=16)

    def add(*values: object) -> None:
        key.update(repr(values).encode() + b"\n")

    add(FORMAT, version("mlx"), version("mlx-lm"), str(mx.default_device()))
    for name, module in sorted(model.named_modules(), key=lambda item: item[0]):
        add(name, type(module).__module__, type(module).__qualname__)
    parameters: Any = tree_flatten(model.parameters())
    for name, array in parameters:
        add(name, array.shape, array.dtype)
    add(_scheme(model))
    files = sorted(path for path in folder.iterdir() if path.is_file())
    for path in files:
        if path.suffix in _WEIGHTS:
            facts = path.stat()
            add(path.name, facts.st_size, facts.st_mtime_ns, _sampled(path, facts.st_size))
        elif path.name in _CONFIGS or any(path.match(pattern) for pattern in _TOKENIZERS):
            add(path.name, hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest())
    return key.hexdigest()


def _scheme(model: nn.Module) -> list[object]:
    """Kinds, types, shapes and settings of what two tokens leave behind, which has to come back whole."""
    caches = make_prompt_cache(model)
    model(mx.array([[0, 1]]), cache=caches)
    layers, arrays = flatten(caches)
    try:
        again, copies = flatten(build(layers, arrays, make_prompt_cache(model)))
    except (AttributeError, TypeError, ValueError) as error:
        raise UnknownStateError(f"caches that cannot be filled again: {error}") from error
    if again != layers or not all(map(_same, arrays, copies)):
        raise UnknownStateError("caches that forget a part of their state")
    return [*((layer.kind, layer.state) for layer in layers), *((a.shape, str(a.dtype)) for a in arrays)]


def _same(one: mx.array, other: mx.array) -> bool:
    return bool(mx.array_equal(one, other, equal_nan=True).item())


def _sampled(path: Path, size: int) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as stream:
        digest.update(stream.read(_SAMPLE))
        for number in range(1, _SAMPLES + 1):
            stream.seek(max(0, (size - _SAMPLE) * number // _SAMPLES))
            digest.update(stream.read(_SAMPLE))
    return digest.hexdigest()
