"""Opens, replaces and removes files by paths that are already resolved, and follows no link on the way.

Every folder of the path is opened by itself, relative to the one above it and with `O_NOFOLLOW`. So what is
reached has exactly the names that were checked: a link that somebody puts there between the check and the
use is an error. Works the same on Linux and macOS; neither has a single call for it that Python offers.
"""

import errno
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from fireside_agent.tools.tool import ToolError

# O_PATH needs no right to list a folder, only to pass through it, as with a path in one piece.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a named pipe without a writer must not hold us up before we see that it is one.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_EXPLANATIONS = {
    errno.ENOENT: "it does not exist",
    errno.EACCES: "this user has no right to it",
    errno.EPERM: "this user has no right to it",
    errno.ELOOP: "a part of its path is a link now; ask for it again",
    errno.ENOTDIR: "a part of its path is not a folder, or is a link now",
    errno.EISDIR: "it is a folder",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EIO: "the disk reported an error",
}


def explain(error: OSError) -> str:
    """A system's error as half a sentence."""
    known = _EXPLANATIONS.get(error.errno) if error.errno is not None else None
    return known or error.strerror or str(error)


@contextmanager
def opened_folder(path: Path, *, create: bool = False, listed: bool = False) -> Generator[int]:
    """A descriptor of the folder at an absolute, resolved path, good for `dir_fd`.

    Args:
        create: make the folders that are missing.
        listed: the descriptor is also good for `os.scandir`.

    Raises:
        OSError: also where any part of the path is a link.
    """
    descriptor = os.open(path.anchor, _PASS)
    try:
        for name in path.parts[1:]:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=descriptor)
            descriptor = _step(descriptor, name, _PASS)
        if listed:
            descriptor = _step(descriptor, ".", _LIST)
        yield descriptor
    finally:
        os.close(descriptor)


def _step(descriptor: int, name: str, flags: int) -> int:
    below = os.open(name, flags, dir_fd=descriptor)
    os.close(descriptor)
    return below


def open_regular(path: Path) -> BinaryIO:
    """A regular file, to be read in bytes.

    Raises:
        ToolError: it is something else.
        OSError: also where any part of the path is a link.
    """
    with opened_folder(path.parent) as folder:
        descriptor = os.open(path.name or ".", _READ, dir_fd=folder)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise ToolError(f"{path} is a folder. Use `ls` to see what is in it.")
        raise ToolError(f"{path} is not a file but a device, a pipe or a socket.")
    return os.fdopen(descriptor, "rb")


def read_whole(path: Path, max_bytes: int) -> bytes | None:
    """The content of a file; None where there is none.

    Raises:
        ToolError: it is larger than `max_bytes`, or no regular file.
        OSError: see `open_regular`.
    """
    try:
        with open_regular(path) as file:
            content = file.read(max_bytes + 1)
    except FileNotFoundError:
        return None
    if len(content) > max_bytes:
        raise ToolError(f"{path} is larger than {max_bytes:,} bytes. Use a command to change it.")
    return content


def replace_file(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Put `content` where the file is, all of it or nothing; missing folders are made.

    A file keeps its mode; a new one gets `mode`, less what the umask takes.

    Raises:
        ToolError: the file is read-only.
        OSError: nothing was changed.
    """
    with opened_folder(path.parent, create=True) as folder:
        old = _status(path.name, folder)
        if old is not None and not old.st_mode & 0o222:
            raise ToolError(f"{path} is read-only. Its mode has to be changed first.")
        temporary = f".fireside-{secrets.token_hex(8)}.tmp"
        # What replaces a private file must at no time be open to others.
        descriptor = os.open(temporary, _CREATE, mode if old is None else 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                if old is not None:
                    _keep_owner_and_mode(descriptor, old)
                os.fsync(descriptor)
            os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
    sync_folder(path.parent)


def remove_file(path: Path) -> None:
    """Remove a file.

    Raises:
        OSError: it is still there.
    """
    with opened_folder(path.parent) as folder:
        os.unlink(path.name, dir_fd=folder)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Have a renaming or removal survive a power failure, where the file system can."""
    with suppress(OSError), opened_folder(path, listed=True) as folder:
        os.fsync(folder)


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _keep_owner_and_mode(descriptor: int, old: os.stat_result) -> None:
    with suppress(PermissionError):
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
