"""An optimised BLAS, loaded so that MLX calls it in place of its own.

libmlx.so looks up `cblas_sgemm`, `cblas_dgemm` and `cblas_cgemm` by name. A library that was loaded
before with RTLD_GLOBAL comes first in that look-up, before the reference BLAS that libmlx.so links.
"""

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROUTINES = ("cblas_sgemm", "cblas_dgemm", "cblas_cgemm")
"""What MLX calls."""


class UnusableBlasError(Exception):
    """A library cannot stand in for MLX's BLAS; the message says why."""


@dataclass(frozen=True)
class BlasLibrary:
    """A loaded BLAS and the calls outside of the BLAS standard that each kind has.

    Attributes:
        name: "OpenBLAS", "BLIS", "MKL", or the file's name where the kind is not known.
        version: as the library states it, with its build options where it names them.
        core: the kernels that it chose for this CPU, "" where it does not say.
    """

    path: Path
    name: str
    version: str
    core: str
    _set_threads: Callable[[int], object] | None

    @classmethod
    def load(cls, path: Path) -> "BlasLibrary":
        """Load the library for the rest of the process; to be called before `import mlx.core`.

        Raises:
            UnusableBlasError: the file cannot be loaded, or cannot be called as MLX does.
        """
        try:
            handle = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL | os.RTLD_NOW)
        except OSError as error:
            raise UnusableBlasError(f"{path} cannot be loaded: {error}") from error
        if missing := [name for name in ROUTINES if not hasattr(handle, name)]:
            raise UnusableBlasError(f"{path} has no {', '.join(missing)}.")
        library = _identify(path, handle)
        if "USE64BITINT" in library.version:
            # MLX passes 32-bit ones; the other halves of the registers hold anything.
            raise UnusableBlasError(f"{path} expects 64-bit integers.")
        return library

    def set_threads(self, count: int) -> bool:
        """Use `count` threads from the next product on; False if this kind cannot be told.

        Not to be called while MLX is evaluating.
        """
        if self._set_threads is None:
            return False
        self._set_threads(count)
        return True


def _identify(path: Path, handle: ctypes.CDLL) -> BlasLibrary:
    # scipy-openblas32 keeps its own prefix on all but the routines that MLX calls.
    for prefix in ("scipy_openblas_", "openblas_"):
        if hasattr(handle, f"{prefix}get_config"):
            return _openblas(path, handle, prefix)
    if hasattr(handle, "bli_thread_set_num_threads"):
        return _blis(path, handle)
    if hasattr(handle, "MKL_Set_Num_Threads"):
        return _mkl(path, handle)
    return BlasLibrary(path, path.name, "", "", None)


def _openblas(path: Path, handle: ctypes.CDLL, prefix: str) -> BlasLibrary:
    version = _text(handle, f"{prefix}get_config")
    core = _text(handle, f"{prefix}get_corename")
    return BlasLibrary(path, "OpenBLAS", version, core, getattr(handle, f"{prefix}set_num_threads"))


def _blis(path: Path, handle: ctypes.CDLL) -> BlasLibrary:
    set_threads = handle.bli_thread_set_num_threads
    set_threads.argtypes = [ctypes.c_int64]
    name_of = handle.bli_arch_string
    name_of.restype = ctypes.c_char_p
    core = name_of(handle.bli_arch_query_id()).decode()
    return BlasLibrary(path, "BLIS", _text(handle, "bli_info_get_version_str"), core, set_threads)


def _mkl(path: Path, handle: ctypes.CDLL) -> BlasLibrary:
    buffer = ctypes.create_string_buffer(200)
    handle.mkl_get_version_string(buffer, len(buffer))
    version = buffer.value.decode(errors="replace").strip()
    return BlasLibrary(path, "MKL", version, "", handle.MKL_Set_Num_Threads)


def _text(handle: ctypes.CDLL, function: str) -> str:
    """The result of a function without arguments that returns a C string."""
    call = getattr(handle, function)
    call.restype = ctypes.c_char_p
    return call().decode(errors="replace").strip()
