"""Jobs for a core that embeds: who waits, what a core's death does, what is cancelled."""

from __future__ import annotations

import asyncio

import pytest

from fireside.engine.embedding import Embeddings
from fireside.engine.metrics import Metrics
from fireside.http.errors import EngineError, TooBusy
from fireside.wire import Cancel, Down, Embed, Vectors


class Core:
    """Notes what it is told, and answers when it is told to."""

    def __init__(self, at_once: int = 2, max_queue: int = 2) -> None:
        self.told: list[Down] = []
        self.changes = 0
        self.embeddings = Embeddings(at_once, max_queue, Metrics(), self._changed)

    def _changed(self) -> None:
        self.changes += 1

    def up(self) -> None:
        self.embeddings.core_up(self.told.append)

    async def ask(self, token: int) -> asyncio.Task[Vectors]:
        task = asyncio.create_task(self.embeddings.embed([[token]]))
        await asyncio.sleep(0)
        return task

    @property
    def jobs(self) -> list[int]:
        """The first token of each job that was sent."""
        return [message.texts[0][0] for message in self.told if isinstance(message, Embed)]

    def answer(self, place: int = -1) -> None:
        """Do the job that was sent at this place."""
        sent = [message for message in self.told if isinstance(message, Embed)][place]
        self.embeddings.answered(Vectors(sent.id, 1, bytes([sent.texts[0][0]])))


async def test_jobs_wait_for_a_core_and_for_each_other() -> None:
    core = Core()
    tasks = [await core.ask(token) for token in (1, 2, 3)]
    assert core.jobs == []
    core.up()
    assert core.jobs == [1, 2]
    assert (core.embeddings.running, core.embeddings.waiting) == (2, 1)
    core.answer(0)
    assert core.jobs == [1, 2, 3]
    core.answer(2)
    core.answer(1)
    assert [(await task).data for task in tasks] == [b"\1", b"\2", b"\3"]
    assert (core.embeddings.running, core.embeddings.waiting) == (0, 0)
    assert core.changes > 0


async def test_more_than_may_wait_are_refused() -> None:
    core = Core(at_once=1, max_queue=1)
    core.up()
    tasks = [await core.ask(token) for token in (1, 2, 3)]
    with pytest.raises(TooBusy, match="--max-queue"):
        await tasks[2]
    core.answer()
    core.answer()
    await asyncio.gather(*tasks[:2])


async def test_a_job_is_sent_again_once_after_a_death_and_goes_first() -> None:
    core = Core(at_once=1)
    core.up()
    first, second = await core.ask(1), await core.ask(2)
    core.embeddings.core_down()
    core.up()
    assert core.jobs == [1, 1]
    core.answer(0)  # what the dead core had said of it does not count
    assert not first.done()
    core.embeddings.core_down()
    core.up()
    with pytest.raises(EngineError, match="crashed twice"):
        await first
    assert core.jobs == [1, 1, 2]
    core.answer()
    assert (await second).data == b"\2"


async def test_what_nobody_waits_for_is_cancelled() -> None:
    core = Core(at_once=1)
    core.up()
    tasks = [await core.ask(token) for token in (1, 2, 3)]
    tasks[1].cancel()
    tasks[0].cancel()
    await asyncio.wait(tasks[:2])
    assert core.jobs == [1, 3]
    (sent, *_) = core.told
    assert isinstance(sent, Embed)
    assert Cancel(sent.id) in core.told
    core.answer(0)  # it was on its way
    core.answer()
    assert (await tasks[2]).data == b"\3"


async def test_nothing_waits_for_a_core_that_never_comes() -> None:
    core = Core(at_once=1)
    core.up()
    tasks = [await core.ask(token) for token in (1, 2)]
    core.embeddings.fail("It is broken.")
    for task in [*tasks, await core.ask(3)]:
        with pytest.raises(EngineError, match="It is broken"):
            await task
