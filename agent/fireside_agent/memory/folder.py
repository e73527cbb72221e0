"""The vault's files: found, read with a cache, written atomically. All calls block: use them in a thread."""

import os
import stat
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fireside_agent.files import write_whole
from fireside_agent.memory.articles import Article
from fireside_agent.memory.errors import (
    ArticleNotFound,
    InvalidName,
    NameTaken,
    VaultError,
    VaultUnusable,
)
from fireside_agent.memory.names import SUFFIX, Names, check_name

MAX_ARTICLE_BYTES = 2_000_000
MAX_DEPTH = 20
SETTLED_NS = 2_000_000_000
"""A file that changed less than this ago may change again without a new time stamp."""


@dataclass(frozen=True)
class Found:
    """One file. `path` is as on disk, whose form of Unicode may be another than the name's."""

    name: str
    path: Path
    modified_ns: int
    changed_ns: int
    size: int

    @property
    def stamp(self) -> tuple[int, int, int]:
        """Another where the content is another."""
        return self.modified_ns, self.changed_ns, self.size


class Folder:
    """The notes below one folder, addressed by `names.check_name`.

    Hidden files and folders are left alone. Links are followed only to files inside the folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._cache: dict[str, tuple[tuple[int, int, int], Article]] = {}
        self._guard = threading.Lock()

    def scan(self) -> dict[str, Found]:
        """All notes, by name."""
        found: dict[str, Found] = {}
        for place, path, state in self._walk(str(self._root), "", 0):
            name = unicodedata.normalize("NFC", place).removesuffix(SUFFIX)
            with suppress(InvalidName):
                if check_name(name) == name:
                    found[name] = Found(name, Path(path), state.st_mtime_ns, state.st_ctime_ns, state.st_size)
        return found

    def articles(self) -> dict[str, Article]:
        """All notes as they are now; only what has changed since the last call is read."""
        scanned = self.scan()
        with self._guard:
            for gone in self._cache.keys() - scanned.keys():
                del self._cache[gone]
            articles: dict[str, Article] = {}
            for name, found in sorted(scanned.items()):
                article = self._load(found)
                if article is not None:
                    articles[name] = article
        return articles

    def find(self, name: str) -> Found:
        """The note of that name.

        Raises:
            InvalidName: no note can have it, or it is a link that leads out of the vault.
            ArticleNotFound: there is none; says which are near.
        """
        name = check_name(name)
        scanned = self.scan()
        names = Names(scanned)
        known = names.same_file(name)
        if known is not None:
            return scanned[known]
        if (self._root / f"{name}{SUFFIX}").is_symlink():
            raise InvalidName(f"{name} is a link that leads out of the memory, or nowhere.")
        near = names.near(name)
        hint = f" Near it: {', '.join(near)}." if near else ""
        raise ArticleNotFound(f"There is no article {name}.{hint}", "name", near)

    def read(self, name: str) -> Article:
        """The note of that name as it is now.

        Raises:
            VaultError: see `find`; or the file is too large, no text, or cannot be read.
        """
        found = self.find(name)
        with self._guard:
            article = self._load(found)
        if article is None:
            self._read_text(found)  # says what is wrong
            raise ArticleNotFound(f"The article {name} has just gone away.", "name")
        return article

    def read_or_none(self, name: str) -> Article | None:
        """Like `read`; None where there is no note of that name."""
        try:
            return self.read(name)
        except ArticleNotFound:
            return None

    def write(self, name: str, text: str) -> Path:
        """Put `text` into the note, a new one perhaps, at once or not at all. The path on disk is returned.

        Raises:
            InvalidName: see `find`.
            VaultError: the text is too long, or holds half a character.
            VaultUnusable: the disk refused.
        """
        data = check_text(text)
        try:
            path = self.find(name).path
        except ArticleNotFound:
            path = self._root / f"{check_name(name)}{SUFFIX}"
        if path.is_symlink():
            raise InvalidName(f"{name} is a link to another file. Write to that one.")
        try:
            self._inside(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._inside(path)
            replace_file(path, data)
        except OSError as error:
            raise VaultUnusable(f"{name} could not be written: {error.strerror or error}.") from error
        with self._guard:
            self._cache.pop(check_name(name), None)
        return path

    def find_or_none(self, name: str) -> Found | None:
        """Like `find`; None where there is no note of exactly that name."""
        return self.scan().get(check_name(name))

    def remove(self, name: str) -> None:
        """Take the note away. Raises ArticleNotFound, InvalidName and VaultUnusable."""
        path = self.find(name).path
        if path.is_symlink():
            raise InvalidName(f"{name} is a link to another file. Remove that one.")
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise VaultUnusable(f"{name} could not be removed: {error.strerror or error}.") from error

    def move(self, name: str, new_name: str) -> None:
        """Give the note another name, perhaps one in another folder.

        Raises:
            InvalidName: see `find`.
            NameTaken: there is something of that name. Another case of the same name is none.
            VaultUnusable: the disk refused.
        """
        source = self.find(name).path
        target = self._root / f"{check_name(new_name)}{SUFFIX}"
        if source.is_symlink():
            raise InvalidName(f"{name} is a link to another file. Rename that one.")
        try:
            self._inside(target)
            if os.path.lexists(target) and not target.samefile(source):
                raise NameTaken(f"There is something at {target} already. Choose another name.", "new_name")
            target.parent.mkdir(parents=True, exist_ok=True)
            self._inside(target)
            source.rename(target)
        except OSError as error:
            raise VaultUnusable(f"{name} could not be renamed: {error.strerror or error}.") from error

    def _inside(self, path: Path) -> None:
        root = self._root.resolve()
        if root not in path.parent.resolve().parents and root != path.parent.resolve():
            raise InvalidName("This name leads through a link out of the memory.")

    def _walk(self, folder: str, place: str, depth: int) -> Iterator[tuple[str, str, os.stat_result]]:
        """Place below the root, path and state of each file that may be a note."""
        try:
            entries = list(os.scandir(folder))
        except FileNotFoundError:
            return
        except OSError as error:
            raise VaultUnusable(f"{folder} could not be read: {error.strerror or error}.") from error
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH:
                    yield from self._walk(entry.path, f"{place}{entry.name}/", depth + 1)
            elif entry.name.endswith(SUFFIX):
                state = self._state(entry)
                if state is not None:
                    yield f"{place}{entry.name}", entry.path, state

    def _state(self, entry: "os.DirEntry[str]") -> os.stat_result | None:
        """Of the file behind the entry; None for what is no file of the vault."""
        with suppress(OSError):
            if entry.is_symlink() and self._root.resolve() not in Path(entry).resolve(strict=True).parents:
                return None
            state = entry.stat()
            return state if stat.S_ISREG(state.st_mode) else None
        return None

    def _load(self, found: Found) -> Article | None:
        cached = self._cache.get(found.name)
        if cached is not None and cached[0] == found.stamp:
            return cached[1]
        try:
            text = self._read_text(found)
        except VaultError:
            return None
        article = Article(found.name, text, found.modified_ns / 1e9)
        if time.time_ns() - max(found.modified_ns, found.changed_ns) > SETTLED_NS:
            self._cache[found.name] = (found.stamp, article)
        return article

    def _read_text(self, found: Found) -> str:
        if found.size > MAX_ARTICLE_BYTES:
            raise VaultError(f"{found.name} is larger than {MAX_ARTICLE_BYTES:,} bytes. Split it.")
        try:
            return found.path.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise VaultError(f"{found.name} is not UTF-8 text. Save it as UTF-8 in an editor.") from error
        except FileNotFoundError as error:
            raise ArticleNotFound(f"There is no article {found.name}.", "name") from error
        except OSError as error:
            raise VaultUnusable(f"{found.name} could not be read: {error.strerror or error}.") from error


def check_text(text: str) -> bytes:
    """The text as it goes to disk. Raises VaultError where it cannot."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise VaultError("This text holds half a character (a lone surrogate).") from error
    if len(data) > MAX_ARTICLE_BYTES:
        raise VaultError(f"An article has at most {MAX_ARTICLE_BYTES:,} bytes. Split it into several.")
    return data


def replace_file(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Put `data` in the file at `path`: afterwards all of it is there, or the old content."""
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(path.stat().st_mode)
    write_whole(path, data, mode)
