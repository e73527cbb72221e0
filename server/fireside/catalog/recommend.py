"""A short list of models that suit a machine. They are offered; nothing here downloads."""

from collections.abc import Collection
from functools import cache
from pathlib import Path

import msgspec

from fireside.catalog.assess import TYPICAL_CONTEXT, predicted_rate
from fireside.catalog.machine import Machine
from fireside.catalog.query import COEXIST_SHARE

_FILE = Path(__file__).with_name("recommended.json")
_MOST = 4
_SLOWEST = 1.5
"""Tokens a second, below which nobody would wait for an answer."""

_CPU_PARAMETERS = 2_000_000_000
"""Of models for a CPU whose pace is not known."""


class KnownModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that is worth having. Sizes are of the published files, in bytes."""

    repo_id: str
    name: str
    purpose: str
    parameters: int
    size_bytes: int
    kv_bytes_per_token: int
    read_share: float
    layers: int


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """A model for this machine.

    Attributes:
        needed_bytes: with a conversation of 8,192 tokens.
        predicted_decode_tps: tokens a second; null where the machine's bandwidth is not known.
        here: whether it is on this machine already.
    """

    repo_id: str
    name: str
    purpose: str
    parameters: int
    size_bytes: int
    needed_bytes: int
    predicted_decode_tps: float | None
    here: bool


def recommend(machine: Machine, here: Collection[str] = ()) -> list[Recommendation]:
    """The largest models that leave enough memory to other programs, the largest first.

    Args:
        here: names of models that are on this machine.
    """
    most = machine.memory_bytes * COEXIST_SHARE
    fitting = [model for model in known_models() if _needed(model) <= most and _is_quick(model, machine)]
    fitting.sort(key=lambda model: model.parameters, reverse=True)
    return [
        Recommendation(
            repo_id=model.repo_id,
            name=model.name,
            purpose=model.purpose,
            parameters=model.parameters,
            size_bytes=model.size_bytes,
            needed_bytes=_needed(model),
            predicted_decode_tps=_rate(model, machine),
            here=model.repo_id in here,
        )
        for model in fitting[:_MOST]
    ]


@cache
def known_models() -> tuple[KnownModel, ...]:
    """All of the list, the smallest first."""
    return msgspec.json.decode(_FILE.read_bytes(), type=tuple[KnownModel, ...])


def _needed(model: KnownModel) -> int:
    return model.size_bytes + model.kv_bytes_per_token * TYPICAL_CONTEXT


def _is_quick(model: KnownModel, machine: Machine) -> bool:
    rate = _rate(model, machine)
    if rate is None:
        return machine.has_gpu or model.parameters <= _CPU_PARAMETERS
    return rate >= _SLOWEST


def _rate(model: KnownModel, machine: Machine) -> float | None:
    read = model.size_bytes * model.read_share
    if not machine.has_gpu:
        # A CPU runs them as float32.
        read = model.parameters * 4 * model.read_share
    return predicted_rate(machine, read + model.kv_bytes_per_token * TYPICAL_CONTEXT, model.layers)
