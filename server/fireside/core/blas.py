"""An optimised BLAS in front of MLX on Linux without a GPU.

The MLX wheel for Linux CPUs carries the reference BLAS, which is 20 to 100 times slower than what
the machine can do. Libraries that may do better are tried in a child process, since one that does
not suit the CPU may crash, hang or compute nonsense; only one that was right and fast is loaded here.
"""

import logging
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import msgspec

from fireside.core.blas_library import BlasLibrary
from fireside.core.blas_probe import TIME_LIMIT_S, Finding
from fireside.core.blas_proofs import BlasProofs, library_key, machine_key
from fireside.core.blas_sources import BlasSource, blas_sources
from fireside.core.compiler import has_cxx_compiler

__all__ = ["BlasChoice", "has_cxx_compiler", "load_blas", "prepare_blas", "wants_blas"]

_MIN_SPEEDUP = 2.0
"""Over the BLAS that MLX carries. Real ones reach 20 and more; less is not worth a foreign library."""

_PROBE_TIMEOUT_S = TIME_LIMIT_S + 5
"""The child ends itself earlier; this is for one that cannot even start."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BlasChoice:
    """A BLAS that was proven on this CPU with this MLX.

    Attributes:
        name: "OpenBLAS", "BLIS", "MKL".
        version: as the library states it.
        core: the kernels that it chose for this CPU.
        gflops: the speed of a float32 product under MLX when it was proven.
    """

    name: str
    version: str
    core: str
    path: Path
    gflops: float

    def facts(self) -> dict[str, str | float | int]:
        """For a status page."""
        return {**asdict(self), "path": str(self.path), "gflops": round(self.gflops, 1)}


def wants_blas() -> bool:
    """Whether MLX will run on a Linux CPU; decided by what is installed, without loading MLX."""
    if sys.platform != "linux":
        return False
    try:
        backends = {_distribution(requirement) for requirement in requires("mlx") or []}
    except PackageNotFoundError:
        return False
    return not any(_is_installed(name) for name in backends if name.startswith(("mlx-cuda", "mlx-metal")))


def prepare_blas(cache_dir: Path) -> BlasChoice | None:
    """Find a BLAS that is right and fast here, or None. Takes seconds once, then milliseconds.

    Never raises for want of a library, a compiler, a program or disk space: it warns.
    """
    proofs = BlasProofs(cache_dir / "blas-proofs.json")
    for source in blas_sources(cache_dir):
        finding = _known(proofs, source.path) or _find_out(proofs, source)
        if finding is None:
            continue
        if finding.refused is None:
            return BlasChoice(finding.name, finding.version, finding.core, source.path, finding.gflops)
        log.warning("%s is not used: %s", source.path, finding.refused)
    return None


def load_blas(choice: BlasChoice) -> BlasLibrary:
    """Put the library in front of MLX's own for the rest of this process; before `import mlx.core`.

    Raises:
        UnusableBlasError: the file is gone or damaged since it was proven.
    """
    return BlasLibrary.load(choice.path)


def _known(proofs: BlasProofs, path: Path) -> Finding | None:
    facts = proofs.get(library_key(path)) if path.is_file() else None
    return msgspec.convert(facts, Finding) if facts is not None else None


def _find_out(proofs: BlasProofs, source: BlasSource) -> Finding | None:
    if not source.make():
        return None
    finding = _faster_than_reference(_probe(source.path), proofs)
    proofs.put(library_key(source.path), asdict(finding))
    return finding


def _faster_than_reference(finding: Finding, proofs: BlasProofs) -> Finding:
    if finding.refused is not None:
        return finding
    needed = _MIN_SPEEDUP * _reference_gflops(proofs)
    if finding.gflops >= needed:
        return finding
    return Finding(refused=f"it reaches {finding.gflops:.3g} GFLOP/s; {needed:.3g} were expected")


def _reference_gflops(proofs: BlasProofs) -> float:
    key = machine_key("reference BLAS")
    if (facts := proofs.get(key)) is not None:
        return msgspec.convert(facts, Finding).gflops
    finding = _probe(None)
    proofs.put(key, asdict(finding))
    return finding.gflops


def _probe(path: Path | None) -> Finding:
    """Try a library in a process of its own."""
    command = [sys.executable, "-m", "fireside.core.blas_probe", *([str(path)] if path else [])]
    try:
        run = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PROBE_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return Finding(refused=f"it did not finish a trial within {_PROBE_TIMEOUT_S} s")
    if run.returncode != 0:
        last_words = run.stderr.strip().splitlines()[-1:] or ["no message"]
        return Finding(refused=f"a trial ended with status {run.returncode} ({last_words[0]})")
    try:
        return msgspec.json.decode((run.stdout.splitlines() or [""])[-1], type=Finding)
    except msgspec.DecodeError:
        return Finding(refused="a trial ended without an answer")


def _distribution(requirement: str) -> str:
    """The name at the start of a requirement such as `mlx-cuda-13==0.32.4; extra == "cuda13"`."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True
