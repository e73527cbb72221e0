"""The answers that are being made, for whoever looks at the engine."""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from fireside.engine.pace import Pace
from fireside.engine.requests import Lane, Row
from fireside.engine.roster import Roster

State = Literal["queued", "prefill", "decoding"]


class InFlight(msgspec.Struct, frozen=True, kw_only=True):
    """One answer on its way. A request for several answers has several of them with the same id.

    Attributes:
        id: of the response; with it the request can be cancelled.
        route: the protocol's path.
        lane: in which it runs, or will run: `batched` beside others, `serial` alone.
        state: `queued` until it is in the core, `prefill` while its prompt is read, then `decoding`.
        position: in the queue, 0 is next; null where it does not wait.
        eta_s: about when it starts, in seconds; null where it does not wait, or nothing tells it.
        prefill_done: tokens of the prompt that have been read.
        generated_tokens: of the answer so far.
        max_tokens: that the answer may have.
        age_s: seconds since it came.
        decode_tps: tokens a second after the first; null before the second.
        resumed: how often it was taken up again, after a crash or in favour of others.
    """

    id: str
    route: str
    model: str | None
    lane: Lane
    state: State
    priority: str
    position: int | None
    eta_s: float | None
    prompt_tokens: int
    prefill_done: int
    cached_tokens: int
    generated_tokens: int
    max_tokens: int
    age_s: float
    decode_tps: float | None
    resumed: int


def in_flight(roster: Roster, pace: Pace, model: str | None) -> list[InFlight]:
    """The rows in the core, then those that wait, in the order in which they will enter it."""
    running = [_described(row, model, row.lane) for row in roster.running]
    waiting: list[InFlight] = []
    for position, row in enumerate(roster.waiting):
        lane: Lane = "serial" if row.request.serial or not roster.batches else "batched"
        waiting.append(_described(row, model, lane, position, pace.until_start(position)))
    return running + waiting


def _described(
    row: Row, model: str | None, lane: Lane, position: int | None = None, eta_s: float | None = None
) -> InFlight:
    timings = row.timings()
    prompt = len(row.request.prompt)
    state: State = "decoding" if row.progressed else "prefill"
    in_core = position is None
    read = prompt if row.progressed else row.prefill.done if row.prefill else 0
    return InFlight(
        id=row.about.id,
        route=row.about.route,
        model=model,
        lane=lane,
        state=state if in_core else "queued",
        priority=row.request.priority.name.lower(),
        position=position,
        eta_s=None if eta_s is None else round(eta_s, 1),
        prompt_tokens=prompt,
        prefill_done=min(read, prompt) if in_core else 0,
        cached_tokens=row.cached,
        generated_tokens=len(row.generated),
        max_tokens=row.request.max_tokens,
        age_s=round(time.monotonic() - row.queued_at, 2),
        decode_tps=None if timings.decode_tps is None else round(timings.decode_tps, 2),
        resumed=row.resumed,
    )
