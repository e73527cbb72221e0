"""The order in which texts are read, in slices so short that a newcomer never waits long."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fireside.core.chunks import ChunkPlanner
from fireside.core.embedding.reading import Floats, LongText, Reader
from fireside.wire import Cancel, Embed, Vectors

_SIMILAR = 2
"""Texts that are at most so many times as long as the shortest are read together; the rest is padding."""

_FULL = 0.75
"""Of a slice's tokens, from which on it counts as full."""


@dataclass
class _Job:
    """What was asked for at once, and what is there of it.

    Attributes:
        waiting: indices of the texts that nobody has begun to read, the shortest last.
        missing: how many vectors are not there yet.
    """

    id: int
    texts: Sequence[Sequence[int]]
    vectors: Floats
    waiting: list[int] = field(default_factory=list[int])
    missing: int = 0

    @property
    def next_length(self) -> int:
        """Tokens of its shortest text that waits."""
        return len(self.texts[self.waiting[-1]])


@dataclass
class _Long:
    """The one text that is being read in pieces."""

    job: _Job
    index: int
    text: LongText


@dataclass(frozen=True)
class Slice:
    """What a step did.

    Attributes:
        tokens: that were read, without padding.
        answers: of the jobs that are complete by it.
    """

    tokens: int
    answers: list[Vectors]


class EmbeddingQueue:
    """Jobs take turns. A slice is the shortest texts of the job whose turn it is, with others' of about their
    length, or a piece of one long text.

    Only one text is read in pieces at a time, since each holds keys and values. While it is, another one is
    read whole if that is within `slice_tokens`, however slow the machine is, and waits if it is longer.

    Args:
        slice_tokens: padding included, that a slice may have at most.
    """

    def __init__(self, reader: Reader, slice_tokens: int) -> None:
        self._reader = reader
        self._largest = slice_tokens
        self._planner = ChunkPlanner(slice_tokens)
        self._jobs: deque[_Job] = deque()
        self._long: _Long | None = None
        self._tokens = 0

    @property
    def busy(self) -> bool:
        return bool(self._jobs)

    def apply(self, request: Embed | Cancel) -> None:
        """Take up or forget a job."""
        if isinstance(request, Cancel):
            self._forget(request.id)
            return
        lengths = [len(text) for text in request.texts]
        vectors = np.zeros((len(lengths), self._reader.embedder.size), np.float32)
        waiting = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
        self._jobs.append(_Job(request.id, request.texts, vectors, waiting, len(waiting)))

    def step(self) -> Slice:
        """Read a slice."""
        self._tokens = 0
        budget = self._planner.budget(decoding=False)
        job = self._whose_turn()
        if self._long is not None and self._long.job is job:
            read = self._read_on(self._long, budget)
        elif self._long is None and self._too_long(job, budget):
            index = job.waiting.pop()
            self._long = _Long(job, index, self._reader.long_text(job.texts[index]))
            read = self._read_on(self._long, budget)
        else:
            read = self._read_together(budget)
        self._planner.measured(read, decoding=False)
        complete = [done for done in self._jobs if not done.missing]
        for done in complete:
            self._jobs.remove(done)
        answers = [Vectors(done.id, done.vectors.shape[1], done.vectors.tobytes()) for done in complete]
        return Slice(self._tokens, answers)

    def _whose_turn(self) -> _Job:
        """The next job that can go on, now at the front of the queue."""
        while True:
            self._jobs.rotate(-1)
            job = self._jobs[0]
            blocked = self._long is not None and self._long.job is not job
            if not (blocked and self._too_long(job, self._largest)):
                return job

    def _too_long(self, job: _Job, budget: int) -> bool:
        return self._reader.causal and job.next_length > budget

    def _read_on(self, long: _Long, budget: int) -> int:
        before = long.text.done
        vector = long.text.read(budget)
        if vector is not None:
            self._put(long.job, long.index, vector)
            self._long = None
        self._tokens = long.text.done - before
        return self._tokens

    def _read_together(self, budget: int) -> int:
        taken = self._similar(budget)
        vectors = self._reader.vectors([job.texts[index] for job, index in taken])
        for (job, index), vector in zip(taken, vectors, strict=True):
            self._put(job, index, vector)
        lengths = [len(job.texts[index]) for job, index in taken]
        self._tokens = sum(lengths)
        read = len(taken) * max(lengths)
        # Whole texts hardly ever fill a slice; the planner is to learn from those that nearly do.
        return max(read, budget) if read >= _FULL * budget else read

    def _similar(self, budget: int) -> list[tuple[_Job, int]]:
        """Texts of about one length, of the job in front first; as many as fit, but always one."""
        taken: list[tuple[_Job, int]] = []
        longest = self._jobs[0].next_length
        limits = (longest, longest * _SIMILAR)
        for job in self._jobs:
            while job.waiting and limits[0] <= job.next_length <= limits[1]:
                width = max(longest, job.next_length)
                if taken and width * (len(taken) + 1) > budget:
                    break
                longest = width
                taken.append((job, job.waiting.pop()))
        return taken

    def _put(self, job: _Job, index: int, vector: Floats) -> None:
        job.vectors[index] = vector
        job.missing -= 1

    def _forget(self, job_id: int) -> None:
        self._jobs = deque(job for job in self._jobs if job.id != job_id)
        if self._long is not None and self._long.job.id == job_id:
            self._long = None
