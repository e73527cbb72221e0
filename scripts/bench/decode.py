"""Decoding through HTTP beside the bare generator."""

from __future__ import annotations

import asyncio
import bisect
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.raw import Order, RawGenerator, raw_generator
from bench.report import Table
from bench.serve import Target
from bench.servers import Setting, Work, contestants
from bench.stream import Running, ask_all, chat_body

_FEWEST, _MOST = 48, 1500
_SKIPPED = 0.25
"""Of the steps, at the beginning: rows join one after another, and the core's threads settle."""


@dataclass
class Speeds:
    """Tokens a second of all rows, one entry a round."""

    ours: list[float] = field(default_factory=list[float])
    raw: list[float] = field(default_factory=list[float])
    peer: list[float] = field(default_factory=list[float])

    @property
    def of_raw(self) -> list[float]:
        return [a / b for a, b in zip(self.ours, self.raw, strict=True)]

    @property
    def of_peer(self) -> list[float]:
        return [a / b for a, b in zip(self.ours, self.peer, strict=True)] if self.peer else []


def decode_table(name: str) -> Table:
    columns = ("rows", "Fireside tok/s", "BatchGenerator tok/s", "ratio", "mlx_lm.server tok/s", "ratio")
    return Table(f"Decoding, {name}", columns)


def add_speeds(table: Table, rows: int, speeds: Speeds) -> None:
    table.add(rows, speeds.ours, speeds.raw, speeds.of_raw, speeds.peer, speeds.of_peer)


def measure_decode(setting: Setting, rows: Sequence[int], seconds: float, ignore: int | None) -> list[Table]:
    """Fireside, the bare generator and the peer in turn, A B C A B C …

    Args:
        rows: numbers of rows to measure.
        seconds: that one measurement takes, roughly.
        ignore: a token that is never drawn, where answers would end too soon.
    """
    table = decode_table(setting.name)
    with (
        contestants(setting, "--batch", str(max(rows))) as (ours, *peers),
        raw_generator(setting.folder, setting.home / "cache") as raw,
    ):
        for count in rows:
            pairs = Pairs(Work(setting.name), count, ignore, ours, raw, *peers)
            speeds = Speeds()
            pairs.prepare(seconds)
            for _ in range(setting.rounds):
                pairs.add_to(speeds)
            add_speeds(table, count, speeds)
    return [table]


class Pairs:
    """The same rows for each contestant, in turn."""

    def __init__(
        self,
        work: Work,
        rows: int,
        ignore: int | None,
        ours: Target,
        raw: RawGenerator,
        peer: Target | None = None,
    ) -> None:
        self._prompts = [work.endless(number) for number in range(rows)]
        self._ignore = ignore
        self._ours, self._raw, self._peer = ours, raw, peer
        self._tokens: dict[str, int] = {"ours": _FEWEST, "raw": _FEWEST, "peer": _FEWEST}

    def prepare(self, seconds: float) -> None:
        """A round that does not count; it also tells how many tokens fill so many seconds.

        A slow peer gets fewer tokens, or a run would take hours.
        """
        trial = Speeds()
        self.add_to(trial)
        for name, speed in (("ours", trial.ours), ("raw", trial.raw), ("peer", trial.peer)):
            if speed:
                steps = speed[0] / len(self._prompts) * seconds / (1 - _SKIPPED)
                self._tokens[name] = round(min(max(steps, _FEWEST), _MOST))
        # The two whose ratio counts do the same work.
        self._tokens["ours"] = self._tokens["raw"]

    def add_to(self, speeds: Speeds) -> None:
        """One round."""
        speeds.ours.append(asyncio.run(self._served(self._ours, self._tokens["ours"])))
        speeds.raw.append(self._raw.decode(self._order(self._tokens["raw"])))
        if self._peer is not None:
            speeds.peer.append(asyncio.run(self._served(self._peer, self._tokens["peer"])))
        last = [f"{s[-1]:.1f}" for s in (speeds.ours, speeds.raw, speeds.peer) if s]
        print(f"{len(self._prompts)} rows: {' / '.join(last)} tok/s", file=sys.stderr)

    def _order(self, tokens: int) -> Order:
        return Order(self._prompts, tokens, round(tokens * _SKIPPED), self._ignore)

    async def _served(self, target: Target, tokens: int) -> float:
        bias = {} if self._ignore is None else {"logit_bias": {str(self._ignore): -100}}
        bodies = [chat_body(target, prompt, tokens, **bias) for prompt in self._prompts]
        answers = await ask_all(target, bodies)
        counts = [answer.usage["completion_tokens"] for answer in answers]
        if min(counts) < tokens:
            raise SystemExit(
                f"an answer of {target.name} ended after {min(counts)} tokens; use --ignore-token"
            )
        times = [answer.token_times for answer in answers]
        together = rate(times, tokens, round(tokens * _SKIPPED))
        if together is None and target is self._ours:
            raise SystemExit("the rows did not decode at the same time: give them more tokens (--seconds)")
        if together is not None:
            return together
        # The peer may take its rows up one after another.
        return sum(counts) / (max(row[-1] for row in times) - min(row[0] for row in times))


def rate(times: Sequence[Sequence[float]], tokens: int, skip: int) -> float | None:
    """Tokens a second of several rows, while all of them decode; None if they never all do.

    The clock runs from when the last row has had `skip` tokens until the first row ends. An event may have no
    token or several, so each counts as the average of its row.

    Args:
        times: of each row's events.
        tokens: of each row.
    """
    each = [tokens / len(row) for row in times]
    begin = max(row[max(0, int(skip / share) - 1)] for row, share in zip(times, each, strict=True))
    end = min(row[-1] for row in times)
    if end <= begin:
        return None
    inside = [
        share * (bisect.bisect_right(row, end) - bisect.bisect_right(row, begin))
        for row, share in zip(times, each, strict=True)
    ]
    return sum(inside) / (end - begin)


def rows_join(setting: Setting, target: Target, most: int, settle_s: float = 0.5) -> list[float]:
    """Time to first token of each row, as they join one after another and stay."""
    work = Work(setting.name)

    async def measure() -> list[float]:
        found: list[float] = []
        async with Running() as rows:
            for number in range(most):
                begin = time.perf_counter()
                rows.start(target, chat_body(target, work.endless(50 + number), _MOST))
                await rows.all_speak()
                found.append(time.perf_counter() - begin)
                await asyncio.sleep(settle_s)
        return found

    return asyncio.run(measure())
