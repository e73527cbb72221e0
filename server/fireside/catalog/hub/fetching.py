"""Downloads one model into the Hugging Face cache: `python -m fireside.catalog.hub.fetching REPO REVISION`.

A process of its own: it can be ended at any moment, and leaves what has arrived for the next one. The
library's own download gives each attempt a file of its own and so begins anew after a death; here a partial
blob keeps its name and grows. Transfers, redirects, tokens and retries are the library's.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from fireside.catalog.hub.cache_layout import RepoFolder, hub_cache
from fireside.catalog.hub.errors import HubUnreachable, told
from fireside.catalog.hub.names import check_repo_id, check_revision, is_commit
from fireside.catalog.hub.planning import Plan, RepoFile, check_room, make_plan
from fireside.catalog.hub.progress import Event, Part, Phase
from fireside.catalog.in_use import used
from fireside.http.errors import FiresideError

_EVERY_S = 0.2
"""How often progress is told."""
_ATTEMPTS = 3
"""That bring nothing, one after another, before a file is given up. Each tries several times itself."""
_CHUNK = 256 * 1024
_SHOWN_WHILE_VERIFIED = 64 * 1024 * 1024

Report = Callable[[Event], None]


class WrongContent(FiresideError):
    """What arrived is not what the hub promised."""

    status = 502
    code = "wrong_content"


def fetch(repo_id: str, revision: str, cache: Path, report: Report, unfinished: str | None = None) -> Path:
    """Download what is missing of a model; returns the folder of its snapshot.

    The snapshot becomes that of `revision` when it is whole, or at once if there is none yet, so that it is
    seen that the model is there but incomplete.

    Args:
        unfinished: the commit that an earlier attempt began with, to be given up if the hub has another now.

    Raises:
        FiresideError: it cannot be downloaded; what has arrived stays, unless it is wrong.
    """
    try:
        return _fetch(repo_id, revision, cache, report, unfinished)
    except FiresideError:
        raise
    except Exception as error:
        raise told(error, repo_id) from error


def _fetch(repo_id: str, revision: str, cache: Path, report: Report, unfinished: str | None) -> Path:
    report(Event("progress", phase="asking"))
    plan = make_plan(repo_id, revision)
    folder = RepoFolder.of(cache, repo_id)
    if unfinished is not None and unfinished != plan.commit:
        folder.discard(unfinished)
    fresh = not (folder.snapshots / plan.commit).exists()
    check_room(missing_bytes(plan, folder), cache, repo_id)
    fetching = _Fetching(plan, folder, report)
    parts = [Part(file.name, file.size, _arrived(file, folder)) for file in plan.files]
    report(
        Event("plan", files=len(plan.files), total=plan.total, commit=plan.commit, parts=parts, fresh=fresh)
    )
    folder.blobs.mkdir(parents=True, exist_ok=True)
    named = not is_commit(revision)
    # Until the last file is here no ref names the snapshot, and a clean-up would take it for an old one.
    with used(folder.path):
        if named and folder.ref(revision) is None:
            folder.write_ref(revision, plan.commit)
        for file in plan.files:
            fetching.file(file)
        if named:
            folder.write_ref(revision, plan.commit)
    return folder.snapshots / plan.commit


def missing_bytes(plan: Plan, folder: RepoFolder) -> int:
    """How much is still to be downloaded."""
    return sum(file.size - _arrived(file, folder) for file in plan.files)


def _arrived(file: RepoFile, folder: RepoFolder) -> int:
    """Bytes of a file that are here."""
    return file.size if _is_here(file, folder) else min(_size(folder.partial(file.digest)), file.size)


class _Fetching:
    """One run over the files of a plan."""

    def __init__(self, plan: Plan, folder: RepoFolder, report: Report) -> None:
        self._plan = plan
        self._folder = folder
        self._report = report
        self._done = 0
        self._before = 0
        self._told_at = 0.0

    def file(self, file: RepoFile) -> None:
        """Get one file, unless it is here, and make it a part of the snapshot."""
        if not _is_here(file, self._folder):
            with self._folder.locked(file.digest):
                if not _is_here(file, self._folder):
                    self._get(file)
        self._folder.link(self._plan.commit, file.name, file.digest)
        self._done += 1
        self._before += file.size
        self.tell(file, 0, now=True)

    def tell(self, file: RepoFile, position: int, phase: Phase = "downloading", *, now: bool = False) -> None:
        """Report that `position` bytes of a file are here."""
        if not now and time.monotonic() - self._told_at < _EVERY_S:
            return
        self._told_at = time.monotonic()
        self._report(
            Event(
                "progress",
                phase=phase,
                file=file.name,
                files_done=self._done,
                files=len(self._plan.files),
                bytes=self._before + position,
                total=self._plan.total,
                commit=self._plan.commit,
            )
        )

    def _get(self, file: RepoFile) -> None:
        partial = self._folder.partial(file.digest)
        in_vain = 0
        if _size(partial) > file.size:
            partial.unlink()
        while not partial.exists() or _size(partial) < file.size:
            before = _size(partial)
            try:
                self._transfer(file, partial)
            except Exception as error:
                in_vain = 0 if _size(partial) > before else in_vain + 1
                if in_vain >= _ATTEMPTS or not _worth_repeating(error):
                    raise _as_cut_off(error, file, self._plan.repo_id) from error
                # A body that was longer than promised, or one that was sent anew and was too short.
                if _size(partial) > file.size:
                    partial.unlink()
        if file.size > _SHOWN_WHILE_VERIFIED:
            self.tell(file, file.size, "verifying", now=True)
        _verify(file, partial)
        partial.replace(self._folder.blob(file.digest))

    def _transfer(self, file: RepoFile, partial: Path) -> None:
        from huggingface_hub import constants, hf_hub_url
        from huggingface_hub.file_download import http_get  # pyright: ignore[reportUnknownVariableType]
        from huggingface_hub.utils import build_hf_headers  # pyright: ignore[reportUnknownVariableType]

        # What is lost when a connection ends, and how finely progress is seen: 10 MB by default.
        constants.DOWNLOAD_CHUNK_SIZE = _CHUNK
        url = hf_hub_url(self._plan.repo_id, file.name, revision=self._plan.commit)
        # Compressed, a body has another length, and its parts cannot be asked for.
        headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
        self.tell(file, _size(partial), now=True)
        with partial.open("ab") as blob:
            http_get(
                url,
                blob,
                resume_size=_size(partial),
                headers=headers,
                expected_size=file.size,
                displayed_filename=file.name,
                tqdm_class=_meter(lambda position: self.tell(file, position)),
            )


def _meter(moved: Callable[[int], None]) -> Any:
    """A progress bar, as far as the library uses one, that tells its position instead of drawing it."""

    class Meter:
        def __init__(self, *, initial: int = 0, **_: Any) -> None:
            self._position = initial

        def __enter__(self) -> Meter:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def close(self) -> None:
            """Nothing is open."""

        def update(self, count: float | None = 1) -> None:
            """So many bytes more."""
            self._position += int(count or 0)
            moved(self._position)

    return Meter


def _worth_repeating(error: Exception) -> bool:
    """Whether the connection was to blame: it was cut, or brought another number of bytes than promised."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, HfHubHTTPError):
        return error.response.status_code in (416, 500, 502, 503, 504)
    return isinstance(error, httpx2.TransportError) or (type(error) is OSError and error.errno is None)


def _as_cut_off(error: Exception, file: RepoFile, repo_id: str) -> FiresideError:
    if type(error) is OSError and error.errno is None:
        return HubUnreachable(
            f"The hub sends {file.name} with another length than the {file.size} bytes that it promises. "
            "Resume later; what has arrived is kept."
        )
    return told(error, repo_id)


def _verify(file: RepoFile, partial: Path) -> None:
    with partial.open("rb") as blob:
        if file.large:
            digest = hashlib.file_digest(blob, "sha256").hexdigest()
        else:
            digest = hashlib.sha1(b"blob %d\0" % file.size + blob.read()).hexdigest()
        os.fsync(blob.fileno())
    if digest != file.digest:
        partial.unlink()
        raise WrongContent(
            f"{file.name} arrived with the checksum {digest} and not with {file.digest}, which the hub "
            "promises. It was removed. Try again; if it happens again, something on the way changes the file."
        )


def _is_here(file: RepoFile, folder: RepoFolder) -> bool:
    return folder.blob(file.digest).exists() and _size(folder.blob(file.digest)) == file.size


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def end_with_parent() -> None:
    """End this process when its parent does: the parent holds the other end of standard input."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main(repo_id: str, revision: str, unfinished: str = "") -> int:
    """Download, with events on standard output."""
    encoder = msgspec.json.Encoder()

    def report(event: Event) -> None:
        sys.stdout.buffer.write(encoder.encode(event) + b"\n")
        sys.stdout.buffer.flush()

    end_with_parent()
    try:
        names = check_repo_id(repo_id), check_revision(revision)
        folder = fetch(*names, hub_cache(), report, unfinished or None)
    except Exception as error:
        known = told(error, repo_id)
        report(Event("failed", code=known.error_code, message=str(known)))
        return 1
    report(Event("done", path=str(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
