"""Placeholders for libraries that another one imports at its top and that nothing here uses of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


@contextmanager
def stand_ins(*names: str) -> Iterator[None]:
    """Let modules of these names have every attribute, within the `with`; those that are loaded already stay.

    Enter it where no other thread imports one of them. What is imported within keeps its placeholders.

    Args:
        names: of modules; one that is imported from by a dotted name is named too.
    """
    absent = [name for name in names if name not in sys.modules]
    sys.modules.update({name: _Placeholder(name) for name in absent})
    try:
        yield
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
        _refuse_dunder(name)
        return _AnyClass(name, (), {"__init__": lambda self, *args, **kwargs: None})


class _AnyClass(type):
    """A class whose methods, called on the class itself, do nothing."""

    def __getattr__(cls, name: str) -> Callable[..., None]:
        _refuse_dunder(name)
        return lambda *args, **kwargs: None


def _refuse_dunder(name: str) -> None:
    """Who asks for one of Python's own names wants to know whether it is there."""
    if name.startswith("__"):
        raise AttributeError(name)
