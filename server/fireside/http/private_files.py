"""Small files, replaced whole; those with secrets are for their owner alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


class UnsafeFile(Exception):
    """A file with secrets that others may read, or that cannot be read at all; the message names it."""


def write_private(path: Path, data: bytes) -> None:
    """Write a file of mode 0600, see `replace_file`."""
    replace_file(path, data, 0o600)


def replace_file(path: Path, data: bytes, mode: int) -> None:
    """Write a file so that a reader sees either all of the old one or all of the new one, and its mode."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_private(path: Path) -> bytes:
    """What is in a file that nobody but its owner may read.

    Raises:
        UnsafeFile: others may read it too, or it cannot be read.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & 0o077:
                raise UnsafeFile(f"Others may use {path} (mode {mode & 0o777:04o}); run: chmod 600 {path}")
            return file.read()
    except OSError as error:
        raise UnsafeFile(f"Cannot read {path}: {error.strerror or error}") from error
