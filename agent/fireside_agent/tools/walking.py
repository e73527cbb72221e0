"""Going through a folder and all below it, and matching names with a pattern."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from fireside_agent.tools.credentials import secret_kind
from fireside_agent.tools.opening import opened_folder

SKIPPED = frozenset((".git", "node_modules", "__pycache__", ".venv"))
"""Folders full of what nobody wrote by hand. They are searched only where the search starts in one."""

MAX_ALTERNATIVES = 100

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, folder or link.

    Attributes:
        size: of a file, in bytes.
        regular: it is a file, neither folder nor link nor device.
    """

    path: Path
    folder: bool
    regular: bool
    size: int


@dataclass(slots=True)
class Walk:
    """Goes through `top`, by name, each folder before what is in it. Follows no link.

    Attributes:
        unread: folders that could not be read.
    """

    top: Path
    unread: int = 0

    def __iter__(self) -> Iterator[Entry]:
        waiting = [self.top]
        while waiting:
            entries = self._entries(waiting.pop())
            yield from entries
            waiting += [entry.path for entry in reversed(entries) if _is_entered(entry)]

    def _entries(self, path: Path) -> list[Entry]:
        try:
            with opened_folder(path, listed=True) as folder, os.scandir(folder) as found:
                return [_entry(path, one) for one in sorted(found, key=lambda one: one.name)]
        except OSError:
            self.unread += 1
            return []


def _entry(path: Path, found: os.DirEntry[str]) -> Entry:
    regular = found.is_file(follow_symlinks=False)
    try:
        size = found.stat(follow_symlinks=False).st_size if regular else 0
    except OSError:
        regular, size = False, 0  # it went away meanwhile
    return Entry(path / found.name, found.is_dir(follow_symlinks=False), regular, size)


def _is_entered(entry: Entry) -> bool:
    return entry.folder and entry.path.name not in SKIPPED and secret_kind(str(entry.path)) is None


class Glob:
    """A pattern of names: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any folders.

    A pattern without a slash is about the name alone, in whatever folder.
    """

    def __init__(self, pattern: str) -> None:
        self._patterns = [_parts(plain) for plain in _alternatives(pattern)]

    def matches(self, path: Path, top: Path) -> bool:
        """Whether a path, seen from `top`, fits."""
        names = path.relative_to(top).parts
        return any(_fits(names, parts) for parts in self._patterns)


def _alternatives(pattern: str) -> list[str]:
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) + len(waiting) <= MAX_ALTERNATIVES:
        one = waiting.pop()
        if (braces := _BRACES.search(one)) is None:
            done.append(one)
        else:
            start, end = one[: braces.start()], one[braces.end() :]
            waiting += [start + choice + end for choice in braces[1].split(",")]
    return done + waiting


def _parts(pattern: str) -> list[str]:
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    return parts if "/" in pattern.rstrip("/") else ["**", *parts]


def _fits(names: tuple[str, ...], parts: list[str]) -> bool:
    """Follows all ways to fit at once, so that many `**` cost no more than one."""
    places = _past_any({0}, parts)
    for name in names:
        reached: set[int] = set()
        for place in places:
            if place == len(parts):
                continue
            if parts[place] == "**":
                reached.add(place)
            elif fnmatchcase(name, parts[place]):
                reached.add(place + 1)
        places = _past_any(reached, parts)
    return len(parts) in places


def _past_any(places: set[int], parts: list[str]) -> set[int]:
    """With the places behind each `**`, which may also stand for no folder at all."""
    reached = set(places)
    for place in places:
        while place < len(parts) and parts[place] == "**":
            place += 1
            reached.add(place)
    return reached
