"""The folders of the Hugging Face cache, as its other users read and write them.

`models--owner--name/` has `blobs/` (contents by checksum), `snapshots/<commit>/` (links to blobs) and `refs/`
(files that name the commit of a branch). A lock of a blob is in `.locks/` beside the repositories.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fireside.catalog.hub.errors import DownloadConflict
from fireside.catalog.in_use import is_held

PARTIAL = ".incomplete"
LOCKS = ".locks"


def hub_cache() -> Path:
    """`HF_HUB_CACHE`, or `hub` in `HF_HOME`."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE)


@dataclass(frozen=True)
class RepoFolder:
    """One model's folder in the cache; it need not exist."""

    cache: Path
    name: str

    @classmethod
    def of(cls, cache: Path, repo_id: str) -> RepoFolder:
        return cls(cache, "--".join(("models", *repo_id.split("/"))))

    @property
    def repo_id(self) -> str:
        return "/".join(self.name.split("--")[1:])

    @property
    def path(self) -> Path:
        return self.cache / self.name

    @property
    def blobs(self) -> Path:
        return self.path / "blobs"

    @property
    def snapshots(self) -> Path:
        return self.path / "snapshots"

    @property
    def refs(self) -> Path:
        return self.path / "refs"

    def blob(self, digest: str) -> Path:
        return self.blobs / digest

    def partial(self, digest: str) -> Path:
        """Where a blob grows until it is whole."""
        return self.blobs / f"{digest}{PARTIAL}"

    def link(self, commit: str, name: str, digest: str) -> None:
        """Make a blob a file of a snapshot; a copy where there are no links."""
        place, blob = self.snapshots / commit / name, self.blob(digest)
        if place.exists():
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        try:
            place.symlink_to(os.path.relpath(blob, place.parent))
        except OSError:
            shutil.copyfile(blob, place)

    def ref(self, revision: str) -> str | None:
        """The commit that a branch or tag had when it was downloaded."""
        try:
            return (self.refs / revision).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return None

    def named(self) -> set[str]:
        """The commits that refs name."""
        names = [str(path.relative_to(self.refs)) for path in self.refs.rglob("*") if path.is_file()]
        return {commit for name in names if (commit := self.ref(name)) is not None}

    def write_ref(self, revision: str, commit: str) -> None:
        """Let a branch or tag name a commit, at once or not at all."""
        place = self.refs / revision
        place.parent.mkdir(parents=True, exist_ok=True)
        staging = self.path / f".ref-{uuid.uuid4().hex}"
        staging.write_text(commit, "utf-8")
        staging.replace(place)

    def lock_file(self, digest: str) -> Path:
        return self.cache / LOCKS / self.name / f"{digest}.lock"

    @contextmanager
    def locked(self, digest: str) -> Generator[None]:
        """Hold a blob's lock. The system drops that of a process that dies.

        Raises:
            DownloadConflict: somebody else has it.
        """
        place = self.lock_file(digest)
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DownloadConflict(
                    f"Another program is just downloading a file of {self.repo_id}. Wait for it, then resume."
                ) from None
            yield

    def is_locked(self, digest: str) -> bool:
        """Whether somebody writes that blob."""
        try:
            with self.lock_file(digest).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    @property
    def is_written(self) -> bool:
        """Whether somebody is just downloading it."""
        return is_held(self.path) or any(
            self.is_locked(lock.stem) for lock in (self.cache / LOCKS / self.name).glob("*.lock")
        )

    def discard(self, commit: str | None) -> None:
        """Remove what an unfinished download left.

        That is partial blobs, and the snapshot of `commit`, if one is given, with the blobs that only it has.
        """
        if commit is not None:
            shutil.rmtree(self.snapshots / commit, ignore_errors=True)
            for ref in [path for path in self.refs.rglob("*") if path.is_file()]:
                if self.ref(str(ref.relative_to(self.refs))) == commit:
                    ref.unlink()
        used = self.used_blobs()
        for blob in self.blobs.iterdir() if self.blobs.is_dir() else ():
            unfinished = blob.name.endswith(PARTIAL)
            dead = unfinished or (commit is not None and blob.name not in used)
            if dead and not self.is_locked(blob.name.partition(".")[0]):
                blob.unlink(missing_ok=True)
        if not any(self.snapshots.glob("*")) and not any(self.blobs.glob("*")):
            shutil.rmtree(self.path, ignore_errors=True)
            shutil.rmtree(self.cache / LOCKS / self.name, ignore_errors=True)

    def used_blobs(self, besides: Collection[str] = ()) -> set[str]:
        """The names of the blobs that snapshots link to, all but those of the commits `besides`."""
        folders = self.snapshots.iterdir() if self.snapshots.is_dir() else ()
        links = [
            path.readlink()
            for folder in folders
            if folder.name not in besides
            for path in folder.rglob("*")
            if path.is_symlink()
        ]
        return {link.name for link in links if link.parent.name == "blobs"}
