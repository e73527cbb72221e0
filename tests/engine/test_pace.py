"""When a waiting row will start."""

import pytest

from fireside.engine.pace import Pace
from fireside.engine.requests import GenerationRequest, Row
from fireside.wire import Sampling


def finished_after(seconds: float) -> Row:
    row = Row(GenerationRequest([1], 8, (), Sampling()))
    row.started_at, row.last_token_at = 100.0, 100.0 + seconds
    return row


def test_nothing_is_promised_before_the_first_row_has_finished() -> None:
    assert Pace(8).until_start(0) is None


def test_rows_come_free_one_after_the_other() -> None:
    pace = Pace(rows=4)
    pace.finished(finished_after(8))
    assert pace.until_start(0) == pytest.approx(2)
    assert pace.until_start(7) == pytest.approx(16)


def test_the_pace_follows_the_latest_rows() -> None:
    pace = Pace(rows=1)
    for seconds in [10.0] * 5 + [1.0] * 30:
        pace.finished(finished_after(seconds))
    assert pace.until_start(0) == pytest.approx(1, abs=0.1)


def test_a_row_that_never_started_tells_nothing() -> None:
    pace = Pace(rows=1)
    pace.finished(Row(GenerationRequest([1], 8, (), Sampling())))
    assert pace.until_start(0) is None
