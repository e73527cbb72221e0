"""The engine over a scripted core: the handshake, and what it tells while it serves."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fireside import wire
from fireside.catalog.fit import DoesNotFitError, Memory
from fireside.engine.admission import Admission
from fireside.engine.engine import Engine, EngineConfig
from fireside.engine.metrics import Metrics
from fireside.engine.requests import Broken, Finished, GenerationRequest, Prefill, Queued, Token
from fireside.engine.status import StatusBoard
from fireside.http.errors import TooBusy

CORE = """
import json, os, socket, sys
from fireside import framing, wire

link = socket.socket(fileno=int(sys.argv[-1])).makefile("rwb")
log = open(os.environ["SCRIPTED_CORE_LOG"], "a")

def send(message):
    link.write(framing.pack(message))
    link.flush()

def receive():
    header = link.read(framing.HEADER_SIZE)
    if not header:
        sys.exit()
    return framing.unpack_down(link.read(framing.frame_length(header)))

start = receive()
send(wire.Located("/m", "cpu", 1000, None, 512))
load = receive()
print(json.dumps([load.kv_budget_bytes, load.prompt_cache_bytes]), file=log, flush=True)
batches = "batches" in sys.argv
send(wire.Ready("float32", 1, "cpu", {}, None, [], batches))
send(wire.WarmUp(1, 3))
while True:
    message = receive()
    if isinstance(message, wire.Vocabulary):
        print(json.dumps(message.info.decode()), file=log, flush=True)
    if not isinstance(message, wire.Submit):
        continue
    if message.grammar is not None:
        print(json.dumps(message.grammar.compiled.decode()), file=log, flush=True)
        if message.grammar.compiled == b"broken":
            send(wire.Step([], [], 9, failed=[wire.RowFailure(message.id, "it is broken")]))
            continue
    if message.prompt == [13]:
        sys.exit(1)
    done = len(message.prompt)
    send(wire.Step([], [wire.RowPrefill(message.id, done, done, done - 1)], 9))
    if message.max_tokens > 1:
        cache = wire.CacheState(1, 2, 3, 4, 5, 6)
        send(wire.Step([wire.RowToken(message.id, 7, "stop")], [], 9, cache, 1))
"""


@dataclass
class Run:
    """An engine over scripted cores; `loads` is what each of them was allowed."""

    engine: Engine
    board: StatusBoard
    plans: list[wire.Located]
    log: Path

    @property
    def loads(self) -> list[Any]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    async def until(self, wanted: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not wanted():  # noqa: ASYNC110 (the engine has no event for most of what is waited for)
                await asyncio.sleep(0.01)


@asynccontextmanager
async def running(
    log: Path, *words: str, max_queue: int = 9, refuse: str | None = None
) -> AsyncGenerator[Run]:
    plans: list[wire.Located] = []

    def plan(located: wire.Located) -> Admission:
        plans.append(located)
        if refuse is not None:
            raise DoesNotFitError(refuse)
        return Admission(Memory(1000), None, wire.Load(100 + len(plans), 50))

    async def located(*_: Any) -> None:
        return None

    board = StatusBoard()
    start = wire.Start(wire.WIRE_VERSION, "/m", "/m", "/c", 4)
    config = EngineConfig((sys.executable, "-c", CORE, *words), start, plan, located, max_queue)
    run = Run(Engine(config, board, Metrics()), board, plans, log)
    run.engine.start()
    try:
        await run.until(lambda: board.current.phase in ("ready", "failed"))
        yield run
    finally:
        await run.engine.close()


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "log"
    monkeypatch.setenv("SCRIPTED_CORE_LOG", str(path))
    return path


def request(prompt: list[int], tokens: int = 5) -> GenerationRequest:
    return GenerationRequest(prompt, tokens, (), wire.Sampling())


async def test_a_core_is_told_its_limits_and_the_next_one_the_same(log: Path) -> None:
    async with running(log, "batches") as run:
        assert run.engine.cache.max_bytes == 50
        first = run.engine.core_pid
        run.engine.kill()
        await run.until(lambda: run.engine.ready is not None and run.engine.core_pid not in (None, first))
        assert run.loads == [[101, 50], [101, 50]]
        assert len(run.plans) == 1
        assert run.engine.batch["kv_budget_bytes"] == 101


async def test_a_model_that_does_not_fit_fails_with_the_plan_s_words_and_is_not_loaded(log: Path) -> None:
    async with running(log, refuse="No context fits: …") as run:
        assert (run.board.current.phase, run.board.current.error) == ("failed", "No context fits: …")
        assert run.loads == []
        assert run.board.current.restarts == 0


async def test_warming_up_is_told_while_requests_are_served(log: Path) -> None:
    async with running(log, "batches") as run:
        await run.until(lambda: run.engine.warm_up is not None)
        status = run.board.current
        assert (status.phase, status.detail) == ("ready", "Ready; warming up, 1 of 3")
        assert run.engine.warm_up == wire.WarmUp(1, 3)
        async with run.engine.generate(request([1, 2, 3])) as row:
            assert [await row.next() for _ in range(2)] == [Prefill(3, 3), Finished("stop")]
        assert (row.cached, row.lane) == (2, "batched")
        assert run.engine.cache == wire.CacheState(1, 2, 3, 4, 5, 6)


async def test_what_cannot_batch_runs_one_at_a_time(log: Path) -> None:
    async with running(log) as run:
        assert run.engine.batch["batched"] is False
        async with run.engine.generate(request([1], tokens=1)) as first:
            assert await first.next() == Prefill(1, 1)
            async with run.engine.generate(request([2])) as second:
                assert await second.next() == Queued(0)
                assert (first.lane, run.engine.batch["pending_rows"]) == ("serial", 1)


async def test_the_queue_is_full_when_as_many_wait_as_may_whatever_they_wait_for(log: Path) -> None:
    async with (
        running(log, max_queue=1) as run,
        run.engine.generate(request([1], tokens=1)),
        run.engine.generate(request([2])),
    ):
        with pytest.raises(TooBusy, match="1 requests are waiting"):
            async with run.engine.generate(request([3])):
                pass
        assert run.engine.batch["pending_rows"] == 1


async def test_a_row_without_progress_is_given_up_after_its_second_crash(log: Path) -> None:
    async with running(log, "batches") as run, run.engine.generate(request([13])) as row:
        events: list[Any] = []
        while not events or not hasattr(events[-1], "message"):
            events.append(await row.next())
        assert not any(isinstance(event, Token) for event in events)
        assert "crashed twice" in events[-1].message
        assert run.board.current.restarts == 2


async def test_each_core_knows_the_vocabulary_before_its_first_grammar(log: Path) -> None:
    async def ask(name: str) -> None:
        grammar = wire.Grammar(name.encode())
        bound = GenerationRequest([1], 5, (), wire.Sampling(), grammar=grammar, vocabulary=b"words")
        async with run.engine.generate(bound) as row:
            while not isinstance(await row.next(), Finished):
                pass

    async with running(log, "batches") as run:
        async with run.engine.generate(request([1])) as row:
            assert [await row.next() for _ in range(2)] == [Prefill(1, 1), Finished("stop")]
        await ask("first")
        await ask("second")
        core = run.engine.core_pid
        run.engine.kill()
        await run.until(lambda: run.engine.ready is not None and run.engine.core_pid not in (None, core))
        await ask("third")
        limits = [101, 50]
        assert run.loads == [limits, "words", "first", "second", limits, "words", "third"]


async def test_a_row_that_the_core_cannot_go_on_with_is_broken_and_no_other(log: Path) -> None:
    grammar = wire.Grammar(b"broken")
    bound = GenerationRequest([1], 5, (), wire.Sampling(), grammar=grammar, vocabulary=b"words")
    async with running(log, "batches") as run:
        async with run.engine.generate(bound) as row:
            assert await row.next() == Broken("The answer cannot go on: it is broken.")
        assert row.outcome == "error"
        async with run.engine.generate(request([1])) as row:
            assert [await row.next() for _ in range(2)] == [Prefill(1, 1), Finished("stop")]
        assert run.board.current.restarts == 0
        assert run.engine.batch["active_rows"] == 0
