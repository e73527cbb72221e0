"""The answer to a core that asks whether its model fits, and to a request that asks for room."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path

import pytest

from fireside import wire
from fireside.catalog.fit import SHARE_OF_MACHINE, DoesNotFitError
from fireside.catalog.fit_accounts import KvRow
from fireside.engine.admission import Admission, MemoryFlags, admit, plan_admission
from fireside.engine.requests import Priority
from fireside.http.errors import ContextOverBudget

POCKET = Path(__file__).parents[1] / "models" / "pocket"
MB = 10**6


def planned(flags: MemoryFlags | None = None, folder: Path = POCKET, memory: int = 10**10) -> Admission:
    located = wire.Located(str(folder), "cpu", memory, memory, 512)
    return plan_admission("pocket", flags or MemoryFlags(), 8, located)


@pytest.fixture
def untold(tmp_path: Path) -> Path:
    """A model whose config.json does not say how wide it is."""
    folder = tmp_path / "untold"
    shutil.copytree(POCKET, folder)
    config = json.loads((folder / "config.json").read_text())
    del config["hidden_size"]
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_without_flags_the_machine_sets_the_limits_and_the_allocator_none() -> None:
    found = planned()
    assert found.plan is not None
    assert found.load == wire.Load(found.plan.kv_budget_bytes, found.plan.prompt_cache_bytes, None, 10**10)
    assert found.stats()["usable_bytes"] == int(10**10 * SHARE_OF_MACHINE)


def test_flags_reach_the_core() -> None:
    found = planned(MemoryFlags(memory_budget=500 * MB, kv_budget=100 * MB, prompt_cache=0))
    assert found.load == wire.Load(100 * MB, 0, 500 * MB, 300 * MB)
    assert found.stats()["memory_budget_bytes"] == 500 * MB


def test_a_kv_budget_without_room_for_a_conversation_is_refused() -> None:
    with pytest.raises(DoesNotFitError, match="--kv-budget"):
        planned(MemoryFlags(kv_budget=MB))


def test_a_model_of_unknown_needs_is_served_with_a_warning(
    untold: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = planned(MemoryFlags(kv_budget=100 * MB), untold)
    assert "hidden_size" in caplog.text
    assert (found.plan, found.accountant()) == (None, None)
    assert found.load == wire.Load(100 * MB, 100 * MB, None, 10**10)
    assert planned(folder=untold).load.kv_budget_bytes == int(10**10 * SHARE_OF_MACHINE)
    assert found.stats()["max_safe_context"] is None


def test_only_interactive_rows_take_the_memory_of_others() -> None:
    found = planned(MemoryFlags(kv_budget=3 * MB))
    accountant = found.accountant()
    assert accountant is not None
    background = KvRow(1, 700, 800, Priority.BACKGROUND, 1)
    for priority, suspended in ((Priority.NORMAL, ()), (Priority.INTERACTIVE, (1,))):
        waiting = KvRow(2, 700, 800, priority, 2)
        assert accountant.decide([background], [waiting]).suspend == suspended


@pytest.mark.parametrize(
    ("asked", "default", "answer", "clamped"),
    [
        (5, None, 5, False),
        (None, 7, 7, False),
        (None, None, 92, False),
        (500, 7, 92, True),
        (None, 500, 92, False),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_an_answer_gets_what_was_asked_for_up_to_the_rest_of_the_window(
    asked: int | None, default: int | None, answer: int, clamped: bool, known: bool
) -> None:
    found = admit(planned() if known else None, 100, 8, asked, default)
    assert (found.max_tokens, found.clamped) == (answer, clamped)


def test_an_answer_ends_where_the_memory_does() -> None:
    found = planned(MemoryFlags(memory_budget=40 * MB))
    assert found.plan is not None
    most = found.plan.max_row_context
    assert admit(found, 8192, 100, 8000, None).max_tokens == most - 100
    with pytest.raises(ContextOverBudget) as refused:
        admit(found, 8192, most, None, None)
    assert refused.value.error_code == "context_over_budget"
    budgeted = planned(MemoryFlags(kv_budget=2 * MB))
    with pytest.raises(ContextOverBudget) as refused:
        admit(budgeted, 8192, 2000, None, None)
    assert refused.value.error_code == "memory_admission"
