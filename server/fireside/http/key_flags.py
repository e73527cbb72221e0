"""The API keys of a start: from the flags, a file, or the environment."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fireside.http.private_files import UnsafeFile, read_private


def read_key_flags(values: Iterable[str], files: Iterable[Path]) -> tuple[str, ...]:
    """All keys, in order and each once.

    Args:
        values: keys, or `@FILE` with one key a line.
        files: with one key a line; empty lines are passed over.

    Raises:
        UnsafeFile: a file cannot be read, others may read it, or it has no key.
        ValueError: a key is empty or no client could send it.
    """
    keys: list[str] = []
    for value in values:
        keys += _keys_in(Path(value[1:])) if value.startswith("@") else [value]
    for file in files:
        keys += _keys_in(file)
    if any(not _can_be_sent(key) for key in keys):
        raise ValueError("An API key is one or more visible ASCII characters without spaces.")
    return tuple(dict.fromkeys(keys))


def _keys_in(path: Path) -> list[str]:
    text = read_private(path.expanduser()).decode("utf-8", "replace")
    keys = [line.strip() for line in text.splitlines() if line.strip()]
    if not keys:
        raise UnsafeFile(f"There is no API key in {path}; write one a line.")
    return keys


def _can_be_sent(key: str) -> bool:
    return bool(key) and key.isascii() and key.isprintable() and " " not in key
