"""Texts on their way to a core that embeds."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from fireside import wire
from fireside.engine.metrics import Metrics, Outcome
from fireside.http.errors import EngineError, TooBusy

_MAX_DEATHS = 2
"""Of cores that had begun a job, after which it is given up."""

Send = Callable[[wire.Down], None]


@dataclass(eq=False)
class _Job:
    """What was asked for at once.

    Attributes:
        number: in the core; a new one each time it is sent. None while it waits.
        deaths: of cores that had it.
        outcome: how it ended, once it has.
    """

    texts: list[list[int]]
    answer: asyncio.Future[wire.Vectors] = field(default_factory=lambda: asyncio.Future[wire.Vectors]())
    number: int | None = None
    deaths: int = 0
    outcome: Outcome = "cancelled"
    lane: str = "batched"

    def fail(self, message: str) -> None:
        if not self.answer.done():
            self.outcome = "error"
            self.answer.set_exception(EngineError(message))


class Embeddings:
    """Sends jobs to the core and takes its answers. A core that dies is replaced by the engine, which says so
    here: its jobs are sent once more.

    Args:
        at_once: jobs that are in the core at the same time; the others wait here.
        max_queue: jobs that may wait while a core is there.
        changed: called when `running` or `waiting` has become another number.

    Attributes:
        last_sent: when a core was last told of a job, on the monotonic clock.
    """

    def __init__(self, at_once: int, max_queue: int, metrics: Metrics, changed: Callable[[], None]) -> None:
        self._at_once = at_once
        self._max_queue = max_queue
        self._metrics = metrics
        self._changed = changed
        self.last_sent = 0.0
        self._numbers = itertools.count()
        self._waiting: deque[_Job] = deque()
        self._sent: dict[int, _Job] = {}
        self._send: Send | None = None
        self._failure: str | None = None

    @property
    def running(self) -> int:
        """Jobs in the core."""
        return len(self._sent)

    @property
    def waiting(self) -> int:
        """Jobs outside of it."""
        return len(self._waiting)

    async def embed(self, texts: list[list[int]]) -> wire.Vectors:
        """The vectors of some texts, in their order. Cancelling it cancels the work.

        Args:
            texts: token ids, none of them empty, those included that the tokenizer adds.

        Raises:
            TooBusy: as many jobs wait as may.
            EngineError: the core cannot go on, or died twice over these texts.
        """
        if self._failure is not None:
            raise EngineError(self._failure)
        if len(self._waiting) + len(self._sent) >= self._at_once + self._max_queue:
            self._metrics.rejected()
            raise TooBusy(
                f"{len(self._waiting)} requests are waiting already, and no more may (--max-queue)."
                " Try again later."
            )
        job = _Job(texts)
        self._waiting.append(job)
        self._fill()
        with self._metrics.request(job):
            try:
                return await job.answer
            finally:
                self._leave(job)

    def core_up(self, send: Send) -> None:
        """A core is ready; `send` tells it something."""
        self._send = send
        self._fill()

    def core_down(self) -> None:
        """The core is gone. Its jobs come first with the next one."""
        self._send = None
        jobs = list(self._sent.values())
        self._sent.clear()
        for job in reversed(jobs):
            job.number = None
            job.deaths += 1
            if job.deaths < _MAX_DEATHS:
                self._waiting.appendleft(job)
            else:
                job.fail("The engine crashed twice on this request. It is not tried again.")

    def answered(self, vectors: wire.Vectors) -> None:
        """The core has done a job."""
        job = self._sent.pop(vectors.id, None)
        if job is None:
            return  # it was cancelled when the answer was on its way
        job.number = None
        if not job.answer.done():
            job.outcome = "stop"
            job.answer.set_result(vectors)
        self._fill()

    def fail(self, message: str) -> None:
        """No core will come any more."""
        self._failure = message
        jobs = [*self._sent.values(), *self._waiting]
        self._sent.clear()
        self._waiting.clear()
        for job in jobs:
            job.fail(message)
        self._changed()

    def _fill(self) -> None:
        while self._send is not None and self._waiting and len(self._sent) < self._at_once:
            job = self._waiting.popleft()
            job.number = next(self._numbers)
            self._sent[job.number] = job
            self._send(wire.Embed(job.number, job.texts))
            self.last_sent = time.monotonic()
        self._changed()

    def _leave(self, job: _Job) -> None:
        """Nobody waits for a job any more."""
        if job in self._waiting:
            self._waiting.remove(job)
        if job.number is not None and self._sent.pop(job.number, None) is not None and self._send is not None:
            self._send(wire.Cancel(job.number))
        self._fill()
