"""Several answers to one prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from fireside.api.generation import Prepared

_SEEDS = 1 << 64


def repeated(prepared: Prepared, count: int) -> Iterator[Prepared]:
    """A task so many times, with seeds that follow one another: each answer can be had again by itself."""
    first = prepared.request.sampling
    for number in range(count):
        sampling = msgspec.structs.replace(first, seed=(first.seed + number) % _SEEDS)
        yield replace(prepared, request=replace(prepared.request, sampling=sampling))
