"""From a model folder to a model that has answered once."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import load_model

from fireside import wire
from fireside.catalog.embedded import EmbeddedModelError, ensure_embedded_model
from fireside.catalog.embedders import Embedder, read_embedder
from fireside.catalog.fit import PREFILL_STEP
from fireside.catalog.memory import available_memory
from fireside.core.blas_threads import ThreadPlan, choose_threads
from fireside.core.channel import Channel
from fireside.core.embedding.loading import load_embedder
from fireside.core.embedding.reading import Reader
from fireside.core.profile import Profile
from fireside.core.weights import materialise, weight_budget, widen_for_cpu

Report = Callable[[wire.Up], None]

_REPORT_EVERY_S = 0.1


class LoadError(Exception):
    """The model cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Loaded:
    """A model in memory and what the app has to know of it."""

    model: nn.Module
    vocab_size: int
    limits: wire.Load
    ready: wire.Ready
    threads: ThreadPlan | None
    folder: Path
    embedder: Embedder | None = None


def load(start: wire.Start, profile: Profile, channel: Channel) -> Loaded:
    """Find the model, ask the app whether it fits, then load, widen and try it.

    Raises:
        LoadError: the folder is not a model that mlx-lm knows, or the first inference fails.
    """
    if not profile.compiles:
        mx.disable_compile()
    report: Report = channel.send
    folder = _model_folder(start, report)
    report(_located(folder, profile))
    limits = channel.receive()
    if not isinstance(limits, wire.Load):
        raise LoadError(f"The app was to say how much memory may be used, and said {limits!r}.")
    if limits.memory_limit_bytes is not None:
        mx.set_memory_limit(limits.memory_limit_bytes)
    progress = _Progress(report, "loading", "Loading the model")
    try:
        embedder = read_embedder(folder)
        model = load_embedder(folder, embedder) if embedder else load_model(folder, lazy=True)[0]
        if profile.cpu:
            weights = widen_for_cpu(model, _widened(limits), progress)
        else:
            weights = materialise(model, progress)
        report(wire.Phase("warming", "Trying a first inference"))
        vocab_size = _first_vector(model, embedder) if embedder else _first_inference(model)
        batches = embedder is not None or all(hasattr(cache, "merge") for cache in make_prompt_cache(model))
    except _OF_A_MODEL as error:
        raise LoadError(f"The model in {folder} cannot be used: {type(error).__name__}: {error}") from error
    threads = choose_threads(profile.blas[0], Path(start.cache_dir)) if profile.blas else None
    if embedder is not None and threads is not None and profile.blas is not None:
        # It only ever reads.
        profile.blas[0].set_threads(threads.prefill)
    ready = _ready(weights, profile, threads, batches, embedder is not None)
    return Loaded(model, vocab_size, limits, ready, threads, folder, embedder)


_OF_A_MODEL = (
    ArithmeticError, AttributeError, ImportError, LookupError, OSError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
"""What a model's files can bring about: their numbers go into its code unchecked."""


def _located(folder: Path, profile: Profile) -> wire.Located:
    gpu = mx.default_device() == mx.gpu
    return wire.Located(
        model_path=str(folder),
        device="gpu" if gpu else "cpu",
        memory_bytes=_free_memory(gpu),
        float32_bytes=weight_budget() if profile.cpu else None,
        prefill_step=PREFILL_STEP["gpu" if gpu else "cpu"],
    )


def _widened(limits: wire.Load) -> int:
    return weight_budget() if limits.float32_bytes is None else limits.float32_bytes


def _free_memory(gpu: bool) -> int:
    """Bytes of the device that a model may take: NVIDIA's own memory, or what the machine shares."""
    facts = mx.device_info() if gpu else {}
    if "free_memory" in facts:
        return int(facts["free_memory"])
    free = available_memory()
    working_set = facts.get("max_recommended_working_set_size")
    return min(free, int(working_set)) if working_set else free


def _model_folder(start: wire.Start, report: Report) -> Path:
    if start.model_path is not None:
        return Path(start.model_path)
    try:
        return ensure_embedded_model(
            Path(start.models_dir), _Progress(report, "preparing", "Preparing the built-in model")
        )
    except EmbeddedModelError as error:
        raise LoadError(str(error)) from error


class _Progress:
    """Reports a phase with its bytes, a few times a second."""

    def __init__(self, report: Report, phase: wire.LoadPhase, detail: str) -> None:
        self._report = report
        self._phase: wire.LoadPhase = phase
        self._detail = detail
        self._last = 0.0
        report(wire.Phase(phase, detail))

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= _REPORT_EVERY_S or done == total:
            self._last = now
            self._report(wire.Phase(self._phase, self._detail, done, total))


def _first_inference(model: nn.Module) -> int:
    """Read two tokens and decode one, which compiles kernels and proves that the model runs.

    Returns:
        The size of the vocabulary.

    Raises:
        ValueError: the logits are not finite.
    """
    cache = make_prompt_cache(model)
    model(mx.array([[0, 1]]), cache=cache)
    logits: mx.array = model(mx.array([[1]]), cache=cache)[:, -1, :]
    if not mx.isfinite(logits.astype(mx.float32)).all().item():
        raise ValueError("a first inference gives no finite numbers; the weights are damaged")
    return logits.shape[-1]


def _first_vector(model: nn.Module, embedder: Embedder) -> int:
    """Read two tokens, which compiles kernels and proves that the model runs.

    Returns:
        The size of the vocabulary.

    Raises:
        ValueError: the numbers are not finite.
    """
    if not np.isfinite(Reader(model, embedder).vectors([[0, 1]])).all():
        raise ValueError("a first text gives no finite numbers; the weights are damaged")
    return embedder.vocab_size


def _ready(
    weights: str, profile: Profile, threads: ThreadPlan | None, batches: bool, embeds: bool
) -> wire.Ready:
    return wire.Ready(
        weights=weights,
        weights_bytes=mx.get_active_memory(),
        device="gpu" if mx.default_device() == mx.gpu else "cpu",
        versions={name: version(name) for name in ("mlx", "mlx-lm")},
        blas=_blas_facts(profile, threads),
        warnings=profile.warnings,
        batches=batches,
        embeds=embeds,
    )


def _blas_facts(profile: Profile, threads: ThreadPlan | None) -> dict[str, str | float | int] | None:
    if profile.blas is None:
        return None
    facts = profile.blas[1].facts()
    return {**facts, "threads": threads.decode} if threads else facts
