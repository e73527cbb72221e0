"""The folder of the SSD tier: what lies in it, how much that may be, and where damaged files go."""

import fcntl
import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from fireside.core.cache.ssd_layout import FileName

log = logging.getLogger(__name__)

QUARANTINE = "quarantine"
_KEPT = 4
"""Damaged files that are kept to be looked at; older ones are removed."""

_PARTIAL = re.compile(r"\.[0-9a-f]{16}\.partial")
_BLOCK = 512
"""Bytes of the unit in which `stat` says what a file takes of the disk."""

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

    def files(self) -> list[tuple[str, os.stat_result]]:
        """The tier's finished files, of all models."""
        return _Contents(self.path).whole

    def used_bytes(self) -> int:
        """Of all that the tier has on the disk, parts of files and damaged ones included."""
        return _Contents(self.path).nbytes

    def make_room(self, size: int, used_at: float, removed: Callable[[str], None]) -> None:
        """Remove the files that were used least recently until so many bytes more are allowed.

        Args:
            used_at: when what they are for was used, in seconds since 1970: nothing goes that was used later,
                but what is damaged.
            removed: told the name of each before it goes.

        Raises:
            NoRoomError: there is not so much; nothing was removed then.
        """
        if size > self.max_bytes:
            raise NoRoomError("it is larger than the SSD cache may be (--ssd-cache-max)")
        found = _Contents(self.path)
        over = max(
            found.nbytes + size - self.max_bytes,
            self._floor + size + found.coming_bytes - shutil.disk_usage(self.path).free,
        )
        # What is from the future was used before somebody put the clock back, and so before all else.
        now = time.time()
        old = [file for file in found.whole if file[1].st_mtime <= used_at or file[1].st_mtime > now]
        old.sort(key=lambda file: (file[1].st_mtime <= now, file[1].st_mtime_ns))
        victims: list[str] = []
        for name, facts in [*found.damaged, *old]:
            if over <= 0:
                break
            victims.append(name)
            over -= facts.st_size
        if over > 0:
            raise NoRoomError("there is no room that something older takes")
        for name in victims:
            removed(name)
            self.remove(name)

    def create(self, size: int) -> tuple[Path, BinaryIO]:
        """A new file for a part of an entry, locked for as long as it is open.

        Args:
            size: that it will have; it counts from now on, so that no other core takes the same room.
        """
        path = self.path / f".{secrets.token_hex(8)}.partial"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        stream = os.fdopen(descriptor, "w+b", buffering=0)
        try:
            fcntl.flock(stream, fcntl.LOCK_EX)
            os.truncate(descriptor, size)
        except OSError:
            stream.close()
            self.remove(path.name)
            raise
        return path, stream

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else who asks for this has it meanwhile, in no core."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            with suppress(OSError):  # a disk that knows no locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def touch(self, name: str, used_at: float) -> None:
        """Note when a file was used, in seconds since 1970, unless it was used after that."""
        # Another core may have removed it: that is noticed when it is read.
        with suppress(OSError):
            path = self.path / name
            if not used_at <= path.stat().st_mtime <= time.time():
                os.utime(path, (used_at, used_at))

    def remove(self, name: str) -> None:
        """Remove a file that may be gone already."""
        (self.path / name).unlink(missing_ok=True)

    def quarantine(self, name: str, why: str) -> bool:
        """Put a damaged file where it is never read again; where nothing can be moved it stays as it is.

        Returns:
            False if somebody else has done that, or removed it.
        """
        log.warning("the SSD cache's file %s is put aside: %s", name, why)
        place = self.path / QUARANTINE
        try:
            place.mkdir(mode=0o700, exist_ok=True)
            (self.path / name).replace(place / name)
            kept = sorted(_Contents(self.path).damaged, key=lambda file: file[1].st_mtime_ns, reverse=True)
            for old, _ in kept[_KEPT:]:
                self.remove(old)
        except FileNotFoundError:
            return False
        except OSError as error:
            log.warning("the SSD cache's file %s cannot be put aside: %s", name, error)
            with suppress(OSError):
                self.remove(name)
        return True

    def _remove_leftovers(self) -> None:
        """Remove the parts of files whose writers are gone."""
        for name, _ in list(_listed(self.path)):
            if not _PARTIAL.fullmatch(name):
                continue
            path = self.path / name
            # A core may be writing it, or just have finished; and what cannot be removed does no harm.
            with suppress(OSError), path.open("rb") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


class _Contents:
    """What of a folder is the tier's: names below it, and facts.

    Attributes:
        parts: of files that are being written, as large as those will be.
    """

    def __init__(self, folder: Path) -> None:
        listed = list(_listed(folder))
        self.whole = [(name, facts) for name, facts in listed if FileName.read(name) is not None]
        self.parts = [facts for name, facts in listed if _PARTIAL.fullmatch(name)]
        self.damaged = [
            (f"{QUARANTINE}/{name}", facts)
            for name, facts in _listed(folder / QUARANTINE)
            if FileName.read(name) is not None
        ]

    @property
    def nbytes(self) -> int:
        files = [*self.parts, *(facts for _, facts in (*self.whole, *self.damaged))]
        return sum(facts.st_size for facts in files)

    @property
    def coming_bytes(self) -> int:
        """What the parts do not take of the disk yet."""
        return sum(max(0, facts.st_size - facts.st_blocks * _BLOCK) for facts in self.parts)


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
