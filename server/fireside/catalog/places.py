"""Where models are on this machine: in the Hugging Face cache and in folders. No file is opened but refs."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal
from unicodedata import category

Origin = Literal["embedded", "folder", "hub"]

_DEEPEST = 2
"""Levels between a folder of models and a model: `owner/name`."""

_CACHE_PARTS = frozenset({"blobs", "refs", "snapshots"})


@dataclass(frozen=True)
class Roots:
    """Where to look.

    Attributes:
        hub_cache: laid out by huggingface_hub; None for where the environment puts it.
        folders: each a model, or with models in it as `name` or `owner/name`.
    """

    hub_cache: Path | None = None
    folders: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Place:
    """A model's folder, complete or not.

    Attributes:
        repo_id: the name by which it is asked for.
        revision: the commit of a model of the hub; None for a folder.
        path: of the files; that of the repository, where a download has not made a snapshot yet.
        blobs: where the cache keeps the repository's files; None for a folder.
    """

    repo_id: str
    revision: str | None
    path: Path
    origin: Origin
    blobs: Path | None = None


def default_hub_cache() -> Path:
    """The Hugging Face cache: `HF_HUB_CACHE`, or `hub` in `HF_HOME`, or the usual place."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def repository_of(folder: Path) -> str | None:
    """The repository of which a folder is a snapshot in a Hugging Face cache; None for any other folder."""
    kind, _, name = folder.parent.parent.name.partition("--")
    in_cache = folder.parent.name == "snapshots" and kind == "models"
    return name.replace("--", "/") if in_cache and name else None


def locate(roots: Roots) -> list[Place]:
    """All models there are, those of the hub first; one of a repository, in no case two.

    Of a repository it is the snapshot that `refs/main` names, else the newest one.
    """
    found: dict[Path, Place] = {}
    for place in chain(_in_cache(roots.hub_cache or default_hub_cache()), *map(_in_folders, roots.folders)):
        found.setdefault(place.path, place)
    return list(found.values())


def full_path(folder: Path) -> Path:
    """A folder that somebody has named; as it stands where it begins with the home of nobody."""
    try:
        return folder.expanduser().absolute()
    except RuntimeError:
        return folder.absolute()


def shown(text: str) -> str:
    """A text with what is no UTF-8 written out: names of files need not be."""
    return text.encode("utf-8", "backslashreplace").decode()


def _in_cache(cache: Path) -> Iterator[Place]:
    for repo in _folders(cache):
        kind, _, name = repo.name.partition("--")
        if kind == "models" and name:
            yield _in_repository(repo, name.replace("--", "/"))


def _in_repository(repo: Path, repo_id: str) -> Place:
    main = repo / "snapshots" / _main(repo)
    if main.parent == repo / "snapshots" and is_folder(main):
        snapshot = main
    else:
        snapshots = _folders(repo / "snapshots")
        snapshot = max(snapshots, key=_modified, default=None)
    if snapshot is None:
        return Place(repo_id, None, repo, "hub", repo / "blobs")
    return Place(repo_id, snapshot.name, snapshot, "hub", repo / "blobs")


def is_folder(path: Path) -> bool:
    """Whether there is such a folder, whatever somebody has called it."""
    try:
        return path.is_dir()
    except OSError:
        return False  # Nothing can have such a name.


def _modified(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0  # It has gone since it was listed.


def _main(repo: Path) -> str:
    try:
        return (repo / "refs" / "main").read_text("utf-8").strip() or "-"
    except (OSError, UnicodeDecodeError):
        return "-"


def _in_folders(folder: Path) -> Iterator[Place]:
    folder = full_path(folder)
    if _is_model(folder):
        yield Place(folder.name, None, folder, "folder")
    else:
        yield from _below(folder, "", _DEEPEST)


def _below(folder: Path, prefix: str, levels: int) -> Iterator[Place]:
    for child in _folders(folder):
        kind, _, name = child.name.partition("--")
        if kind == "models" and name:
            yield _in_repository(child, name.replace("--", "/"))
        elif child.name.startswith(".") or child.name in _CACHE_PARTS:
            continue
        elif _is_model(child):
            yield Place(prefix + child.name, None, child, "folder")
        elif levels > 1:
            yield from _below(child, f"{prefix}{child.name}/", levels - 1)


def _is_model(folder: Path) -> bool:
    """Whether files of a model are in a folder, be they all or not."""
    try:
        return (folder / "config.json").is_file() or any(folder.glob("model*.safetensors"))
    except OSError:
        return False  # It has gone since it was listed.


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir() and _is_text(path.name))
    except OSError:
        return []


def _is_text(name: str) -> bool:
    """Whether a name can be asked for and shown: it is UTF-8 and has no control characters."""
    return not any(category(letter) in ("Cc", "Cs") for letter in name)
