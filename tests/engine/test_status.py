"""The status board: the newest state reaches every reader, however slow."""

import asyncio

from fireside.engine.status import StatusBoard


async def test_a_reader_gets_the_current_state_then_each_change() -> None:
    board = StatusBoard()
    reader = board.follow()
    assert (await anext(reader)).phase == "starting"
    board.update(phase="loading", bytes_done=1)
    assert (await anext(reader)).bytes_done == 1
    await reader.aclose()


async def test_a_slow_reader_gets_the_newest_state_and_not_the_ones_between() -> None:
    board = StatusBoard()
    reader = board.follow()
    await anext(reader)
    for done in range(5):
        board.update(bytes_done=done)
    assert (await anext(reader)).bytes_done == 4
    await reader.aclose()


async def test_nothing_is_said_where_nothing_changed() -> None:
    board = StatusBoard()
    reader = board.follow()
    await anext(reader)
    board.update(phase="starting")
    waiting = asyncio.ensure_future(anext(reader))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    waiting.cancel()


async def test_readers_end_when_the_engine_stops() -> None:
    board = StatusBoard()
    board.update(phase="stopping")
    board.update(phase="loading")
    assert [status.phase async for status in board.follow()] == ["stopping"]


async def test_seconds_count_from_the_beginning_of_the_phase() -> None:
    board = StatusBoard()
    await asyncio.sleep(0.03)
    before = board.current.seconds
    board.update(phase="loading")
    assert board.current.seconds < before
