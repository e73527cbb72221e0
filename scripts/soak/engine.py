"""Requests of mixed shapes for minutes, many of them aborted; then nothing may be left behind.

    cd scripts
    ../.venv/bin/python -m soak.engine --requests 2000 --minutes 10 --abort 0.3 --model ../tests/models/pocket
    ../.venv/bin/python -m soak.engine --kv-budget 0.05 --model ../tests/models/pocket

The first form checks that no row, KV byte, thread or file descriptor is left, that memory stays flat over the
last half, and that every completed greedy answer is the one that its request gets alone. The second runs
eight rows that together exceed the KV budget. Arguments after `--` go to `fireside serve`. The exit status is
1 when a check fails.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.kinds import Kind, kinds, with_logprobs
from bench.leftovers import Growth, Held
from bench.report import Table
from bench.serve import Target
from bench.servers import Setting, Work, fireside, idle, processes, stats
from bench.stream import Answer, ask, chat_body, send

_PROGRESS_S = 5.0
_SAMPLE_S = 2.0
_TIE = 1e-3
"""Two logits as near as this may swap when rows share a product: about 100 times the rounding of one."""

_FLAT_SHARE, _FLAT_BYTES = 0.03, 16 << 20
"""What memory may grow in the last half, whichever is more."""

_BURSTS = (1, 1, 1, 2, 4, 16)
_ABORT_WITHIN_S = (0.005, 0.05, 0.3, 1.0, 3.0)
_CATCH_UP = 50
_SHARE_OFF = 0.05


@dataclass
class Checks:
    """What was found; a failed check makes the run fail."""

    table: Table = field(default_factory=lambda: Table("Soak", ("check", "found", "expected", "result")))
    failed: int = 0

    def add(self, what: str, found: object, expected: object, good: bool) -> None:
        self.failed += not good
        self.table.add(what, str(found), str(expected), "good" if good else "FAILED")


@dataclass
class Sent:
    """A request of the soak, and when it was given up, if it was."""

    kind: Kind
    answer: Answer
    abort_after_s: float | None
    aborted: bool = False


class Soak:
    """One run against a ready server."""

    def __init__(self, target: Target, model: str, options: argparse.Namespace) -> None:
        self._target = target
        self._rng = random.Random(options.seed)
        self._kinds = kinds(self._rng, model)
        self._requests, self._seconds, self._abort = options.requests, 60 * options.minutes, options.abort
        self._processes = processes(target)
        self._memory: list[tuple[float, dict[str, int]]] = []
        self.sent: list[Sent] = []

    async def run(self, checks: Checks) -> None:
        """All phases."""
        await self._warm_up()
        await idle(self._target)
        before = await Held.settled(self._processes)
        watch = asyncio.create_task(self._watch())
        await self._offer()
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        self._check_ends(checks)
        await self._check_nothing_left(before, checks)
        self._check_memory(checks)
        await self._check_texts(checks)

    async def _warm_up(self) -> None:
        """Every kind once, all together and aborted too: pools of threads are full after that."""
        for _ in range(2):
            await asyncio.gather(*(send(self._target, kind.body(self._target)) for kind in self._kinds))

    async def _offer(self) -> None:
        begin = time.monotonic()
        tasks: list[asyncio.Task[None]] = []
        for at in self._arrivals():
            await asyncio.sleep(max(0.0, begin + at - time.monotonic()))
            sent = Sent(self._rng.choice(self._kinds), Answer(), self._patience())
            self.sent.append(sent)
            tasks.append(asyncio.create_task(self._send(sent)))
        await asyncio.gather(*tasks)

    def _arrivals(self) -> list[float]:
        """Moments in seconds: single requests and bursts, evenly spread."""
        sizes: list[int] = []
        while sum(sizes) < self._requests:
            sizes.append(min(self._rng.choice(_BURSTS), self._requests - sum(sizes)))
        moments = sorted(self._rng.uniform(0, self._seconds) for _ in sizes)
        return [moment for moment, size in zip(moments, sizes, strict=True) for _ in range(size)]

    def _patience(self) -> float | None:
        """Seconds after which a client leaves, from at once to in the middle; None: it stays."""
        # An answer may be there before its client gives up: then more of the later ones must.
        lacking = self._abort * len(self.sent) - sum(sent.aborted for sent in self.sent)
        if self._rng.random() >= self._abort + lacking / _CATCH_UP:
            return None
        return self._rng.uniform(0.0005, self._rng.choice(_ABORT_WITHIN_S))

    async def _send(self, sent: Sent) -> None:
        request = send(self._target, sent.kind.body(self._target), sent.answer)
        try:
            await asyncio.wait_for(request, sent.abort_after_s)
        except TimeoutError:
            sent.aborted = True

    async def _watch(self) -> None:
        begin = shown = time.monotonic()
        while True:
            now = time.monotonic()
            rss = {name: process.memory_info().rss for name, process in self._processes.items()}
            self._memory.append((now - begin, rss))
            if now - shown >= _PROGRESS_S:
                shown = now
                batch = (await asyncio.to_thread(stats, self._target))["batch"]
                megabytes = ", ".join(f"{name} {size >> 20} MiB" for name, size in rss.items())
                _say(f"{now - begin:6.0f} s  {len(self.sent)} sent, {batch}, {megabytes}")
            await asyncio.sleep(_SAMPLE_S)

    def _check_ends(self, checks: Checks) -> None:
        kept = [sent for sent in self.sent if not sent.aborted]
        bad = Counter(_trouble(sent.answer) for sent in kept if _trouble(sent.answer))
        aborted = len(self.sent) - len(kept)
        early = sum(not sent.answer.blocks for sent in self.sent if sent.aborted)
        _say(f"{len(kept)} kept, {aborted} aborted, {early} of them before the first byte")
        checks.add("answers that broke off", dict(bad) or 0, 0, not bad)
        share = aborted / max(1, len(self.sent))
        near = abs(share - self._abort) <= max(_SHARE_OFF, len(self.sent) ** -0.5)
        checks.add("aborted", f"{share:.1%}", f"about {self._abort:.0%}", near)

    async def _check_nothing_left(self, before: Held, checks: Checks) -> None:
        found = await idle(self._target)
        for key in ("active_rows", "pending_rows", "kv_bytes"):
            checks.add(f"/stats batch.{key}", found["batch"][key], 0, found["batch"][key] == 0)
        restarts = found["engine"]["restarts"]
        checks.add("restarts of the core", restarts, 0, restarts == 0)
        if restarts:
            return
        after = await Held.settled(self._processes)
        threads, descriptors = after.within(before)
        checks.add("threads", after.threads, before.threads, threads)
        checks.add("file descriptors", after.descriptors, before.descriptors, descriptors)
        _say(f"connections that clients had closed were gone after {after.waited_s:.0f} s")

    def _check_memory(self, checks: Checks) -> None:
        half = self._memory[len(self._memory) // 2 :]
        if len(half) < 3:
            _say("too short a run to tell whether memory is flat")
            return
        for name in self._processes:
            growth = Growth.of([at for at, _ in half], [rss[name] for _, rss in half])
            most = max(_FLAT_BYTES, _FLAT_SHARE * growth.mean)
            shown = f"{growth.grown / 1e6:+.1f} MB ({growth.a_minute / 1e6:+.2f} MB a minute)"
            checks.add(
                f"memory of the {name}, last half", shown, f"up to {most / 1e6:.0f} MB", growth.grown <= most
            )

    async def _check_texts(self, checks: Checks) -> None:
        """Compare with a second pass, one request at a time."""
        compared, seeds, ties = 0, 0, Table("Ties", ("request", "token", "margin of the two best"))
        wrong: list[str] = []
        for kind in self._kinds:
            answers = [
                s.answer for s in self.sent if s.kind is kind and not s.aborted and not _trouble(s.answer)
            ]
            if not answers or kind.drawn == "unseeded":
                continue
            solo = (await ask(self._target, kind.body(self._target))).said
            compared += len(answers)
            for said in (answer.said for answer in answers if answer.said != solo):
                if kind.drawn == "seeded":
                    seeds += 1
                    continue
                token, margin = await self._margin(kind, solo, said)
                if margin < _TIE:
                    ties.add(kind.name, token, margin)
                else:
                    wrong.append(f"{kind.name} (margin {margin:.3g})")
                    _say(f"{kind.name}:\n  alone   {solo}\n  in soak {said}")
        if ties.rows:
            print(ties.markdown(), end="\n\n")
        _say(f"{compared} answers compared with their solo texts")
        checks.add("greedy answers unlike the solo ones, ties apart", wrong or 0, 0, not wrong)
        checks.add("seeded answers unlike the solo ones", seeds, 0, seeds == 0)

    async def _margin(self, kind: Kind, solo: dict[str, Any], other: dict[str, Any]) -> tuple[int, float]:
        """The token at which two answers part, and how much likelier the best was there than the second."""
        whole = await ask(self._target, with_logprobs(kind.body(self._target)))
        entries = whole.events[0].body["choices"][0]["logprobs"]["content"]
        same = _same_length(_flat(solo), _flat(other))
        length = 0
        for number, entry in enumerate(entries):
            length += len(entry["token"])
            if length > same:
                best = sorted((top["logprob"] for top in entry["top_logprobs"]), reverse=True)
                return number, best[0] - best[1]
        return len(entries), float("inf")


def _flat(said: dict[str, Any]) -> str:
    return said["reasoning"] + said["content"]


def _same_length(one: str, other: str) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _trouble(answer: Answer) -> str:
    """What is wrong with an answer, "" if it is whole."""
    if answer.failure:
        return answer.failure
    if answer.status != 200:
        return f"status {answer.status}"
    return answer.error or ("" if answer.complete else "cut off")


async def over_budget(
    target: Target, work: Work, budget: float, tokens: int, rows: int, checks: Checks
) -> None:
    """Rows whose keys and values together exceed the budget all finish.

    Args:
        budget: decimal GB, as the server was given it.
        tokens: of each prompt.
    """
    texts = [await work.long(target, tokens, seed=number) for number in range(rows)]
    answers: list[Answer] = [Answer() for _ in texts]
    bodies = [
        chat_body(target, f"{text}\n{work.endless(i)}", 200, return_progress=True)
        for i, text in enumerate(texts)
    ]
    most = 0
    running = asyncio.gather(*(send(target, body, a) for body, a in zip(bodies, answers, strict=True)))
    while not running.done():
        found = await asyncio.to_thread(stats, target)
        most = max(most, found["batch"]["kv_bytes"])
        await asyncio.sleep(0.1)
    await running
    bad = Counter(_trouble(answer) for answer in answers if _trouble(answer))
    checks.add(f"{rows} rows that broke off", dict(bad) or 0, 0, not bad)
    checks.add(
        "most KV bytes at once, MB", f"{most / 1e6:.1f}", f"up to {1000 * budget:.1f}", most <= budget * 1e9
    )
    found = await idle(target)
    checks.add("restarts of the core", found["engine"]["restarts"], 0, found["engine"]["restarts"] == 0)
    _say(f"prompts of {[answer.usage.get('prompt_tokens') for answer in answers]} tokens")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="a model folder instead of the default model")
    parser.add_argument("--home", type=Path, help="FIRESIDE_HOME, kept; default: a new one")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--abort", type=float, default=0.3, help="share of the clients that leave")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--kv-budget", type=float, metavar="GB", help="run eight rows beyond it, nothing else"
    )
    parser.add_argument("--tokens", type=int, default=3300, help="of each prompt beyond the budget")
    return parser.parse_args(arguments)


def main() -> None:
    """Run one soak and report."""
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options = _options(arguments[:split])
    flags = arguments[split + 1 :]
    if options.kv_budget is not None:
        flags += ["--kv-budget", str(options.kv_budget)]
    checks = Checks()
    with tempfile.TemporaryDirectory() as scratch:
        home = options.home or Path(scratch) / "home"
        setting = Setting(options.model, home, Path(scratch), 1, False, flags)
        with fireside(setting) as target:
            if options.kv_budget is not None:
                work = Work(setting.name)
                asyncio.run(over_budget(target, work, options.kv_budget, options.tokens, 8, checks))
            else:
                asyncio.run(Soak(target, setting.name, options).run(checks))
    print(checks.table.markdown())
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
