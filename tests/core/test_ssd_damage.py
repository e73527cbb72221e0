"""Files that are not what they were: never a wrong token, never a failed request, never a failed start."""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.nn as nn
import pytest

from fireside.core.cache import ssd_folder
from fireside.core.cache.ssd_folder import Folder, NoRoomError
from fireside.wire import Sampling, Submit
from support import random_models as models
from support.ssd_bench import KEY, Bench

ANSWER = 8
KNOWN = random.Random(1).choices(range(models.VOCAB), k=200)
NEXT = [*KNOWN, 5, 6, 7]

Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def model() -> nn.Module:
    return models.full_attention()


@pytest.fixture(scope="module")
def written(model: nn.Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    Bench(model, folder).finish(row(1, KNOWN)).drain()
    return folder


@pytest.fixture(scope="module")
def expected(model: nn.Module, tmp_path_factory: pytest.TempPathFactory) -> list[int]:
    return Bench(model, tmp_path_factory.mktemp("none")).finish(row(2, NEXT)).answers[2]


def row(number: int, ids: list[int]) -> Submit:
    return Submit(number, ids, [], ANSWER, [], Sampling())


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))


def flipped(at: int, bit: int = 0) -> Damage:
    """One bit of the file turned around, counted from its end where negative."""

    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[at] ^= 1 << bit
        path.write_bytes(data)

    return damage


def cut(keep: Callable[[int], int]) -> Damage:
    return lambda path: os.truncate(path, keep(path.stat().st_size))


def grown(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(b"\0")


def renamed(change: Callable[[str], str]) -> Damage:
    return lambda path: path.rename(path.with_name(change(path.name))) and None


DAMAGES: dict[str, Damage] = {
    "empty": cut(lambda _: 0),
    "less than a length": cut(lambda _: 5),
    "within the header": cut(lambda _: 300),
    "one byte less": cut(lambda size: size - 1),
    "half": cut(lambda size: size // 2),
    "one byte more": grown,
    "length": flipped(0),
    "length, high": flipped(7, 6),
    "header": flipped(120),
    "a checksum in the header": flipped(900, 2),
    "the last number": flipped(-1),
    "a number": flipped(-20_000, 7),
    "other tokens": renamed(lambda name: name.replace("-208-", "-207-")),
    "another digest": renamed(lambda name: name[:-13] + "0" + name[-12:]),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_damage_is_found_and_put_aside(
    damage: Damage, written: Path, expected: list[int], model: nn.Module, tmp_path: Path
) -> None:
    folder = tmp_path / "tier"
    shutil.copytree(written, folder)
    damage(files(folder)[0])
    bench = Bench(model, folder).finish(row(2, NEXT))
    assert bench.answers[2] == expected
    assert (bench.progress(2).from_ssd, bench.tier.state.quarantined) == (0, 1)
    assert len(files(folder / "quarantine")) == 1
    # It is written again, and good.
    bench.drain()
    assert Bench(model, folder).finish(row(3, NEXT)).progress(3).from_ssd == len(NEXT) - 1


def test_every_single_bit_matters(written: Path, model: nn.Module, tmp_path: Path) -> None:
    size = files(written)[0].stat().st_size
    rng = random.Random(7)
    for number in range(25):
        folder = tmp_path / str(number)
        shutil.copytree(written, folder)
        flipped(rng.randrange(size), rng.randrange(8))(files(folder)[0])
        bench = Bench(model, folder).finish(row(2, NEXT))
        assert (bench.progress(2).cached, bench.tier.state.quarantined) == (0, 1)


def test_damage_after_the_start(written: Path, expected: list[int], model: nn.Module, tmp_path: Path) -> None:
    folder = tmp_path / "tier"
    shutil.copytree(written, folder)
    bench = Bench(model, folder)
    flipped(-1)(files(folder)[0])
    assert bench.finish(row(2, NEXT)).answers[2] == expected
    assert bench.tier.state.quarantined == 1


def test_a_file_that_another_core_has_removed(
    written: Path, expected: list[int], model: nn.Module, tmp_path: Path
) -> None:
    folder = tmp_path / "tier"
    shutil.copytree(written, folder)
    bench = Bench(model, folder)
    files(folder)[0].unlink()
    assert bench.finish(row(2, NEXT)).answers[2] == expected
    assert (bench.tier.state.quarantined, bench.tier.state.entries) == (0, 0)


def test_the_file_of_another_model_under_this_ones_name(
    expected: list[int], model: nn.Module, tmp_path: Path
) -> None:
    other = "f" * 32
    Bench(model, tmp_path, key=other).finish(row(1, [*KNOWN[:100], *KNOWN[:50]])).drain()
    Bench(model, tmp_path).finish(row(1, KNOWN)).drain()
    foreign = next(path for path in files(tmp_path) if path.name.startswith(other))
    own = next(path for path in files(tmp_path) if path.name.startswith(KEY))
    third = tmp_path / "third"
    foreign.rename(third)
    own.rename(foreign)
    third.rename(own)
    for key in (KEY, other):
        bench = Bench(model, tmp_path, key=key).finish(row(2, NEXT))
        assert bench.answers[2] == expected
        assert (bench.progress(2).from_ssd, bench.tier.state.quarantined) == (0, 1)


def test_what_is_not_ours_is_left_alone(model: nn.Module, tmp_path: Path) -> None:
    foreign = {"thesis.txt": "mine", "model.safetensors": "too", f"{KEY}.safetensors": "and this"}
    for name, text in foreign.items():
        (tmp_path / name).write_text(text)
    bench = Bench(model, tmp_path, max_bytes=10).finish(row(1, KNOWN))
    assert bench.drain().dropped == 1
    assert {name: (tmp_path / name).read_text() for name in foreign} == foreign
    assert bench.tier.state.quarantined == 0


def test_what_a_killed_core_leaves_is_removed(model: nn.Module, tmp_path: Path) -> None:
    (tmp_path / ".0.partial").write_bytes(b"half")
    living, stream = Folder(tmp_path, 1 << 30).create()
    (tmp_path / ".1.partial").write_bytes(b"half")
    bench = Bench(model, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [living.name]
    stream.close()
    assert bench.finish(row(1, KNOWN)).drain().written == 1


def test_only_the_latest_damaged_files_are_kept(written: Path, model: nn.Module, tmp_path: Path) -> None:
    folder = tmp_path / "tier"
    for number in range(6):
        shutil.copytree(written, folder, dirs_exist_ok=True)
        path = files(folder)[0]
        cut(lambda _: 100)(path)
        path.rename(path.with_name(path.name.replace("-208-", f"-{100 + number}-")))
        Bench(model, folder)
    assert len(files(folder / "quarantine")) == 4


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


@pytest.mark.parametrize("left", [0, 1, 1000, 50_000])
def test_a_full_disk(
    left: int, expected: list[int], model: nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Folder.create

    def creates(self: Folder) -> tuple[Path, Any]:
        path, stream = create(self)
        return path, Full(stream, left)

    bench = Bench(model, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Folder, "create", creates)
        told = bench.finish(row(1, KNOWN)).drain()
        assert (told.written, told.dropped, told.left) == (0, 1, 0)
    assert list(tmp_path.iterdir()) == []
    assert bench.finish(row(2, NEXT)).answers[2] == expected
    told = bench.drain()  # there is room again
    assert (told.written, told.dropped) == (2, 0)
    assert Bench(model, tmp_path).finish(row(3, NEXT)).progress(3).from_ssd == len(NEXT) - 1


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
