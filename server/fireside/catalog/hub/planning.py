"""What a download takes: which files of a repository, of which sizes, and how much of them is missing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fireside.catalog.hub.errors import NoRoom, NotUsable, endpoint, told
from fireside.catalog.hub.names import check_commit, check_digest, check_file_name

TIMEOUT_S = 10.0
"""For one answer of the hub that is not a file."""

_RESERVE = 256 * 1024 * 1024
"""Left free on the disk, in bytes: a full disk stops more than a download."""
_TEXTS = (".json", ".jinja", ".txt", ".model", ".tiktoken")
_PAPERS = re.compile(r"(readme|licen[cs]e|notice|usage_?policy)([._-].*)?", re.IGNORECASE)
_FOLDERS = re.compile(r"\d+_\w+|(additional_)?chat_templates")
_BYTES_PER_GB = 1e9


@dataclass(frozen=True)
class RepoFile:
    """A file of a repository.

    Attributes:
        name: its path in there.
        size: bytes.
        digest: SHA-256 of its content if `large`, otherwise git's SHA-1 of it as a blob.
        large: whether it is kept beside git.
    """

    name: str
    size: int
    digest: str
    large: bool


@dataclass(frozen=True)
class Plan:
    """The files of one commit that a model consists of, small ones first.

    Small ones first, so that a download that was cut off has the index that tells what is missing.
    """

    repo_id: str
    commit: str
    files: tuple[RepoFile, ...]

    @property
    def total(self) -> int:
        """Bytes, whether they are here or not."""
        return sum(file.size for file in self.files)

    @property
    def weights(self) -> int:
        """Bytes of weights."""
        return sum(file.size for file in self.files if file.name.endswith(".safetensors"))


def make_plan(repo_id: str, revision: str) -> Plan:
    """Ask the hub what a revision consists of. Blocks.

    Raises:
        FiresideError: the hub cannot be reached, refuses, or has nothing that can be loaded.
    """
    from huggingface_hub import HfApi

    be_quiet()
    try:
        info = HfApi(endpoint()).model_info(
            repo_id, revision=revision, files_metadata=True, timeout=TIMEOUT_S
        )
    except Exception as error:
        raise told(error, repo_id) from error
    files = [_file(sibling) for sibling in info.siblings or []]
    chosen = sorted(select(files), key=lambda file: (file.size, file.name))
    if not any(file.name.endswith(".safetensors") for file in chosen):
        raise NotUsable(
            f"{repo_id} has no safetensors files, and Fireside loads no others. Look for a version with "
            "safetensors, such as one of mlx-community."
        )
    return Plan(repo_id, check_commit(info.sha), tuple(chosen))


def be_quiet() -> None:
    """Keep the hub's library from asking the hub for anything that we did not ask for."""
    from huggingface_hub import constants

    constants.HF_HUB_DISABLE_TELEMETRY = True


def select(files: Iterable[RepoFile]) -> list[RepoFile]:
    """The files that a model is loaded from: no weights in other formats, and never code."""
    known = list(files)
    top = {file.name for file in known if "/" not in file.name and file.name.endswith(".safetensors")}
    # Some repositories have the same weights a second time, under the names of another program.
    weights = {name for name in top if name.startswith("model")} or top
    return [file for file in known if file.name in weights or _is_text(file.name)]


def check_room(needed: int, folder: Path, what: str) -> None:
    """Refuse what does not fit on the disk of `folder`.

    Args:
        needed: bytes.
        what: needs them, for people.

    Raises:
        NoRoom: with the numbers.
    """
    free = shutil.disk_usage(_existing(folder)).free
    if needed and needed + _RESERVE > free:
        raise NoRoom(
            f"{what} needs {_gigabytes(needed)}, and {folder} has {_gigabytes(free)} free, of which "
            f"{_gigabytes(_RESERVE)} are left alone. Make room (fireside models gc), or set HF_HUB_CACHE to "
            "a folder on another disk."
        )


def on_one_disk(first: Path, second: Path) -> bool:
    """Whether two folders, which need not exist yet, share their free room."""
    return _existing(first).stat().st_dev == _existing(second).stat().st_dev


def converted_size(plan: Plan, bits: int) -> int:
    """About how many bytes the converted model takes, from weights of 16 bits; groups have scales."""
    return round(plan.weights * (bits + (0.5 if bits < 16 else 0)) / 16)


def _file(sibling: Any) -> RepoFile:
    large = sibling.lfs is not None
    digest = sibling.lfs.sha256 if large else sibling.blob_id
    size = sibling.lfs.size if large else sibling.size
    if not isinstance(size, int) or size < 0:
        raise NotUsable(f"The hub reports no size for {sibling.rfilename!r:.120}.", code="unsafe_repository")
    return RepoFile(check_file_name(sibling.rfilename), size, check_digest(digest), large)


def _is_text(name: str) -> bool:
    *folders, last = name.split("/")
    if len(folders) > 1 or (folders and not _FOLDERS.fullmatch(folders[0])):
        return False
    return last.endswith(_TEXTS) or _PAPERS.fullmatch(last) is not None


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def _gigabytes(size: int) -> str:
    return f"{size / _BYTES_PER_GB:.2f} GB" if size >= _BYTES_PER_GB else f"{size / 1e6:.1f} MB"
