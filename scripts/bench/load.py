"""Many clients: a queue that is full, a burst of connections, the page while rows decode flat out."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Sequence

import httpx

from bench.report import Table, percentile
from bench.serve import Target
from bench.servers import Setting, Work, contestants, fireside, idle, stats
from bench.stream import Answer, Running, chat_body, send

_PLENTY = 7000
_POLL_EVERY_S = 0.1
_SHARES = (0.5, 0.95, 0.99)


def measure_queue(setting: Setting, sizes: Sequence[int], rows: int, clients: int) -> list[Table]:
    """What becomes of one request too many, and of many clients that connect at once.

    Args:
        sizes: of the queue.
        rows: that decode while it fills.
    """
    full = Table(
        f"One request more than the queue holds, {setting.name}",
        ("--max-queue", "offered", "answered", "refused (429)", "Retry-After", "others"),
    )
    for size in sizes:
        with fireside(setting, "--batch", str(rows), "--max-queue", str(size)) as target:
            full.add(size, *asyncio.run(_fill(setting, target, rows, size)))
    columns = ["server", "answered", "others", *(f"{what} p{share:.0%}, ms".replace("%", "")
               for what in ("first byte", "first token", "whole") for share in _SHARES)]  # fmt: skip
    burst = Table(f"{clients} clients connect at once, {setting.name}", columns)
    with contestants(setting) as targets:
        for target in targets:
            burst.add(*asyncio.run(_burst(setting, target, clients)))
    return [full, burst]


async def _fill(setting: Setting, target: Target, rows: int, size: int) -> list[str | int]:
    work = Work(setting.name)
    async with Running() as busy:
        for row in range(rows):
            busy.start(target, chat_body(target, work.endless(row), _PLENTY))
        await busy.all_speak()
        async with Running() as waiting:
            for number in range(size):
                waiting.start(target, chat_body(target, f"Hello {number}", 1))
            for _ in range(100):
                if (await asyncio.to_thread(stats, target))["batch"]["pending_rows"] >= size:
                    break
                await asyncio.sleep(0.1)
            extra = await send(target, chat_body(target, "Hello, one more", 1))
            await busy.__aexit__()
            answers = [*await waiting.finished(), extra]
    await idle(target)
    answered, refused = sum(map(_good, answers)), sum(answer.status == 429 for answer in answers)
    others = Counter(_outcome(a) for a in answers if not _good(a) and a.status != 429)
    return [len(answers), answered, refused, extra.header("retry-after") or "-", _listed(others)]


async def _burst(setting: Setting, target: Target, clients: int) -> list[str | float]:
    bodies = [
        chat_body(target, f"{number}. {Work(setting.name).endless(number)}", 8) for number in range(clients)
    ]
    async with Running() as requests:
        for body in bodies:
            requests.start(target, body)
        answers = await requests.finished()
    good = [answer for answer in answers if _good(answer)]
    times = (
        [answer.first_byte_s for answer in good],
        [answer.ttft_s for answer in good if answer.token_times],
        [answer.blocks[-1][0] - answer.sent_at for answer in good],
    )
    others = Counter(_outcome(answer) for answer in answers if not _good(answer))
    figures = [1000 * percentile(values, share) for values in times for share in _SHARES]
    return [target.name, f"{len(good)}/{clients}", _listed(others), *figures]


def _good(answer: Answer) -> bool:
    return answer.status == 200 and answer.complete and answer.error is None


def _outcome(answer: Answer) -> str:
    """Why an answer is not a good one, in a word."""
    if answer.failure:
        return answer.failure.partition(":")[0]
    return f"status {answer.status}" if answer.status != 200 else "cut off"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} x {what}" for what, count in counts.items()) or "none"


def measure_page(setting: Setting, rows: int, seconds: float) -> list[Table]:
    """How soon the page, `/health` and a static file come while rows decode flat out."""
    columns = ("what", "requests", "p50, ms", "p95, ms", "longest, ms", "not 200")
    table = Table(f"The page while {rows} rows decode, {setting.name}", columns)
    with fireside(setting, "--batch", str(rows)) as target:
        file = _static_file(target)
        for path, found in asyncio.run(_page(setting, target, rows, ("/", "/health", file), seconds)).items():
            times = [1000 * took for took, _ in found]
            bad = sum(status != 200 for _, status in found)
            table.add(path, len(found), percentile(times, 0.5), percentile(times, 0.95), max(times), bad)
    return [table]


def _static_file(target: Target) -> str:
    page = httpx.get(target.url, trust_env=False, follow_redirects=True).text
    found = re.search(r'(?:src|href)="(/[^"]+\.(?:js|css))"', page)
    if found is None:
        raise SystemExit("the page names no script and no style sheet")
    return found[1]


async def _page(
    setting: Setting, target: Target, rows: int, paths: Sequence[str], seconds: float
) -> dict[str, list[tuple[float, int]]]:
    work = Work(setting.name)
    end = asyncio.Event()

    async def keep_busy(number: int) -> None:
        while not end.is_set():
            await send(target, chat_body(target, work.endless(number), _PLENTY))

    async def poll(path: str) -> list[tuple[float, int]]:
        found: list[tuple[float, int]] = []
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            begin = time.perf_counter()
            for number in range(int(seconds / _POLL_EVERY_S)):
                await asyncio.sleep(max(0.0, begin + number * _POLL_EVERY_S - time.perf_counter()))
                sent = time.perf_counter()
                reply = await client.get(target.url + path)
                found.append((time.perf_counter() - sent, reply.status_code))
        return found

    busy = [asyncio.create_task(keep_busy(number)) for number in range(rows)]
    await asyncio.sleep(1.0)
    polled = await asyncio.gather(*map(poll, paths))
    end.set()
    for task in busy:
        task.cancel()
    await asyncio.gather(*busy, return_exceptions=True)
    return dict(zip(paths, polled, strict=True))
