"""The thread that puts entries on the disk. It works on bytes and never touches MLX."""

import logging
import os
import queue
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from fireside.core.cache.prompt_cache import Tokens
from fireside.core.cache.ssd_folder import Folder
from fireside.core.cache.ssd_index import Index
from fireside.core.cache.ssd_layout import Checksum, FileName, Header, Summing, header_digest

log = logging.getLogger(__name__)

_AHEAD = 3
"""Pieces that wait for the disk at most; then the core makes no more of them."""


@dataclass(eq=False)
class Job:
    """One entry on its way to the disk.

    Attributes:
        used_at: seconds since 1970.
        failed: set by the writer when no more pieces are wanted.
    """

    header: Header
    tokens: Tokens
    used_at: float
    failed: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of a job. `nbytes` are those of the file, 0 where there is none."""

    job: Job
    nbytes: int
    error: str | None = None


class Writer:
    """Takes jobs piece by piece. A file gets its name when all of it is on the disk."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._inbox: queue.Queue[tuple[Job, int, memoryview | None]] = queue.Queue(_AHEAD)
        self._outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._file: tuple[Job, _Part] | None = None
        self.nbytes = 0
        """Written since the start, of unfinished files too."""
        threading.Thread(target=self._run, name="ssd-writer", daemon=True).start()

    @property
    def behind(self) -> bool:
        """Whether the disk is slower than the pieces come, so that the next one would have to wait."""
        return self._inbox.full()

    def piece(self, job: Job, tensor: int, data: NDArray[Any]) -> None:
        """The next numbers of a job, of its n-th tensor; the first tensor is the tokens."""
        self._inbox.put((job, tensor, data.data.cast("B")))

    def finish(self, job: Job) -> None:
        """All pieces were given."""
        self._inbox.put((job, -1, None))

    def outcomes(self) -> list[Outcome]:
        """The jobs that have come to an end since the last call."""
        found: list[Outcome] = []
        while True:
            try:
                found.append(self._outcomes.get_nowait())
            except queue.Empty:
                return found

    def _run(self) -> None:
        while True:
            job, tensor, data = self._inbox.get()
            try:
                self._handle(job, tensor, data)
            except OSError as error:
                job.failed = True
                self._drop()
                self._outcomes.put(Outcome(job, 0, error.strerror or str(error)))

    def _handle(self, job: Job, tensor: int, data: memoryview | None) -> None:
        if job.failed:
            return
        if self._file is None or self._file[0] is not job:
            self._drop()
            size = job.header.data_bytes + len(job.header.pack([Checksum()] * len(job.header.tensors)))
            self._index.folder.make_room(size, job.used_at, self._index.remove)
            self._file = job, _Part(self._index.folder, job.header)
        part = self._file[1]
        if data is not None:
            part.write(tensor, data)
            self.nbytes += len(data)
            return
        name, nbytes = part.finish(job.used_at)
        self._file = None
        header = job.header
        superfluous = self._index.covered(header.namespace, job.tokens, header.trimmable)
        self._index.add(name, header, job.tokens)
        for record in superfluous:
            if record.name != name:
                self._index.remove(record.name)
                self._index.folder.remove(record.name)
        self._outcomes.put(Outcome(job, nbytes))

    def _drop(self) -> None:
        if self._file is not None:
            self._file[1].abandon()
            self._file = None


class _Part:
    """A file that is not complete yet. The header, which has the checksums, is written last."""

    def __init__(self, folder: Folder, header: Header) -> None:
        self._folder = folder
        self._header = header
        self._sums = [Summing() for _ in header.tensors]
        self._path: Path
        self._stream: BinaryIO
        self._path, self._stream = folder.create()
        try:
            self._stream.seek(len(header.pack(self._checksums)))
        except OSError:
            self.abandon()
            raise

    @property
    def _checksums(self) -> list[Checksum]:
        return [each.result for each in self._sums]

    def write(self, tensor: int, data: memoryview) -> None:
        """Append bytes, which belong to the n-th tensor."""
        self._sums[tensor].add(data)
        while data:
            # A disk that is nearly full takes a part, and nothing of the rest.
            data = data[self._stream.write(data) :]

    def finish(self, used_at: float) -> tuple[str, int]:
        """Complete the file. Returns its name and size."""
        begin = self._header.pack(self._checksums)
        name = str(FileName(self._header.key, self._header.tokens, header_digest(begin)))
        os.pwrite(self._stream.fileno(), begin, 0)
        os.fsync(self._stream.fileno())
        os.utime(self._path, (used_at, used_at))
        self._path.replace(self._folder.path / name)
        self._stream.close()
        return name, len(begin) + self._header.data_bytes

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._stream.close()
        self._path.unlink(missing_ok=True)
