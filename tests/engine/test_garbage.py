"""What the garbage collector is spared, and what it finds all the same."""

from __future__ import annotations

import asyncio
import gc
import sys
import weakref
from collections.abc import AsyncIterator, Callable
from types import ModuleType

import pytest

from fireside.engine.garbage import spare_what_stays
from fireside.engine.status import StatusBoard


class Loop:
    """Something that only the collector can find."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
async def board() -> AsyncIterator[StatusBoard]:
    board = StatusBoard()
    sparing = asyncio.create_task(spare_what_stays(board, every_s=0.01))
    yield board
    sparing.cancel()
    gc.unfreeze()


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it has not come to that")


async def test_what_was_there_is_set_aside_until_a_model_has_gone(board: StatusBoard) -> None:
    left = Loop()
    seen = weakref.ref(left)
    board.update(phase="ready")
    await until(lambda: gc.get_freeze_count() > 1000)
    del left
    gc.collect()
    assert seen() is not None
    board.update(phase="switching")
    await asyncio.sleep(0.1)
    board.update(phase="ready")
    await until(lambda: seen() is None)
    await until(lambda: gc.get_freeze_count() > 1000)


async def test_what_is_imported_later_is_set_aside_too(
    board: StatusBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    board.update(phase="ready")
    await until(lambda: gc.get_freeze_count() > 1000)
    more = [Loop() for _ in range(100)]
    before = gc.get_freeze_count()
    await asyncio.sleep(0.1)
    assert gc.get_freeze_count() <= before
    monkeypatch.setitem(sys.modules, "imported_later", ModuleType("imported_later"))
    await until(lambda: gc.get_freeze_count() >= before + len(more))
