"""What must be decided before MLX is imported."""

import logging
import os
from dataclasses import dataclass, field
from pathlib import Path

from fireside.core.blas import BlasChoice, load_blas, prepare_blas, wants_blas
from fireside.core.blas_library import BlasLibrary, UnusableBlasError
from fireside.core.compiler import has_cxx_compiler, keep_kernels_in
from fireside.wire import Start

log = logging.getLogger(__name__)


@dataclass
class Profile:
    """How this machine runs MLX.

    Attributes:
        cpu: a Linux machine without a GPU: weights run as float32 when they fit.
        blas: the library in front of MLX's reference BLAS, if any, and what is known of it.
        compiles: whether MLX may compile kernels while it runs.
    """

    cpu: bool
    blas: tuple[BlasLibrary, BlasChoice] | None = None
    compiles: bool = True
    warnings: list[str] = field(default_factory=list[str])

    def warn(self, message: str) -> None:
        """Note something that the person should know; it is logged and shown in `/stats`."""
        self.warnings.append(message)
        log.warning(message)


def prepare(start: Start) -> Profile:
    """Put a proven BLAS in front of MLX where that is wanted; never fails for want of one."""
    if not wants_blas():
        _prepare_cuda()
        return Profile(cpu=False)
    cache_dir = Path(start.cache_dir)
    profile = Profile(cpu=True, blas=_blas(cache_dir))
    if profile.blas is None:
        profile.warn("No optimised BLAS was found: answers are 10 to 80 times slower than need be.")
    try:
        keep_kernels_in(cache_dir / "kernels")
        profile.compiles = has_cxx_compiler()
    except OSError as error:
        profile.warn(f"MLX's compiled kernels cannot be kept in {cache_dir}: {error}")
    if not profile.compiles:
        profile.warn("No C++ compiler that works (g++): MLX runs without its fused kernels.")
    return profile


def _prepare_cuda() -> None:
    """MLX raises once its CUDA caches have been missed twice as often as they are large, as if that were a
    fault: after 512 prompts of different lengths. A larger cache costs little, and a miss is no error."""
    os.environ.setdefault("MLX_ENABLE_CACHE_THRASHING_CHECK", "0")
    os.environ.setdefault("MLX_CUDA_SDPA_CACHE_SIZE", "1024")


def _blas(cache_dir: Path) -> tuple[BlasLibrary, BlasChoice] | None:
    choice = prepare_blas(cache_dir)
    if choice is None:
        return None
    try:
        return load_blas(choice), choice
    except UnusableBlasError as error:
        log.warning("%s is not used: %s", choice.path, error)
        return None
