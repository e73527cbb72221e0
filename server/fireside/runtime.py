"""What runs behind the routes: the engine or the upstream, and the agent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import msgspec

from fireside import wire
from fireside.api.generation import Served
from fireside.api.request_log import RequestLog
from fireside.api.sampling import SamplingFields
from fireside.api.served import Serving
from fireside.catalog.resolve import ModelNotFoundError, ModelSource, resolve_model
from fireside.config import ServeConfig
from fireside.engine.admission import Admission, MemoryFlags, plan_admission
from fireside.engine.engine import Engine, EngineConfig
from fireside.engine.metrics import Metrics
from fireside.engine.status import ModelInfo, StatusBoard
from fireside.text.mlxlm import import_text_parts
from fireside.text.model import TextModel


class LocalEngine:
    """A core of our own, and the text side of its model."""

    def __init__(self, config: ServeConfig, board: StatusBoard, serving: Serving) -> None:
        self._config = config
        self._board = board
        self._serving = serving
        self._log = RequestLog(config.home.logs, texts=config.log_prompts)
        self._text: TextModel | None = None
        self.metrics = Metrics()
        self.engine: Engine | None = None

    async def start(self) -> None:
        """Find the model and start loading it; a model that is not there is shown, not raised."""
        home = self._config.home
        try:
            source = await asyncio.to_thread(resolve_model, self._config.model, home.models)
        except ModelNotFoundError as error:
            self._board.update(phase="failed", detail="The model cannot be found", error=str(error))
            return
        self._board.update(model=ModelInfo(id=source.id, name=source.name, note=source.note))
        start = wire.Start(
            version=wire.WIRE_VERSION,
            model_path=None if source.origin == "embedded" else str(source.path),
            models_dir=str(home.models),
            cache_dir=str(home.cache),
            max_rows=self._config.max_rows,
        )
        config = EngineConfig(
            command=self._config.core_command,
            start=start,
            plan=partial(plan_admission, source.id, self._memory_flags(), self._config.max_rows),
            located=self._open(source),
            max_queue=self._config.max_queue,
            lane_debug=self._config.lane_debug,
        )
        self.engine = Engine(config, self._board, self.metrics)
        self.engine.start()
        # What the model's text side needs is imported while its weights are loading.
        await asyncio.to_thread(import_text_parts)

    async def close(self) -> None:
        """End the core. Idempotent."""
        if self.engine is not None:
            await self.engine.close()
        if self._text is not None:
            self._text.close()
        await asyncio.to_thread(self._log.close)

    def kill(self) -> None:
        """End the core without waiting."""
        if self.engine is not None:
            self.engine.kill()

    def _memory_flags(self) -> MemoryFlags:
        return MemoryFlags(self._config.memory_budget, self._config.kv_budget, self._config.prompt_cache)

    def _open(self, source: ModelSource) -> Callable[[Path, Admission], Awaitable[None]]:
        async def open_text(folder: Path, admission: Admission) -> None:
            text = self._text = await TextModel.load(folder)
            plan = admission.plan
            most = text.context_window if plan is None else min(text.context_window, plan.max_row_context)
            model = self._board.current.model
            if model is not None:
                self._board.update(model=msgspec.structs.replace(model, context_window=most))
            if self.engine is not None:
                config = self._config
                flags = SamplingFields(config.temperature, config.top_p, config.top_k)
                self._serving.open(
                    Served(
                        model_id=source.id,
                        text=text,
                        engine=self.engine,
                        flags=flags,
                        max_tokens=config.max_tokens,
                        thinking=config.thinking,
                        admission=admission,
                        log=self._log,
                    )
                )

        return open_text
