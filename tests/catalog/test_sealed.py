"""Folders that are whole or not there: crashes, races, damage and full disks."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fireside.catalog.sealed import MANIFEST, build_sealed, damage
from support.disk import files_limited_to

RACER = """
import sys, time
from pathlib import Path
from fireside.catalog.sealed import build_sealed

def build(staging):
    (staging / "model").write_text("content")
    with open(sys.argv[2], "a") as log:
        log.write("built\\n")
    time.sleep(float(sys.argv[3]))

build_sealed(Path(sys.argv[1]), "source", build)
"""


def build(staging: Path) -> None:
    (staging / "model").write_text("content")
    (staging / "config").write_text("{}")


def visible(folder: Path) -> list[str]:
    """What a person sees beside the folder, lock aside."""
    return sorted(path.name for path in folder.parent.iterdir() if not path.name.endswith(".lock"))


def racer(folder: Path, log: Path, seconds: float) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", RACER, folder, log, str(seconds)])


def wait_for(path: Path) -> None:
    for _ in range(1000):
        if path.exists():
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} did not appear")


def test_a_built_folder_is_whole_and_has_no_traces_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "model"
    assert damage(folder, "source") is not None
    build_sealed(folder, "source", build)
    assert damage(folder, "source") is None
    assert visible(folder) == ["model"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(["config", "model", MANIFEST])


def test_a_whole_folder_is_not_built_again(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    build_sealed(folder, "source", build)
    build_sealed(folder, "source", lambda _: pytest.fail("built again"))


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "model").write_text("contenT"),
        lambda folder: (folder / "model").write_text(""),
        lambda folder: (folder / "config").unlink(),
        lambda folder: (folder / MANIFEST).unlink(),
        lambda folder: (folder / MANIFEST).write_text("[]"),
        lambda folder: (folder / MANIFEST).write_text("{"),
    ],
)
def test_a_damaged_folder_is_noticed_and_replaced(tmp_path: Path, harm: object) -> None:
    folder = tmp_path / "model"
    build_sealed(folder, "source", build)
    assert callable(harm)
    harm(folder)
    assert damage(folder, "source") is not None
    build_sealed(folder, "source", build)
    assert damage(folder, "source") is None
    assert visible(folder) == ["model"]


def test_a_folder_made_from_something_else_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    build_sealed(folder, "old source", build)
    build_sealed(folder, "new source", lambda staging: (staging / "only").touch())
    assert damage(folder, "new source") is None
    assert not (folder / "model").exists()


def test_a_failed_build_leaves_nothing_and_keeps_what_was_there(tmp_path: Path) -> None:
    def fail(staging: Path) -> None:
        build(staging)
        raise RuntimeError("in the middle")

    folder = tmp_path / "model"
    with pytest.raises(RuntimeError, match="in the middle"):
        build_sealed(folder, "source", fail)
    assert visible(folder) == []
    build_sealed(folder, "source", build)
    with pytest.raises(RuntimeError, match="in the middle"):
        build_sealed(folder, "newer source", fail)
    assert damage(folder, "source") is None
    assert visible(folder) == ["model"]


def test_a_full_disk_is_an_os_error_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    with files_limited_to(1000), pytest.raises(OSError, match="File too large"):
        build_sealed(folder, "source", lambda staging: (staging / "big").write_bytes(bytes(2000)))
    assert visible(folder) == []


def test_after_a_kill_in_the_middle_the_next_build_cleans_up(tmp_path: Path) -> None:
    folder, log = tmp_path / "home" / "model", tmp_path / "log"
    killed = racer(folder, log, 60)
    wait_for(log)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not folder.exists()
    assert len(visible(folder)) == 1
    build_sealed(folder, "source", build)
    assert visible(folder) == ["model"]


def test_of_two_builders_one_builds_and_both_find_the_folder(tmp_path: Path) -> None:
    folder, log = tmp_path / "home" / "model", tmp_path / "log"
    racers = [racer(folder, log, 0.2) for _ in range(2)]
    assert [process.wait(30) for process in racers] == [0, 0]
    assert log.read_text() == "built\n"
    assert damage(folder, "source") is None
    assert visible(folder) == ["model"]


def test_a_place_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        build_sealed(tmp_path / "file" / "model", "source", build)
