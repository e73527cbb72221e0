"""Where converted models are, and where they grow."""

from __future__ import annotations

import shutil
from pathlib import Path

from fireside.catalog.hub.errors import DownloadConflict
from fireside.catalog.in_use import is_held

_SUFFIX = ".partial"
FULL_BITS = 16


def target(models: Path, repo_id: str, bits: int) -> Path:
    """The folder of a converted model: `owner--name-4bit`, or `…-bf16`."""
    kind = f"{bits}bit" if bits < FULL_BITS else "bf16"
    return models / f"{repo_id.replace('/', '--')}-{kind}"


def staging(folder: Path) -> Path:
    """Where it is built. Its name begins with a dot and it has no `config.json`, so it is nowhere a model."""
    return folder.with_name(f".{folder.name}{_SUFFIX}")


def unfinished(models: Path) -> list[Path]:
    """The folders of conversions that have not ended, whether they go on or not."""
    return sorted(path for path in models.glob(f".*{_SUFFIX}") if path.is_dir())


def size(folder: Path) -> int:
    """Bytes in all files of a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def prepare(folder: Path) -> Path:
    """An empty place to build `folder` in.

    Raises:
        DownloadConflict: another process is building it.
    """
    place = staging(folder)
    if is_held(place):
        raise DownloadConflict(f"{folder.name} is just being made by another program. Wait for its end.")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    return place
