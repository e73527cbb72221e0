"""Whether a model fits on a machine, how long a conversation may get there, and how fast it answers.

ModelFacts + Machine ──> assess ──> Assessment
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from fireside.catalog.fit import (
    SMALLEST_CONTEXT,
    DoesNotFitError,
    Memory,
    MemoryPlan,
    ModelNeed,
    Workload,
    gigabytes,
    plan_memory,
)
from fireside.catalog.fit_config import AbsurdShapeError, ShapeError
from fireside.catalog.fit_shape import ModelShape, read_config
from fireside.catalog.fit_weights import RunningWeights
from fireside.catalog.machine import Device, Machine
from fireside.catalog.scan import ModelFacts

TYPICAL_CONTEXT = 8192
"""Tokens of a conversation for which a rate is predicted."""

_EFFICIENCY: dict[Device, float] = {"apple": 0.75, "nvidia": 0.6, "cpu": 0.25}
"""Of the bandwidth, that one row's products of matrix and vector come to. A CPU's BLAS is far from it."""

_LAYER_SECONDS: dict[Device, float] = {"apple": 60e-6, "nvidia": 80e-6, "cpu": 150e-6}
"""Of a step, for each layer, that no bandwidth shortens: starting kernels, small operations."""

Limit = Literal["model", "memory"]


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """What one model comes to on one machine. Sizes are bytes, lengths tokens, rates tokens a second.

    Attributes:
        fits: whether it can be started, and a conversation of the length that was asked for fits.
        reason: why, or why not, in words.
        max_safe_context: of prompt and answer; null where the model's files do not tell.
        limit: what keeps it from being larger.
        weights_bytes: as they will run, which on a CPU is mostly larger than the files.
        kv_bytes: that keys and values of a conversation of the length take.
        prefill_bytes: for a moment, while its prompt is read.
        needed_bytes: all of it together.
        usable_bytes: what there is for it.
        predicted_decode_tps: from the bandwidth of the memory; null where that is not known.
        measured_decode_tps: null as long as the model has not answered here.
        decode_tps: the measured rate, else the predicted one.
    """

    fits: bool
    reason: str
    context_tokens: int
    max_safe_context: int | None = None
    limit: Limit | None = None
    weights_bytes: int | None = None
    kv_bytes: int | None = None
    prefill_bytes: int | None = None
    needed_bytes: int | None = None
    usable_bytes: int
    predicted_decode_tps: float | None = None
    measured_decode_tps: float | None = None
    decode_tps: float | None = None


@dataclass(frozen=True)
class Terms:
    """What else decides.

    Attributes:
        budget_bytes: `--memory-budget`; None for what the machine has.
        rows: that decode at the same time.
        held_bytes: that our own processes hold and would give back first.
    """

    budget_bytes: int | None = None
    rows: int = 8
    held_bytes: int = 0


USUAL_TERMS = Terms()
"""Where nothing else was said."""


def assess(
    facts: ModelFacts,
    machine: Machine,
    context: int | None = None,
    terms: Terms = USUAL_TERMS,
    measured: float | None = None,
) -> Assessment:
    """Solve it. Reads the model's config.json and nothing else.

    Args:
        context: tokens of the conversation that should fit; None for one of a typical length, or shorter.
        measured: tokens a second, of answers that the model has given here.
    """
    memory = Memory(machine.available_bytes + terms.held_bytes, terms.budget_bytes)
    wanted = context or min(TYPICAL_CONTEXT, facts.context_window or TYPICAL_CONTEXT)
    blank = Assessment(
        fits=False,
        reason="",
        context_tokens=wanted,
        usable_bytes=memory.usable_bytes,
        measured_decode_tps=measured,
        decode_tps=measured,
    )
    if not facts.complete:
        return _because(blank, f"It is not complete: {'; '.join(facts.missing)}.")
    if facts.unsupported is not None or facts.weights is None:
        return _because(blank, facts.unsupported or "Its weights cannot be read.")
    weights = _running(facts, machine, memory)
    blank = msgspec.structs.replace(blank, weights_bytes=weights.bytes)
    try:
        shape = ModelShape.from_config(read_config(Path(facts.path)))
    except AbsurdShapeError as error:
        return _because(blank, str(error))
    except ShapeError as error:
        return _by_weights(blank, weights, str(error))
    need = ModelNeed(facts.repo_id, shape, weights)
    if facts.kind == "chat":
        tps = predict(facts, shape, weights, machine, min(wanted, need.window))
        blank = msgspec.structs.replace(blank, predicted_decode_tps=tps, decode_tps=measured or tps)
    work = Workload(terms.rows, machine.prefill_step, fused_attention=machine.has_gpu)
    try:
        plan = plan_memory(need, memory, work)
    except DoesNotFitError as error:
        return _because(blank, str(error))
    return _planned(blank, plan, asked=context is not None)


def predict(
    facts: ModelFacts, shape: ModelShape, weights: RunningWeights, machine: Machine, context: int
) -> float | None:
    """Tokens a second of one answer after so many: each reads weights, keys and values once."""
    share = facts.weights.read_share if facts.weights else 1.0
    read = weights.bytes * share + shape.kv_bytes(context, weights.width)
    return predicted_rate(machine, read, len(shape.caches))


def predicted_rate(machine: Machine, read_bytes: float, layers: int) -> float | None:
    """Steps a second that read so many bytes each; None where the machine's bandwidth is not known."""
    if machine.bandwidth is None:
        return None
    seconds = read_bytes / (machine.bandwidth * _EFFICIENCY[machine.device])
    return round(1 / (seconds + layers * _LAYER_SECONDS[machine.device]), 1)


def _running(facts: ModelFacts, machine: Machine, memory: Memory) -> RunningWeights:
    assert facts.weights is not None
    if machine.float32_bytes is None:
        return facts.weights.on_gpu()
    return facts.weights.on_cpu(min(machine.float32_bytes, memory.usable_bytes))


def _because(blank: Assessment, reason: str) -> Assessment:
    return msgspec.structs.replace(blank, reason=reason)


def _by_weights(blank: Assessment, weights: RunningWeights, why: str) -> Assessment:
    """Of a model whose files do not tell what a conversation takes."""
    fits = weights.bytes < blank.usable_bytes
    verdict = "fit" if fits else "do not fit"
    return msgspec.structs.replace(
        blank,
        fits=fits,
        reason=f"Its weights of {gigabytes(weights.bytes)} {verdict} into the"
        f" {gigabytes(blank.usable_bytes)} that may be used; what a conversation takes is not known. {why}",
    )


def _planned(blank: Assessment, plan: MemoryPlan, *, asked: bool) -> Assessment:
    need, safe = plan.target, plan.max_safe_context
    wanted = min(blank.context_tokens, need.window)
    if not asked:
        wanted = min(wanted, safe)
    needed, kv = plan.needed_bytes(wanted), plan.row_bytes(wanted)
    fits = blank.context_tokens <= safe if asked else safe >= min(SMALLEST_CONTEXT, need.window)
    return msgspec.structs.replace(
        blank,
        fits=fits,
        reason=_words(blank.context_tokens, plan, needed, kv, fits=fits),
        context_tokens=blank.context_tokens if asked else wanted,
        max_safe_context=safe,
        limit=plan.limit,
        kv_bytes=kv,
        prefill_bytes=needed - kv - need.weights.bytes,
        needed_bytes=needed,
    )


def _words(context: int, plan: MemoryPlan, needed: int, kv: int, *, fits: bool) -> str:
    window, safe = plan.target.window, plan.max_safe_context
    if fits and plan.limit == "model":
        return f"It fits, with conversations of up to {safe:,} tokens, the most that the model reads."
    if fits:
        return (
            f"It fits, with conversations of up to {safe:,} tokens; for the {window:,} that the model could"
            f" read {gigabytes(plan.needed_bytes(window))} would be needed, and {plan.memory} is less."
        )
    if context > window:
        return f"The model reads at most {window:,} tokens, and {context:,} were asked for."
    weights = gigabytes(plan.target.weights.bytes)
    rest = gigabytes(needed - kv - plan.target.weights.bytes)
    return (
        f"A conversation of {context:,} tokens needs {gigabytes(needed)}: {weights} for the weights,"
        f" {gigabytes(kv)} for keys and values, {rest} while the prompt is read; {plan.memory} is less."
        f" Up to {safe:,} tokens fit."
    )
