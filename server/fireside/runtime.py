"""What runs behind the routes: the engine or the upstream, and the agent."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import msgspec

from fireside import wire
from fireside.api.embedding_task import ServedEmbedder
from fireside.api.generation import Served
from fireside.api.request_log import RequestLog
from fireside.api.sampling import SamplingFields
from fireside.api.served import Serving
from fireside.catalog.embedders import NOTE, Embedder, UnsupportedEmbedderError, read_embedder
from fireside.catalog.resolve import ModelNotFoundError, ModelSource, resolve_model
from fireside.config import ServeConfig
from fireside.engine.admission import Admission, MemoryFlags, plan_admission
from fireside.engine.engine import Engine, EngineConfig
from fireside.engine.metrics import Metrics
from fireside.engine.status import ModelInfo, StatusBoard
from fireside.text.embedding import EmbeddingText
from fireside.text.grammar.compiler import GrammarCompiler
from fireside.text.mlxlm import import_text_parts
from fireside.text.model import TextModel


class LocalEngine:
    """A core of our own, and the text side of its model."""

    def __init__(self, config: ServeConfig, board: StatusBoard, serving: Serving) -> None:
        self._config = config
        self._board = board
        self._serving = serving
        self._log = RequestLog(config.home.logs, texts=config.log_prompts)
        self._text: TextModel | EmbeddingText | None = None
        self._grammars: GrammarCompiler | None = None
        self.metrics = Metrics()
        self.engine: Engine | None = None

    async def start(self) -> None:
        """Find the model and start loading it; a model that is not there is shown, not raised."""
        home = self._config.home
        try:
            source = await asyncio.to_thread(resolve_model, self._config.model, home.models)
            embedder = await asyncio.to_thread(_embedder, source)
        except ModelNotFoundError as error:
            self._board.update(phase="failed", detail="The model cannot be found", error=str(error))
            return
        except UnsupportedEmbedderError as error:
            self._board.update(phase="failed", detail="The model cannot be loaded", error=str(error))
            return
        note = NOTE if embedder is not None else source.note
        self._board.update(model=ModelInfo(id=source.id, name=source.name, note=note))
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
            plan=partial(plan_admission, source.id, self._memory_flags(embedder), self._config.max_rows),
            located=self._open(source) if embedder is None else self._open_embedder(source, embedder),
            max_queue=self._config.max_queue,
            lane_debug=self._config.lane_debug,
        )
        self.engine = Engine(config, self._board, self.metrics)
        self.engine.start()
        if embedder is None:
            # What the model's text side needs is imported while its weights are loading.
            await asyncio.to_thread(import_text_parts)

    async def close(self) -> None:
        """End the core. Idempotent."""
        if self.engine is not None:
            await self.engine.close()
        if self._grammars is not None:
            await self._grammars.close()
        if self._text is not None:
            self._text.close()
        await asyncio.to_thread(self._log.close)

    def kill(self) -> None:
        """End the core without waiting."""
        if self.engine is not None:
            self.engine.kill()

    def _memory_flags(self, embedder: Embedder | None) -> MemoryFlags:
        prompt_cache = self._config.prompt_cache if embedder is None else 0
        return MemoryFlags(self._config.memory_budget, self._config.kv_budget, prompt_cache)

    def _show_window(self, tokens: int, admission: Admission) -> int:
        """Show, and return, how much of what the model can read fits into memory; both in tokens."""
        plan = admission.plan
        most = tokens if plan is None else min(tokens, plan.max_row_context)
        model = self._board.current.model
        if model is not None:
            self._board.update(model=msgspec.structs.replace(model, context_window=most))
        return most

    def _open_embedder(
        self, source: ModelSource, embedder: Embedder
    ) -> Callable[[Path, Admission], Awaitable[None]]:
        async def open_text(folder: Path, admission: Admission) -> None:
            text = self._text = await EmbeddingText.load(folder, embedder.end_token)
            most = self._show_window(embedder.max_tokens, admission)
            if self.engine is not None:
                self._serving.open(
                    ServedEmbedder(
                        model_id=source.id,
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
                )

        return open_text

    def _open(self, source: ModelSource) -> Callable[[Path, Admission], Awaitable[None]]:
        async def open_text(folder: Path, admission: Admission) -> None:
            text = self._text = await TextModel.load(
                folder, self._config.chat_template, self._config.chat_template_args
            )
            if os.environ.get("FIRESIDE_GRAMMAR") != "0":
                self._grammars = GrammarCompiler(text.vocabulary)
            self._show_window(text.context_window, admission)
            if self.engine is not None:
                config = self._config
                flags = SamplingFields(config.temperature, config.top_p, config.top_k, config.min_p)
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
                        grammars=self._grammars,
                        created=int((await asyncio.to_thread(folder.stat)).st_mtime),
                    )
                )

        return open_text


def _embedder(source: ModelSource) -> Embedder | None:
    """What the model is like if it embeds. The built-in one, which may not be made yet, chats."""
    return None if source.origin == "embedded" else read_embedder(source.path)
