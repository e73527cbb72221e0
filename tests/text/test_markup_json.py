"""The JSON scanner accepts what Python's parser accepts, and ends where the value ends."""

import json
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireside.text.markup.json_text import JsonScanner
from fireside.text.markup.source import Misfit

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
# Something that shows where the value ended, and that ends a number.
BEHIND = "~"


def end_of(text: str, step: int) -> int | None:
    """Where the value ends when the text comes in pieces of `step`; None if it is no JSON."""
    scanner = JsonScanner()
    begin = 0
    while begin < len(text) and not scanner.done:
        piece = text[begin : begin + step]
        try:
            at = scanner.scan(piece, 0)
        except Misfit:
            return None
        assert at == len(piece) or scanner.done
        begin += at
    return begin if scanner.done else None


def refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def reference(text: str) -> bool:
    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


@given(value=VALUES, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]), step=st.integers(1, 9))
@settings(deadline=None, max_examples=150)
def test_a_value_is_read_to_its_end(value: Any, ascii_only: bool, indent: int | None, step: int) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert end_of(text + BEHIND, step) == len(text)


@given(data=st.data())
@settings(deadline=None, max_examples=400)
def test_damaged_json_is_refused_where_python_refuses_it(data: st.DataObject) -> None:
    text = '{"a\\u00e9\\n": [1, -2.5e+3, true, null, {"": "b\\\\"}], "c": {}}'
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(text) - 1))
        text = text[:at] + data.draw(st.sampled_from(["", *'"\\,:[]{}0-.eut \n\x01'])) + text[at + 1 :]
    end = end_of(text + BEHIND, data.draw(st.integers(1, 9)))
    assert (end is not None and not text[end:].strip(" \n\t\r")) == reference(text)


NO_JSON = [
    "01",
    "1.",
    ".5",
    "+1",
    "1e",
    "-",
    "tru",
    "True",
    "NaN",
    "-Infinity",
    '"\\x"',
    '"\\u123"',
    '"\\u12 4"',
]
NO_JSON += ['"a\nb"', "[1,]", '{"a":1,}', "{1: 2}", '{"a" 1}', "[1}", "{]", "[,]", '{"a"}', "]", ","]


@pytest.mark.parametrize("text", NO_JSON)
def test_what_is_no_json_is_refused(text: str) -> None:
    assert not reference(text)
    assert end_of(text + BEHIND, 1) is None
    assert end_of(text + BEHIND, 99) is None


def test_nesting_has_an_end() -> None:
    assert end_of("[" * 400 + "]" * 400, 7) == 800
    assert end_of("[" * 501, 7) is None
