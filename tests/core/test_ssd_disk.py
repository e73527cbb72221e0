"""A disk that is full, or fails: what was read is in memory alone then, and no request knows of it."""

from __future__ import annotations

import errno
import os
import random
import shutil
from pathlib import Path
from typing import Any

import mlx.nn as nn
import pytest

from fireside.core.cache import ssd_folder
from fireside.core.cache.ssd_folder import Folder, NoRoomError
from support import random_models as models
from support.ssd_bench import Bench, files, row

KNOWN = random.Random(1).choices(range(models.VOCAB), k=200)
NEXT = [*KNOWN, 5, 6, 7]


@pytest.fixture(scope="module")
def model() -> nn.Module:
    return models.full_attention()


@pytest.fixture(scope="module")
def expected(model: nn.Module, tmp_path_factory: pytest.TempPathFactory) -> list[int]:
    return Bench(model, tmp_path_factory.mktemp("none")).finish(row(2, NEXT)).answers[2]


class Full:
    """A disk that takes so many bytes more."""

    def __init__(self, stream: Any, left: int) -> None:
        self._stream = stream
        self._left = left

    def write(self, data: memoryview) -> int:
        if self._left <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = self._stream.write(data[: self._left])
        self._left -= count
        return int(count)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@pytest.mark.parametrize("left", [0, 1, 1000, 50_000, -1])
def test_a_full_disk(
    left: int,
    expected: list[int],
    model: nn.Module,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if left < 0:  # so that the header, which comes last, is what does not fit
        Bench(model, tmp_path / "other").finish(row(1, KNOWN)).drain()
        left += files(tmp_path / "other")[0].stat().st_size
    create = Folder.create

    def creates(self: Folder, size: int) -> tuple[Path, Any]:
        path, stream = create(self, size)
        return path, Full(stream, left)

    folder = tmp_path / "tier"
    bench = Bench(model, folder)
    with monkeypatch.context() as patched:
        patched.setattr(Folder, "create", creates)
        told = bench.finish(row(1, KNOWN)).drain()
        assert (told.written, told.dropped, told.left) == (0, 1, 0)
    assert list(folder.iterdir()) == []
    assert bench.finish(row(2, NEXT)).answers[2] == expected
    told = bench.drain()  # there is room again
    assert (told.written, told.dropped) == (2, 0)
    assert Bench(model, folder).finish(row(3, NEXT)).progress(3).from_ssd == len(NEXT) - 1


def test_a_full_disk_costs_other_entries_first(
    model: nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Bench(model, tmp_path).finish(row(1, KNOWN)).drain()
    size = files(tmp_path)[0].stat().st_size
    usage = shutil.disk_usage(tmp_path)

    def nearly_full(_path: Path) -> Any:
        missing = 2 * size + size // 2 - sum(path.stat().st_size for path in files(tmp_path))
        return usage._replace(total=20 * size, free=size + missing)

    monkeypatch.setattr(ssd_folder.shutil, "disk_usage", nearly_full)
    bench = Bench(model, tmp_path)  # whose floor is one file
    for number in range(2, 5):
        bench.finish(row(number, [number, *KNOWN]))
        bench.drain()
        # What was used before gives way to it, and never the other way round.
        assert Bench(model, tmp_path).cache.peek("", [number, *KNOWN, 1]) == 201
        assert len(files(tmp_path)) == 2
    with pytest.raises(NoRoomError):
        bench.index.folder.make_room(30 * size, 1e12, lambda _: None)


def test_a_folder_that_cannot_be_written_to(expected: list[int], model: nn.Module, tmp_path: Path) -> None:
    folder = tmp_path / "tier"
    bench = Bench(model, folder)
    folder.rmdir()
    folder.write_text("in the way")
    told = bench.finish(row(1, KNOWN)).drain()
    assert (told.written, told.dropped) == (0, 1)
    assert bench.finish(row(2, NEXT)).answers[2] == expected


@pytest.mark.parametrize(
    "error", [OSError(errno.EROFS, "Read-only file system"), ValueError("a mistake")], ids=["disk", "mistake"]
)
def test_writing_goes_on_after_whatever_went_wrong(
    error: Exception,
    expected: list[int],
    model: nn.Module,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise error

    bench = Bench(model, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fails)
        if isinstance(error, OSError):
            patched.setattr(Path, "unlink", fails)  # nor does a disk that fails let go of anything
        told = bench.finish(row(1, KNOWN)).drain(5)
    assert (told.written, told.dropped, told.left) == (0, 1, 0)
    # It is left in peace for a while, but for somebody who asks.
    bench.finish(row(3, KNOWN[::-1]))
    assert (bench.tier.wait_s() or 0) > 10
    assert bench.drain(5).written == 2
    assert Bench(model, tmp_path).finish(row(2, NEXT)).answers[2] == expected


def test_a_file_has_its_name_when_all_of_it_is_on_the_disk(
    model: nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bytes] = []
    fsync = os.fsync

    def syncs(descriptor: int) -> None:
        assert files(tmp_path) == []
        fsync(descriptor)
        synced.append(os.pread(descriptor, 1 << 30, 0))

    monkeypatch.setattr(os, "fsync", syncs)
    assert Bench(model, tmp_path).finish(row(1, KNOWN)).drain().written == 1
    assert [path.read_bytes() for path in files(tmp_path)] == synced
