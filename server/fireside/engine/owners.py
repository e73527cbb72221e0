"""Whose keys and values are whose: a client's `prompt_cache_key`, without its words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from fireside.engine.ssd_files import owner_of_file, tier_files

_QUARANTINE = "quarantine"


def owner_of(prompt_cache_key: str | None) -> str:
    """What the engine knows a key by, 32 characters; empty where there is no key."""
    if not prompt_cache_key:
        return ""
    return hashlib.blake2b(prompt_cache_key.encode(), digest_size=16).hexdigest()


def remove_files(folder: Path, owner: str) -> tuple[int, int]:
    """Remove an owner's files from the SSD tier's folder, those of models that do not run included.

    Args:
        folder: need not be there.

    Returns:
        How many there were, and their bytes.

    Raises:
        OSError: one cannot be removed.
    """
    count = nbytes = 0
    for path, size in _files(folder):
        if owner_of_file(path) == owner:
            path.unlink(missing_ok=True)
            count, nbytes = count + 1, nbytes + size
    return count, nbytes


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    """Damaged ones too, which are kept for a while to be looked at."""
    yield from tier_files(folder)
    yield from tier_files(folder / _QUARANTINE)
