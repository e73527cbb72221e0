"""xgrammar without PyTorch and transformers, in a fifth of a second; nothing else here imports it.

The package imports both at its top, for annotations, for a tokenizer that is handed over as an object, and
for masks of PyTorch's: none of that is used. They take seconds and hundreds of megabytes to load, and PyTorch
is not a dependency, so placeholders stand in for them meanwhile. What is needed takes NumPy arrays and bytes.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_STAND_INS = ("torch", "transformers")


@cache
def xgrammar() -> Any:
    """The package; call it first where no other thread imports one of the two.

    One of them that is loaded already stays.

    Raises:
        ImportError: it is not installed, or does not run on this machine.
    """
    importlib.import_module("tvm_ffi")  # would take a placeholder for PyTorch itself
    absent = [name for name in _STAND_INS if name not in sys.modules]
    sys.modules.update({name: _Placeholder(name) for name in absent})
    try:
        return importlib.import_module("xgrammar")
    finally:
        for name in absent:
            del sys.modules[name]


class _Placeholder(ModuleType):
    """Has every name: a class that takes any arguments."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)
        self.__version__ = "0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *args, **kwargs: None})
