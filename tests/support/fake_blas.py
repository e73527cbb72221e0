"""Small BLAS libraries with one fault each, compiled on the spot."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_SOURCE = """
#include <stddef.h>
#include <unistd.h>

#define TRANSPOSED 112
#define AT(m, how, ld, i, j) \\
    ((how) == TRANSPOSED ? (m)[(size_t)(j) * (ld) + (i)] : (m)[(size_t)(i) * (ld) + (j)])

#define GEMM(name, real)                                                                              \\
    void name(int order, int ta, int tb, int m, int n, int k, real alpha, const real *a, int lda,     \\
              const real *b, int ldb, real beta, real *c, int ldc) {                                  \\
        FAULT                                                                                         \\
        for (int i = 0; i < m; i++)                                                                   \\
            for (int j = 0; j < n; j++) {                                                             \\
                real sum = 0;                                                                         \\
                for (int l = 0; l < k; l++) sum += AT(a, ta, lda, i, l) * AT(b, tb, ldb, l, j);       \\
                real *to = c + (size_t)i * ldc + j;                                                   \\
                *to = alpha * sum + (beta == 0 ? 0 : beta * *to);                                     \\
            }                                                                                         \\
    }

GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)

#ifndef NO_CGEMM
void cblas_cgemm(int order, int ta, int tb, int m, int n, int k, const float _Complex *alpha,
                 const float _Complex *a, int lda, const float _Complex *b, int ldb,
                 const float _Complex *beta, float _Complex *c, int ldc) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float _Complex sum = 0;
            for (int l = 0; l < k; l++) sum += AT(a, ta, lda, i, l) * AT(b, tb, ldb, l, j);
            float _Complex *to = c + (size_t)i * ldc + j;
            *to = *alpha * sum + (*beta == 0 ? 0 : *beta * *to);
        }
}
#endif
"""


def build_fake_blas(folder: Path, fault: str = "", *options: str) -> Path:
    """A correct and slow BLAS whose real products begin by the C statements `fault`.

    Skips the test on a machine without a C compiler.
    """
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("no C compiler to build a faulty BLAS with")
    source, library = folder / "fake.c", folder / "libfake.so"
    source.write_text(_SOURCE)
    command = [compiler, "-O2", "-fPIC", "-shared", f"-DFAULT={fault}", *options, source, "-o", library]
    subprocess.run(command, check=True, capture_output=True)
    return library
