"""The models of an app: the served one, others on demand, and the change from one to another."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from fireside.api.embedding_task import ServedEmbedder
from fireside.api.generation import Served
from fireside.api.request_log import RequestLog
from fireside.api.served import Available
from fireside.catalog.in_use import Hold, hold
from fireside.catalog.resolve import ModelNotFoundError, ModelSource
from fireside.config import ServeConfig
from fireside.engine.engine import Engine
from fireside.engine.metrics import Metrics
from fireside.engine.status import StatusBoard
from fireside.hosting.hosted import HostedModel, Surroundings
from fireside.hosting.names import Names
from fireside.hosting.residents import Resident, least_needed, left_alone
from fireside.hosting.shown import Shown
from fireside.hosting.sources import Sources
from fireside.http.errors import Conflict, NotFound, NotReady

log = logging.getLogger(__name__)
T = TypeVar("T")

_DRAIN_WITHIN_S = 30.0
_WAIT_FOR_SWITCH_S = 600.0
_LOOK_EVERY_S = 5.0
_RATED_EVERY_S = 10.0
_SWITCHED = "Another model was started in place of the one that was answering. Ask again."
_STOPPED = "The model was stopped to make room for another one. Ask again."


@dataclass(frozen=True)
class Shelf:
    """The models on this machine.

    Attributes:
        local: all that can chat.
        objection: why a model cannot be started here, as far as its files tell; None if it can.
        rated: told how many tokens a second a model has written.
    """

    local: Callable[[], Awaitable[list[Available]]]
    objection: Callable[[str], Awaitable[str | None]]
    rated: Callable[[str, float], Coroutine[Any, Any, None]]


class ModelHost:
    """One model is served and answers whatever names no other. In a pool others answer to their names.

    Whatever starts or stops a model happens under one lock, one thing after another.

    Args:
        board: shows the served model.
        shelf: the models on this machine.
    """

    def __init__(self, config: ServeConfig, board: StatusBoard, shelf: Shelf) -> None:
        self._config = config
        self._shelf = shelf
        self._names = Names(shelf.local, config.model_aliases)
        self._log = RequestLog(config.home.logs, texts=config.log_prompts)
        self.metrics = Metrics()
        share = 1 / config.model_pool
        self._around = Surroundings(
            config, self._log, self.metrics, share, self._unspent_bytes, self._note_rate
        )
        self._served: ModelSource | None = None
        self._hold: Hold | None = None
        self._sources = Sources(config)
        self._models: dict[str, HostedModel] = {}
        self._loading: dict[str, asyncio.Task[HostedModel]] = {}
        self._changing = asyncio.Lock()
        self._steady = asyncio.Event()
        self._steady.set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._shown = Shown(board)
        self._rated_at: dict[str, float] = {}
        self._known: Served | ServedEmbedder | None = None

    @property
    def main(self) -> HostedModel | None:
        """The served model, unless it was stopped for want of use."""
        return self._models.get(self._served.id) if self._served else None

    @property
    def engine(self) -> Engine | None:
        """The served model's."""
        return self.main.engine if self.main else None

    @property
    def engines(self) -> list[Engine]:
        """Of all models that run."""
        return [hosted.engine for hosted in self._models.values() if hosted.engine is not None]

    @property
    def current(self) -> Served | ServedEmbedder | None:
        """See `api.served.Host`. What was stopped for want of use is still known."""
        return self.main.served if self.main is not None else self._known

    @property
    def running(self) -> list[Served | ServedEmbedder]:
        """See `api.served.Host`."""
        first = sorted(self._models.values(), key=lambda hosted: hosted is not self.main)
        return [hosted.served for hosted in first if hosted.served is not None]

    @property
    def in_use(self) -> list[ModelSource]:
        """The models whose files are being read, or may be at any moment."""
        served = [self._served] if self._served else []
        return [*served, *(hosted.source for hosted in self._models.values())]

    @property
    def writing_until(self) -> float:
        """Until when `close` may have to wait for the disk, on the monotonic clock."""
        return max((hosted.flushing.until for hosted in self._models.values()), default=0.0)

    async def available(self) -> list[Available]:
        """See `api.served.Host`."""
        if self._config.model_pool == 1:
            return []
        return [model for model in await self._names.local() if model.id not in self._models]

    async def start(self) -> None:
        """Find the served model and start loading it; one that is not there is shown, not raised."""
        try:
            source = await self._sources.find(self._config.model)
        except ModelNotFoundError as error:
            self._shown.failed("The model cannot be found", str(error))
            return
        await self._choose(source)
        hosted = self._hosted(source)
        self._shown.follow(hosted)
        if self._config.idle_unload is not None:
            self._background(self._sweep(self._config.idle_unload))
        await hosted.start()

    async def close(self) -> None:
        """Let the cores write what they have read, then end them. Idempotent."""
        self._shown.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await asyncio.gather(*(hosted.close() for hosted in self._models.values()))
        if self._hold is not None:
            self._hold.close()
        await asyncio.to_thread(self._log.close)

    def kill(self) -> None:
        """End all cores without waiting."""
        for hosted in self._models.values():
            hosted.kill()

    async def find(self, name: str) -> Served | ServedEmbedder:
        """See `api.served.Host`."""
        try:
            async with asyncio.timeout(_WAIT_FOR_SWITCH_S):
                await self._steady.wait()
        except TimeoutError:
            raise NotReady("Another model is being started.", retry_after_s=10) from None
        hosted = await self._meant(name)
        hosted.used_at = time.monotonic()
        status = hosted.board.current
        if hosted.served is None or status.phase not in ("ready", "restarting"):
            raise NotReady(f"The model is still loading ({status.phase}).")
        return hosted.served

    async def switch(self, name: str) -> ModelSource:
        """Serve another model from now on; how that goes is on the board.

        Raises:
            NotFound: there is no such model here, or several have the name.
            Conflict: a change is under way.
        """
        self._refuse_while_switching()
        source = await self._source(name)
        main = self.main
        if main is not None and not main.failed and (main.id, main.source.path) == (source.id, source.path):
            return source
        if (reason := await self._shelf.objection(source.id)) is not None:
            raise Conflict(f"{source.id} does not fit: {reason}", code="does_not_fit", param="model")
        self._refuse_while_switching()
        self._shown.tell(source, "draining")
        self._background(self._switch(source))
        return source

    def _refuse_while_switching(self) -> None:
        if self._shown.switching:
            raise Conflict("Another model is being started already. Wait for its end.", code="switching")

    async def _switch(self, source: ModelSource) -> None:
        try:
            await (self._beside(source) if self._config.model_pool > 1 else self._instead(source))
        finally:
            if self._shown.switching:
                self._shown.tell(source, "failed", "Something in Fireside failed; its log has the details.")

    async def _beside(self, source: ModelSource) -> None:
        """A switch within a pool: the model from before goes on answering until the other can, and stays."""
        self._shown.tell(source, "loading")
        before = self._served
        try:
            hosted = await self._loaded(source)
        except (NotReady, Conflict) as error:
            # A new revision of the served model took its place.
            if before is not None and before.id == source.id:
                self._shown.tell(source, "returning", str(error))
                with contextlib.suppress(NotReady, Conflict):
                    await self._loaded(before)
            self._shown.tell(source, "failed", str(error))
            return
        await self._choose(source)
        self._shown.follow(hosted)
        self._shown.tell(source, "done")

    async def _instead(self, source: ModelSource) -> None:
        """A switch without a pool: one ends, then the other begins, and requests wait meanwhile."""
        before = self._served
        self._steady.clear()
        self._shown.changing = True
        try:
            async with self._changing:
                if (old := self.main) is not None:
                    self._shown.waiting(old.source.name)
                    await old.drained(_DRAIN_WITHIN_S)
                    await self._stop(old, _SWITCHED)
                self._shown.tell(source, "loading")
                error = await self._serve(source)
                if error is None:
                    self._shown.tell(source, "done")
                    return
                self._shown.tell(source, "returning", error)
                gone = await self._serve(before) if before is not None else error
                if gone is not None:
                    self._shown.failed("No model can be loaded", gone)
                self._shown.tell(source, "failed", error)
        finally:
            self._shown.changing = False
            self._steady.set()

    async def _serve(self, source: ModelSource) -> str | None:
        """Start what is to be the served model. Returns why it cannot be, after stopping it, or None."""
        await self._choose(source)
        hosted = self._hosted(source)
        self._shown.follow(hosted)
        await hosted.start()
        status = await hosted.settled()
        if status.phase == "ready":
            return None
        await self._stop(hosted, _SWITCHED)
        return status.error or status.detail

    async def _meant(self, name: str) -> HostedModel:
        """The model that a request names."""
        served = self._served
        if served is None:
            raise NotReady("The model is still loading.")
        wanted = served.id
        if self._config.model_pool > 1:
            wanted = await self._names.find(name, served.id, self._sources)
        hosted = self._models.get(wanted)
        if hosted is not None and not hosted.leaving and wanted not in self._loading:
            return hosted
        return await self._loaded(await self._source(wanted))

    async def _source(self, name: str) -> ModelSource:
        """The model of a name that a request has. Raises NotFound."""
        try:
            return await self._sources.find(name)
        except ModelNotFoundError as error:
            raise NotFound(str(error), code="model_not_found", param="model") from error

    async def _loaded(self, source: ModelSource) -> HostedModel:
        """A model of the pool, started if it does not run. All who ask meanwhile wait for the same start."""
        task = self._loading.get(source.id)
        if task is None:
            task = self._loading[source.id] = self._background(self._load(source))
            task.add_done_callback(lambda _: self._loading.pop(source.id, None))
        return await asyncio.shield(task)

    async def _load(self, source: ModelSource) -> HostedModel:
        async with self._changing:
            if (hosted := self._models.get(source.id)) is not None:
                if hosted.source.path == source.path:
                    return hosted
                # Another revision of it has come.
                hosted.leaving = True
                await hosted.drained(_DRAIN_WITHIN_S)
                await self._stop(hosted, _SWITCHED)
            while len(self._models) >= self._config.model_pool:
                if not await self._make_room(source):
                    raise Conflict(
                        f"{source.id} cannot be started: all {len(self._models)} models of the pool are "
                        "pinned (--model-pool, --pin).",
                        code="pool_full",
                        param="model",
                    )
            while True:
                hosted = self._hosted(source)
                if self._served is not None and source.id == self._served.id:
                    self._shown.follow(hosted)
                await hosted.start()
                status = await hosted.settled()
                if status.phase == "ready":
                    return hosted
                await self._stop(hosted, _STOPPED)
                if not (hosted.too_big and await self._make_room(source)):
                    raise NotReady(
                        f"{source.id} cannot be loaded: {status.error or status.detail}",
                        code="engine_failed",
                        param="model",
                        retry_after_s=30,
                    )

    async def _make_room(self, source: ModelSource) -> bool:
        """Stop the model that is needed least; False if there is none that may be stopped."""
        victim = least_needed(self._residents())
        if victim is None:
            return False
        hosted = self._models[victim]
        log.info("%s makes room for %s", victim, source.id)
        hosted.leaving = True
        await hosted.drained(_DRAIN_WITHIN_S)
        await self._stop(hosted, _STOPPED)
        return True

    async def _stop(self, hosted: HostedModel, why: str) -> None:
        """End a model; what is left to be seen of it is that it can be started again.

        Who asks for it meanwhile waits, and starts it.
        """
        hosted.leaving = True
        if hosted is self.main:
            self._known = hosted.served
        await hosted.close(why)
        if self._models.get(hosted.id) is hosted:
            del self._models[hosted.id]
        if self._served is not None and self._served.id == hosted.id and self._steady.is_set():
            self._shown.asleep()

    async def _sweep(self, idle_s: float) -> None:
        """Stop models that nobody asks."""
        while True:
            await asyncio.sleep(min(_LOOK_EVERY_S, idle_s / 4))
            if self._changing.locked():
                continue
            async with self._changing:
                # One may be asked for while another stops, which takes seconds.
                while left := left_alone(self._residents(), time.monotonic(), idle_s):
                    await self._stop(self._models[left[0]], _STOPPED)

    def _residents(self) -> list[Resident]:
        return [
            Resident(
                id=hosted.id,
                used_at=hosted.used_at,
                pinned=hosted.id in self._config.pinned,
                # What is loading has been asked for by somebody who waits.
                busy=hosted.busy or hosted.served is None,
            )
            for hosted in self._models.values()
        ]

    def _note_rate(self, model_id: str, tps: float) -> None:
        """Let the shelf know how fast a model is; seldom, since it writes that down."""
        now = time.monotonic()
        if now - self._rated_at.get(model_id, -_RATED_EVERY_S) >= _RATED_EVERY_S:
            self._rated_at[model_id] = now
            self._background(self._shelf.rated(model_id, tps))

    def _unspent_bytes(self) -> int:
        return sum(hosted.unspent_bytes for hosted in list(self._models.values()))

    async def _choose(self, source: ModelSource) -> None:
        """Serve this model from now on; nobody may remove its files, even while it is not in memory."""
        held = await asyncio.to_thread(hold, source.path)
        before, self._hold, self._served = self._hold, held, source
        if before is not None:
            before.close()

    def _hosted(self, source: ModelSource) -> HostedModel:
        hosted = self._models[source.id] = HostedModel(source, self._around)
        return hosted

    def _background(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
