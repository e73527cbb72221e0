"""xgrammar without PyTorch and transformers, in a fifth of a second; nothing else here imports it.

The package imports both at its top, for annotations, for a tokenizer that is handed over as an object, and
for masks of PyTorch's: none of that is used. They take seconds and hundreds of megabytes to load, and PyTorch
is not a dependency. What is needed takes NumPy arrays and bytes.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from fireside.stand_ins import stand_ins


@cache
def xgrammar() -> Any:
    """The package; call it first where no other thread imports one of the two.

    Raises:
        ImportError: it is not installed, or does not run on this machine.
    """
    importlib.import_module("tvm_ffi")  # would take a placeholder for PyTorch itself
    with stand_ins("torch", "transformers"):
        return importlib.import_module("xgrammar")
