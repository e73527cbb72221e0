"""Which rows are in the core, and which one is blamed when it dies."""

import random

from fireside.engine.requests import GenerationRequest, Row
from fireside.engine.roster import Changes, Roster
from fireside.wire import Sampling


def row(number: int) -> Row:
    return Row(GenerationRequest([number], 8, (), Sampling()))


def name(r: Row) -> int:
    return r.request.prompt[0]


def ids(rows: list[Row]) -> list[int]:
    return [name(r) for r in rows]


def crashed_with_two() -> tuple[Roster, list[Row]]:
    """A roster whose core has just died with two rows in it."""
    roster = Roster(max_rows=8)
    roster.core_up()
    pair = [row(0), row(1)]
    for r in pair:
        roster.add(r)
    roster.core_down()
    return roster, pair


def test_rows_wait_until_a_core_is_up_and_enter_in_order() -> None:
    roster = Roster(max_rows=2)
    rows = [row(n) for n in range(3)]
    assert all(roster.add(r) == Changes() for r in rows)
    assert ids(roster.core_up().submit) == [0, 1]
    assert ids(roster.waiting) == [2]
    assert ids(roster.finished(rows[0]).submit) == [2]


def test_a_row_that_leaves_while_running_is_cancelled_and_makes_room() -> None:
    roster = Roster(max_rows=1)
    first, second = row(0), row(1)
    roster.core_up()
    roster.add(first)
    roster.add(second)
    changes = roster.remove(first)
    assert (changes.cancel, ids(changes.submit)) == ([first.submission], [1])
    assert roster.remove(first) == Changes()


def test_a_row_that_leaves_while_waiting_is_not_cancelled() -> None:
    roster = Roster(max_rows=1)
    roster.add(waiting := row(0))
    assert roster.remove(waiting) == Changes()
    assert roster.core_up() == Changes()


def test_after_a_crash_rows_come_back_one_at_a_time_and_go_on_together_once_cleared() -> None:
    roster = Roster(max_rows=8)
    roster.core_up()
    rows = [row(n) for n in range(3)]
    for r in rows:
        roster.add(r)
    assert roster.core_down() == []
    assert ids(roster.core_up().submit) == [0]
    roster.add(late := row(9))
    assert ids(roster.running) == [0]
    before = rows[0].submission
    cleared = roster.progressed(rows[0])
    assert (cleared.cancel, ids(cleared.submit)) == ([before], [1])
    assert ids(roster.progressed(rows[1]).submit) == [2]
    assert ids(roster.progressed(rows[2]).submit) == [0, 1, 9]
    assert sorted(ids(roster.running)) == [0, 1, 2, name(late)]


def test_a_single_row_that_makes_progress_survives_any_number_of_crashes() -> None:
    roster = Roster(max_rows=8)
    roster.add(only := row(0))
    for _ in range(10):
        assert ids(roster.core_up().submit) == [0]
        roster.progressed(only)
        assert roster.core_down() == []


def test_a_row_that_crashes_the_core_twice_alone_without_progress_is_given_up() -> None:
    roster = Roster(max_rows=8)
    roster.add(poison := row(0))
    roster.core_up()
    assert roster.core_down() == []
    roster.core_up()
    assert roster.core_down() == [poison]
    assert roster.all == []


def test_what_the_core_said_of_an_earlier_submission_counts_for_nothing() -> None:
    roster, pair = crashed_with_two()
    roster.core_up()
    before = pair[0].submission
    roster.progressed(pair[0])
    roster.remove(pair[1])
    assert roster.get(before) is None
    assert roster.get(pair[0].submission) is pair[0]


def test_progress_between_two_crashes_wipes_the_first_one_out() -> None:
    roster = Roster(max_rows=8)
    roster.add(only := row(0))
    roster.core_up()
    assert roster.core_down() == []
    roster.core_up()
    roster.progressed(only)
    assert roster.core_down() == []
    roster.core_up()
    assert roster.core_down() == []


def test_a_crash_in_company_counts_against_nobody() -> None:
    _, pair = crashed_with_two()
    assert [r.strikes for r in pair] == [0, 0]


def test_only_the_poison_row_is_given_up_whatever_the_order() -> None:
    for seed in range(50):
        assert _survivors(random.Random(seed)) == [0, 1, 2, 3]


def _survivors(rng: random.Random) -> list[int]:
    """Five rows of which number 4 kills the core when it is read; the ids that finish."""
    roster = Roster(max_rows=rng.randint(1, 5))
    rows = [row(n) for n in range(5)]
    rng.shuffle(rows)
    tokens = {name(r): 0 for r in rows}
    finished: list[int] = []
    for r in rows:
        roster.add(r)
    roster.core_up()
    for _ in range(1000):
        if not roster.all:
            break
        if any(name(r) == 4 for r in roster.running):
            roster.core_down()
            roster.core_up()
            continue
        lucky = rng.choice(roster.running)
        tokens[name(lucky)] += 1
        if tokens[name(lucky)] == 3:
            finished.append(name(lucky))
            roster.finished(lucky)
        else:
            roster.progressed(lucky)
    return sorted(finished)
