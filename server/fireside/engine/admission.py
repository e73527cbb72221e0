"""What a core may take of the machine, and what a request may ask of that."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from fireside import wire
from fireside.catalog.fit import (
    Memory,
    MemoryPlan,
    Workload,
    plan_memory,
    read_model,
    usual_prompt_cache,
)
from fireside.catalog.fit_accounts import KvAccountant
from fireside.catalog.fit_config import ShapeError
from fireside.catalog.fit_request import Fit, Refusal, fit_request
from fireside.catalog.fit_weights import WeightsError
from fireside.engine.requests import Priority
from fireside.http.errors import ContextOverBudget

log = logging.getLogger(__name__)

_SHARE_FOR_WEIGHTS = 0.6
"""Of an explicit memory budget, that weights may take as float32; else they stay as they are stored."""


@dataclass(frozen=True)
class MemoryFlags:
    """What the person who started Fireside allows, in bytes; None for what the machine has."""

    memory_budget: int | None = None
    kv_budget: int | None = None
    prompt_cache: int | None = None


@dataclass(frozen=True)
class Admission:
    """The answer to a core that asks whether its model fits.

    Attributes:
        plan: None for a model whose files do not tell what it takes; nothing but its context window then
            limits a request.
    """

    memory: Memory
    plan: MemoryPlan | None
    load: wire.Load

    def accountant(self) -> KvAccountant | None:
        """For the rows of a batch; None without a plan. Only interactive rows take others' place."""
        if self.plan is None:
            return None
        gap = Priority.INTERACTIVE - Priority.BACKGROUND
        return KvAccountant(self.plan.row_bytes, self.plan.kv_budget_bytes, displaces_from=gap)

    def stats(self) -> dict[str, int | None]:
        """`/stats.admission`; null is what is not known, or not limited."""
        if self.plan is not None:
            return self.plan.stats()
        return {
            "max_safe_context": None,
            "memory_budget_bytes": self.memory.budget_bytes,
            "usable_bytes": self.memory.usable_bytes,
            "weights_bytes": None,
        }


def plan_admission(name: str, flags: MemoryFlags, rows: int, located: wire.Located) -> Admission:
    """Solve what fits on the device of a core. Reads the headers of the model's files.

    Args:
        name: of the model, for people.
        rows: that decode at the same time.

    Raises:
        DoesNotFitError: there is no room for any conversation worth having.
    """
    memory = Memory(located.memory_bytes, flags.memory_budget)
    work = Workload(rows, located.prefill_step, prefill_rows=1, fused_attention=located.device == "gpu")
    float32_bytes = located.float32_bytes
    if float32_bytes is not None and flags.memory_budget is not None:
        float32_bytes = min(float32_bytes, int(flags.memory_budget * _SHARE_FOR_WEIGHTS))
    try:
        need = read_model(name, Path(located.model_path), float32_bytes)
    except (ShapeError, WeightsError) as error:
        # The core may know the model all the same; if not, it says so better.
        log.warning("no admission by memory for %s: %s", name, error)
        return Admission(memory, None, replace(_unplanned(memory, flags), float32_bytes=float32_bytes))
    plan = plan_memory(
        need, memory, work, kv_budget_bytes=flags.kv_budget, prompt_cache_bytes=flags.prompt_cache
    )
    load = wire.Load(plan.kv_budget_bytes, plan.prompt_cache_bytes, flags.memory_budget, float32_bytes)
    return Admission(memory, plan, load)


def admit(
    admission: Admission | None,
    window: int,
    prompt_tokens: int,
    max_tokens: int | None,
    default_tokens: int | None,
) -> Fit:
    """How long the answer to a prompt may get.

    Args:
        window: tokens of prompt and answer that the model reads; more than the prompt has.
        max_tokens: as the request says; None for `default_tokens`.
        default_tokens: None for all that fits after the prompt.

    Raises:
        ContextOverBudget: the prompt leaves no room in the memory.
    """
    room = window - prompt_tokens
    plan = admission and admission.plan
    if plan is None:
        asked = max_tokens or default_tokens or room
        return Fit(min(asked, room), max_tokens, 0)
    found = fit_request(plan, prompt_tokens, max_tokens, default_tokens)
    if isinstance(found, Refusal):
        raise ContextOverBudget(found.message, param="messages", code=found.code)
    answer = min(found.max_tokens, room)
    return Fit(answer, max_tokens, plan.row_bytes(prompt_tokens + answer))


def _unplanned(memory: Memory, flags: MemoryFlags) -> wire.Load:
    """Limits of a model of unknown needs: what the device has, with the usual share for the cache."""
    usable = memory.usable_bytes
    kv_budget = usable if flags.kv_budget is None else min(usable, flags.kv_budget)
    cache = flags.prompt_cache
    if cache is None:
        cache = usual_prompt_cache(usable)
    return wire.Load(kv_budget, min(cache, kv_budget), flags.memory_budget)
