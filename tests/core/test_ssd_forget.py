"""Whose chat is gone: nothing of it stays in memory or on the disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import mlx.nn as nn
import msgspec
import pytest

from fireside import wire
from fireside.core.cache import ssd_state
from fireside.core.cache.ssd_writer import _Part
from fireside.engine.owners import owner_of, remove_files
from support.random_models import prompt
from support.ssd_bench import DEBOUNCE_S, Bench, files, row

MINE, OTHERS = owner_of("mine"), owner_of("another's")
FORGET = wire.Forget(MINE)


def owned(number: int, ids: list[int], owner: str = MINE, max_tokens: int = 8) -> wire.Submit:
    return msgspec.structs.replace(row(number, ids), owner=owner, max_tokens=max_tokens)


def forgets(bench: Bench) -> None:
    bench.scheduler.apply(FORGET)


def test_memory_and_disk_forget_one_and_keep_the_others(full: nn.Module, tmp_path: Path) -> None:
    mine, others = prompt(1, 200), prompt(2, 200)
    bench = Bench(full, tmp_path).finish(owned(1, mine), owned(2, others, OTHERS))
    assert bench.drain().written == 2
    forgets(bench)
    assert len(files(tmp_path)) == bench.cache.state.entries == bench.tier.state.entries == 1
    again = bench.finish(owned(3, mine), owned(4, others, OTHERS))
    assert (again.progress(3).cached, again.progress(4).cached) == (0, 199)
    later = Bench(full, tmp_path).finish(owned(5, mine), owned(6, others, OTHERS))
    assert (later.progress(5).cached, later.progress(6).from_ssd) == (0, 199)
    assert later.answers[5] == bench.answers[1]


def test_what_waits_is_never_written(full: nn.Module, tmp_path: Path, soon: None) -> None:
    [entry] = Bench(full, tmp_path).finish(row(1, prompt(3, 200))).cache.entries
    bench = Bench(full, tmp_path, cache_bytes=entry.nbytes * 3 // 2).finish(owned(1, prompt(3, 200)))
    bench.finish(owned(2, prompt(4, 200), OTHERS))
    assert bench.tier.held_bytes > 0  # the first one has left the memory for it
    forgets(bench)
    assert bench.tier.held_bytes == 0
    bench.idle(2 * DEBOUNCE_S + 1)
    assert len(files(tmp_path)) == 1
    assert bench.tier.state.dropped_spills == 0


def written_so_far(bench: Bench, enough: Callable[[], bool]) -> None:
    bench.upkeep.drain(wire.Drain(1, 60))
    until = time.monotonic() + 10
    while not enough():
        assert time.monotonic() < until
        bench.upkeep.idle()


def test_what_is_being_written_ends_without_a_file(
    full: nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished: list[str] = []
    finish = _Part.finish
    monkeypatch.setattr(_Part, "finish", lambda part: finished.append(finish(part)) or finished[-1])
    monkeypatch.setattr(ssd_state, "PIECE", 1 << 10)
    bench = Bench(full, tmp_path).finish(owned(1, prompt(5, 200)))
    [entry] = bench.cache.entries
    written_so_far(bench, lambda: bench.tier.state.written_bytes > 0)
    forgets(bench)
    bench.idle(5)
    assert not bench.tier.waiting
    assert bench.tier.state.written_bytes < entry.nbytes
    assert (finished, list(tmp_path.iterdir())) == ([], [])
    assert (bench.tier.state.spills, bench.tier.state.dropped_spills) == (0, 0)
    # And others are written as before.
    bench.finish(owned(2, prompt(6, 200), OTHERS))
    bench.sent.clear()
    assert bench.drain().written == 1


def test_what_gets_ready_just_then_is_removed(
    full: nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finishing, go_on = threading.Event(), threading.Event()
    finish = _Part.finish

    def held(part: _Part) -> str:
        finishing.set()
        go_on.wait(10)
        return finish(part)

    monkeypatch.setattr(_Part, "finish", held)
    bench = Bench(full, tmp_path).finish(owned(1, prompt(7, 200)))
    written_so_far(bench, finishing.is_set)
    forgets(bench)
    go_on.set()
    bench.idle(5)
    assert not bench.tier.waiting
    assert files(tmp_path) == []
    assert (bench.tier.state.entries, bench.tier.state.bytes) == (0, 0)


def test_rows_that_are_here_leave_nothing(full: nn.Module, tmp_path: Path) -> None:
    """One waits for another one's prompt, one reads, one is answered, one is cancelled afterwards."""
    bench, long = Bench(full, tmp_path), prompt(8, 900)
    bench.scheduler.apply(owned(1, prompt(9, 80), max_tokens=40))
    for _ in range(4):
        bench.step()
    for number, ids in ((2, long), (3, [*long, 1, 2]), (4, prompt(10, 900))):
        bench.scheduler.apply(owned(number, ids))
    bench.scheduler.apply(owned(5, prompt(11, 100), OTHERS))
    bench.step()
    forgets(bench)
    bench.scheduler.apply(wire.Cancel(4))
    bench.finish()
    assert {number: len(answer) for number, answer in bench.answers.items()} == {1: 40, 2: 8, 3: 8, 5: 8}
    assert [entry.owner for entry in bench.cache.entries] == [OTHERS]
    assert bench.drain().written == 1


def test_a_chat_that_goes_on_afterwards_is_kept_again(full: nn.Module, tmp_path: Path) -> None:
    bench = Bench(full, tmp_path).finish(owned(1, prompt(12, 200)))
    forgets(bench)
    bench.finish(owned(2, prompt(12, 200)))
    assert bench.cache.state.entries == 1


def test_what_is_being_brought_back_is_read_by_the_model(full: nn.Module, tmp_path: Path) -> None:
    first = Bench(full, tmp_path).finish(owned(1, prompt(13, 300)))
    first.drain()
    bench = Bench(full, tmp_path)
    bench.scheduler.apply(owned(1, prompt(13, 300)))
    bench.scheduler._begin()
    assert bench.scheduler._reading[0].restoring
    forgets(bench)
    bench.finish()
    assert bench.answers == first.answers
    assert bench.progress(1).cached == 0
    assert (bench.cache.state.entries, files(tmp_path)) == (0, [])


def test_files_of_models_that_do_not_run(full: nn.Module, tmp_path: Path) -> None:
    other_model = "f" * 32
    bench = Bench(full, tmp_path, key=other_model)
    bench.finish(owned(1, prompt(14, 200)), owned(2, prompt(15, 200), OTHERS), owned(3, prompt(16, 300)))
    bench.drain()
    damaged = max(files(tmp_path), key=lambda file: file.stat().st_size)
    (tmp_path / "quarantine").mkdir()
    damaged.rename(tmp_path / "quarantine" / damaged.name)
    count, nbytes = remove_files(tmp_path, MINE)
    assert count == 2
    assert nbytes > 2 * files(tmp_path)[0].stat().st_size
    assert len(list(tmp_path.rglob("*.safetensors"))) == 1
    # A core that has them in its index misses nothing.
    later = bench.finish(owned(4, prompt(14, 200)))
    assert later.answers[4] == bench.answers[1]
    assert remove_files(tmp_path / "nowhere", MINE) == (0, 0)


def test_an_owner_says_nothing_of_its_key() -> None:
    assert owner_of(None) == owner_of("") == ""
    assert len(owner_of("a")) == 32
    assert owner_of("a") != owner_of("b")
