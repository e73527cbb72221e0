"""Folders that appear whole or not at all, and are noticed when they are no longer whole.

A folder is built beside its place under another name, sealed with a manifest of every file's size and
digest, written through to the disk and renamed. A process that dies in between leaves only a folder
that the next builder removes; of two builders at once the second waits and finds the work done.
"""

import fcntl
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

MANIFEST = "fireside-manifest.json"

_NOTE = "Made by Fireside from the source named here. A folder with missing or changed files is made anew."


def damage(folder: Path, source: str) -> str | None:
    """Why `folder` is not the whole result of a build from `source`, or None if it is.

    Reads every file of the folder once.
    """
    try:
        manifest = cast("dict[str, object]", json.loads((folder / MANIFEST).read_bytes()))
        if manifest["source"] != source:
            return f"{folder} was made from something else"
        files = cast("dict[str, dict[str, object]]", manifest["files"])
        changed = [name for name, seal in files.items() if _seal_of(folder / name) != seal]
    except (OSError, ValueError, LookupError, TypeError) as error:
        return f"{folder} is incomplete ({error})"
    return f"{folder} has damaged files: {', '.join(changed)}" if changed else None


def build_sealed(folder: Path, source: str, build: Callable[[Path], object]) -> None:
    """Make `folder` by calling `build` on an empty folder beside it, unless it is whole by then.

    Args:
        source: names what the content is made from; a folder made from another source is replaced.
        build: writes files into the folder it is given, no subfolders.

    Raises:
        OSError: the disk is full or cannot be written. Nothing is left behind.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        if damage(folder, source) is None:
            return
        _remove_leftovers(folder)
        staging = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.tmp")
        staging.mkdir()
        try:
            build(staging)
            _seal(staging, source)
            _put_in_place(staging, folder)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """One builder at a time. The system drops the lock of a process that dies."""
    with folder.with_name(f".{folder.name}.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _remove_leftovers(folder: Path) -> None:
    for leftover in folder.parent.glob(f".{folder.name}.*.tmp"):
        shutil.rmtree(leftover, ignore_errors=True)


def _seal(staging: Path, source: str) -> None:
    files = {path.name: _seal_of(path) for path in sorted(staging.iterdir())}
    manifest = {"note": _NOTE, "source": source, "files": files}
    (staging / MANIFEST).write_text(json.dumps(manifest, indent=2), encoding="utf-8")
    for path in [*staging.iterdir(), staging]:
        _write_through(path)


def _put_in_place(staging: Path, folder: Path) -> None:
    if folder.exists():
        folder.rename(folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.tmp"))
    staging.rename(folder)
    _write_through(folder.parent)
    _remove_leftovers(folder)


def _seal_of(path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, hashlib.blake2b).hexdigest()
        return {"size": file.tell(), "blake2b": digest}


def _write_through(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
