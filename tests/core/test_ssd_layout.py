"""What the files hold: read here with the safetensors library, and told apart by what makes caches alike."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx_lm.models.cache import (
    ArraysCache,
    CacheList,
    ChunkedKVCache,
    KVCache,
    QuantizedKVCache,
    RotatingKVCache,
    make_prompt_cache,
    trim_prompt_cache,
)
from mlx_lm.utils import load_model
from safetensors import safe_open

from fireside.core.cache import ssd_key, ssd_state
from fireside.core.cache.prompt_cache import LayerCaches, PromptCache
from fireside.core.cache.ssd_key import model_key
from fireside.core.cache.ssd_open import open_tier
from fireside.core.cache.ssd_state import (
    PIECE,
    UnknownStateError,
    build,
    described,
    flatten,
    pieces,
    restored,
)
from fireside.engine.ssd_files import orphaned_files, tier_files
from fireside.wire import SsdSettings
from support import random_models as models
from support.server import POCKET
from support.ssd_bench import Bench

TOKENS = list(range(100))


def filled(cache: Any, steps: int, dtype: mx.Dtype = mx.float32) -> Any:
    for _ in range(steps):
        new = mx.random.normal((1, 2, 5, 64)).astype(dtype)
        cache.update_and_fetch(new, new + 1)
    return cache


def recurrent() -> ArraysCache:
    cache = ArraysCache(2)
    cache[0], cache[1] = mx.random.normal((1, 4, 8)), mx.random.normal((1, 3)).astype(mx.bfloat16)
    return cache


CACHES: dict[str, Callable[[bool], Any]] = {
    "plain": lambda full: filled(KVCache(), 20) if full else KVCache(),
    "bf16": lambda full: filled(KVCache(), 20, mx.bfloat16) if full else KVCache(),
    "half": lambda full: filled(KVCache(), 20, mx.float16) if full else KVCache(),
    "rotating": lambda full: filled(RotatingKVCache(40, 4), 20) if full else RotatingKVCache(40, 4),
    "not yet rotating": lambda full: filled(RotatingKVCache(400), 20) if full else RotatingKVCache(400),
    "quantized": lambda full: filled(QuantizedKVCache(), 20) if full else QuantizedKVCache(),
    "chunked": lambda full: filled(ChunkedKVCache(64), 20) if full else ChunkedKVCache(64),
    "recurrent": lambda full: recurrent() if full else ArraysCache(2),
    "list": lambda full: (
        CacheList(filled(KVCache(), 20), filled(RotatingKVCache(40), 20))
        if full
        else CacheList(KVCache(), RotatingKVCache(40))
    ),
    "unused": lambda _: KVCache(),
}


def leaves(caches: LayerCaches) -> list[Any]:
    layers, arrays = flatten(caches)
    return [[layer.kind, layer.state] for layer in layers] + [
        [str(array.dtype), array.astype(mx.float32).tolist()] for array in arrays
    ]


@pytest.mark.parametrize("make", CACHES.values(), ids=list(CACHES))
def test_caches_come_back_as_they_were(make: Callable[[bool], Any], tmp_path: Path) -> None:
    caches = [make(True), make(True)]
    before = leaves(caches)
    if type(caches[0]) in (KVCache, QuantizedKVCache):  # of which nothing behind the end is written
        assert {array.shape[2] for array in flatten(caches)[1]} <= {100}
    model = models.full_attention()
    object.__setattr__(model, "make_cache", lambda: [make(False), make(False)])
    bench = Bench(model, tmp_path)
    bench.cache.put("", TOKENS, caches)
    assert bench.drain().written == 1
    again = Bench(model, tmp_path)
    restore = again.cache.restore("", [*TOKENS, 7])
    assert restore is not None
    while not restore.done:
        restore.advance(time.monotonic() + 1.0, patient=True)
    assert restore.caches is not None
    assert leaves(restore.caches) == before
    assert [type(cache) for cache in restore.caches] == [type(cache) for cache in caches]
    # They can be written to.
    if hasattr(restore.caches[0], "update_and_fetch"):
        filled(restore.caches[0], 3, mx.bfloat16 if "bfloat16" in str(before) else mx.float32)


def test_the_files_are_safetensors(tmp_path: Path) -> None:
    model = models.full_attention()
    caches = [filled(KVCache(), 20), filled(KVCache(), 20)]
    bench = Bench(model, tmp_path)
    bench.cache.put("adapter", TOKENS, caches)
    bench.drain()
    [path] = tmp_path.glob("*.safetensors")
    with safe_open(path, framework="numpy") as file:
        facts = json.loads(file.metadata()["fireside"])
        assert (facts["namespace"], facts["model"], facts["format"]) == ("adapter", "/m", 1)
        assert file.get_tensor("tokens").tolist() == TOKENS
        assert sorted(file.keys()) == ["1", "2", "3", "4", "tokens"]
        for layer in range(2):
            for part, expected in enumerate(caches[layer].keys_and_values()):
                assert np.array_equal(file.get_tensor(str(1 + 2 * layer + part)), np.array(expected))


def test_large_arrays_come_in_pieces() -> None:
    array = mx.random.normal((1, 8, PIECE // 64, 3))
    found = [piece for _, piece in pieces([array])]
    assert max(piece.nbytes for piece in found) <= PIECE < array.nbytes
    data = np.concatenate(found)
    assert mx.array_equal(restored(data, described(array)), array).item()
    assert list(pieces([mx.zeros((0, 4))])) == []


def test_pieces_tell_which_array_they_are_of() -> None:
    arrays = [mx.arange(5), mx.zeros((0, 4)), mx.random.normal((PIECE // 4 + 3,)), mx.array(True)]
    expected = [array.tolist() for array in arrays]
    found: dict[int, bytes] = {}
    described_as = [described(array) for array in arrays]
    for number, piece in pieces(arrays):
        found[number] = found.get(number, b"") + piece.tobytes()
    assert list(found) == [0, 2, 3]
    for number, data in found.items():
        array = restored(np.frombuffer(data, np.uint8), described_as[number])
        assert array.tolist() == expected[number]


@pytest.mark.parametrize("shape", [(1, 8, 4000, 64), (3, 2, 5, 90_000), (9000, 2, 60), (7,)])
def test_no_more_than_a_piece_is_copied_at_a_time(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry's arrays are parts of larger ones, with what was not read yet left out."""
    monkeypatch.setattr(ssd_state, "PIECE", limit := 1 << 18)
    array = mx.random.randint(0, 250, tuple(length + 3 for length in shape)).astype(mx.uint16)
    part = array[tuple(slice(2, -1) for _ in shape)]
    mx.eval(part)
    mx.clear_cache()
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    data = bytearray()
    for _, piece in pieces([part]):
        assert piece.nbytes <= limit
        data += piece.tobytes()
    assert mx.get_peak_memory() - before < 4.1 * limit
    assert data == np.array(part).tobytes()


def test_chunks_that_have_let_go_of_their_beginning(tmp_path: Path) -> None:
    def read(steps: int) -> LayerCaches:
        chunked = ChunkedKVCache(64)
        for _ in range(steps):
            chunked.maybe_trim_front()
            filled(chunked, 1)
        return [filled(KVCache(), steps), CacheList(chunked)]

    model = models.full_attention()
    object.__setattr__(model, "make_cache", lambda: [KVCache(), CacheList(ChunkedKVCache(64))])
    for steps, common, expected in ((13, 50, 50), (20, 90, 0), (20, 100, 100)):
        folder = tmp_path / f"{steps}-{common}"
        asked = [*range(common), 300, 301]
        bench = Bench(model, folder)
        bench.cache.put("", list(range(5 * steps)), read(steps))
        assert bench.cache.peek("", asked) == expected
        bench.drain()
        restore = Bench(model, folder).cache.restore("", asked)
        assert (restore.length if restore else 0) == expected
        if restore is not None:
            restore.cancel()


class Fixed(KVCache):
    """A cache of which the state can be seen and not set."""

    state = property(lambda self: (self.keys, self.values, self.offset))  # pyright: ignore


class Forgetful(ArraysCache):
    """A cache that does not take up all that its state has."""

    count = 0
    state = property(  # pyright: ignore
        lambda self: (self.cache, None, self.count), lambda self, state: setattr(self, "cache", state[0])
    )


@pytest.mark.parametrize(("kind", "words"), [(Fixed, "filled again"), (Forgetful, "forget")])
def test_caches_that_would_not_come_back_as_they_were(kind: Any, words: str, tmp_path: Path) -> None:
    class Model(nn.Module):
        def make_cache(self) -> LayerCaches:
            return [kind() if kind is Fixed else kind(1)]

        def __call__(self, ids: mx.array, cache: LayerCaches) -> mx.array:
            if kind is Fixed:
                return filled(cache[0], 1).keys
            cache[0][0] = mx.ones((1, 3))
            cache[0].count += ids.size
            return cache[0][0]

    with pytest.raises(UnknownStateError, match=words):
        model_key(Model(), tmp_path)
    settings = SsdSettings(str(tmp_path / "tier"), 1, 1, 0)
    assert open_tier(settings, Model(), tmp_path) is None


def test_caches_that_cannot_be_written_are_tried_once(tmp_path: Path) -> None:
    class Odd(KVCache):
        state = property(lambda _: {1, 2})  # pyright: ignore

    bench = Bench(models.full_attention(), tmp_path)
    for begin in (0, 100):
        bench.cache.put("", list(range(begin, begin + 100)), [filled(Odd(), 20)])
        bench.drain()
    assert (bench.tier.state.dropped_spills, bench.tier.state.spills, list(tmp_path.iterdir())) == (1, 0, [])


def test_a_model_that_remembers_otherwise_now() -> None:
    layers, arrays = flatten([filled(KVCache(), 20)])
    with pytest.raises(ValueError, match="other kinds"):
        build(layers, arrays, [RotatingKVCache(40)])


def test_what_decides_whether_caches_are_alike(tmp_path: Path) -> None:
    def key_of(change: Callable[[Path], None] | None = None) -> str:
        folder = tmp_path / "model"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(POCKET, folder)
        if change is not None:
            change(folder)
        return model_key(load_model(folder)[0], folder)

    def edited(name: str, old: str, new: str) -> Callable[[Path], None]:
        def edit(folder: Path) -> None:
            text = (folder / name).read_text()
            assert old in text
            (folder / name).write_text(text.replace(old, new, 1))

        return edit

    def other_weights(folder: Path) -> None:
        [weights] = folder.glob("*.safetensors")
        facts = weights.stat()
        data = bytearray(weights.read_bytes())
        data[-3] ^= 1
        weights.write_bytes(data)
        os.utime(weights, ns=(facts.st_atime_ns, facts.st_mtime_ns))

    def touched(folder: Path) -> None:
        [weights] = folder.glob("*.safetensors")
        os.utime(weights, (5, 5))

    def with_a_readme(folder: Path) -> None:
        (folder / "README.md").write_text("words")

    def sentencepiece(folder: Path) -> None:
        (folder / "tokenizer.json").unlink()
        (folder / "tokenizer.model").write_bytes(b"pieces")

    same = key_of()
    assert key_of() == same
    assert key_of(with_a_readme) == same
    changes = [
        other_weights,
        touched,
        sentencepiece,
        lambda folder: (folder / "tokenizer.json").unlink(),
        edited("tokenizer.json", "version", "Version"),
        edited("config.json", "{", '{ "rope_theta_": 5,'),
    ]
    assert len({same, *map(key_of, changes)}) == 1 + len(changes)


def test_what_of_a_loaded_model_decides_whether_caches_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    def key_of(change: Callable[[Any], None] = lambda _: None) -> str:
        model: Any = load_model(POCKET)[0]
        change(model)
        return model_key(model, POCKET)

    def another_rope(model: Any) -> None:
        rope = model.model.layers[0].self_attn.rope
        rope.__class__ = type("OtherRope", (type(rope),), {})

    def half_a_norm(model: Any) -> None:
        model.model.norm.weight = model.model.norm.weight.astype(mx.float16)

    def remembering(make: Callable[[], Any]) -> Callable[[Any], None]:
        return lambda model: object.__setattr__(model, "make_cache", lambda: [make() for _ in model.layers])

    keys = [
        key_of(),
        key_of(another_rope),
        key_of(half_a_norm),
        key_of(remembering(lambda: RotatingKVCache(400))),
        key_of(remembering(lambda: RotatingKVCache(500))),
    ]
    assert key_of() == keys[0]
    for name, value in (("FORMAT", 2), ("version", lambda _: "0")):
        with monkeypatch.context() as patched:
            patched.setattr(ssd_key, name, value)
            keys.append(key_of())
    with monkeypatch.context() as patched:
        patched.setattr(mx, "default_device", lambda: "Device(gpu, 0)")
        keys.append(key_of())
    assert len(set(keys)) == len(keys)


def test_trimming_after_a_restore_leaves_no_rest(tmp_path: Path) -> None:
    model = models.full_attention()
    caches = make_prompt_cache(model)
    model(mx.array([TOKENS]), cache=caches)
    bench = Bench(model, tmp_path)
    bench.cache.put("", TOKENS, caches)
    bench.drain()
    again = Bench(model, tmp_path)
    restore = again.cache.restore("", [*TOKENS[:70], 300])
    assert restore is not None
    while not restore.done:
        restore.advance(time.monotonic() + 1.0, patient=True)
    assert restore.caches is not None
    # What is not wanted has not come to the device either.
    assert restore.nbytes == sum(cache.nbytes for cache in restore.caches)
    trim_prompt_cache(caches, 30)
    assert leaves(restore.caches) == leaves(caches)
    assert restore.caches[0].keys.shape[2] == 70
    assert PromptCache(1).restore("", TOKENS) is None


def test_files_of_models_that_are_gone_are_found(tmp_path: Path) -> None:
    folder, model = tmp_path / "tier", models.full_attention()
    bench = Bench(model, folder)
    bench.cache.put("", TOKENS, [filled(KVCache(), 20), filled(KVCache(), 20)])
    bench.drain()
    [path] = folder.glob("*.safetensors")
    (folder / "mine.safetensors").write_bytes(path.read_bytes())
    assert orphaned_files(folder) == [(path, path.stat().st_size)]
    path.write_bytes(b"damaged")
    assert orphaned_files(folder) == []
    assert orphaned_files(tmp_path / "nowhere") == []
    # A core removes one while they are looked at.
    path.unlink()
    path.symlink_to(tmp_path / "gone")
    assert tier_files(folder) == []
