"""What must not be put on the disk is not."""

from __future__ import annotations

from pathlib import Path

import mlx.nn as nn
import msgspec

from support.random_models import prompt
from support.ssd_bench import Bench, row


def test_what_must_stay_in_the_memory_is_never_written(full: nn.Module, tmp_path: Path) -> None:
    private, shared = prompt(31, 200), prompt(32, 200)
    bench = Bench(full, tmp_path)
    bench.finish(msgspec.structs.replace(row(1, private), in_memory=True), row(2, shared))
    assert bench.cache.peek("", private) == 199
    assert bench.drain().written == 1
    bench.idle(0.5)
    later = Bench(full, tmp_path).finish(row(1, private), row(2, shared))
    assert (later.progress(1).from_ssd, later.progress(2).from_ssd) == (0, 199)
    assert later.answers == bench.answers


def test_it_takes_nothing_from_what_may_be_written(full: nn.Module, tmp_path: Path) -> None:
    """A private chat that goes on from what another had read leaves that where it is."""
    shared = prompt(33, 200)
    bench = Bench(full, tmp_path).finish(row(1, shared))
    bench.finish(msgspec.structs.replace(row(2, [*shared, *prompt(34, 50)]), in_memory=True))
    assert bench.drain().written == 1
    assert Bench(full, tmp_path).finish(row(3, shared)).progress(3).from_ssd == 199


def test_an_idle_private_entry_leaves_the_memory(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path, demote_idle_s=0.05)
    bench.finish(msgspec.structs.replace(row(1, prompt(35, 200)), in_memory=True))
    bench.idle(2.0)
    assert bench.cache.state.entries == 0
    assert not list(tmp_path.glob("*.safetensors"))
