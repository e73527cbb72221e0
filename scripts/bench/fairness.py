"""Who waits for whom: a long joiner, an urgent request in a full batch, two lanes under load."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from itertools import pairwise

from bench.private import HEADERS, address
from bench.report import Table
from bench.serve import Target
from bench.servers import Setting, Work, fireside, idle
from bench.stream import Answer, Running, ask, chat_body, send, whole

_JOINED_ROWS = 7
_STEADY_S = 2.0
_LONGEST_GAP_S = 0.25
_GAPS = 4
_PLENTY = 6000
_BACKGROUND_TOKENS = 160
_SERIAL_SEED = 7


def measure_join(setting: Setting, tokens: int) -> list[Table]:
    """The longest gap between tokens of seven rows while a long prompt joins them."""
    columns = (
        "prompt tokens", "median gap before, ms", "median gap while joining, ms", "longest gap, ms",
        "at most, ms", "joiner's TTFT, ms",
    )  # fmt: skip
    table = Table(f"A prompt of {tokens} tokens joins {_JOINED_ROWS} rows, {setting.name}", columns)
    with fireside(setting) as target:
        for number in range(setting.rounds + 1):
            cells = asyncio.run(_join(setting, target, tokens, number))
            if number:
                table.add(*cells)
    return [table]


async def _join(setting: Setting, target: Target, tokens: int, number: int) -> Sequence[int | float]:
    work = Work(setting.name)
    text = await work.long(target, tokens, seed=200 + number)
    async with Running() as rows:
        for row in range(_JOINED_ROWS):
            rows.start(target, chat_body(target, work.endless(row), _PLENTY))
        await rows.all_speak()
        await asyncio.sleep(_STEADY_S)
        joiner = await ask(target, chat_body(target, text, 8))
    begin, end = joiner.sent_at, joiner.token_times[0]
    steady = [gap for row in rows.answers for gap in _gaps(row, begin - _STEADY_S, begin)]
    joining = [gap for row in rows.answers for gap in _gaps(row, begin, end)]
    median = statistics.median(steady)
    figures = (
        median,
        statistics.median(joining),
        max(joining),
        max(_LONGEST_GAP_S, _GAPS * median),
        joiner.ttft_s,
    )
    return [joiner.usage["prompt_tokens"], *(1000 * figure for figure in figures)]


def _gaps(row: Answer, begin: float, end: float) -> list[float]:
    """Seconds between a row's tokens, of all gaps that touch the interval."""
    found = [b - a for a, b in pairwise(row.token_times) if b > begin and a < end]
    if not found:
        raise SystemExit("a row ended before the joiner came: its answer was too short")
    return found


def measure_priority(setting: Setting, rows: int) -> list[Table]:
    """How soon an interactive request starts in a batch full of background rows, and what they say after."""
    columns = (
        "round",
        "steps until its first token",
        "TTFT, ms",
        "queue, ms",
        "gap before, ms",
        "texts changed",
    )
    title = f"An interactive request into {rows} background rows, {setting.name}"
    table = Table(title, columns)
    with fireside(setting, "--batch", str(rows), module="bench.private") as target:
        private = Target(target.name, address(setting.home), target.model)
        bodies = [
            chat_body(target, Work(setting.name).endless(row), _BACKGROUND_TOKENS, priority="background")
            for row in range(rows)
        ]
        solo = [asyncio.run(ask(target, body)).said for body in bodies]
        for number in range(setting.rounds):
            table.add(number + 1, *asyncio.run(_interrupt(target, private, bodies, solo)))
    return [table]


async def _interrupt(
    target: Target, private: Target, bodies: list[dict[str, object]], solo: list[dict[str, object]]
) -> list[int | float | None]:
    body = chat_body(target, "Hello", 8, priority="interactive", return_progress=True)
    async with Running() as rows:
        for background in bodies:
            rows.start(target, background)
        await rows.all_speak()
        await asyncio.sleep(0.1)
        (first,) = whole([await send(private, body, headers=HEADERS)])
        answers = whole(await rows.finished())
    begin, end = first.sent_at, first.token_times[0]
    steps = max(sum(begin < at < end for at in answer.token_times) for answer in answers)
    before = [b - a for answer in answers for a, b in pairwise(answer.token_times) if b < begin]
    gap = 1000 * statistics.median(before) if before else None
    changed = sum(answer.said != alone for answer, alone in zip(answers, solo, strict=True))
    return [steps, 1000 * first.ttft_s, first.fireside.get("queue_ms"), gap, changed]


def measure_steady(setting: Setting, each: int, pace: float) -> list[Table]:
    """The longest wait of serial and of batched requests that are offered in turn, steadily.

    Args:
        each: requests of each class.
        pace: time between two requests, in durations of one request alone.
    """
    columns = ("class", "requests", "lane", "longest queue, ms", "queue, ms", "longest TTFT, ms", "TTFT, ms")
    with fireside(setting) as target:
        duration, answers = asyncio.run(_steady(setting, target, each, pace))
    title = (
        f"{each} serial and {each} batched requests, one each {1000 * pace * duration:.0f} ms, {setting.name}"
    )
    table = Table(title, columns)
    for name, of_class in (("serial", answers[::2]), ("batched", answers[1::2])):
        lanes = ", ".join(sorted({str(answer.usage.get("lane")) for answer in of_class}))
        queued = [float(answer.fireside["queue_ms"]) for answer in of_class]
        ttft = [1000 * answer.ttft_s for answer in of_class]
        table.add(name, len(of_class), lanes, max(queued), queued, max(ttft), ttft)
    return [table]


async def _steady(setting: Setting, target: Target, each: int, pace: float) -> tuple[float, list[Answer]]:
    work = Work(setting.name)

    def body(number: int) -> dict[str, object]:
        seed = _SERIAL_SEED if number % 2 == 0 else None
        return chat_body(target, work.endless(number), 48, seed=seed, return_progress=True)

    loop = asyncio.get_running_loop()
    await ask(target, body(0))
    begin = loop.time()
    await ask(target, body(0))
    duration = loop.time() - begin
    async with Running() as requests:
        for number in range(2 * each):
            await asyncio.sleep(max(0.0, begin + duration * (1 + pace * number) - loop.time()))
            requests.start(target, body(number))
        answers = whole(await requests.finished())
    await idle(target)
    return duration, answers
