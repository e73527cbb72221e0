"""One app per FIRESIDE_HOME."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO


@dataclass(frozen=True)
class Holder:
    """The app that holds a lock. Either field is None while it is still starting."""

    pid: int | None
    address: str | None


class AlreadyRunning(Exception):
    """Another app has this home; `holder` says which."""

    def __init__(self, holder: Holder) -> None:
        where = f"at {holder.address}" if holder.address else "and is just starting"
        super().__init__(f"Fireside is already running (process {holder.pid or 'unknown'}) {where}")
        self.holder = holder


class InstanceLock:
    """A lock file with the holder's pid and address.

    The kernel drops the lock with its process, however that ends, so a file that was left behind is
    stale exactly when nobody holds the lock.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            AlreadyRunning: somebody has it.
        """
        file = self._path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with file:
                raise AlreadyRunning(_read(file)) from None
        self._file = file
        self.announce(None)

    def announce(self, address: str | None) -> None:
        """Write down who holds the lock and where it answers."""
        if self._file is None:
            raise RuntimeError("announce() without acquire()")
        self._file.seek(0)
        self._file.truncate()
        json.dump({"pid": os.getpid(), "address": address}, self._file)
        self._file.flush()

    def release(self) -> None:
        """Give the lock back. Idempotent."""
        if self._file is not None:
            self._file.seek(0)
            self._file.truncate()
            self._file.close()
            self._file = None


def running(path: Path) -> Holder | None:
    """The app that holds the lock at a path, or None."""
    try:
        with path.open("r", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _read(file)
    except FileNotFoundError:
        pass
    return None


def _read(file: IO[str]) -> Holder:
    file.seek(0)
    try:
        known = json.load(file)
        return Holder(known["pid"], known["address"])
    except (ValueError, KeyError, TypeError):
        return Holder(None, None)
