"""The folders that tools may look at and change, and which paths lead into them."""

import os
import pwd
import re
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Self

from fireside_agent.tools.credentials import secret_kind
from fireside_agent.tools.opening import explain, opened_folder
from fireside_agent.tools.tool import BlockedError, Subject, ToolError

HOMES = (Path("/home"), Path("/Users"))
"""Whatever lies directly in one of these is somebody's home."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Workspace:
    """The roots that tools may use. Relative paths start at the first, the working folder.

    A path from `resolve` holds no link. What opens it (see `opening`) follows none either, so that nothing
    put there in between leads out of the roots.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        if not roots:
            raise ValueError("A workspace needs at least one folder.")
        self.roots = tuple(root.expanduser().resolve() for root in roots)

    @classmethod
    def checked(cls, roots: Sequence[Path]) -> Self:
        """A workspace of folders that a person has named.

        Raises:
            BlockedError: one is no folder, or too much: `/`, a home folder or what holds one, a place of
                secrets, Fireside's own folder.
        """
        workspace = cls(roots)
        for root in workspace.roots:
            if (problem := _problem_of(root)) is not None:
                raise BlockedError(f"{root} cannot be a folder of the workspace: {problem}.")
        return workspace

    @property
    def folder(self) -> Path:
        """The working folder."""
        return self.roots[0]

    def resolve(self, path: str) -> Path:
        """The absolute path, free of links, of a file or folder, which need not exist.

        Raises:
            BlockedError: it lies outside the roots, or holds secrets.
            ToolError: it is not a path.
        """
        try:
            named = self.folder / Path(path).expanduser()
            resolved = named.resolve()
            str(resolved).encode()
        except (OSError, ValueError, RuntimeError) as error:
            raise ToolError(f"{path!r:.300} is not a path that can be used: {error}.") from error
        if not self._holds(resolved):
            raise BlockedError(f"{_where(path, resolved)} is outside the workspace. {self._allowed()}")
        # A link that is named like a secret hides one under a harmless name, and the other way round.
        if kind := secret_kind(str(named)) or secret_kind(str(resolved)):
            raise BlockedError(
                f"{_where(path, resolved)} is blocked, because by its name it is {kind}. "
                "Ask the person for what you need of it."
            )
        return resolved

    def subject(self, path: str) -> Subject:
        """What rules look at; without a path where it is blocked, so that no rule allows it."""
        try:
            return Subject(path=str(self.resolve(path)))
        except ToolError:
            return Subject()

    def shown(self, path: Path) -> str:
        """A path as the model is told of it: relative where it lies in the working folder."""
        inside = path.relative_to(self.folder) if path.is_relative_to(self.folder) else path
        return _CONTROL.sub("\ufffd", os.fsencode(inside).decode(errors="replace"))

    def failure(self, path: Path, error: OSError) -> ToolError:
        """What the model is told when a file or folder cannot be used."""
        if not isinstance(error, FileNotFoundError):
            return ToolError(f"{self.shown(path)} cannot be used: {explain(error)}.")
        near = [self.shown(path.parent / name) for name in _near(path)]
        hint = f" Near to it: {', '.join(near)}." if near else " Use `ls` or `find` to see what there is."
        return ToolError(f"There is no {self.shown(path)}.{hint}")

    def _holds(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in self.roots)

    def _allowed(self) -> str:
        roots = ", ".join(str(root) for root in self.roots)
        return f"Tools may use: {roots}. Relative paths start at {self.folder}."


def _where(path: str, resolved: Path) -> str:
    return f"{path} (that is {resolved})" if path != str(resolved) else path


def _near(path: Path) -> list[str]:
    try:
        with opened_folder(path.parent, listed=True) as folder:
            return get_close_matches(path.name, os.listdir(folder), n=3)  # noqa: PTH208
    except OSError:
        return []


def _problem_of(root: Path) -> str | None:
    if not root.is_dir():
        return "there is no such folder"
    if root == Path(root.anchor):
        return "that is the whole machine; name a folder of a project"
    if root.parent in HOMES or any(home.is_relative_to(root) for home in _homes()):
        return "that is a whole home folder, or holds one; name a folder inside"
    if kind := secret_kind(str(root)):
        return f"by its name it is {kind}"
    if (root / "fireside.db").exists():
        return "Fireside keeps its own data there; name a folder inside"
    return None


def _homes() -> list[Path]:
    named = [*HOMES, Path("/root"), Path("/var/root"), Path("~").expanduser()]
    with suppress(KeyError):  # a container may run us as a user without a name
        named.append(Path(pwd.getpwuid(os.getuid()).pw_dir))  # `HOME` may say something else
    return [home.resolve() for home in named if home != Path(home.anchor)]
