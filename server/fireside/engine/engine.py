"""Keeps every request going, whatever becomes of the core that answers it."""

from __future__ import annotations

import asyncio
import logging
import math
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fireside import wire
from fireside.catalog.fit import DoesNotFitError
from fireside.engine.admission import Admission
from fireside.engine.embedding import Embeddings
from fireside.engine.in_flight import InFlight, in_flight
from fireside.engine.link import CoreLink
from fireside.engine.metrics import Metrics
from fireside.engine.pace import Pace
from fireside.engine.requests import About, Broken, Expired, GenerationRequest, Queued, Restarting, Row
from fireside.engine.roster import Changes, Roster
from fireside.engine.ssd import SsdSide
from fireside.engine.status import StatusBoard
from fireside.engine.supervisor import Supervisor
from fireside.http.errors import TooBusy

log = logging.getLogger(__name__)

_STUCK_AFTER_S = 120.0
_RATED_TOKENS = 64
"""Of an answer, that tell how fast a model is."""


@dataclass(frozen=True)
class EngineConfig:
    """How to run a core.

    Attributes:
        command: that starts one; the number of its socket is appended.
        start: what it is told first.
        max_queue: requests that may wait for a free row; one more is refused.
        plan: called once, on a thread of its own, before anything of the model is loaded; its answer holds
            for every later core too. What it raises fails the engine.
        located: called once after that with the model's folder, while the weights are loading; the engine
            is ready when it has returned too. What it raises fails the engine.
        rated: told how fast an answer came that had the core to itself, in tokens a second.
        lane_debug: one line on standard error for each request that enters the core.
    """

    command: Sequence[str]
    start: wire.Start
    plan: Callable[[wire.Located], Admission]
    located: Callable[[Path, Admission], Awaitable[None]]
    max_queue: int
    rated: Callable[[float], None] = lambda _: None
    lane_debug: bool = False


class Engine:
    """One model, one core at a time. A core that dies is replaced and its rows are taken up again."""

    def __init__(self, config: EngineConfig, board: StatusBoard, metrics: Metrics) -> None:
        self._config = config
        self._metrics = metrics
        self._board = board
        self._roster = Roster(config.start.max_rows)
        self._pace = Pace(config.start.max_rows)
        self._supervisor = Supervisor(config.command, config.start, self)
        self._ready: wire.Ready | None = None
        self._last_report = time.monotonic()
        self._restarts = 0
        self._kv_bytes = 0
        self._cache = wire.CacheState()
        self._warm_up: wire.WarmUp | None = None
        self._admission: Admission | None = None
        self._failure: str | None = None
        self._locating: asyncio.Future[None] | None = None
        self.embeddings = Embeddings(config.start.max_rows, config.max_queue, metrics, self._announce)
        """Takes texts, where the model is one that embeds."""
        self.ssd = SsdSide(config.start.ssd)
        """The SSD tier below the core's prompt cache."""

    @property
    def ready(self) -> wire.Ready | None:
        """What the core said when its model was loaded; None while there is no core to ask."""
        return self._ready

    @property
    def admission(self) -> Admission | None:
        """What fits; None before the first core has found its model."""
        return self._admission

    @property
    def cache(self) -> wire.CacheState:
        """The core's prompt cache after the latest step."""
        return self._cache

    @property
    def warm_up(self) -> wire.WarmUp | None:
        """How far the core is in compiling ahead; None if it has not begun."""
        return self._warm_up

    @property
    def batch(self) -> dict[str, int | bool | None]:
        """`/stats.batch`: rows now, all rows that ever ran, and bytes of keys and values."""
        return {
            "configured": self._config.start.max_rows,
            "batched": self._roster.batches,
            "active_rows": len(self._roster.running) + self.embeddings.running,
            "pending_rows": len(self._roster.waiting) + self.embeddings.waiting,
            "submitted_rows": self._roster.entered,
            "kv_bytes": self._kv_bytes if self._roster.running else 0,
            "kv_budget_bytes": self._admission and self._admission.load.kv_budget_bytes,
        }

    @property
    def stuck(self) -> bool:
        """Whether rows are running and the core has said nothing since they were submitted, for minutes."""
        running = self._roster.running or self.embeddings.running
        silent_s = time.monotonic() - max(self._last_report, self.embeddings.last_sent)
        return bool(running) and silent_s > _STUCK_AFTER_S

    @property
    def in_flight(self) -> list[InFlight]:
        """The answers on their way: those in the core, then those that wait, in the order of the queue."""
        model = self._board.current.model
        return in_flight(self._roster, self._pace, model and model.id)

    @property
    def core_pid(self) -> int | None:
        link = self._supervisor.link
        return link.pid if link else None

    def start(self) -> None:
        """Start supervising; the model loads in the background."""
        self._supervisor.start()

    async def close(self) -> None:
        """End the core and every request. Idempotent."""
        await self._supervisor.close()
        self.ssd.core_down()
        if self._locating is not None:
            self._locating.cancel()
        self._refuse_all("Fireside is stopping.")

    async def drain(self, within_s: float, *, demote: bool = False) -> wire.Drained | None:
        """See `SsdSide.drain`."""
        link = self._supervisor.link
        return None if link is None else await self.ssd.drain(link.send, within_s, demote=demote)

    def forget(self, owner: str) -> None:
        """Let the core remove what an owner's requests have left in its prompt cache and on the disk."""
        link = self._supervisor.link
        # A core that is still loading has nothing, and expects nothing yet.
        if link is not None and self._ready is not None:
            link.send(wire.Forget(owner))

    def refuse(self, message: str) -> None:
        """End all requests, and every later one; what they have read so far stays in the core's cache."""
        if (link := self._supervisor.link) is not None:
            for row in self._roster.running:
                link.send(wire.Cancel(row.submission))
        self._refuse_all(message)

    def kill(self) -> None:
        """End the core without waiting for anything."""
        if self._supervisor.link is not None:
            self._supervisor.link.kill()

    @asynccontextmanager
    async def generate(self, request: GenerationRequest, about: About | None = None) -> AsyncGenerator[Row]:
        """A row for the request, whose `next` gives the events of the answer. Leaving cancels it.

        Raises:
            TooBusy: as many requests wait as may.
        """
        row = Row(request, about=about or About())
        if self._failure is not None:
            row.events.put_nowait(Broken(self._failure))
            yield row
            return
        timer = None
        if request.deadline_s is not None:
            timer = asyncio.get_running_loop().call_later(request.deadline_s, self._expire, row)
        try:
            self._apply(self._roster.add(row))
            self._refuse_if_too_many(row)
            self._announce()
            with self._metrics.request(row):
                yield row
        finally:
            if timer is not None:
                timer.cancel()
            self._leave(row)

    def _leave(self, row: Row) -> None:
        self._apply(self._roster.remove(row))
        self._announce()

    def _expire(self, row: Row) -> None:
        if row.outcome != "cancelled":
            return  # it has ended, and its last event is on its way
        self._leave(row)
        row.outcome = "error"
        row.events.put_nowait(Expired())

    def cancel(self, request_id: str) -> bool:
        """End all answers of a request as nobody's any more; False where there are none."""
        rows = [row for row in self._roster.all if row.about.id == request_id]
        for row in rows:
            self._leave(row)
            row.cancel()
        return bool(rows)

    def _refuse_if_too_many(self, row: Row) -> None:
        queued = self._roster.queued
        if row.submissions == 0 and queued > self._config.max_queue:
            self._metrics.rejected()
            raise TooBusy(
                f"{queued - 1} requests are waiting already, and no more may (--max-queue). Try again later.",
                retry_after_s=math.ceil(self._pace.until_start(0) or 1),
            )

    async def reported(self, link: CoreLink, report: wire.Up) -> str | None:
        """See `Watcher`."""
        self._last_report = time.monotonic()
        match report:
            case wire.Step():
                self._on_step(report)
            case wire.Vectors():
                self.embeddings.answered(report)
            case wire.Phase():
                self._on_phase(report)
            case wire.Located():
                return await self._on_located(link, report)
            case wire.Ready():
                return await self._on_ready(link, report)
            case wire.WarmUp():
                self._on_warm_up(report)
            case wire.Tier():
                self.ssd.state, self._cache = report.ssd, report.cache
                self._metrics.tier(report.ssd, report.cache)
            case wire.Drained():
                self.ssd.drained(report)
            case wire.Failed():
                return report.message
        return None

    def _on_step(self, step: wire.Step) -> None:
        self._kv_bytes = step.kv_bytes
        self._cache = step.cache
        self._metrics.step(step.kv_bytes, step.cache)
        self._metrics.computed(step.computed)
        for progress in step.prefill:
            if row := self._roster.get(progress.id):
                row.read(progress)
        for token in step.tokens:
            if row := self._roster.get(token.id):
                before = row.last_token_at
                row.add(token.token, token.finish, token.logprobs)
                self._count(row, before, token.finish)
                if token.finish:
                    self._pace.finished(row)
                    self._rate(row)
                self._apply(self._roster.finished(row) if token.finish else self._roster.progressed(row))
        for failure in step.failed:
            if row := self._roster.get(failure.id):
                self._apply(self._roster.finished(row))
                row.outcome = "error"
                row.events.put_nowait(Broken(f"The answer cannot go on: {failure.message}."))
        if changes := self._roster.stepped():
            self._apply(changes)
            self._announce()

    def _rate(self, row: Row) -> None:
        """Tell how fast a row was that ended with no other beside it."""
        begin, end, tokens = row.first_token_at, row.last_token_at, len(row.generated)
        alone = len(self._roster.running) == 1 and row.submissions == 1
        if alone and begin is not None and end is not None and tokens >= _RATED_TOKENS and end > begin:
            self._config.rated((tokens - 1) / (end - begin))

    def _count(self, row: Row, before: float | None, finish: wire.FinishReason | None) -> None:
        """Count a token that has come, `before` being when the last one did."""
        if finish == "stop" or row.first_token_at is None or row.last_token_at is None:
            return
        if before is None:
            self._metrics.cached(row.cached)
            self._metrics.first_token(row.first_token_at - row.queued_at)
        else:
            self._metrics.token(row.last_token_at - before)

    def _on_phase(self, phase: wire.Phase) -> None:
        name = "restarting" if self._restarts else phase.phase
        self._board.update(phase=name, detail=phase.detail, bytes_done=phase.done, bytes_total=phase.total)

    async def _on_located(self, link: CoreLink, located: wire.Located) -> str | None:
        if self._admission is None:
            try:
                self._admission = await asyncio.to_thread(self._config.plan, located)
            except DoesNotFitError as error:
                return str(error)
            self._roster.limit(self._admission.accountant())
            self._locating = asyncio.ensure_future(
                self._config.located(Path(located.model_path), self._admission)
            )
        link.send(self._admission.load)
        return None

    def _on_warm_up(self, warm_up: wire.WarmUp) -> None:
        """Requests are served meanwhile, so the phase stays `ready`."""
        self._warm_up = warm_up
        over = warm_up.done >= warm_up.total
        detail = "Ready" if over else f"Ready; warming up, {warm_up.done} of {warm_up.total}"
        self._board.update(detail=detail)

    async def _on_ready(self, link: CoreLink, ready: wire.Ready) -> str | None:
        try:
            await asyncio.shield(self._locating) if self._locating else None
        except Exception as error:
            # Whatever a foreign folder makes the tokenizer libraries raise, bare exceptions included.
            log.exception("the text side of the model cannot be loaded")
            return f"The model's tokenizer cannot be loaded: {type(error).__name__}: {error}"
        self._ready = ready
        if self._admission is not None:
            self._cache = wire.CacheState(max_bytes=self._admission.load.prompt_cache_bytes)
        self._board.update(phase="ready", detail="Ready")
        self._apply(self._roster.core_up(ready.batches))
        self._pace.rows = self._config.start.max_rows if self._roster.batches else 1
        self._announce()
        if ready.embeds:
            self.embeddings.core_up(link.send)
        return None

    def died(self) -> None:
        """See `Watcher`."""
        self._restarts += 1
        self._metrics.core_died()
        self._ready = None
        self._kv_bytes = 0
        self._cache = wire.CacheState()
        self.ssd.core_down()
        self._warm_up = None
        self.embeddings.core_down()
        for row in self._roster.core_down():
            self._give_up(
                [row], "The engine crashed twice on this request, and on no other. It is not tried again."
            )
        for row in self._roster.all:
            row.events.put_nowait(Restarting())
        self._board.update(
            phase="restarting",
            detail="The engine stopped unexpectedly and is starting again",
            restarts=self._restarts,
        )

    def gave_up(self, message: str) -> None:
        """See `Watcher`."""
        self._board.update(phase="failed", detail="The model cannot be loaded", error=message)
        self._refuse_all(message)

    def _refuse_all(self, message: str) -> None:
        self._failure = message
        self._give_up(self._roster.all, message)
        self.embeddings.fail(message)

    def _give_up(self, rows: list[Row], message: str) -> None:
        for row in rows:
            self._roster.remove(row)
            row.outcome = "error"
            row.events.put_nowait(Broken(message))

    def _apply(self, changes: Changes) -> None:
        link = self._supervisor.link
        if link is None:
            return
        for submission in changes.cancel:
            link.send(wire.Cancel(submission))
        for row in changes.submit:
            link.submit(row.message(), row.request.vocabulary)
            if row.submissions == 1 and row.started_at is not None:
                self._metrics.started(row.started_at - row.queued_at)
                if self._config.lane_debug:
                    print(f"lane {row.lane}: {row.request.shape}", file=sys.stderr, flush=True)
        if changes.submit:
            self._last_report = time.monotonic()

    def _announce(self) -> None:
        """Tell those who wait where they stand, and the board how many there are."""
        waiting = self._roster.waiting
        for position, row in enumerate(waiting):
            row.events.put_nowait(Queued(position, self._pace.until_start(position)))
        running = len(self._roster.running) + self.embeddings.running
        queued = len(waiting) + self.embeddings.waiting
        self._metrics.rows(running, queued)
        self._board.update(rows=running, queued=queued)
