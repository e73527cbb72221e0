"""A process that runs nothing but the SSD tier, until somebody kills it. See `soak.ssd`.

    python -m soak.ssd_child FOLDER --key N --seed N [--largest BYTES] [--check]

Its caches have the size of a small model's, and what is in them follows from the tokens, so that each that
comes back can be compared with what it has to be. It prints `ready`, then a line of counts for each round:
rounds, restores, spills, damaged files, entries that could not be written. With status 3 something wrong
came back.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import mlx.core as mx
import numpy as np
from mlx_lm.models.cache import KVCache

from fireside import wire
from fireside.core.cache.prompt_cache import LayerCaches, PromptCache, Tokens
from fireside.core.cache.ssd_folder import Folder
from fireside.core.cache.ssd_index import Index
from fireside.core.cache.ssd_reader import Restore
from fireside.core.cache.ssd_tier import Identity, SsdTier
from fireside.core.cache.ssd_upkeep import Upkeep

_LAYERS, _HEADS, _WIDTH = 4, 2, 32
_TALKS, _LONGEST = 10, 500
MAX_BYTES = 12_000_000
WRONG = 3


def key_of(number: int) -> str:
    """The key of a model that there is not."""
    return f"{number:032x}"


class Child:
    """A prompt cache of a few entries and the tier below it, of one model among several."""

    def __init__(self, folder: Path, number: int, seed: int) -> None:
        self._number = number
        self._rng = random.Random(seed)
        self.index = Index(Folder(folder, MAX_BYTES), key_of(number))
        self.index.scan()
        settings = wire.SsdSettings(str(folder), MAX_BYTES, 4_000_000, 0)
        self.tier = SsdTier(self.index, Identity(key_of(number), "/soak"), settings, _fresh)
        self._cache = PromptCache(2_000_000)
        self._cache.below = self.tier
        self._upkeep = Upkeep(self.tier, self._cache, 0, lambda _: None)

    def check_all(self) -> None:
        """Bring back every file of this model."""
        for record in list(self.index.records):
            restore = self._cache.restore(record.namespace, np.append(record.tokens, np.int32(1)))
            if restore is not None:
                self._compare(restore, record.tokens)

    def round(self) -> str:
        """One turn of one of some conversations, and a moment in which things can be written."""
        tokens = self._tokens(self._rng.randrange(_TALKS), self._rng.randrange(70, _LONGEST))
        restore = self._cache.restore("", tokens)
        if restore is not None:
            self._compare(restore, tokens)
        self._cache.put("", tokens, self._caches(tokens))
        self._upkeep.drain(wire.Drain(0, self._rng.choice((0.0, 0.02, 0.2))))
        until = time.monotonic() + self._rng.choice((0.0, 0.01, 0.1))
        while time.monotonic() < until:
            pause = self._upkeep.wait_s()
            if pause:
                time.sleep(min(pause, 0.005))
            self._upkeep.idle()
        state = self.tier.state
        return f"{state.restores} {state.spills} {state.quarantined} {state.dropped_spills}"

    def _tokens(self, talk: int, length: int) -> Tokens:
        """What two conversations have in common depends on their numbers."""
        common = np.random.default_rng(talk % 3).integers(0, 1000, 60)
        own = np.random.default_rng(100 + talk).integers(0, 1000, _LONGEST)
        return np.concatenate([common, own]).astype(np.int32)[:length]

    def _caches(self, tokens: Tokens) -> LayerCaches:
        caches = _fresh()
        for layer, cache in enumerate(caches):
            keys = _content(tokens, self._number, layer)
            cache.update_and_fetch(keys, -keys)
        mx.eval([cache.state for cache in caches])
        return caches

    def _compare(self, restore: Restore, tokens: Tokens) -> None:
        while not restore.done:
            restore.advance(time.monotonic() + 1.0, patient=True)
        if restore.caches is None:
            return
        expected = self._caches(tokens[: restore.length])
        for found, good in zip(restore.caches, expected, strict=True):
            for one, other in zip(found.keys_and_values(), good.keys_and_values(), strict=True):
                if found.offset != good.offset or not mx.array_equal(one, other).item():
                    print(f"wrong: {restore.record.name} to {restore.length}", file=sys.stderr, flush=True)
                    sys.exit(WRONG)


def _fresh() -> LayerCaches:
    return [KVCache() for _ in range(_LAYERS)]


def _content(tokens: Tokens, number: int, layer: int) -> mx.array:
    """Numbers (1, heads, tokens, width) that a float32 holds, others for each model, layer and token."""
    base = tokens.astype(np.int64) * 64 + np.arange(len(tokens)) % 61 + 100_000 * number + 7 * layer
    spread = np.arange(_HEADS * _WIDTH).reshape(_HEADS, 1, _WIDTH)
    return mx.array((base[None, :, None] + spread).astype(np.float32))[None]


def main() -> None:
    """Run until killed, or check everything once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--key", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=int, help="bytes that a file may have, as if the disk was full")
    parser.add_argument("--check", action="store_true", help="bring everything back once, and end")
    _run(parser, sys.argv[1:])


def _run(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    options = parser.parse_args(arguments)
    if options.largest is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (options.largest, options.largest))
    mx.set_default_device(mx.cpu)
    child = Child(options.folder, options.key, options.seed)
    print("ready", flush=True)
    child.check_all()
    rounds = 0
    while not options.check:
        rounds += 1
        print(rounds, child.round(), flush=True)
    state = child.tier.state
    print(0, state.restores, state.spills, state.quarantined, state.dropped_spills, flush=True)


if __name__ == "__main__":
    main()
