"""What may be removed to make room: planned, shown, and then done exactly as it was shown.

Of a repository in the Hugging Face cache everything stays that a ref names; one without a usable ref is left
alone, but for partial files. Nothing is touched that is in use, in this process or another, that a download
still needs, or that somebody writes. Everything here blocks.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from fireside.catalog.hub import converted
from fireside.catalog.hub.cache_layout import PARTIAL, RepoFolder
from fireside.catalog.hub.errors import DownloadConflict
from fireside.catalog.hub.names import is_commit
from fireside.catalog.in_use import is_held

T = TypeVar("T")

_LOOKS = 5

Orphans = Callable[[Collection[Path]], list[tuple[Path, int]]]
"""Files of the prompt caches on disk whose models are gone or in these folders, with their bytes."""


class Leftover(msgspec.Struct, frozen=True):
    """A file or folder that nobody needs."""

    path: str
    bytes: int


class Superseded(msgspec.Struct, frozen=True):
    """What may go of one repository.

    Attributes:
        prune_snapshots: commits that no ref names.
        skipped_snapshots: such commits too, that have a file which no kept one has; they stay.
        dead_blobs: names of contents that no kept snapshot has.
        reclaim_bytes: of those contents.
    """

    repo_id: str
    prune_snapshots: list[str]
    skipped_snapshots: list[str]
    dead_blobs: list[str]
    reclaim_bytes: int


class GcPlan(msgspec.Struct, frozen=True):
    """What would be removed.

    Attributes:
        partials: of downloads that do not go on.
        converted: folders of conversions that have not ended and do not go on.
        ssd_cache: files of models that are gone.
        token: names this very plan.
    """

    superseded: list[Superseded]
    partials: list[Leftover]
    converted: list[Leftover]
    ssd_cache: list[Leftover]
    reclaim_bytes: int
    token: str = ""
    ok: bool = True


class Removed(msgspec.Struct, frozen=True):
    """What was removed, in numbers; `failed` has what could not be, in words."""

    snapshots: int
    blobs: int
    partials: int
    converted: int
    ssd_cache: int
    reclaimed_bytes: int
    failed: list[str] = []


@dataclass(frozen=True)
class Surroundings:
    """What a plan depends on besides the disk.

    Attributes:
        cache: the Hugging Face cache.
        models: where converted models are made.
        in_use: folders of models that a core has loaded.
        live: the repositories of downloads that go on or wait to; nothing of them is touched.
        building: folders of conversions that go on or wait to.
        orphans: finds the files of the caches on disk that no model needs any more.
    """

    cache: Path
    models: Path
    in_use: frozenset[Path] = frozenset()
    live: frozenset[str] = frozenset()
    building: frozenset[Path] = frozenset()
    orphans: Orphans = lambda _going: []


def plan(around: Surroundings, *, force: bool = False) -> GcPlan:
    """What would be removed now.

    Args:
        force: also snapshots that have a file which no kept one has.
    """
    superseded: list[Superseded] = []
    partials: list[Leftover] = []
    going: list[Path] = []
    for folder in _repositories(around.cache):
        if folder.repo_id in around.live or is_held(folder.path):
            continue
        partials += _seen(partial(_partials, folder), [])
        found = _seen(partial(_superseded, folder, around.in_use, force), None)
        if found is not None:
            superseded.append(found)
            going += [folder.snapshots / commit for commit in found.prune_snapshots]
    building = _seen(partial(_building, around), [])
    ssd = [Leftover(str(path), size) for path, size in sorted(_seen(lambda: around.orphans(going), []))]
    leftovers = (*partials, *building, *ssd)
    total = sum(each.reclaim_bytes for each in superseded) + sum(each.bytes for each in leftovers)
    made = GcPlan(superseded, partials, building, ssd, total)
    return msgspec.structs.replace(made, token=hashlib.sha256(msgspec.json.encode(made)).hexdigest()[:32])


def execute(around: Surroundings, token: str, *, force: bool = False) -> Removed:
    """Remove what the plan of that token shows.

    Raises:
        DownloadConflict: another plan would be made by now; nothing was removed.
    """
    made = plan(around, force=force)
    if made.token != token:
        raise DownloadConflict(
            "What can be removed has changed since this plan was shown, and nothing was removed. Look again.",
            code="plan_changed",
        )
    failed: list[str] = []
    snapshots = blobs = 0
    for each in made.superseded:
        folder = RepoFolder.of(around.cache, each.repo_id)
        snapshots += _remove((folder.snapshots / commit for commit in each.prune_snapshots), failed)
        blobs += _remove((folder.blob(name) for name in each.dead_blobs), failed)
    partials, building, ssd = (
        _remove((Path(each.path) for each in group), failed)
        for group in (made.partials, made.converted, made.ssd_cache)
    )
    left = plan(around, force=force).reclaim_bytes if failed else 0
    return Removed(snapshots, blobs, partials, building, ssd, made.reclaim_bytes - left, failed)


def _seen(look: Callable[[], T], nothing: T) -> T:
    """What a look finds; it looks again where something vanished meanwhile.

    Nothing is planned for what never holds still.
    """
    for _ in range(_LOOKS):
        with contextlib.suppress(FileNotFoundError):
            return look()
    return nothing


def _building(around: Surroundings) -> list[Leftover]:
    return [
        Leftover(str(path), converted.size(path))
        for path in converted.unfinished(around.models)
        if path not in around.building and not is_held(path)
    ]


def _repositories(cache: Path) -> list[RepoFolder]:
    folders = cache.glob("models--*") if cache.is_dir() else ()
    return [
        RepoFolder(cache, path.name) for path in sorted(folders) if path.is_dir() and not path.is_symlink()
    ]


def _partials(folder: RepoFolder) -> list[Leftover]:
    found = sorted(folder.blobs.glob(f"*{PARTIAL}"))
    return [
        Leftover(str(path), path.lstat().st_size)
        for path in found
        if not folder.is_locked(path.name.partition(".")[0])
    ]


def _superseded(folder: RepoFolder, in_use: Collection[Path], force: bool) -> Superseded | None:
    """What may go of a repository; None for nothing."""
    there = {path.name: path for path in folder.snapshots.glob("*") if path.is_dir() and is_commit(path.name)}
    kept = there.keys() & folder.named()
    if not kept:
        return None
    used = {_resolved(path) for path in in_use}
    kept |= {commit for commit, path in there.items() if _resolved(path) in used or is_held(path)}
    names = set[str]().union(*(_names(there[commit]) for commit in kept))
    others = sorted(there.keys() - kept)
    skipped = [commit for commit in others if not force and not _names(there[commit]) <= names]
    pruned = [commit for commit in others if commit not in skipped]
    needed = folder.used_blobs(besides=pruned)
    dead = [
        path
        for path in sorted(folder.blobs.glob("*"))
        if path.name not in needed and PARTIAL not in path.name and not folder.is_locked(path.name)
    ]
    if not (pruned or skipped or dead):
        return None
    # A blob may itself be a link, into a store that several repositories share: only the link is ours.
    size = sum(path.lstat().st_size for path in dead if not path.is_symlink())
    return Superseded(folder.repo_id, pruned, skipped, [path.name for path in dead], size)


def _names(snapshot: Path) -> set[str]:
    return {str(path.relative_to(snapshot)) for path in snapshot.rglob("*") if not path.is_dir()}


def _resolved(path: Path) -> Path:
    return path.resolve()


def _remove(paths: Iterable[Path], failed: list[str]) -> int:
    """Remove files and folders; returns how many, and adds those that stay to `failed`."""
    done = 0
    for path in paths:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            done += 1
        except OSError as error:
            failed.append(f"{path}: {error.strerror or error}")
    return done
