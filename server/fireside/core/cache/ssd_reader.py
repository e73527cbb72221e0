"""A prefix on its way back from the disk."""

import itertools
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np
from mlx_lm.models.cache import trim_prompt_cache
from numpy.typing import NDArray

from fireside.core.cache.prompt_cache import LayerCaches, cut
from fireside.core.cache.ssd_index import Index, Record
from fireside.core.cache.ssd_layout import (
    DamagedError,
    FileName,
    Header,
    Layer,
    Tensor,
    read_header,
    read_tensor,
)
from fireside.core.cache.ssd_state import build, restored, shortened

log = logging.getLogger(__name__)

_READERS = min(4, max(1, (os.cpu_count() or 1) // 2))
"""Threads of a restore: one checks and copies 2 to 5 GB/s, which is less than fast disks give."""

_AHEAD = 6
"""Tensors that are read, or wait for the core, at most."""

SLICE_S = 0.01
"""What a step may spend on taking tensors over, of all rows, while others are waiting for it."""


@dataclass(frozen=True)
class _Part:
    """A tensor of a file: where it begins, and what its checksum must be."""

    tensor: Tensor
    begin: int
    checksum: str


class Restore:
    """Reads a file on threads of its own; the core takes over what has been read, between its steps.

    Each tensor is checked before it is taken over, and copied: nothing of the file is held when this is done.
    So the next tensors are read while one is copied to the device, and other rows go on meanwhile. Of plain
    keys and values the device gets what is wanted of them, and no more.

    Args:
        length: tokens that are wanted of it.
        verify: look at the BLAKE2b digests too.
        fresh: makes the model's caches, with nothing in them.

    Attributes:
        caches: with exactly `length` tokens; None until `done`.
        failure: why nothing comes, where that is so.
        nbytes: that were taken over.
        took_s: seconds from the first to the last of it.
        alone: whether the core had nothing else to do meanwhile.
    """

    def __init__(
        self, index: Index, record: Record, length: int, verify: bool, fresh: Callable[[], LayerCaches]
    ) -> None:
        self.record = record
        self.length = length
        self.caches: LayerCaches | None = None
        self.failure: str | None = None
        self.nbytes = 0
        self.took_s = 0.0
        self.alone = True
        self._began = time.monotonic()
        self._index = index
        self._path = index.folder.path / record.name
        self._verify = verify
        self._fresh = fresh
        self._layers: list[Layer] = []
        self._rows: int | None = None
        self._arrays: list[mx.array] = []
        self._pool = ThreadPoolExecutor(_READERS, "ssd-reader")
        self._opened: Future[tuple[Header, list[_Part]]] | None = self._pool.submit(self._open)
        self._parts: Iterator[_Part] = iter(())
        self._reads: deque[tuple[Tensor, Future[NDArray[np.uint8]]]] = deque()

    @property
    def done(self) -> bool:
        return self.caches is not None or self.failure is not None

    def cancel(self) -> None:
        """Nobody wants it any more."""
        self._end(self.failure or "cancelled")

    def advance(self, until: float, *, patient: bool) -> None:
        """Take over what has been read, until a time on the clock of `time.monotonic`.

        Args:
            patient: nothing else is to be done: wait for more for a moment.
        """
        self.alone = self.alone and patient
        while not self.done and time.monotonic() < until:
            first: Future[Any] = self._opened or self._reads[0][1]
            if patient:
                wait([first], SLICE_S)
            if not first.done():
                return
            error = first.exception()
            if error is not None:
                self._fail(error)
            elif self._opened is not None:
                self._begin(*self._opened.result())
            else:
                tensor, read = self._reads.popleft()
                self._take(tensor, read.result())
            if not (self.done or self._opened or self._reads):
                self._put_together()

    def _open(self) -> tuple[Header, list[_Part]]:
        name = FileName.read(self.record.name)
        assert name is not None
        with self._path.open("rb", buffering=0) as stream:
            header, sums = read_header(stream, name, os.fstat(stream.fileno()).st_size)
            begin = stream.tell()
            tokens = read_tensor(stream, header.tensors[0], sums[0], self._verify)
        if tokens.tobytes() != self.record.tokens.tobytes():
            raise DamagedError("its tokens have changed")
        begins = itertools.accumulate((tensor.nbytes for tensor in header.tensors), initial=begin)
        return header, [_Part(*each) for each in zip(header.tensors, begins, sums, strict=False)][1:]

    def _read(self, part: _Part) -> NDArray[np.uint8]:
        with self._path.open("rb", buffering=0) as stream:
            stream.seek(part.begin)
            return read_tensor(stream, part.tensor, part.checksum, self._verify)

    def _begin(self, header: Header, parts: list[_Part]) -> None:
        self._opened = None
        short = shortened(header.layers, self.length)
        self._rows = None if short is None else self.length
        self._layers = header.layers if short is None else short
        self._parts = iter(parts)
        self._read_on(_AHEAD)

    def _take(self, tensor: Tensor, data: NDArray[np.uint8]) -> None:
        self._read_on(1)
        array = restored(data, tensor, self._rows)
        mx.eval(array)
        self._arrays.append(array)
        self.nbytes += array.nbytes

    def _read_on(self, count: int) -> None:
        for part in itertools.islice(self._parts, count):
            self._reads.append((part.tensor, self._pool.submit(self._read, part)))

    def _put_together(self) -> None:
        try:
            caches = build(self._layers, self._arrays, self._fresh())
            surplus = len(self.record.tokens) - self.length if self._rows is None else 0
            trim_prompt_cache(caches, surplus)
            self.caches = [cut(cache) for cache in caches]
        except (ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
            self._fail(DamagedError(f"it does not fit the model: {error}"))
            return
        self._index.folder.touch(self.record.name, time.time())
        self.took_s = time.monotonic() - self._began
        self._end(None)

    def _fail(self, error: BaseException) -> None:
        name = self.record.name
        if isinstance(error, DamagedError):
            self._index.put_aside(name, str(error))
            self._end(str(error))
            return
        # Another core may have removed it; a disk that cannot read it will not do so later.
        self._index.remove(name)
        if not isinstance(error, OSError):
            # Too little memory, for one: without an answer the row would wait for ever.
            log.error("the SSD cache cannot read an entry", exc_info=error)
        self._end(f"{type(error).__name__}: {error}")

    def _end(self, failure: str | None) -> None:
        self.failure = failure
        self._arrays = []
        self._reads.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)
