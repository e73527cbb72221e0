"""Keeps a core alive and every request going."""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fireside import wire
from fireside.catalog.fit import DoesNotFitError
from fireside.engine.admission import Admission
from fireside.engine.link import CoreLink
from fireside.engine.metrics import Metrics
from fireside.engine.pace import Pace
from fireside.engine.requests import Broken, Expired, GenerationRequest, Queued, Restarting, Row
from fireside.engine.roster import Changes, Roster
from fireside.engine.status import StatusBoard
from fireside.http.errors import TooBusy

log = logging.getLogger(__name__)

_BACKOFF_S = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)
_MAX_DEATHS_WHILE_LOADING = 5
_STUCK_AFTER_S = 120.0


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
        lane_debug: one line on standard error for each request that enters the core.
    """

    command: Sequence[str]
    start: wire.Start
    plan: Callable[[wire.Located], Admission]
    located: Callable[[Path, Admission], Awaitable[None]]
    max_queue: int
    lane_debug: bool = False


class Engine:
    """One model, one core at a time. A core that dies is replaced and its rows are taken up again."""

    def __init__(self, config: EngineConfig, board: StatusBoard, metrics: Metrics) -> None:
        self._config = config
        self._metrics = metrics
        self._board = board
        self._roster = Roster(config.start.max_rows)
        self._pace = Pace(config.start.max_rows)
        self._link: CoreLink | None = None
        self._ready: wire.Ready | None = None
        self._last_report = time.monotonic()
        self._restarts = 0
        self._kv_bytes = 0
        self._cache = wire.CacheState()
        self._warm_up: wire.WarmUp | None = None
        self._admission: Admission | None = None
        self._stepped = False
        self._failure: str | None = None
        self._locating: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._burials: set[asyncio.Future[int]] = set()

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
            "active_rows": len(self._roster.running),
            "pending_rows": len(self._roster.waiting),
            "submitted_rows": self._roster.entered,
            "kv_bytes": self._kv_bytes if self._roster.running else 0,
            "kv_budget_bytes": self._admission and self._admission.load.kv_budget_bytes,
        }

    @property
    def stuck(self) -> bool:
        """Whether rows are running and the core has said nothing since they were submitted, for minutes."""
        return bool(self._roster.running) and time.monotonic() - self._last_report > _STUCK_AFTER_S

    @property
    def core_pid(self) -> int | None:
        return self._link.pid if self._link else None

    def start(self) -> None:
        """Start supervising; the model loads in the background."""
        self._task = asyncio.create_task(self._supervise(), name="engine")

    async def close(self) -> None:
        """End the core and every request. Idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            if self._burials:
                await asyncio.wait(self._burials)
        self._refuse_all("Fireside is stopping.")

    def kill(self) -> None:
        """End the core without waiting for anything."""
        if self._link is not None:
            self._link.kill()

    @asynccontextmanager
    async def generate(self, request: GenerationRequest) -> AsyncGenerator[Row]:
        """A row for the request, whose `next` gives the events of the answer. Leaving cancels it.

        Raises:
            TooBusy: as many requests wait as may.
        """
        row = Row(request)
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

    def _refuse_if_too_many(self, row: Row) -> None:
        queued = self._roster.queued
        if row.submissions == 0 and queued > self._config.max_queue:
            self._metrics.rejected()
            raise TooBusy(
                f"{queued - 1} requests are waiting already, and no more may (--max-queue). Try again later.",
                retry_after_s=math.ceil(self._pace.until_start(0) or 1),
            )

    async def _supervise(self) -> None:
        useless_cores = deaths_while_loading = 0
        try:
            while deaths_while_loading < _MAX_DEATHS_WHILE_LOADING:
                await asyncio.sleep(_BACKOFF_S[min(useless_cores, len(_BACKOFF_S) - 1)])
                self._stepped = False
                self._link = await CoreLink.spawn(self._config.command, self._config.start)
                if (failure := await self._follow(self._link)) is not None:
                    self._fail(failure)
                    return
                deaths_while_loading = 0 if self._ready else deaths_while_loading + 1
                useless_cores = 0 if self._stepped else useless_cores + 1
                await self._bury(self._link)
            self._fail(f"The engine ended {deaths_while_loading} times while loading the model; see the log.")
        except Exception as error:
            # Nobody else watches this task: what it does not tell, nobody would ever know.
            log.exception("the engine's supervisor failed")
            self._fail(f"The engine cannot go on: {type(error).__name__}: {error}")
        finally:
            if self._link is not None:
                await self._collect(self._link)

    async def _collect(self, link: CoreLink) -> int:
        """End a core and collect it; goes on to its end where the caller is cancelled meanwhile."""
        burial = asyncio.ensure_future(link.close())
        self._burials.add(burial)
        burial.add_done_callback(self._burials.discard)
        return await asyncio.shield(burial)

    async def _follow(self, link: CoreLink) -> str | None:
        """Act on a core's reports until it is gone. Returns why another one would not help."""
        failure: str | None = None
        try:
            async for report in link.reports():
                self._last_report = time.monotonic()
                match report:
                    case wire.Step():
                        self._on_step(report)
                    case wire.Phase():
                        self._on_phase(report)
                    case wire.Located():
                        if (failure := await self._on_located(link, report)) is not None:
                            return failure
                    case wire.Ready():
                        if (failure := await self._on_ready(report)) is not None:
                            return failure
                    case wire.WarmUp():
                        self._on_warm_up(report)
                    case wire.Failed():
                        failure = report.message
        except wire.WireError:
            log.exception("the core broke the protocol; it is replaced")
        return failure

    def _on_step(self, step: wire.Step) -> None:
        self._stepped = True
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
                self._apply(self._roster.finished(row) if token.finish else self._roster.progressed(row))
        if changes := self._roster.stepped():
            self._apply(changes)
            self._announce()

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

    async def _on_ready(self, ready: wire.Ready) -> str | None:
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
        return None

    async def _bury(self, link: CoreLink) -> None:
        """Take note of a core's death."""
        self._restarts += 1
        self._metrics.core_died()
        self._ready = None
        self._link = None
        self._kv_bytes = 0
        self._cache = wire.CacheState()
        self._warm_up = None
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
        log.warning("the core ended (%s); another one is started", _how(await self._collect(link)))

    def _fail(self, message: str) -> None:
        self._board.update(phase="failed", detail="The model cannot be loaded", error=message)
        self._refuse_all(message)

    def _refuse_all(self, message: str) -> None:
        self._failure = message
        self._give_up(self._roster.all, message)

    def _give_up(self, rows: list[Row], message: str) -> None:
        for row in rows:
            self._roster.remove(row)
            row.outcome = "error"
            row.events.put_nowait(Broken(message))

    def _apply(self, changes: Changes) -> None:
        if self._link is None:
            return
        for submission in changes.cancel:
            self._link.send(wire.Cancel(submission))
        for row in changes.submit:
            self._link.send(row.message())
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
        self._metrics.rows(len(self._roster.running), len(waiting))
        self._board.update(rows=len(self._roster.running), queued=len(waiting))


def _how(status: int) -> str:
    """An exit status in words."""
    if status >= 0:
        return f"status {status}"
    return signal.strsignal(-status) or f"signal {-status}"
