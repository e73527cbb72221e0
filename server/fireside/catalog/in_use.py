"""Which folders of models are in use, by whatever process of this machine.

Whoever reads a folder for long has a shared lock on the folder itself, and whoever removes one looks whether
it could have it alone. The system drops a lock with its process, however that ends.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


class Hold:
    """A folder that is in use until this is closed."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def close(self) -> None:
        """The folder is not needed any more. Idempotent."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def hold(folder: Path) -> Hold | None:
    """Say that a folder is in use. None where that cannot be said: it is not there, or has no locks."""
    descriptor = None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None
    return Hold(descriptor)


@contextmanager
def used(folder: Path) -> Generator[None]:
    """A folder is in use until the block ends."""
    held = hold(folder)
    try:
        yield
    finally:
        if held is not None:
            held.close()


def is_held(folder: Path) -> bool:
    """Whether anybody, this process included, has said that a folder is in use."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
