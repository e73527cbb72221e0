"""Which model is meant, and which has to go."""

from __future__ import annotations

import pytest

from fireside.api.served import Available
from fireside.hosting.names import Names
from fireside.hosting.residents import Resident, least_needed, left_alone
from fireside.http.errors import NotFound

LOCAL = ("mlx-community/Qwen3-4B-4bit", "mlx-community/Qwen3-8B-4bit", "Small")
SERVED = "org/served"


async def _local() -> list[Available]:
    return [Available(name, 0, 4096, thinks=False) for name in LOCAL]


NAMES = Names(_local, {"gpt-*": "small", "claude-*": "default", "Small": "org/served"})


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("", SERVED),
        ("local", SERVED),
        ("default", SERVED),
        (SERVED, SERVED),
        ("mlx-community/Qwen3-4B-4bit", "mlx-community/Qwen3-4B-4bit"),
        ("qwen3 8b", "mlx-community/Qwen3-8B-4bit"),
        ("gpt-4o-mini", "Small"),
        ("claude-opus", SERVED),
        ("elsewhere", "elsewhere"),
        # A model's own name goes before an alias.
        ("Small", "Small"),
    ],
)
async def test_a_name_means_one_model(asked: str, meant: str) -> None:
    assert await NAMES.find(asked, SERVED, ["elsewhere"]) == meant


@pytest.mark.parametrize(
    ("asked", "hint"), [("qwen3", "8B"), ("smal1", "Small"), ("nothing at all", "no model")]
)
async def test_what_is_not_one_model_is_refused_with_what_comes_near(asked: str, hint: str) -> None:
    with pytest.raises(NotFound, match=hint) as caught:
        await NAMES.find(asked, SERVED)
    assert caught.value.error_code == "model_not_found"


def test_the_one_asked_longest_ago_goes_unless_it_is_pinned_or_others_answer_nobody() -> None:
    old, new = Resident("old", 1.0), Resident("new", 2.0)
    assert least_needed([new, old]) == "old"
    assert least_needed([new, Resident("old", 1.0, pinned=True)]) == "new"
    assert least_needed([new, Resident("old", 1.0, busy=True)]) == "new"
    assert least_needed([Resident("old", 1.0, busy=True), Resident("new", 2.0, busy=True)]) == "old"
    assert least_needed([Resident("old", 1.0, pinned=True)]) is None
    assert least_needed([]) is None


def test_who_is_left_alone() -> None:
    residents = [
        Resident("idle", 10.0),
        Resident("asked", 95.0),
        Resident("busy", 10.0, busy=True),
        Resident("pinned", 10.0, pinned=True),
    ]
    assert left_alone(residents, 100.0, 60.0) == ["idle"]
