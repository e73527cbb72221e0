"""A prefix on its way back from the disk."""

import logging
import queue
import threading
import time
from collections.abc import Callable

import mlx.core as mx
from mlx_lm.models.cache import trim_prompt_cache

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

_AHEAD = 4
"""Tensors that wait for the core at most."""

SLICE_S = 0.01
"""What a step may spend on taking tensors over, of all rows, while others are waiting for it."""

_Read = tuple[Tensor, bytearray] | Header | str | None


class Restore:
    """Reads a file on a thread of its own; the core takes over what has been read, between its steps.

    Each tensor is checked before it is taken over, and copied: nothing of the file is held when this is done.
    So the next tensor is read while one is copied to the device, and other rows go on meanwhile. Of plain
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
        self._verify = verify
        self._fresh = fresh
        self._layers: list[Layer] = []
        self._rows: int | None = None
        self._arrays: list[mx.array] = []
        self._read: queue.Queue[_Read] = queue.Queue(_AHEAD)
        self._cancelled = threading.Event()
        threading.Thread(target=self._run, name="ssd-reader", daemon=True).start()

    @property
    def done(self) -> bool:
        return self.caches is not None or self.failure is not None

    def cancel(self) -> None:
        """Nobody wants it any more."""
        self._cancelled.set()
        self.failure = self.failure or "cancelled"
        self._arrays = []

    def advance(self, until: float, *, patient: bool) -> None:
        """Take over what has been read, until a time on the clock of `time.monotonic`.

        Args:
            patient: nothing else is to be done: wait for more for a moment.
        """
        self.alone = self.alone and patient
        while not self.done and time.monotonic() < until:
            try:
                found = self._read.get(timeout=SLICE_S) if patient else self._read.get_nowait()
            except queue.Empty:
                return
            self._take(found)

    def _take(self, found: _Read) -> None:
        if isinstance(found, str):
            self.failure = found
            self._arrays = []
        elif isinstance(found, Header):
            short = shortened(found.layers, self.length)
            self._rows = None if short is None else self.length
            self._layers = found.layers if short is None else short
        elif found is not None:
            array = restored(found[1], found[0], self._rows)
            mx.eval(array)
            self._arrays.append(array)
            self.nbytes += array.nbytes
        else:
            try:
                caches = build(self._layers, self._arrays, self._fresh())
                surplus = len(self.record.tokens) - self.length if self._rows is None else 0
                trim_prompt_cache(caches, surplus)
                self.caches = [cut(cache) for cache in caches]
                self.took_s = time.monotonic() - self._began
            except (ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
                self.failure = f"it does not fit the model: {error}"
                self._index.put_aside(self.record.name, self.failure)
            self._arrays = []

    def _run(self) -> None:
        try:
            self._stream()
        except DamagedError as error:
            self._index.put_aside(self.record.name, str(error))
            self._put(str(error))
        except OSError as error:
            # Another core may have removed it; a disk that cannot read it will not do so later.
            self._index.remove(self.record.name)
            self._put(f"{type(error).__name__}: {error}")
        except Exception as error:
            # Whatever it is, too little memory for one: without an answer the row would wait for ever.
            log.exception("the SSD cache cannot read an entry")
            self._index.remove(self.record.name)
            self._put(f"{type(error).__name__}: {error}")

    def _stream(self) -> None:
        name = FileName.read(self.record.name)
        assert name is not None
        path = self._index.folder.path / self.record.name
        with path.open("rb", buffering=0) as stream:
            header, sums = read_header(stream, name, path.stat().st_size)
            self._put(header)
            for number, (tensor, expected) in enumerate(zip(header.tensors, sums, strict=True)):
                data = read_tensor(stream, tensor, expected, self._verify)
                if number == 0:
                    if data != self.record.tokens.tobytes():
                        raise DamagedError("its tokens have changed")
                elif not self._put((tensor, data)):
                    return
        self._index.folder.touch(self.record.name, time.time())
        self._put(None)

    def _put(self, item: _Read) -> bool:
        """Hand something over; False where nobody wants it any more."""
        while not self._cancelled.is_set():
            try:
                self._read.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False
