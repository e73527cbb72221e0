"""Kernels compiled while running: with a compiler, without one, and with one that does not work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fireside.core.compiler import has_cxx_compiler, keep_kernels_in

RUN = """
import sys
from pathlib import Path
from fireside.core.compiler import has_cxx_compiler, keep_kernels_in
keep_kernels_in(Path(sys.argv[1]))
works = has_cxx_compiler()
import mlx.core as mx
mx.set_default_device(mx.cpu)
if not works and sys.argv[2] == "heed":
    mx.disable_compile()
function = mx.compile(lambda x: mx.exp(x) * x + mx.sin(x) / 3)
print(works, round(function(mx.array(1.0)).item(), 3))
"""


def install_compiler(folder: Path, script: str) -> Path:
    folder.mkdir()
    program = folder / "g++"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return folder


def run(kernels: Path, path: Path, heed: str = "heed") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, kernels, heed], env={"PATH": str(path)}, capture_output=True, text=True
    )


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A g++ that answers to its name and compiles nothing."""
    return install_compiler(tmp_path / "bin", '[ "$1" = --version ] && exit 0\nexit 1')


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of its own: what a compiler has made stays there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_compiler_is_tried_once(tmp_path: Path, apart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, real = tmp_path / "calls", shutil.which("g++")
    folder = install_compiler(tmp_path / "bin", f'echo >> {calls}\nexec {real} "$@"')
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    assert has_cxx_compiler()
    assert has_cxx_compiler()
    assert calls.read_text() == "\n"

    # A process does not look again at a library that it has loaded, so the damaged one lies elsewhere.
    [made] = apart.iterdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    (folder / made.name).write_bytes(b"damaged")
    assert has_cxx_compiler()
    assert calls.read_text() == "\n\n"

    (folder / "g++").write_text("#!/bin/sh\nexit 1\n")
    assert not has_cxx_compiler()


def test_a_machine_without_a_compiler_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not has_cxx_compiler()


def test_a_compiler_that_does_not_work_does_not_count(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(broken))
    assert not has_cxx_compiler()


def test_a_compiler_whose_libraries_do_not_load_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = install_compiler(tmp_path / "bin", 'for last; do :; done\necho nonsense > "$last"')
    monkeypatch.setenv("PATH", str(folder))
    assert not has_cxx_compiler()


def test_mlx_runs_without_a_compiler(tmp_path: Path) -> None:
    result = run(tmp_path / "kernels", tmp_path)
    assert result.stdout.strip() == "False 2.999", result.stderr


def test_mlx_runs_beside_a_broken_compiler_if_the_answer_is_heeded(tmp_path: Path, broken: Path) -> None:
    assert run(tmp_path / "kernels", broken).stdout.strip() == "False 2.999"
    assert "Failed to compile" in run(tmp_path / "kernels", broken, heed="ignore").stderr


def test_kernels_are_kept_in_the_given_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    keep_kernels_in(tmp_path / "kernels")
    assert tempfile.gettempdir() == str(tmp_path / "kernels")
    assert (tmp_path / "kernels").stat().st_mode & 0o777 == 0o700
