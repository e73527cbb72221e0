"""Files that are not what they were: never a wrong token, never a failed request, never a failed start."""

from __future__ import annotations

import errno
import os
import random
import shutil
import stat
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.nn as nn
import msgspec
import pytest

from fireside.core.cache import ssd_reader
from fireside.core.cache.ssd_folder import Folder
from fireside.core.cache.ssd_layout import FORMAT, Checksum, FileName, header_digest, read_header
from support import random_models as models
from support.ssd_bench import KEY, Bench, files, row

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
    "another digest": renamed(lambda name: name[:-13] + ("1" if name[-13] == "0" else "0") + name[-12:]),
}


def written_anew(
    path: Path, *, numbers: Callable[[bytearray], None] = lambda _: None, checksums: int = -1, **header: Any
) -> None:
    """A file with other contents, under a name that fits its header, and with CRCs that fit the numbers."""
    name = FileName.read(path.name)
    assert name is not None
    with path.open("rb") as stream:
        before, sums = read_header(stream, name, path.stat().st_size)
        data = bytearray(stream.read())
    path.unlink()
    numbers(data)
    good, at = list[Checksum](), 0
    for tensor, text in zip(before.tensors, sums, strict=True):
        crc = zlib.crc32(data[at : at + tensor.nbytes])
        good.append(replace(Checksum.read(text), crc=crc))
        at += tensor.nbytes
    begin = msgspec.structs.replace(before, **header).pack(good[: checksums % (len(good) + 1)])
    named = FileName(KEY, name.tokens, header_digest(begin))
    (path.parent / str(named)).write_bytes(begin + data)


WRITTEN_OTHERWISE: dict[str, Damage] = {
    "by another version": lambda path: written_anew(path, format=FORMAT + 1),
    "for another model": lambda path: written_anew(path, key="f" * 32),
    "without a checksum": lambda path: written_anew(path, checksums=-2),
}


@pytest.mark.parametrize("damage", WRITTEN_OTHERWISE.values(), ids=list(WRITTEN_OTHERWISE))
def test_what_was_written_otherwise_is_not_read(
    damage: Damage, written: Path, model: nn.Module, tmp_path: Path
) -> None:
    folder = tmp_path / "tier"
    shutil.copytree(written, folder)
    written_anew(files(folder)[0])  # which changes nothing
    assert Bench(model, folder).finish(row(2, NEXT)).progress(2).from_ssd == len(KNOWN)
    damage(files(folder)[0])
    bench = Bench(model, folder).finish(row(2, NEXT))
    assert (bench.progress(2).from_ssd, bench.tier.state.quarantined) == (0, 1)


def test_a_strong_digest_sees_what_a_checksum_does_not(
    written: Path, expected: list[int], model: nn.Module, tmp_path: Path
) -> None:
    def change(data: bytearray) -> None:
        data[-1] ^= 1

    folder = tmp_path / "tier"
    shutil.copytree(written, folder)
    written_anew(files(folder)[0], numbers=change)
    trusting = Bench(model, folder).finish(row(2, NEXT))
    assert trusting.progress(2).from_ssd == len(KNOWN)
    assert (trusting.cache.state.hits, trusting.cache.state.misses) == (1, 0)
    bench = Bench(model, folder, verify=True).finish(row(2, NEXT))
    assert (bench.progress(2).from_ssd, bench.tier.state.quarantined) == (0, 1)
    assert (bench.cache.state.hits, bench.cache.state.misses) == (0, 1)
    assert bench.answers[2] == expected


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
    assert stat.S_IMODE((folder / "quarantine").stat().st_mode) == 0o700
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
    (tmp_path / f".{'0' * 16}.partial").write_bytes(b"half")
    living, stream = Folder(tmp_path, 1 << 30).create(5)
    (tmp_path / f".{'1' * 16}.partial").write_bytes(b"half")
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


@pytest.mark.parametrize("when", ["before the start", "after the start"])
def test_a_damaged_file_that_cannot_be_put_aside(
    when: str,
    written: Path,
    expected: list[int],
    model: nn.Module,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "tier"
    shutil.copytree(written, folder)
    damage = flipped(120 if when == "before the start" else -1)
    bench = Bench(model, folder) if when == "after the start" else None
    damage(files(folder)[0])

    def fails(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    for name in ("mkdir", "replace", "unlink"):
        monkeypatch.setattr(Path, name, fails)
    if bench is None:
        monkeypatch.setattr(Path, "mkdir", lambda *_, **__: None)
        bench = Bench(model, folder)
    assert bench.finish(row(2, NEXT)).answers[2] == expected
    assert (bench.tier.state.quarantined, bench.tier.state.entries) == (1, 0)


def test_a_reader_without_memory(
    written: Path, expected: list[int], model: nn.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(model, written)

    def fails(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(ssd_reader, "read_tensor", fails)
    assert bench.finish(row(2, NEXT)).answers[2] == expected
    assert len(files(written)) == 1


def test_a_file_that_cannot_be_read_hides_no_other(
    written: Path, model: nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tier"
    shutil.copytree(written, folder)
    unreadable = folder / files(folder)[0].name.replace("-208-", "-209-")
    unreadable.write_bytes(b"?")
    opened = Path.open

    def opens(self: Path, *arguments: Any, **options: Any) -> Any:
        if self == unreadable:
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", opens)
    bench = Bench(model, folder).finish(row(2, NEXT))
    assert (bench.progress(2).from_ssd, bench.tier.state.quarantined) == (len(KNOWN), 0)
    assert unreadable.exists()
