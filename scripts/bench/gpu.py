"""Served decoding beside the bare generator on a GPU, with random weights of real shapes."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bench.decode import Speeds, add_speeds, decode_table, rows_join
from bench.random_models import SHAPES
from bench.raw import raw_generator
from bench.report import Table, say
from bench.serve import Target
from bench.servers import Setting, Work, fireside, stats
from bench.turns import Turns

__all__ = ["SHAPES", "measure_gpu", "random_model", "roomy", "wait_until_warm"]

_JOINERS = 8
_WARM_WITHIN_S = 60.0
_ROOM_BYTES = 20 << 30
_FEWER = 3
"""Pairs, at most, of all numbers of rows but the first."""


def measure_gpu(
    setting: Setting,
    shapes: Sequence[str],
    rows: Sequence[int],
    seconds: float,
    within_s: float,
    weights: Path | None,
) -> list[Table]:
    """Decoding on a GPU beside the bare generator, and first tokens while a batch grows, of random models.

    Args:
        within_s: of the whole run; measurements that do not fit are left out.
        weights: where the models are written; None is memory if there is room, else the disk.
    """
    deadline = time.monotonic() + within_s
    tables: list[Table] = []
    for number, shape in enumerate(shapes):
        end = time.monotonic() + (deadline - time.monotonic()) / (len(shapes) - number)
        with random_model(shape, weights or roomy()) as folder:
            tables += _measure(replace(setting, model=folder), shape, rows, seconds, end)
    return tables


def roomy() -> Path:
    """A folder with room for a model's weights: in memory if there is room, else on the disk."""
    memory = Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free > _ROOM_BYTES:
        return memory
    return Path(tempfile.gettempdir())


@contextmanager
def random_model(shape: str, where: Path) -> Iterator[Path]:
    """A folder with a model of one of `SHAPES`, which is gone afterwards."""
    with tempfile.TemporaryDirectory(dir=where) as scratch:
        folder = Path(scratch) / shape
        begin = time.monotonic()
        # In a process of its own, which gives its memory back.
        command = [sys.executable, "-m", "bench.random_models", shape, str(folder)]
        subprocess.run(command, check=True, cwd=Path(__file__).parents[1])
        size = sum(file.stat().st_size for file in folder.iterdir())
        free = shutil.disk_usage(where).free
        say(f"{shape}: {size / 1e9:.1f} GB in {time.monotonic() - begin:.1f} s, {free / 1e9:.0f} GB left")
        yield folder


def _measure(setting: Setting, shape: str, rows: Sequence[int], seconds: float, end: float) -> list[Table]:
    decoding = decode_table(f"random {shape}")
    first = Table(
        f"Time to first token as rows join, random {shape}",
        ("warm-up", "warm-up, s", *(f"row {row + 1}, ms" for row in range(_JOINERS)), "longest, ms"),
    )
    begin = time.monotonic()
    with fireside(setting, "--batch", str(max(rows))) as ours:
        say(f"{shape}: ready after {time.monotonic() - begin:.1f} s")
        begin = time.monotonic()
        state = wait_until_warm(ours)
        warmed = time.monotonic() - begin
        ttft = [1000 * took for took in rows_join(setting, ours, _JOINERS)]
        first.add(state, warmed, *ttft, max(ttft))
        say(first.markdown())
        with raw_generator(setting.folder, setting.home / "cache") as raw:
            for index, count in enumerate(rows):
                turns, speeds = Turns(Work(setting.name), count, ours, raw), Speeds()
                rounds = setting.rounds if index == 0 else min(setting.rounds, _FEWER)
                _measure_rows(turns, speeds, rounds, seconds, end)
                if speeds.ours:
                    add_speeds(decoding, count, speeds)
                    say(decoding.markdown())
    return [first, decoding]


def _measure_rows(turns: Turns, speeds: Speeds, rounds: int, seconds: float, end: float) -> None:
    for number in range(rounds + 1):
        if time.monotonic() > end:
            return
        ours, raw = turns.measure(seconds)
        say(f"{ours:.1f} / {raw:.1f} tok/s")
        # The first round does not count.
        if number > 0:
            speeds.ours.append(ours)
            speeds.raw.append(raw)


def wait_until_warm(target: Target) -> str:
    """Wait for the idle warm-up as `/stats` tells of it; returns what it said last."""
    end = time.monotonic() + _WARM_WITHIN_S
    while True:
        warm = stats(target)["engine"]["warm_up"]
        if warm is not None and warm["done"] >= warm["total"]:
            return f"{warm['done']} of {warm['total']}"
        if time.monotonic() > end:
            return f"given up: {warm}"
        time.sleep(0.1)
