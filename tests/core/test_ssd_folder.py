"""The folder of the SSD tier and what is known of it: how much lies there, what goes, what is found."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from fireside.core.cache import ssd_folder
from fireside.core.cache.ssd_folder import Folder, NoRoomError
from fireside.core.cache.ssd_index import Index
from fireside.core.cache.ssd_layout import FORMAT, FileName, Header, Tensor

KEY = "0123456789abcdef" * 2
NOW = time.time()
SIZE = 1000


def name_of(number: int, tokens: int = 100) -> str:
    return str(FileName(KEY, tokens, f"{number:032x}"))


def put(folder: Path, number: int, used_at: float) -> str:
    name = name_of(number)
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(bytes(SIZE))
    os.utime(folder / name, (used_at, used_at))
    return name


def room(folder: Folder, size: int, used_at: float = NOW) -> list[str]:
    """Make room; returns what went."""
    gone: list[str] = []
    folder.make_room(size, used_at, gone.append)
    assert not [name for name in gone if (folder.path / name).exists()]
    return gone


def test_the_oldest_go_and_no_more_than_have_to(tmp_path: Path) -> None:
    for number, age in enumerate((10, 40, 20, 30)):
        put(tmp_path, number, NOW - age)
    folder = Folder(tmp_path, 4 * SIZE)
    assert room(folder, 0) == []
    assert room(folder, 1) == [name_of(1)]
    assert room(folder, 2 * SIZE) == [name_of(3)]
    with pytest.raises(NoRoomError):
        room(folder, 4 * SIZE, NOW - 15)
    assert len(folder.files()) == 2


def test_a_damaged_file_goes_first_however_new_it_is(tmp_path: Path) -> None:
    put(tmp_path, 1, NOW - 50)
    damaged = put(tmp_path / "quarantine", 2, NOW + 50)
    folder = Folder(tmp_path, 3 * SIZE)
    assert folder.used_bytes() == 2 * SIZE
    assert room(folder, 2 * SIZE, NOW - 40) == [f"quarantine/{damaged}"]
    assert room(folder, 3 * SIZE, NOW - 40) == [name_of(1)]


def test_a_clock_that_was_put_back_does_not_stop_it(tmp_path: Path) -> None:
    put(tmp_path, 1, NOW + 7000)
    put(tmp_path, 2, NOW + 5000)
    put(tmp_path, 3, NOW - 100)
    folder = Folder(tmp_path, 3 * SIZE)
    assert room(folder, SIZE) == [name_of(2)]
    assert room(folder, 3 * SIZE) == [name_of(1), name_of(3)]


def test_what_is_being_written_counts_as_large_as_it_will_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Folder(tmp_path, 3 * SIZE), Folder(tmp_path, 3 * SIZE)
    path, stream = one.create(2 * SIZE)
    assert other.used_bytes() == 2 * SIZE
    with pytest.raises(NoRoomError):
        other.make_room(2 * SIZE, NOW, lambda _: None)
    # So does what it has not taken of the disk yet.
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(ssd_folder.shutil, "disk_usage", lambda _: usage._replace(free=2 * SIZE))
    monkeypatch.setattr(other, "_floor", 0)
    with pytest.raises(NoRoomError):
        other.make_room(SIZE, NOW, lambda _: None)
    stream.close()
    path.unlink()
    assert room(other, SIZE) == []


def test_two_cores_do_not_make_room_at_the_same_time(tmp_path: Path) -> None:
    one, other = Folder(tmp_path, SIZE), Folder(tmp_path, SIZE)
    had = threading.Event()

    def ask() -> None:
        with other.alone():
            had.set()

    thread = threading.Thread(target=ask)
    with one.alone():
        thread.start()
        assert not had.wait(0.1)
    thread.join(5)
    assert had.is_set()


def test_files_of_others_are_neither_counted_nor_removed(tmp_path: Path) -> None:
    foreign = ["film.partial", ".0.partial", "quarantine/letter.txt", "quarantine/model.safetensors"]
    for name in foreign:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(SIZE))
    put(tmp_path, 1, NOW - 50)
    folder = Folder(tmp_path, SIZE)
    assert folder.used_bytes() == SIZE
    assert room(folder, SIZE) == [name_of(1)]
    for number in range(6):
        name = put(tmp_path, number, NOW)
        assert folder.quarantine(name, "a test")
        assert not folder.quarantine(name, "a test")  # by another reader of the same file
    assert len(list((tmp_path / "quarantine").iterdir())) == 6
    assert all((tmp_path / name).exists() for name in foreign)


def test_a_use_is_noted_and_never_taken_back(tmp_path: Path) -> None:
    name = put(tmp_path, 1, NOW - 100)
    folder = Folder(tmp_path, SIZE)
    times: list[float] = []
    for used_at in (NOW - 50, NOW - 70, NOW):
        folder.touch(name, used_at)
        times.append((tmp_path / name).stat().st_mtime)
    os.utime(tmp_path / name, (NOW + 900, NOW + 900))  # before the clock was put back
    folder.touch(name, NOW)
    times.append((tmp_path / name).stat().st_mtime)
    assert times == pytest.approx([NOW - 50, NOW - 50, NOW, NOW], abs=1e-3)
    folder.touch("gone", NOW)


def record(index: Index, tokens: list[int], *, number: int, trimmable: bool = True, nbytes: int = 8) -> None:
    tensors = [Tensor("I32", [len(tokens)]), Tensor("U8", [nbytes])]
    header = Header(FORMAT, KEY, "/m", "", trimmable, [], tensors)
    index.add(name_of(number, len(tokens)), header, np.array(tokens, np.int32))


def test_the_longest_prefix_is_found_and_the_smallest_file_that_has_it(tmp_path: Path) -> None:
    rng = random.Random(3)
    begin = list(range(32))
    for _ in range(100):
        index = Index(Folder(tmp_path, SIZE), KEY)
        entries: list[tuple[list[int], bool, int]] = []
        for number in range(8):
            tokens = begin + [rng.randrange(2) for _ in range(rng.randint(1, 8))]
            entries.append((tokens, rng.random() < 0.6, rng.randint(1, 3)))
            record(index, tokens, number=number, trimmable=entries[-1][1], nbytes=entries[-1][2])
        asked = begin + [rng.randrange(2) for _ in range(rng.randint(1, 8))]
        usable: list[tuple[int, int]] = []
        for tokens, trimmable, nbytes in entries:
            same = [a == b for a, b in zip(tokens, asked[:-1], strict=False)]
            length = same.index(False) if False in same else len(same)
            if trimmable or length == len(tokens):
                usable.append((length, -nbytes - 4 * len(tokens)))
        found = index.find("", np.array(asked, np.int32))
        assert (found and (found[1], -found[0].nbytes)) == max(usable, default=None)
        for tokens, trimmable, _ in entries:
            served = [
                one[:2] for one in entries
                if one[0] == tokens or (one[1] and one[0][: len(tokens)] == tokens)
            ]  # fmt: skip
            covering = index.covering("", np.array(tokens, np.int32))
            assert covering is not None
            assert covering.tokens.tolist() in [one for one, _ in served]
            longer = index.covered("", np.array([*tokens, 9], np.int32), trimmable)
            assert all(each.tokens.tolist() == tokens[: len(each.tokens)] for each in longer)
            assert bool(longer) == trimmable


def test_a_long_file_is_not_read_for_a_few_tokens(tmp_path: Path) -> None:
    index = Index(Folder(tmp_path, SIZE), KEY)
    long = list(range(1600))
    record(index, long, number=1)
    for common, expected in ((100, None), (200, 200), (900, 900)):
        found = index.find("", np.array([*long[:common], 5000, 5001], np.int32))
        assert (found and found[1]) == expected
        # Where it is not read something shorter is worth a file.
        assert (index.covering("", np.array(long[:common], np.int32)) is None) == (expected is None)


def test_a_file_that_is_written_once_more_counts_once(tmp_path: Path) -> None:
    index = Index(Folder(tmp_path, SIZE), KEY)
    for _ in range(2):
        record(index, list(range(100)), number=1)
    assert (len(index), index.nbytes) == (1, 408)
    index.remove(name_of(1))
    assert (len(index), index.nbytes, index.find("", np.arange(100, dtype=np.int32))) == (0, 0, None)
