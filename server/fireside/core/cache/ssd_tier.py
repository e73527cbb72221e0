"""The SSD tier: prompt cache entries that outlive the memory, and the process."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from fireside.core.cache.pace import Pace
from fireside.core.cache.prompt_cache import Entry, LayerCaches, Tokens, trimmable
from fireside.core.cache.ssd_index import SHORTEST, Index, Record
from fireside.core.cache.ssd_layout import FORMAT, Header, Tensor
from fireside.core.cache.ssd_queue import WriteQueue
from fireside.core.cache.ssd_reader import Restore
from fireside.core.cache.ssd_state import UnknownStateError, described, flatten, pieces
from fireside.core.cache.ssd_writer import Job, Writer
from fireside.wire import SsdSettings, SsdState

log = logging.getLogger(__name__)

DEBOUNCE_S = 1.0
"""An entry is written when nothing has taken its place for so long."""

_WORTH = 32
"""Tokens that a file must have more than the memory has."""

_AFTER_ERROR_S = 30.0
_POLL_S = 0.002


@dataclass(frozen=True)
class Identity:
    """What the tier is of: the model's key, see `ssd_key`, and where the model is."""

    key: str
    model: str


@dataclass(eq=False)
class _Making:
    """An entry of which pieces are being made."""

    entry: Entry
    job: Job
    parts: Iterator[tuple[int, NDArray[Any]]]


@dataclass
class _Counts:
    restores: int = 0
    restore_ms: float = 0.0
    spills: int = 0
    spilled_bytes: int = 0
    demotions: int = 0
    dropped: int = 0
    told: set[str] = field(default_factory=set[str])


class SsdTier:
    """Below a `PromptCache`, of which it learns what is worth writing. All of it is best effort.

    Entries are written while nobody waits, one piece of one tensor at a time: `advance` makes a piece, on the
    core's thread, and a thread of its own puts it on the disk. What waits holds no memory of its own as long
    as the prompt cache has it; the rest counts as `held_bytes`.

    Args:
        fresh: makes the model's caches, with nothing in them.
    """

    def __init__(
        self, index: Index, identity: Identity, settings: SsdSettings, fresh: Callable[[], LayerCaches]
    ) -> None:
        self._index = index
        self._identity = identity
        self._settings = settings
        self._fresh = fresh
        self._queue = WriteQueue(settings.queue_bytes)
        self._writer = Writer(index)
        self._making: _Making | None = None
        self._written: dict[Job, Entry] = {}
        self._orphans: set[Entry] = set()
        self._restoring: list[Restore] = []
        self._not_before = 0.0
        self._possible = True
        self._pace = Pace()
        self._counts = _Counts()
        self._stream = mx.new_stream(mx.default_device())
        self.held_bytes = 0
        """Of entries that the prompt cache has given up and that are not written yet."""

    @property
    def waiting(self) -> bool:
        """Whether anything is to be written, now or later, or is just being written."""
        return bool(self._queue or self._making or self._written)

    @property
    def state(self) -> SsdState:
        counts = self._counts
        self._collect()
        unfinished = [*self._written.values()]
        return SsdState(
            entries=len(self._index),
            bytes=self._index.nbytes,
            max_bytes=self._settings.max_bytes,
            restores=counts.restores,
            spills=counts.spills,
            restore_ms_last=round(counts.restore_ms, 1),
            demotions=counts.demotions,
            pending_spills=len(self._queue) + len(unfinished),
            pending_spill_bytes=self._queue.nbytes + sum(entry.nbytes for entry in unfinished),
            dropped_spills=counts.dropped,
            quarantined=self._index.quarantined,
            written_bytes=self._writer.nbytes,
            spilled_bytes=counts.spilled_bytes,
        )

    # What the prompt cache asks and tells, see `Below`.

    def read_anew(self, tokens: int, seconds: float) -> None:
        self._pace.read(tokens, seconds)

    def longest(self, namespace: str, tokens: Tokens, longer_than: int) -> int:
        found = self._found(namespace, tokens, longer_than)
        return found[1] if found else 0

    def restore(self, namespace: str, tokens: Tokens, longer_than: int) -> Restore | None:
        found = self._found(namespace, tokens, longer_than)
        if found is None:
            return None
        restore = Restore(self._index, *found, self._settings.verify, self._fresh)
        self._restoring.append(restore)
        return restore

    def added(self, entry: Entry) -> None:
        if self._settings.write_behind:
            self._consider(entry, time.monotonic() + DEBOUNCE_S)

    def superseded(self, entry: Entry) -> None:
        if not self._queue.discard(entry):
            self._orphaned(entry)

    def evicted(self, entry: Entry, *, keep: bool) -> None:
        if keep:
            self._consider(entry, time.monotonic())
        elif self._queue.discard(entry):
            self._drop(entry, "its memory was needed")
        self._orphaned(entry)

    def forget(self, owner: str) -> None:
        for entry in self._queue.of(owner):
            self._queue.discard(entry)
            self._adopted(entry)
        for job in self._written:
            job.unwanted = job.unwanted or job.header.owner == owner
        for restore in self._restoring:
            if restore.record.owner == owner and not restore.done:
                restore.cancel()
        self._remove_files(owner)

    def limit(self, held_bytes: int) -> None:
        """Give up the oldest of what holds memory of its own, until no more than so many bytes are held."""
        for entry in [entry for entry in self._orphans if entry in self._queue]:
            if self.held_bytes <= held_bytes:
                return
            self._queue.discard(entry)
            self._drop(entry, "its memory was needed")

    # What the core does when it has time.

    def has(self, entry: Entry) -> bool:
        """Whether an entry is on the disk."""
        return self._index.covering(entry.namespace, entry.tokens) is not None

    def enqueue(self, entry: Entry) -> None:
        """Let an entry of the prompt cache be written soon, unless it was, however much waits already."""
        self._consider(entry, time.monotonic(), bounded=False)

    def demoted(self) -> None:
        """Count an entry that is on the disk alone from now on."""
        self._counts.demotions += 1

    def wait_s(self, *, hurry: bool = False) -> float | None:
        """How long nothing is to be done here; None: until something new comes. See `advance`."""
        if self._making is not None or (hurry and self._queue):
            return _POLL_S if self._writer.behind else 0.0
        due = self._queue.next_due
        until = None if due is None else max(0.0, max(due, self._not_before) - time.monotonic())
        if self._written:
            # The writer says that it is done, and nothing wakes the core for it.
            return min(5 * _POLL_S, until or 5 * _POLL_S)
        return until

    def advance(self, *, hurry: bool = False) -> bool:
        """Make one piece, if one is due and the disk keeps up; False if there was nothing to do.

        Args:
            hurry: whether everything that waits is due.
        """
        self._collect()
        if self._making is None:
            self._begin(hurry)
        making = self._making
        if making is None or self._writer.behind:
            return False
        over = making.job.failed or making.job.unwanted
        part = None if over else next(making.parts, None)
        if part is not None:
            self._writer.piece(making.job, *part)
            return True
        if not making.job.failed:
            self._writer.finish(making.job)
        self._making = None
        mx.clear_cache()
        return True

    def _found(self, namespace: str, tokens: Tokens, longer_than: int) -> tuple[Record, int] | None:
        """A file that has more of a prompt, sooner than the model would have read it."""
        found = self._index.find(namespace, tokens)
        if found is None or found[1] < longer_than + _WORTH:
            return None
        record, length = found
        return found if self._pace.worth(length - longer_than, record.nbytes) else None

    def _consider(self, entry: Entry, due: float, *, bounded: bool = True) -> None:
        """Let an entry wait to be written, unless it must not be, is too short, or there already."""
        known = entry in self._queue or entry in self._written.values()
        if known or entry.in_memory or not self._possible or len(entry.tokens) < SHORTEST:
            return
        record = self._index.covering(entry.namespace, entry.tokens)
        if record is not None:
            self._index.folder.touch(record.name, _clock(entry))
            return
        self._queue.add(entry, due)
        for dropped in self._queue.overflow() if bounded else ():
            self._drop(dropped, "too much waits to be written (--ssd-queue)")

    def _begin(self, hurry: bool) -> None:
        now = time.monotonic()
        if not hurry and now < self._not_before:
            return
        entry = self._queue.take_newest() if hurry else self._queue.take(now)
        if entry is None:
            return
        if self.has(entry):
            self._adopted(entry)
            return
        try:
            with mx.stream(self._stream):
                layers, arrays = flatten(entry.caches)
                tensors = [Tensor("I32", [len(entry.tokens)]), *map(described, arrays)]
        except UnknownStateError as error:
            self._possible = False
            self._drop(entry, f"this model's caches cannot be written: {error}")
            return
        header = Header(
            format=FORMAT,
            key=self._identity.key,
            model=self._identity.model,
            namespace=entry.namespace,
            trimmable=trimmable(entry.caches),
            layers=layers,
            tensors=tensors,
            owner=entry.owner,
        )
        job = Job(header, entry.tokens, _clock(entry))
        self._written[job] = entry
        self._making = _Making(entry, job, self._parts(entry.tokens, arrays))

    def _parts(self, tokens: Tokens, arrays: list[mx.array]) -> Iterator[tuple[int, NDArray[Any]]]:
        yield 0, np.ascontiguousarray(tokens)
        made = pieces(arrays)
        while True:
            with mx.stream(self._stream):
                piece = next(made, None)
            if piece is None:
                return
            yield piece[0] + 1, piece[1]

    def _collect(self) -> None:
        """Take note of what the other threads have done."""
        for outcome in self._writer.outcomes():
            entry = self._written.pop(outcome.job)
            if outcome.job.unwanted:
                self._adopted(entry)
                self._remove_files(entry.owner)  # it may have been ready just before
            elif outcome.error is None:
                self._counts.spills += 1
                self._counts.spilled_bytes += outcome.nbytes
                self._adopted(entry)
            else:
                self._not_before = time.monotonic() + _AFTER_ERROR_S
                self._drop(entry, outcome.error)
        for restore in [restore for restore in self._restoring if restore.done]:
            self._restoring.remove(restore)
            if restore.caches is not None:
                self._counts.restores += 1
                self._counts.restore_ms = restore.took_s * 1000
                if restore.alone:
                    self._pace.restored(restore.record.nbytes, restore.took_s)

    def _remove_files(self, owner: str) -> None:
        for record in self._index.records:
            if record.owner != owner:
                continue
            try:
                self._index.delete(record.name)
            except OSError as error:
                log.warning("the SSD cache's file %s cannot be removed: %s", record.name, error)

    def _drop(self, entry: Entry, why: str) -> None:
        self._counts.dropped += 1
        self._adopted(entry)
        if why not in self._counts.told:
            self._counts.told.add(why)
            log.warning("an entry of %d tokens does not go to the SSD cache: %s", len(entry.tokens), why)

    def _orphaned(self, entry: Entry) -> None:
        """Note that the prompt cache has given up an entry."""
        if entry in self._queue or entry in self._written.values():
            self._orphans.add(entry)
            self.held_bytes = sum(each.nbytes for each in self._orphans)

    def _adopted(self, entry: Entry) -> None:
        """Note that an entry holds no memory here any more."""
        if entry in self._orphans:
            self._orphans.remove(entry)
            self.held_bytes = sum(each.nbytes for each in self._orphans)


def _clock(entry: Entry) -> float:
    """When an entry was used, on the clock of the files: the prompt cache has another one."""
    return time.time() - (time.monotonic() - entry.used_at)
