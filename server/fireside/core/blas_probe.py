"""`python -m fireside.core.blas_probe [LIBRARY]`: is this BLAS right and fast under MLX on this CPU?

Runs by itself, since a library that does not suit a CPU may crash or hang. Prints one line of JSON:
a `Finding`. Without LIBRARY it measures the BLAS that MLX carries.
"""

import json
import math
import resource
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fireside.core.blas_library import BlasLibrary, UnusableBlasError

if TYPE_CHECKING:
    import mlx.core as mx
    import numpy as np

SIZES = ((1, 1, 1), (3, 5, 7), (1, 577, 129), (65, 1, 33), (17, 300, 1), (31, 63, 255), (129, 257, 65))
"""Rows, inner and columns: around the block edges of the kernels, with vectors of both kinds."""

LARGE = (160, 640, 513)
"""Big enough for a library to spread it over its threads."""

SPEED_SIZE = (512, 576, 576)

TIME_LIMIT_S = 40
"""After this the process is ended by a signal, whatever the library does."""


@dataclass(frozen=True)
class Finding:
    """What was found out about a BLAS. `refused` says why it must not be used."""

    refused: str | None = None
    gflops: float = 0.0
    name: str = ""
    version: str = ""
    core: str = ""


class WrongProductError(Exception):
    """A product differs from the true one by more than rounding can explain."""


def probe(path: Path | None) -> Finding:
    """Load the library into this process, before MLX, and try it."""
    if path is None:
        return Finding(gflops=measure_gflops())
    try:
        library = BlasLibrary.load(path)
        check_products()
    except (UnusableBlasError, WrongProductError) as error:
        return Finding(refused=str(error))
    gflops = measure_gflops()
    # Where the cores are busy, threads wait for each other and one alone is faster.
    if library.set_threads(1):
        gflops = max(gflops, measure_gflops())
    return Finding(None, gflops, library.name, library.version, library.core)


def check_products() -> None:
    """Compare MLX's matrix products with sums in float64 that no BLAS takes part in.

    Raises:
        WrongProductError: one of them is wrong.
    """
    import numpy as np

    random = np.random.default_rng(0)
    for size in (*SIZES, LARGE):
        for transposed in range(4):
            _check_product(random, size, transposed, "float32")
    for dtype in ("float64", "complex64"):
        for transposed in range(4):
            _check_product(random, SIZES[-1], transposed, dtype)
    _check_scaled_sum(random)
    _check_batch(random)


def measure_gflops() -> float:
    """The speed of a prefill-shaped float32 product under MLX, in 10^9 operations a second."""
    import mlx.core as mx

    rows, inner, columns = SPEED_SIZE
    left, right = mx.random.normal((rows, inner)), mx.random.normal((columns, inner))
    mx.eval(left, right)
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        mx.eval(left @ right.T)
        best = min(best, time.perf_counter() - start)
    return 2e-9 * rows * inner * columns / best


def _check_product(
    random: "np.random.Generator", size: tuple[int, int, int], transposed: int, dtype: str
) -> None:
    import mlx.core as mx

    rows, inner, columns = size
    left = _operand(random, rows, inner, bool(transposed & 1), dtype)
    right = _operand(random, inner, columns, bool(transposed & 2), dtype)
    with mx.stream(mx.cpu):
        product = left @ right
    _compare(product, _wide(left), _wide(right), f"{dtype} {size}, transposed {transposed}")


def _check_scaled_sum(random: "np.random.Generator") -> None:
    """alpha * (a @ b) + beta * c, as a layer with a bias asks for."""
    import mlx.core as mx
    import numpy as np

    left = _operand(random, 31, 63, False, "float32")
    right = _operand(random, 63, 130, True, "float32")
    addend = _operand(random, 31, 130, False, "float32")
    result = mx.addmm(addend, left, right, alpha=0.5, beta=-2.0)
    identity = np.eye(31) * -2.0
    wide_left = np.concatenate([0.5 * _wide(left), identity], axis=1)
    wide_right = np.concatenate([_wide(right), _wide(addend)], axis=0)
    _compare(result, wide_left, wide_right, "alpha and beta")


def _check_batch(random: "np.random.Generator") -> None:
    """Attention's shape: one small product a head, out of strided memory."""
    import mlx.core as mx
    import numpy as np

    left = mx.array(random.standard_normal((3, 9, 64), np.float32)).swapaxes(0, 1)
    right = mx.array(random.standard_normal((9, 64, 37), np.float32))
    product = left @ right
    for head in range(9):
        _compare(product[head], _wide(left[head]), _wide(right[head]), f"head {head} of a batch")


def _operand(
    random: "np.random.Generator", rows: int, columns: int, transposed: bool, dtype: str
) -> "mx.array":
    import mlx.core as mx
    import numpy as np

    shape = (columns, rows) if transposed else (rows, columns)
    values = random.standard_normal(shape)
    if dtype == "complex64":
        values = values + 1j * random.standard_normal(shape)
    with mx.stream(mx.cpu):
        array = mx.array(values.astype(np.dtype(dtype)))
        return array.T if transposed else array


def _wide(array: "mx.array") -> "np.ndarray":
    import numpy as np

    values = np.array(array)
    return values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)


def _compare(product: "mx.array", left: "np.ndarray", right: "np.ndarray", what: str) -> None:
    """However it was summed, a product of n terms errs by at most n roundings of its absolute terms."""
    import numpy as np

    found = np.array(product)
    # einsum without optimize sums in its own loops; NumPy's matmul would ask a BLAS about a BLAS.
    truth = np.einsum("ij,jk->ik", left, right)
    absolute = np.einsum("ij,jk->ik", abs(left), abs(right))
    rounding = np.finfo(found.dtype).eps
    error = abs(found - truth)
    if not np.all(error <= 2 * (left.shape[1] + 4) * rounding * absolute):
        raise WrongProductError(f"wrong product ({what}): off by {np.nanmax(error):.3g}")


def main() -> None:
    """Print the finding about the library named on the command line."""
    # Nobody may be left to end a library that hangs, and nobody wants its core dump.
    signal.alarm(TIME_LIMIT_S)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    print(json.dumps(asdict(probe(path))), flush=True)


if __name__ == "__main__":
    main()
