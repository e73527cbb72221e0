"""Admission: does a model fit into memory, how long a conversation fits beside it, does this one.

Pure arithmetic on a model's config.json and the headers of its weight files. What the machine has is
passed in. Nothing here imports MLX, so the app can ask before a core is started.

    read_model ──> ModelNeed ──> plan_memory ──> MemoryPlan ──> fit_request ──> Fit or Refusal
                                                     └──────> KvAccountant (in fit_accounts)
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fireside.catalog.fit_accounts import KvAccountant
from fireside.catalog.fit_shape import ModelShape, read_config
from fireside.catalog.fit_weights import RunningWeights, read_weights

SHARE_OF_MACHINE = 0.9
"""Of the memory that is free, without `--memory-budget`; the rest is for other programs' growth."""

PROMPT_CACHE_BYTES = 8_000_000_000
PROMPT_CACHE_SHARE = 0.25
SMALLEST_CONTEXT = 256
"""Tokens without which a model is not worth starting."""

LARGEST_CONTEXT = 1 << 20
"""Tokens, where the model's config names no window."""

PREFILL_STEP = {"cpu": 512, "gpu": 2048}
"""Prompt tokens that are read at a time.

A CPU reads a few hundred in a second or two: shorter chunks keep running rows moving.
"""

RefusalCode = Literal["context_over_budget", "memory_admission"]
Limit = Literal["model", "memory"]


class DoesNotFitError(Exception):
    """No conversation fits beside the weights; the message has the numbers and what to do."""


@dataclass(frozen=True)
class ModelNeed:
    """What a model brings with it: its name for people, its shape, its weights as they will run."""

    name: str
    shape: ModelShape
    weights: RunningWeights

    @property
    def window(self) -> int:
        """Tokens of prompt and answer that the model can read at most."""
        return self.shape.context_window or LARGEST_CONTEXT

    def row_bytes(self, tokens: int) -> int:
        """Bytes that a row of so many tokens holds between two steps."""
        return self.shape.kv_bytes_allocated(tokens, self.weights.width)


def read_model(name: str, folder: Path, cpu_budget_bytes: int | None = None) -> ModelNeed:
    """What the model in a folder needs.

    Args:
        cpu_budget_bytes: on a machine without a GPU, what the weights may take as float32.

    Raises:
        ShapeError: its config.json cannot be read or lacks a number that decides.
        WeightsError: a weight file is missing, damaged or cut off.
    """
    config = read_config(folder)
    stored = read_weights(folder, config)
    weights = stored.as_stored() if cpu_budget_bytes is None else stored.for_cpu(cpu_budget_bytes)
    return ModelNeed(name, ModelShape.from_config(config), weights)


@dataclass(frozen=True)
class Memory:
    """What may be used.

    Attributes:
        available_bytes: free on this machine before the model is loaded.
        budget_bytes: `--memory-budget`, None for what the machine has.
    """

    available_bytes: int
    budget_bytes: int | None = None

    @property
    def usable_bytes(self) -> int:
        if self.budget_bytes is not None:
            return self.budget_bytes
        return int(self.available_bytes * SHARE_OF_MACHINE)

    def __str__(self) -> str:
        if self.budget_bytes is not None:
            return f"the memory budget of {gigabytes(self.budget_bytes)}"
        free = gigabytes(self.available_bytes)
        return f"the {gigabytes(self.usable_bytes)} that may be used here ({free} free)"


@dataclass(frozen=True)
class Workload:
    """How the core works.

    Attributes:
        rows: that decode at the same time.
        prefill_chunk: prompt tokens of a row that are read in one step.
        prefill_rows: prompts that are read in the same step.
        fused_attention: see `ModelShape.prefill_bytes`.
    """

    rows: int = 8
    prefill_chunk: int = 2048
    prefill_rows: int = 1
    fused_attention: bool = True


@dataclass(frozen=True)
class MemoryPlan:
    """Where the memory goes, and how long a conversation may get.

    Keys and values are counted in the model's type, whatever the scheme: a scheme only adds room.

    Attributes:
        max_safe_context: tokens of prompt and answer that always fit, with the prompt cache empty.
        limit: what keeps it from being larger: the model's context window or the memory.
        kv_budget_bytes: for the rows and the prompt cache together.
        max_row_context: tokens of a single row within that; the most that a request may ask for.
        prompt_cache_bytes: that the prompt cache may grow to. Given up before anybody has to wait.
    """

    target: ModelNeed
    draft: ModelNeed | None
    memory: Memory
    work: Workload
    max_safe_context: int
    limit: Limit
    kv_budget_bytes: int
    max_row_context: int
    prompt_cache_bytes: int

    @property
    def models(self) -> list[ModelNeed]:
        """The target, and the draft where there is one."""
        return _models(self.target, self.draft)

    @property
    def weights_bytes(self) -> int:
        """Of all the models."""
        return sum(model.weights.bytes for model in self.models)

    def row_bytes(self, tokens: int) -> int:
        """Bytes that one row of so many tokens holds between two steps, the draft's part included."""
        return _row_bytes(self.target, self.draft, tokens)

    def needed_bytes(self, tokens: int) -> int:
        """Bytes that are taken at the peak while one row of so many tokens is read."""
        return _needed_bytes(self.target, self.draft, self.work, tokens)

    def accountant(self) -> KvAccountant:
        """For the rows of a batch under this plan."""
        return KvAccountant(self.row_bytes, self.kv_budget_bytes)

    def stats(self) -> dict[str, int | None]:
        """`/stats.admission`; no budget means what the machine has."""
        return {
            "max_safe_context": self.max_safe_context,
            "memory_budget_bytes": self.memory.budget_bytes,
            "usable_bytes": self.memory.usable_bytes,
            "weights_bytes": self.weights_bytes,
        }


def plan_memory(
    target: ModelNeed,
    memory: Memory,
    work: Workload,
    draft: ModelNeed | None = None,
    kv_budget_bytes: int | None = None,
    prompt_cache_bytes: int | None = None,
) -> MemoryPlan:
    """Solve the largest safe context, and share out what is left.

    Args:
        kv_budget_bytes: `--kv-budget`; None, or more than there is, for what there safely is.
        prompt_cache_bytes: `--prompt-cache`; None for the smaller of 8 GB and a quarter of what the
            weights leave.

    Raises:
        DoesNotFitError: there is no room for any conversation worth having.
    """
    usable = memory.usable_bytes
    window = min(model.window for model in _models(target, draft))
    safe = _largest(lambda tokens: _needed_bytes(target, draft, work, tokens) <= usable, window)
    if safe < min(SMALLEST_CONTEXT, window):
        raise DoesNotFitError(_no_context_fits(target, draft, memory, work))
    room = _kv_room(target, draft, work, usable, safe)
    kv_budget = room if kv_budget_bytes is None else min(room, kv_budget_bytes)
    row = _largest(lambda tokens: _row_bytes(target, draft, tokens) <= kv_budget, safe)
    if row < min(SMALLEST_CONTEXT, window):
        raise DoesNotFitError(_kv_budget_too_small(target, draft, kv_budget))
    left = max(0, usable - sum(model.weights.bytes for model in _models(target, draft)))
    cache = prompt_cache_bytes
    if cache is None:
        cache = usual_prompt_cache(left)
    return MemoryPlan(
        target=target,
        draft=draft,
        memory=memory,
        work=work,
        max_safe_context=safe,
        limit="model" if safe == window else "memory",
        kv_budget_bytes=kv_budget,
        max_row_context=row,
        prompt_cache_bytes=min(cache, kv_budget),
    )


def usual_prompt_cache(left: int) -> int:
    """Bytes for the prompt cache, without `--prompt-cache`, of those that the weights leave."""
    return min(PROMPT_CACHE_BYTES, int(left * PROMPT_CACHE_SHARE))


def gigabytes(count: int) -> str:
    """A size for people, in decimal gigabytes."""
    value = count / 1e9
    return f"{value:.2f} GB" if value >= 1 or count == 0 else f"{value:.3g} GB"


def _models(target: ModelNeed, draft: ModelNeed | None) -> list[ModelNeed]:
    return [target] if draft is None else [target, draft]


def _row_bytes(target: ModelNeed, draft: ModelNeed | None, tokens: int) -> int:
    return sum(model.row_bytes(tokens) for model in _models(target, draft))


def _passing_bytes(target: ModelNeed, draft: ModelNeed | None, work: Workload, tokens: int) -> int:
    """For a moment: a chunk of prompts of so many tokens, and one step's logits. Models take turns."""
    prefill = max(
        model.shape.prefill_bytes(
            tokens,
            model.weights.width,
            work.prefill_chunk,
            work.prefill_rows,
            fused_attention=work.fused_attention,
        )
        for model in _models(target, draft)
    )
    return prefill + sum(model.shape.decode_bytes(work.rows) for model in _models(target, draft))


def _needed_bytes(target: ModelNeed, draft: ModelNeed | None, work: Workload, tokens: int) -> int:
    models = _models(target, draft)
    return (
        sum(model.weights.bytes for model in models)
        + _passing_bytes(target, draft, work, tokens)
        + _row_bytes(target, draft, tokens)
        + max(model.shape.copy_bytes(tokens, model.weights.width) for model in models)
    )


def _kv_room(target: ModelNeed, draft: ModelNeed | None, work: Workload, usable: int, longest: int) -> int:
    """Bytes for all rows together, so that a step and the copies while caches grow still fit.

    One row of the longest context fits in any case: its copies were counted exactly.
    """
    models = _models(target, draft)
    left = usable - sum(model.weights.bytes for model in models)
    left -= _passing_bytes(target, draft, work, longest)
    share = max(model.shape.copy_share() for model in models)
    return max(_row_bytes(target, draft, longest), int(left / (1 + share)))


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest number of tokens up to `most` that fits, 0 if none does; more never fits again."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _no_context_fits(target: ModelNeed, draft: ModelNeed | None, memory: Memory, work: Workload) -> str:
    smallest = _needed_bytes(target, draft, work, SMALLEST_CONTEXT)
    weights = f"the weights of {target.name} take {gigabytes(target.weights.bytes)}"
    if draft is not None:
        added = smallest - _needed_bytes(target, None, work, SMALLEST_CONTEXT)
        weights += (
            f", the draft {draft.name} adds {gigabytes(draft.weights.bytes)} of weights"
            f" ({gigabytes(added)} in all)"
        )
    passing = _passing_bytes(target, draft, work, SMALLEST_CONTEXT)
    remedies = [
        "raise --memory-budget" if memory.budget_bytes is not None else "close other programs",
        *(["leave out the draft"] if draft is not None else []),
        "pick a smaller model",
    ]
    return (
        f"No context fits: {weights}, reading a prompt takes {gigabytes(passing)}, and with the"
        f" {SMALLEST_CONTEXT} tokens that are the least {gigabytes(smallest)} are needed; {memory} is less."
        f" To go on, {', '.join(remedies[:-1])} or {remedies[-1]}."
    )


def _kv_budget_too_small(target: ModelNeed, draft: ModelNeed | None, kv_budget: int) -> str:
    least = _row_bytes(target, draft, SMALLEST_CONTEXT)
    return (
        f"No context fits: --kv-budget is {gigabytes(kv_budget)}, and the {SMALLEST_CONTEXT} tokens of"
        f" {target.name} that are the least take {gigabytes(least)}. Raise --kv-budget or leave it out."
    )
