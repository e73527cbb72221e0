"""The thread that puts entries on the disk. It works on bytes and never touches MLX."""

import logging
import os
import queue
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from fireside.core.cache.prompt_cache import Tokens
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
        unwanted: set by the core: nothing of it is to stay on the disk.
    """

    header: Header
    tokens: Tokens
    used_at: float
    failed: bool = False
    unwanted: bool = False


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
                self._give_up(job, error.strerror or str(error))
            except Exception as error:
                # Whatever it is: without this thread all that waits would wait for ever.
                log.exception("the SSD cache cannot write an entry")
                self._give_up(job, f"{type(error).__name__}: {error}")

    def _handle(self, job: Job, tensor: int, data: memoryview | None) -> None:
        if job.failed:
            return
        if job.unwanted:
            self._give_up(job, "nobody wants it any more")
            return
        if self._file is None or self._file[0] is not job:
            self._drop()
            self._file = job, _Part(self._index, job)
        part = self._file[1]
        if data is not None:
            part.write(tensor, data)
            self.nbytes += len(data)
            return
        name = part.finish()
        self._file = None
        header = job.header
        superfluous = self._index.covered(header.namespace, job.tokens, header.trimmable)
        self._index.add(name, header, job.tokens)
        for record in superfluous:
            if record.name != name:
                self._index.delete(record.name)
        self._outcomes.put(Outcome(job, part.size))

    def _give_up(self, job: Job, why: str) -> None:
        job.failed = True
        self._drop()
        self._outcomes.put(Outcome(job, 0, why))

    def _drop(self) -> None:
        if self._file is not None:
            self._file[1].abandon()
            self._file = None


class _Part:
    """A file that is not complete yet. The header, which has the checksums, is written last."""

    def __init__(self, index: Index, job: Job) -> None:
        self._folder = index.folder
        self._header = job.header
        self._used_at = job.used_at
        self._sums = [Summing() for _ in job.header.tensors]
        begin = len(job.header.pack(self._checksums))
        self.size = begin + job.header.data_bytes
        self._path: Path
        self._stream: BinaryIO
        with self._folder.alone():
            self._folder.make_room(self.size, job.used_at, index.remove)
            self._path, self._stream = self._folder.create(self.size)
        try:
            self._stream.seek(begin)
        except OSError:
            self.abandon()
            raise

    @property
    def _checksums(self) -> list[Checksum]:
        return [each.result for each in self._sums]

    def write(self, tensor: int, data: memoryview) -> None:
        """Append bytes, which belong to the n-th tensor."""
        self._sums[tensor].add(data)
        self._write(data)

    def finish(self) -> str:
        """Complete the file. Returns its name."""
        begin = self._header.pack(self._checksums)
        name = str(FileName(self._header.key, self._header.tokens, header_digest(begin)))
        self._stream.seek(0)
        self._write(memoryview(begin))
        os.fsync(self._stream.fileno())
        os.utime(self._path, (self._used_at, self._used_at))
        self._path.replace(self._folder.path / name)
        self._stream.close()
        return name

    def abandon(self) -> None:
        """Leave nothing behind, if the disk lets that be done."""
        with suppress(OSError):
            self._stream.close()
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _write(self, data: memoryview) -> None:
        while data:
            # A disk that is nearly full takes a part, and nothing of the rest.
            data = data[self._stream.write(data) :]
