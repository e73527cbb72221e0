"""Served decoding and the bare generator's, in turns of a quarter of a second.

The speed of a lent GPU host drifts by tens of percent within seconds, by what its other guests do. Two that
take short turns see the same drift: two bare generators measured against each other like this differ by half
a percent, where runs one after the other differ by a quarter.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import httpx
import psutil

from bench.raw import Order, RawGenerator
from bench.serve import Target
from bench.servers import Work, processes
from bench.stream import Running, chat_body

_TURN_S = 0.25
_MOST = 4000
"""Tokens of an answer, which must not end while it is measured."""
_SETTLE = 8
"""Steps that the bare generator takes before the first turn."""
_TAKEN_UP = 48
"""Tokens of each row, on average, after which the last one has long joined."""
_LOOKS, _LOOK_S = 3000, 0.02


@dataclass
class Side:
    """One of those that take turns.

    Attributes:
        processes: all that work for it.
        tokens: that it has made so far, of all rows.
    """

    processes: Sequence[psutil.Process]
    tokens: Callable[[], Awaitable[int]]

    def go(self) -> None:
        for process in self.processes:
            process.resume()

    def stop(self) -> None:
        for process in self.processes:
            process.suspend()


async def in_turns(sides: Sequence[Side], turns: int) -> list[float]:
    """Tokens a second of each side, while it had its turns.

    All are stopped before and afterwards. Each one's first turn lets caches fill again and does not count.
    """
    begun, ended, used = dict[int, int](), dict[int, int](), [0.0] * len(sides)
    order = list(enumerate(sides))
    for turn in range(turns + 1):
        for index, side in order:
            side.go()
            begin = time.perf_counter()
            if turn == 1:
                begun[index] = await side.tokens()
                begin = time.perf_counter()
            await asyncio.sleep(_TURN_S)
            if turn == turns:
                ended[index] = await side.tokens()
            if turn > 0:
                used[index] += time.perf_counter() - begin
            side.stop()
        order.reverse()
    return [(ended[index] - begun[index]) / used[index] for index in range(len(sides))]


class Turns:
    """The same rows for a Fireside and the bare generator, which is stopped as long as it is not asked."""

    def __init__(self, work: Work, rows: int, ours: Target, raw: RawGenerator) -> None:
        self._prompts = [work.endless(number) for number in range(rows)]
        self._ours, self._raw = ours, raw

    def measure(self, seconds: float) -> tuple[float, float]:
        """Tokens a second of both, ours first, each for about so many seconds.

        Raises:
            SystemExit: an answer ended before it was measured.
        """
        return asyncio.run(self._measure(max(2, round(seconds / _TURN_S))))

    async def _measure(self, turns: int) -> tuple[float, float]:
        async with httpx.AsyncClient(base_url=self._ours.url, trust_env=False, timeout=30) as client:
            ours = Side(list(processes(self._ours).values()), lambda: generated(client))
            raw = Side([psutil.Process(self._raw.process.pid)], self._raw_tokens)
            async with Running() as rows:
                for prompt in self._prompts:
                    rows.start(self._ours, chat_body(self._ours, prompt, _MOST))
                await all_decode(client, len(self._prompts))
                ours.stop()
                try:
                    await asyncio.to_thread(self._begin_raw)
                    raw.stop()
                    served, bare = await in_turns([ours, raw], turns)
                finally:
                    ours.go()
                ended = sum(row.complete for row in rows.answers)
            tokens = self._raw.end()
            if ended or tokens >= _MOST * len(self._prompts):
                raise SystemExit("an answer ended while it was measured: take fewer --seconds")
            return served, bare

    def _begin_raw(self) -> None:
        self._raw.begin(Order(self._prompts, _MOST, 0))
        while self._raw.tokens < _SETTLE * len(self._prompts):
            time.sleep(0.01)

    async def _raw_tokens(self) -> int:
        return self._raw.tokens


async def generated(client: httpx.AsyncClient) -> int:
    """Tokens of all answers of a Fireside since its start."""
    text = (await client.get("/metrics")).raise_for_status().text
    found = re.search(r"^fireside_generated_tokens_total (\S+)", text, re.MULTILINE)
    if found is None:
        raise SystemExit("/metrics does not tell how many tokens were generated")
    return int(float(found[1]))


async def all_decode(client: httpx.AsyncClient, rows: int) -> None:
    """Wait until so many rows have been taken up. Random weights may say nothing for long that is text."""
    wanted = await generated(client) + _TAKEN_UP * rows
    for _ in range(_LOOKS):
        if await generated(client) >= wanted:
            return
        await asyncio.sleep(_LOOK_S)
    raise SystemExit("the rows were not taken up")
