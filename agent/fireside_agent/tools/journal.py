"""Copies of files from before and after each change that a tool makes, so that it can be undone."""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from fireside_agent.errors import StorageError
from fireside_agent.tools.diffs import unified_diff
from fireside_agent.tools.opening import explain, read_whole, remove_file, replace_file
from fireside_agent.tools.tool import FileChange, ToolError

MAX_BYTES = 256_000_000
MAX_FILE_BYTES = 5_000_000
"""Of a file that tools change."""


class Journal:
    """A folder of file contents, each under its SHA-256 and readable by the owner alone.

    It keeps the newest `max_bytes`. Its methods touch the disk: call them outside the event loop. Only one
    change is made at a time.
    """

    def __init__(self, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder.absolute()
        self._max_bytes = max_bytes
        self._changing = threading.RLock()

    def change(self, path: Path, planned: Callable[[bytes | None], bytes]) -> FileChange:
        """Change a file; `planned` makes its new content from what it is now (None: there is no file).

        Args:
            path: resolved, see `Workspace`.

        Raises:
            ToolError: nothing was changed. Also what `planned` raises.
        """
        with self._changing:
            try:
                before = read_whole(path, MAX_FILE_BYTES)
                after = planned(before)
                change = self.record(path, before, after)
                replace_file(path, after)
            except OSError as error:
                raise ToolError(f"{path} was not changed: {explain(error)}.") from error
            return change

    def record(self, path: Path, before: bytes | None, after: bytes | None) -> FileChange:
        """Keep both contents of a file that is about to change; None: there is no file.

        Raises:
            ToolError: they cannot be kept, so the change must not be made.
        """
        with self._changing:
            hashes = [None if content is None else self._keep(content) for content in (before, after)]
            self._drop_oldest({name for name in hashes if name is not None})
            diff = unified_diff(str(path), before, after)
            return FileChange(path=str(path), before=hashes[0], after=hashes[1], diff=diff)

    def undo(self, change: FileChange) -> FileChange:
        """Bring back the content before a change. Returns the change, marked as undone.

        Raises:
            ToolError: nothing was changed, because the file is no longer what the change made of it, or the
                content before is no longer kept, or the disk refuses.
        """
        path = Path(change.path)
        if change.undone:
            raise ToolError(f"The change of {path} has been undone already.")
        with self._changing:
            try:
                self._require_unchanged(path, change)
                if change.before is None:
                    remove_file(path)
                else:
                    replace_file(path, self._kept(change.before))
            except OSError as error:
                raise ToolError(f"The change of {path} was not undone: {explain(error)}.") from error
        return msgspec.structs.replace(change, undone=True)

    def older_than(self, time: float) -> set[str]:
        """The hashes of what was last kept before that time (seconds since 1970)."""
        return {file.name for file in self._folder.glob("*") if file.stat().st_mtime < time}

    def drop(self, hashes: Iterable[str]) -> None:
        """Keep these no more, and those that are not there are no error.

        Raises:
            StorageError: one of them is still there.
        """
        with self._changing:
            try:
                for name in hashes:
                    (self._folder / name).unlink(missing_ok=True)
            except OSError as error:
                raise StorageError(f"A copy in {self._folder} was not removed: {explain(error)}.") from error

    def _require_unchanged(self, path: Path, change: FileChange) -> None:
        try:
            now = read_whole(path, MAX_FILE_BYTES)
        except ToolError as error:
            raise _changed_since(path) from error
        if (None if now is None else _name(now)) != change.after:
            raise _changed_since(path)
        if now is not None:
            self._keep(now)  # its copy may be gone, and what is undone must not be lost

    def _keep(self, content: bytes) -> str:
        name = _name(content)
        file = self._folder / name
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if file.exists():
                os.utime(file)  # the oldest are dropped first
            else:
                replace_file(file.resolve(), content, mode=0o600)
        except OSError as error:
            raise ToolError(
                f"Nothing was changed, because the version before could not be kept: {explain(error)} "
                f"({self._folder})."
            ) from error
        return name

    def _kept(self, name: str) -> bytes:
        try:
            content = (self._folder / name).read_bytes()
        except FileNotFoundError as error:
            raise ToolError(
                "The version before this change is no longer kept; "
                f"only the newest {self._max_bytes // 1_000_000:,} MB are."
            ) from error
        if _name(content) != name:
            raise ToolError(f"The version before this change is damaged: {self._folder / name}.")
        return content

    def _drop_oldest(self, needed: set[str]) -> None:
        files = [(file, file.stat()) for file in self._folder.glob("*")]
        held = sum(status.st_size for _, status in files)
        for file, status in sorted(files, key=lambda one: one[1].st_mtime_ns):
            if held <= self._max_bytes:
                return
            if file.name not in needed:
                file.unlink(missing_ok=True)
                held -= status.st_size


def _name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _changed_since(path: Path) -> ToolError:
    return ToolError(f"{path} was changed since, which undoing would lose. Undo what came later first.")
