"""What fits on a machine, why not, how fast it would be, and which models are offered."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireside.catalog.assess import Terms, assess
from fireside.catalog.bandwidths import of_apple, of_nvidia
from fireside.catalog.families import Families
from fireside.catalog.fit import Memory, Workload, plan_memory, read_model
from fireside.catalog.fit_report import MATRIX_CONTEXT, fit_report, known_machines
from fireside.catalog.library import Library
from fireside.catalog.machine import Machine, detect_machine, read_cards
from fireside.catalog.places import Place, Roots
from fireside.catalog.recommend import known_models, recommend
from fireside.catalog.registry import Catalog
from fireside.catalog.scan import ModelFacts, scan
from support.local_models import write_model
from support.server import POCKET

FAMILIES = Families.installed()
GB = 10**9
MAC = Machine("Apple M3 Max", "apple", 64 * GB, 40 * GB, 400 * GB)
BOX = Machine("CPU", "cpu", 16 * GB, 8 * GB, 40 * GB)


def scanned(folder: Path) -> ModelFacts:
    return scan(Place(folder.name, None, folder, "folder"), FAMILIES)


@pytest.fixture(scope="module")
def pocket() -> ModelFacts:
    return scanned(POCKET)


@pytest.mark.parametrize("machine", [MAC, BOX])
@pytest.mark.parametrize("budget", [None, 10 * GB, 120_000_000, 60_000_000])
def test_an_assessment_has_the_numbers_of_admission(
    machine: Machine, budget: int | None, pocket: ModelFacts
) -> None:
    """What the engine solves when it starts the model, from the files themselves."""
    found = assess(pocket, machine, 2000, Terms(budget))
    memory = Memory(machine.available_bytes, budget)
    floats = machine.float32_bytes
    need = read_model("pocket", POCKET, None if floats is None else min(floats, memory.usable_bytes))
    plan = plan_memory(need, memory, Workload(8, machine.prefill_step, fused_attention=machine.has_gpu))
    assert found.weights_bytes == need.weights.bytes
    assert (found.max_safe_context, found.limit) == (plan.max_safe_context, plan.limit)
    assert found.usable_bytes == memory.usable_bytes
    assert (found.needed_bytes, found.kv_bytes) == (plan.needed_bytes(2000), plan.row_bytes(2000))
    assert found.fits == (plan.max_safe_context >= 2000)
    assert found.fits or f"Up to {plan.max_safe_context:,} tokens fit" in found.reason


@given(st.integers(1, 9000), st.integers(15_000_000, 300_000_000))
@settings(max_examples=60, deadline=None)
def test_whatever_is_said_to_fit_needs_no_more_than_there_is(context: int, budget: int) -> None:
    found = assess(scanned(POCKET), MAC, context, Terms(budget))
    if found.max_safe_context is None:
        assert not found.fits
        assert "No context fits" in found.reason
        return
    assert found.fits == (context <= found.max_safe_context)
    if found.fits:
        assert found.needed_bytes is not None
        assert found.needed_bytes <= budget
    else:
        assert ("were asked for" if context > 8192 else "is less") in found.reason


def test_what_is_incomplete_or_unknown_does_not_fit_and_says_why(tmp_path: Path) -> None:
    broken = write_model(tmp_path / "broken", shards=2)
    (broken / "model-00002-of-00002.safetensors").unlink()
    assert "not complete: model-00002-of-00002.safetensors is missing" in assess(scanned(broken), MAC).reason
    unknown = assess(scanned(write_model(tmp_path / "unknown", {"model_type": "of-tomorrow"})), MAC)
    assert not unknown.fits
    assert "'of-tomorrow' are not known" in unknown.reason


def test_a_model_whose_config_does_not_tell_its_size_is_judged_by_its_weights(tmp_path: Path) -> None:
    odd = scanned(write_model(tmp_path / "odd", {"num_hidden_layers": None}))
    found = assess(odd, MAC)
    assert found.fits
    assert found.max_safe_context is None
    assert "num_hidden_layers" in found.reason
    assert not assess(odd, MAC, None, Terms(1000)).fits


def test_what_our_own_core_holds_is_counted_as_free(pocket: ModelFacts) -> None:
    full = Machine("CPU", "cpu", 16 * GB, 10_000_000, None)
    assert not assess(pocket, full).fits
    assert assess(pocket, full, None, Terms(held_bytes=4 * GB)).fits


def test_rates_follow_bandwidth_and_length_and_give_way_to_the_measured_one(pocket: ModelFacts) -> None:
    def rate(machine: Machine, context: int) -> float:
        found = assess(pocket, machine, context).predicted_decode_tps
        assert found is not None
        return found

    slow = Machine("Apple M1", "apple", 16 * GB, 8 * GB, 68 * GB)
    assert rate(MAC, 8000) < rate(MAC, 100)
    assert rate(slow, 8000) < rate(MAC, 8000)
    assert assess(pocket, Machine("?", "cpu", GB, GB, None)).decode_tps is None
    found = assess(pocket, MAC, measured=12.5)
    assert (found.measured_decode_tps, found.decode_tps) == (12.5, 12.5)
    assert found.predicted_decode_tps not in (None, 12.5)


def test_a_report_compares_machines(pocket: ModelFacts) -> None:
    found = fit_report(pocket, BOX, 100, measured=33.0)
    assert (found.context_tokens, found.machine.chip) == (100, "CPU")
    assert any("has answered here with 33.0 tokens" in line for line in found.report)
    assert len(found.matrix) == len(known_machines())
    assert all(row.fits for row in found.matrix)
    by_chip = {row.chip: row.predicted_decode_tps or 0 for row in found.matrix}
    assert by_chip["Apple M4, 16 GB"] < by_chip["Apple M4 Max, 64 GB"]
    assert MATRIX_CONTEXT > 8192


@pytest.mark.parametrize(("chip", "cores", "speed"), [
    ("Apple M1", 8, 68), ("Apple M3 Max", 16, 400), ("Apple M3 Max", 14, 300), ("Apple M4 Pro", None, 273),
    ("Apple M99", 8, None),
])  # fmt: skip
def test_apple_chips_are_known(chip: str, cores: int | None, speed: int | None) -> None:
    assert of_apple(chip, cores) == (None if speed is None else speed * GB)


@pytest.mark.parametrize(("card", "speed"), [
    ("NVIDIA H200", 4800), ("NVIDIA H100 80GB HBM3", 3350), ("NVIDIA H100 PCIe", 2000),
    ("NVIDIA GeForce RTX 4070 Ti SUPER", 672), ("NVIDIA GeForce RTX 4070", 504), ("NVIDIA L40S", 864),
    ("NVIDIA GH200 480GB", 4000), ("NVIDIA GeForce GTX 1080", None),
])  # fmt: skip
def test_nvidia_cards_are_known(card: str, speed: int | None) -> None:
    assert of_nvidia(card) == (None if speed is None else speed * GB)


def test_the_table_of_nvidia_smi_is_read() -> None:
    card = read_cards("NVIDIA H200, 143771, 143000\nNVIDIA H200, 143771, 1\n")
    assert card == Machine("NVIDIA H200", "nvidia", 143771 << 20, 143000 << 20, 4800 * GB)
    shared = read_cards("NVIDIA GB10, [N/A], [N/A]")
    assert shared is not None
    assert shared.memory_bytes > GB
    for nothing in ("", "No devices were found", "a, b, c, d"):
        assert read_cards(nothing) is None


@pytest.mark.skipif(sys.platform != "linux", reason="others are asked for by other means")
def test_this_machine_is_seen() -> None:
    machine = detect_machine(measure=True)
    assert 0 < machine.available_bytes <= psutil.virtual_memory().total
    assert machine.available_bytes <= machine.memory_bytes
    assert machine.name
    assert machine.bandwidth is None or machine.bandwidth > 10**8


@given(st.sampled_from([*known_machines(), MAC, BOX, Machine("CPU", "cpu", 10**6, 10**6, None)]))
@settings(deadline=None)
def test_what_is_offered_leaves_room_for_other_programs(machine: Machine) -> None:
    found = recommend(machine)
    assert len(found) <= 4
    assert all(model.needed_bytes <= 0.6 * machine.memory_bytes for model in found)
    assert found == sorted(found, key=lambda model: -model.parameters)
    assert found or machine.memory_bytes < 4 * GB


def test_the_list_is_in_order_and_says_what_is_here() -> None:
    known = known_models()
    assert list(known) == sorted(known, key=lambda model: model.size_bytes)
    assert len({model.repo_id for model in known}) == len(known)
    here = recommend(MAC)[0].repo_id
    assert [model.here for model in recommend(MAC, {here})] == [True, False, False, False]


async def test_a_library_keeps_its_rows_until_they_are_old_or_called_so(tmp_path: Path) -> None:
    detected: list[bool] = []

    def detect(measure: bool) -> Machine:
        detected.append(measure)
        return BOX

    catalog = Catalog(tmp_path / "catalog.db", Roots(tmp_path / "hub", (tmp_path / "models",)))
    served = ["a"]
    library = Library(catalog, lambda: served[0], detect=detect)
    write_model(tmp_path / "models" / "a")
    assert [row.serving for row in await library.rows()] == [True]
    write_model(tmp_path / "models" / "b")
    assert [row.repo_id for row in await library.rows()] == ["a"]
    served[0] = "b"
    # What is served must be there.
    rows = await library.rows()
    assert [(row.repo_id, row.serving) for row in rows] == [("a", False), ("b", True)]
    assert rows[0].assessment.measured_decode_tps is None
    await library.record_rate("a", 9.0)
    assert [row.assessment.decode_tps == 9.0 for row in await library.rows()] == [True, False]
    # Its bandwidth is measured once.
    assert detected == [True, False, False]
    (tmp_path / "models" / "a").rename(tmp_path / "gone")
    assert len(await library.rows()) == 2
    library.invalidate()
    assert len(await library.rows()) == 1
