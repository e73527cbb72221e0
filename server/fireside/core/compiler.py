"""Whether MLX can compile kernels while it runs.

On a CPU `mx.compile` writes C++ and calls `g++`, by that name and no other, then loads the result
from `<temporary folder>/mlx/<version>/cpu`. Without a `g++` MLX runs the operations one by one by
itself. With one that cannot make a loadable library there, every compiled function raises an error
when it is first evaluated: then `mx.disable_compile()` has to be called.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

_TRIAL = '#include <cmath>\n#include <vector>\nextern "C" float trial(float x) { return std::sqrt(x); }\n'
_TIMEOUT_S = 20


def keep_kernels_in(folder: Path) -> None:
    """Make MLX keep its compiled kernels in `folder`, from the next one on.

    By default they lie in the temporary folder that all users share: MLX loads whatever library
    lies there under a kernel's name, and fails where another user was first. In a folder of one's
    own they are also still there after a restart of the machine.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None


def has_cxx_compiler() -> bool:
    """Try what MLX will do: compile a small library into the temporary folder and load it.

    What a compiler has made there once is loaded again, and the compiler is not called.
    """
    if (compiler := shutil.which("g++")) is None:
        return False
    try:
        library = Path(tempfile.gettempdir(), f"fireside-trial-{_identity(compiler)}.so")
        if _loads(library):
            return True
        _compile(compiler, library)
        return _loads(library)
    except (OSError, subprocess.SubprocessError):
        return False


def _loads(library: Path) -> bool:
    try:
        ctypes.CDLL(str(library))
    except OSError:
        return False
    return True


def _compile(compiler: str, library: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="fireside-cxx-") as folder:
        source, made = Path(folder, "trial.cpp"), Path(folder, "trial.so")
        source.write_text(_TRIAL)
        command = [compiler, "-std=c++17", "-fPIC", "-shared", source, "-o", made]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S)
        made.replace(library)


def _identity(compiler: str) -> str:
    """Changes when the compiler does."""
    path = Path(compiler).resolve()
    facts = path.stat()
    return hashlib.blake2b(f"{path} {facts.st_size} {facts.st_mtime_ns}".encode(), digest_size=8).hexdigest()
