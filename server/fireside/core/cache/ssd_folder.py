"""The folder of the SSD tier: what lies in it, how much that may be, and where damaged files go."""

import fcntl
import logging
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from fireside.core.cache.ssd_layout import FileName

log = logging.getLogger(__name__)

PARTIAL = ".partial"
QUARANTINE = "quarantine"
_KEPT = 4
"""Damaged files that are kept to be looked at; older ones are removed."""

_FLOOR_BYTES, _FLOOR_SHARE = 5_000_000_000, 0.05
"""Of the disk, that stay free: the smaller one."""


class NoRoomError(OSError):
    """A file would be larger than the tier may be, or the disk is too full."""


class Folder:
    """A folder that several cores may use at a time, of different models and of the same.

    The files are all the state that there is: their times of change are when they were used last. Files with
    other names are left alone, so that a folder with something else in it is not harmed.

    Args:
        max_bytes: of all files of the tier.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self.max_bytes = max_bytes
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._floor = min(_FLOOR_BYTES, int(shutil.disk_usage(path).total * _FLOOR_SHARE))
        self._remove_leftovers()

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """The tier's finished files, of all models."""
        for name, facts in _listed(self.path):
            if FileName.read(name) is not None:
                yield name, facts

    def used_bytes(self) -> int:
        """Of all that the tier has on the disk, parts of files and damaged ones included."""
        ours = (
            facts.st_size
            for name, facts in _listed(self.path)
            if name.endswith(PARTIAL) or FileName.read(name) is not None
        )
        return sum(ours) + sum(facts.st_size for _, facts in _listed(self.path / QUARANTINE))

    def make_room(self, size: int, used_at: float, removed: Callable[[str], None]) -> None:
        """Remove the files that were used least recently until so many bytes more are allowed.

        Args:
            used_at: when what they are for was used, in seconds since 1970: nothing goes that was used later.
            removed: told the name of each before it goes.

        Raises:
            NoRoomError: there is not so much.
        """
        if size > self.max_bytes:
            raise NoRoomError("it is larger than the SSD cache may be (--ssd-cache-max)")
        over = max(
            self.used_bytes() + size - self.max_bytes,
            self._floor + size - shutil.disk_usage(self.path).free,
        )
        victims: list[str] = []
        damaged = [(f"{QUARANTINE}/{name}", facts) for name, facts in _listed(self.path / QUARANTINE)]
        for name, facts in [*damaged, *sorted(self.files(), key=lambda file: file[1].st_mtime_ns)]:
            if over <= 0 or facts.st_mtime > used_at:
                break
            victims.append(name)
            over -= facts.st_size
        if over > 0:
            raise NoRoomError("there is no room that something older takes")
        for name in victims:
            removed(name)
            self.remove(name)

    def create(self) -> tuple[Path, BinaryIO]:
        """A new file for a part of an entry, locked for as long as it is open."""
        path = self.path / f".{secrets.token_hex(8)}{PARTIAL}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        stream = os.fdopen(descriptor, "w+b", buffering=0)
        fcntl.flock(stream, fcntl.LOCK_EX)
        return path, stream

    def touch(self, name: str, used_at: float | None = None) -> None:
        """Note when a file was used, in seconds since 1970; None is now."""
        # Another core may have removed it: that is noticed when it is read.
        with suppress(OSError):
            os.utime(self.path / name, None if used_at is None else (used_at, used_at))

    def remove(self, name: str) -> None:
        """Remove a file that may be gone already."""
        (self.path / name).unlink(missing_ok=True)

    def quarantine(self, name: str, why: str) -> None:
        """Put a damaged file where it is never read again."""
        log.warning("the SSD cache's file %s is put aside: %s", name, why)
        place = self.path / QUARANTINE
        try:
            place.mkdir(mode=0o700, exist_ok=True)
            (self.path / name).replace(place / name)
            kept = sorted(_listed(place), key=lambda file: file[1].st_mtime_ns, reverse=True)
            for old, _ in kept[_KEPT:]:
                (place / old).unlink(missing_ok=True)
        except FileNotFoundError:
            pass  # another core was faster
        except OSError:
            self.remove(name)

    def _remove_leftovers(self) -> None:
        """Remove the parts of files whose writers are gone."""
        for name, _ in list(_listed(self.path)):
            if not name.endswith(PARTIAL):
                continue
            path = self.path / name
            try:
                with path.open("rb") as stream:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()
            except (BlockingIOError, FileNotFoundError):
                pass  # a core is writing it, or has just finished


def _listed(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Names and facts of the plain files in a folder, which may not be there."""
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        try:
            if entry.is_file(follow_symlinks=False):
                yield entry.name, entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            pass  # gone between the two
