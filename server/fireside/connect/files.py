"""Other programs' files: changed whole or not at all, and never without a copy of what was there."""

from __future__ import annotations

import difflib
import secrets
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from fireside.http.private_files import replace_file


class CannotEdit(Exception):
    """A file is not what it should be; the message says why. Nothing was changed."""


@dataclass(frozen=True)
class Change:
    """What is to become of a file; None where there is none.

    Attributes:
        secrets: what nobody but the file's owner may read, and no terminal shows.
    """

    path: Path
    before: str | None
    after: str | None
    secrets: frozenset[str] = frozenset()

    def diff(self) -> str:
        """The change as people read it."""
        old, new = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        names = ("/dev/null" if text is None else str(self.path) for text in (self.before, self.after))
        lines = difflib.unified_diff(old, new, *names, n=2)
        text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
        for secret in self.secrets:
            text = text.replace(secret, "(a key)")
        return text

    def apply(self) -> Path | None:
        """Make the change. Returns the copy of what was there, unless all of it was ours.

        A link stays one: what it points to is changed.

        Raises:
            CannotEdit: it cannot be written, or somebody has changed it in the meantime.
        """
        path = self.path.resolve()
        if read(path) != self.before:
            raise CannotEdit(f"{path}: somebody has just changed it; try again")
        try:
            if self.after is None:
                path.unlink()
                return None
            copy = _copy(path) if self.before is not None else None
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            mode = path.stat().st_mode & 0o777 if copy else 0o600
            private = any(secret in self.after for secret in self.secrets)
            replace_file(path, self.after.encode(), mode & 0o600 if private else mode)
        except OSError as error:
            raise CannotEdit(f"{path}: {error.strerror or error}") from error
        return copy


def read(path: Path) -> str | None:
    """What is in a file; None if there is none.

    Raises:
        CannotEdit: it cannot be read.
    """
    try:
        # Line ends as they are.
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CannotEdit(str(error)) from error


def _copy(path: Path) -> Path:
    stem = f"{path.name}.{time.strftime('%Y%m%d-%H%M%S')}"
    copy = path.with_name(f"{stem}.bak")
    while copy.exists():
        copy = path.with_name(f"{stem}-{secrets.token_hex(2)}.bak")
    shutil.copy2(path, copy)
    return copy
