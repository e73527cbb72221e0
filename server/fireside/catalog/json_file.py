"""A model's JSON files. They may hold anything, so what reading them may cost has a limit."""

from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")

LARGEST = 128 << 20
"""Bytes of a file that is read; the tokenizers of the largest vocabularies have a third of that."""


class UnreadableError(ValueError):
    """A file is not what it should be; the message says why, without its name."""


def read_json(path: Path, kind: type[T]) -> T:
    """What a file holds.

    Raises:
        UnreadableError: it is not there, is no file, too large, or holds something else.
    """
    try:
        # A pipe would be waited for, and a folder has no text of its own.
        if not path.is_file():
            raise UnreadableError("it is no file" if path.exists() else "it is missing")
        if (size := path.stat().st_size) > LARGEST:
            raise UnreadableError(f"it has {size / 1e6:.0f} MB, and {LARGEST / 1e6:.0f} MB are read at most")
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except RecursionError as error:
        raise UnreadableError("it is nested too deeply") from error
    except (OSError, msgspec.DecodeError) as error:
        raise UnreadableError(str(error)) from error
