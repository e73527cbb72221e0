"""How one model fits here and on other machines."""

import msgspec

from fireside.catalog.assess import TYPICAL_CONTEXT, USUAL_TERMS, Assessment, Terms, assess
from fireside.catalog.bandwidths import of_apple, of_nvidia
from fireside.catalog.fit import gigabytes
from fireside.catalog.machine import Device, Machine
from fireside.catalog.scan import ModelFacts

MATRIX_CONTEXT = 32_768

_GB = 10**9
_GIB = 1 << 30
_APPLE_SHARE = 0.75
_CARD_SHARE = 0.97
"""Of a card's memory, that the driver leaves."""

_APPLE_SIZES = (
    ("Apple M4", 16), ("Apple M4", 32), ("Apple M4 Pro", 24), ("Apple M4 Pro", 48), ("Apple M4 Max", 64),
    ("Apple M4 Max", 128), ("Apple M3 Ultra", 256), ("Apple M3 Ultra", 512),
)  # fmt: skip
_CARDS = (("RTX 4060 Ti", 16), ("RTX 4090", 24), ("RTX 5090", 32), ("H100", 80), ("H200", 141))


class MachineFacts(msgspec.Struct, frozen=True):
    """A machine. Sizes are bytes, `bandwidth` bytes a second; null is not known."""

    chip: str
    device: Device
    memory_bytes: int
    available_bytes: int
    bandwidth: int | None


class MatrixRow(msgspec.Struct, frozen=True):
    """How the model fits on another machine."""

    chip: str
    memory_bytes: int
    fits: bool
    max_safe_context: int | None
    predicted_decode_tps: float | None


class FitReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one model.

    Attributes:
        typical_decode_tps: predicted for a conversation of 8,192 tokens, or of as many as the model reads.
        report: the same in lines for people.
        matrix: other machines, for conversations of 32,768 tokens.
    """

    model: str
    machine: MachineFacts
    context_tokens: int
    assessment: Assessment
    typical_decode_tps: float | None
    report: list[str]
    matrix: list[MatrixRow]


def machine_facts(machine: Machine) -> MachineFacts:
    """As it is shown."""
    return MachineFacts(
        machine.name, machine.device, machine.memory_bytes, machine.available_bytes, machine.bandwidth
    )


def fit_report(
    facts: ModelFacts,
    machine: Machine,
    context: int | None = None,
    terms: Terms = USUAL_TERMS,
    measured: float | None = None,
) -> FitReport:
    """Assess a model here, for a typical length, and on machines that people have."""
    found = assess(facts, machine, context, terms, measured)
    typical = assess(facts, machine, None, terms)
    return FitReport(
        model=facts.repo_id,
        machine=machine_facts(machine),
        context_tokens=found.context_tokens,
        assessment=found,
        typical_decode_tps=typical.predicted_decode_tps,
        report=_lines(facts, machine, found, typical),
        matrix=[_row(facts, other) for other in known_machines()],
    )


def known_machines() -> list[Machine]:
    """Machines of the usual sizes, with nothing else running on them."""
    apple = [
        Machine(
            f"{name}, {size} GB", "apple", size * _GIB, int(size * _GIB * _APPLE_SHARE), of_apple(name, None)
        )
        for name, size in _APPLE_SIZES
    ]
    cards = [
        Machine(
            f"NVIDIA {name}, {size} GB", "nvidia", size * _GB, int(size * _GB * _CARD_SHARE), of_nvidia(name)
        )
        for name, size in _CARDS
    ]
    return apple + cards


def _row(facts: ModelFacts, machine: Machine) -> MatrixRow:
    context = min(MATRIX_CONTEXT, facts.context_window or MATRIX_CONTEXT)
    found = assess(facts, machine, context)
    return MatrixRow(
        machine.name,
        machine.memory_bytes,
        found.fits,
        found.max_safe_context,
        found.predicted_decode_tps if found.fits else None,
    )


def _lines(facts: ModelFacts, machine: Machine, found: Assessment, typical: Assessment) -> list[str]:
    speed = f", {gigabytes(machine.bandwidth)} a second" if machine.bandwidth else ""
    lines = [
        f"{facts.repo_id} on {machine.name} with {gigabytes(machine.memory_bytes)}{speed}",
        found.reason,
    ]
    if found.needed_bytes is not None and found.weights_bytes is not None:
        lines.append(
            f"With {found.context_tokens:,} tokens: {gigabytes(found.needed_bytes)}, of which weights"
            f" {gigabytes(found.weights_bytes)}, keys and values {gigabytes(found.kv_bytes or 0)}, reading"
            f" the prompt {gigabytes(found.prefill_bytes or 0)}; {gigabytes(found.usable_bytes)} may be used."
        )
    if found.measured_decode_tps:
        lines.append(f"It has answered here with {found.measured_decode_tps:.1f} tokens a second.")
    elif typical.predicted_decode_tps:
        length = min(TYPICAL_CONTEXT, typical.context_tokens)
        lines.append(
            f"About {typical.predicted_decode_tps:.0f} tokens a second are to be expected, {length:,} tokens"
            " into a conversation."
        )
    return lines
