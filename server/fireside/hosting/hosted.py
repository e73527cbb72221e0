"""One model that runs: its core, the text side, and where it stands."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from fireside import wire
from fireside.api.embedding_task import ServedEmbedder
from fireside.api.generation import Served
from fireside.api.request_log import RequestLog
from fireside.api.sampling import SamplingFields
from fireside.catalog.embedders import NOTE, Embedder, UnsupportedEmbedderError, read_embedder
from fireside.catalog.fit import DoesNotFitError
from fireside.catalog.in_use import Hold, hold
from fireside.catalog.resolve import ModelSource
from fireside.config import ServeConfig
from fireside.engine.admission import Admission, MemoryFlags, plan_admission
from fireside.engine.engine import Engine, EngineConfig
from fireside.engine.metrics import Metrics
from fireside.engine.ssd import Flushing, usual_max_bytes
from fireside.engine.status import EngineStatus, ModelInfo, StatusBoard
from fireside.text.embedding import EmbeddingText
from fireside.text.grammar.compiler import GrammarCompiler
from fireside.text.mlxlm import import_text_parts
from fireside.text.model import TextModel

_JUST_ASKED_S = 0.5
"""Between being handed a model and having a row in it, which takes the time to render a prompt."""


@dataclass(frozen=True)
class Surroundings:
    """What all models of an app share.

    Attributes:
        share: of what is left beside the weights, that one model's rows and caches may have.
        reserved: bytes of the device that other models were promised and do not use yet.
        rated: told how many tokens a second a model has written.
    """

    config: ServeConfig
    log: RequestLog
    metrics: Metrics
    share: float
    reserved: Callable[[], int]
    rated: Callable[[str, float], None]


class HostedModel:
    """A model from its start to its end.

    Attributes:
        board: where it stands.
        served: what routes ask; None until it is ready for the first time.
        used_at: when somebody last asked for it, on the monotonic clock.
        too_big: whether it failed because the device has no room for it.
        leaving: whether it is about to be stopped, and is to get no more requests.
    """

    def __init__(self, source: ModelSource, around: Surroundings) -> None:
        self.source = source
        self.board = StatusBoard()
        model = ModelInfo(id=source.id, name=source.name, note=source.note)
        self.board.update(phase="importing", detail="Starting the engine", model=model)
        self.flushing = Flushing()
        self.engine: Engine | None = None
        self.served: Served | ServedEmbedder | None = None
        self.used_at = time.monotonic()
        self.too_big = False
        self.leaving = False
        self._around = around
        self._metrics = around.metrics.another()
        self._hold: Hold | None = None
        self._text: TextModel | EmbeddingText | None = None
        self._grammars: GrammarCompiler | None = None

    @property
    def id(self) -> str:
        return self.source.id

    @property
    def failed(self) -> bool:
        """Whether it will never be ready."""
        return self.board.current.phase == "failed"

    @property
    def busy(self) -> bool:
        """Whether it has requests, or may get one that has just been let in."""
        status = self.board.current
        return bool(status.rows or status.queued) or time.monotonic() - self.used_at < _JUST_ASKED_S

    @property
    def unspent_bytes(self) -> int:
        """What its rows and caches were promised of the device and do not use yet."""
        if self.engine is None or self.engine.admission is None:
            return 0
        used = self.engine.batch["kv_bytes"] or 0
        return max(0, self.engine.admission.load.kv_budget_bytes - used - self.engine.cache.bytes)

    async def start(self) -> None:
        """Start to load; how that goes is on the board."""
        self._hold = await asyncio.to_thread(hold, self.source.path)
        try:
            embedder = await asyncio.to_thread(_embedder, self.source)
        except UnsupportedEmbedderError as error:
            self.board.update(phase="failed", detail="The model cannot be loaded", error=str(error))
            return
        if embedder is not None and self.board.current.model is not None:
            self.board.update(model=msgspec.structs.replace(self.board.current.model, note=NOTE))
        config = self._around.config
        start = wire.Start(
            version=wire.WIRE_VERSION,
            model_path=None if self.source.origin == "embedded" else str(self.source.path),
            models_dir=str(config.home.models),
            cache_dir=str(config.home.cache),
            max_rows=config.max_rows,
            ssd=await asyncio.to_thread(_ssd_settings, config) if embedder is None else None,
        )
        flags = MemoryFlags(
            config.memory_budget, config.kv_budget, config.prompt_cache if embedder is None else 0
        )
        engine = EngineConfig(
            command=config.core_command,
            start=start,
            plan=lambda located: self._plan(flags, located),
            located=self._open_text if embedder is None else self._open_embedder(embedder),
            max_queue=config.max_queue,
            rated=lambda tps: self._around.rated(self.id, tps),
            lane_debug=config.lane_debug,
        )
        self.engine = Engine(engine, self.board, self._metrics)
        self.engine.start()
        if embedder is None:
            # What the model's text side needs is imported while its weights are loading.
            await asyncio.to_thread(import_text_parts)

    async def settled(self) -> EngineStatus:
        """Wait until it can be asked, or has failed; which of them is in the status."""
        async with aclosing(self.board.follow()) as changes:
            async for status in changes:
                if status.phase in ("ready", "failed", "stopping"):
                    # Whoever waited asks only now: loading may have taken longer than it may be idle.
                    self.used_at = time.monotonic()
                    return status
        return self.board.current

    async def drained(self, within_s: float) -> bool:
        """Wait until nobody is being answered; False if that takes longer."""
        end = time.monotonic() + within_s
        while self.busy:
            if time.monotonic() > end:
                return False
            await asyncio.sleep(_JUST_ASKED_S / 5)
        return True

    async def close(self, why: str = "Fireside is stopping.") -> None:
        """Let the core write what it has read, then end it. Idempotent.

        Args:
            why: what requests are told that are still being answered.
        """
        if self.engine is not None:
            self.engine.refuse(why)
            await self.flushing.run(self.engine.drain)
            await self.engine.close()
            self._metrics.closed()
        if self._grammars is not None:
            await self._grammars.close()
        if self._text is not None:
            self._text.close()
        if self._hold is not None:
            self._hold.close()
        self.board.update(phase="stopping", detail="Stopping")

    def kill(self) -> None:
        """End the core without waiting."""
        if self.engine is not None:
            self.engine.kill()

    def _plan(self, flags: MemoryFlags, located: wire.Located) -> Admission:
        """What fits beside the models that run already. Called on a thread of its own."""
        try:
            return self._planned(flags, located)
        except DoesNotFitError:
            self.too_big = True
            raise

    def _planned(self, flags: MemoryFlags, located: wire.Located) -> Admission:
        around = self._around
        free = max(0, located.memory_bytes - around.reserved())
        located = msgspec.structs.replace(located, memory_bytes=free)
        rows = around.config.max_rows
        admission = plan_admission(self.id, flags, rows, located)
        if around.share < 1 and flags.kv_budget is None:
            shared = round(admission.load.kv_budget_bytes * around.share)
            admission = plan_admission(self.id, replace(flags, kv_budget=shared), rows, located)
        return admission

    def _show_window(self, tokens: int, admission: Admission) -> int:
        """Show, and return, how much of what the model can read fits into memory; both in tokens."""
        plan = admission.plan
        most = tokens if plan is None else min(tokens, plan.max_row_context)
        model = self.board.current.model
        if model is not None:
            self.board.update(model=msgspec.structs.replace(model, context_window=most))
        return most

    def _open_embedder(self, embedder: Embedder) -> Callable[[Path, Admission], Awaitable[None]]:
        async def open_text(folder: Path, admission: Admission) -> None:
            text = self._text = await EmbeddingText.load(folder, embedder.end_token)
            most = self._show_window(embedder.max_tokens, admission)
            if self.engine is not None:
                self.served = ServedEmbedder(
                    model_id=self.id,
                    text=text,
                    engine=self.engine,
                    size=embedder.size,
                    max_tokens=most,
                    vocab_size=embedder.vocab_size,
                    dimensions=embedder.dimensions,
                    prompt=embedder.prompt,
                    query=embedder.query,
                    created=int((await asyncio.to_thread(folder.stat)).st_mtime),
                )

        return open_text

    async def _open_text(self, folder: Path, admission: Admission) -> None:
        config = self._around.config
        text = self._text = await TextModel.load(folder, config.chat_template, config.chat_template_args)
        if os.environ.get("FIRESIDE_GRAMMAR") != "0":
            self._grammars = GrammarCompiler(text.vocabulary)
        self._show_window(text.context_window, admission)
        if self.engine is not None:
            self.served = Served(
                model_id=self.id,
                text=text,
                engine=self.engine,
                flags=SamplingFields(config.temperature, config.top_p, config.top_k, config.min_p),
                max_tokens=config.max_tokens,
                thinking=config.thinking,
                admission=admission,
                log=self._around.log,
                grammars=self._grammars,
                created=int((await asyncio.to_thread(folder.stat)).st_mtime),
            )


def _embedder(source: ModelSource) -> Embedder | None:
    """What the model is like if it embeds. The built-in one, which may not be made yet, chats."""
    return None if source.origin == "embedded" else read_embedder(source.path)


def _ssd_settings(config: ServeConfig) -> wire.SsdSettings | None:
    tier = config.ssd_cache
    if tier is None:
        return None
    return wire.SsdSettings(
        dir=str(config.ssd_folder),
        max_bytes=tier.max_bytes or usual_max_bytes(config.ssd_folder),
        queue_bytes=tier.queue_bytes,
        demote_idle_s=tier.demote_idle_s,
        verify=tier.verify,
        write_behind=tier.write_behind,
    )
