"""The number of threads: the fewest that are as good as the best, and fewer while others need the cores."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fireside.core import blas_threads
from fireside.core.blas_library import BlasLibrary
from fireside.core.blas_threads import ThreadGovernor, choose_threads, fewest_good, thread_counts
from fireside.core.machine import OthersLoad, usable_cores, usable_cpus

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux CPUs get a BLAS")

BUSY = "import time\nend = time.monotonic() + 20\nwhile time.monotonic() < end: pass"


@dataclass
class Orders:
    """A library that notes what it is told."""

    counts: list[int] = field(default_factory=list[int])

    def library(self, path: Path) -> BlasLibrary:
        path.touch()
        return BlasLibrary(path, "Notebook", "1", "", self.counts.append)


@dataclass
class Machine:
    """Time and the load of others, set by the test."""

    now: float = 0.0
    others: float = 0.0

    def step(self, seconds: float, governor: ThreadGovernor) -> int:
        self.now += seconds
        governor.between_steps()
        return governor.threads


@pytest.fixture
def orders() -> Orders:
    return Orders()


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def four_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas_threads, "usable_cpus", lambda: 4)


@pytest.fixture
def governor(orders: Orders, machine: Machine, four_cpus: None, tmp_path: Path) -> ThreadGovernor:
    library = orders.library(tmp_path / "library.so")
    return ThreadGovernor(library, 4, others=lambda: machine.others, clock=lambda: machine.now)


@pytest.fixture
def busy_program() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    yield
    process.kill()
    process.wait()


@pytest.mark.parametrize(("most", "counts"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (8, [1, 2, 4, 8])])
def test_powers_of_two_and_all_are_tried(most: int, counts: list[int]) -> None:
    assert thread_counts(most) == counts


@pytest.mark.parametrize(
    ("seconds", "best"),
    [
        ({1: 1.0, 2: 0.5, 4: 0.25}, 4),
        ({1: 1.0, 2: 0.50, 4: 0.48}, 2),
        ({1: 0.1, 2: 0.2}, 1),
        ({1: 1.0, 2: 0.9}, 2),
    ],
)
def test_threads_that_gain_little_are_left_out(seconds: dict[int, float], best: int) -> None:
    assert fewest_good(seconds) == best


def test_the_choice_lies_within_the_cores_and_is_in_force(orders: Orders, tmp_path: Path) -> None:
    plan = choose_threads(orders.library(tmp_path / "library.so"), tmp_path)
    assert plan is not None
    assert {1, usable_cores()} <= set(orders.counts)
    assert 1 <= plan.decode <= usable_cores()
    assert 1 <= plan.prefill <= usable_cores()
    assert orders.counts[-1] == plan.decode


def test_a_choice_made_in_calm_is_remembered(
    orders: Orders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OthersLoad, "measure", lambda _self: 0.0)
    library = orders.library(tmp_path / "library.so")
    plan = choose_threads(library, tmp_path)
    monkeypatch.setattr(blas_threads, "_measure", lambda *_: pytest.fail("measured again"))
    assert choose_threads(library, tmp_path) == plan


def test_a_choice_made_beside_busy_programs_is_not_remembered(
    orders: Orders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OthersLoad, "measure", lambda _self: 1.0)
    choose_threads(orders.library(tmp_path / "library.so"), tmp_path)
    assert not (tmp_path / "blas-proofs.json").exists()


def test_the_limit_of_the_user_is_kept(
    orders: Orders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setattr(blas_threads, "_measure", lambda *_: pytest.fail("one thread is no choice"))
    plan = choose_threads(orders.library(tmp_path / "library.so"), tmp_path)
    assert plan is not None
    assert (plan.decode, plan.prefill) == (1, 1)
    assert set(orders.counts) == {1}


def test_a_library_that_takes_no_orders_is_left_alone(tmp_path: Path) -> None:
    library = BlasLibrary(tmp_path / "library.so", "unknown", "", "", None)
    assert choose_threads(library, tmp_path) is None


@pytest.mark.parametrize(("others", "threads"), [(0.0, 4), (0.3, 4), (1.0, 3), (2.2, 2), (3.0, 1), (4.0, 1)])
def test_threads_keep_off_the_cores_of_others(
    governor: ThreadGovernor, machine: Machine, orders: Orders, others: float, threads: int
) -> None:
    machine.others = others
    assert machine.step(1, governor) == threads
    assert orders.counts == ([threads] if threads != 4 else [])


def test_threads_come_back_when_the_cores_are_free_again(
    governor: ThreadGovernor, machine: Machine, orders: Orders
) -> None:
    machine.others = 3.0
    assert machine.step(1, governor) == 1
    machine.others = 0.1
    assert machine.step(1, governor) == 4
    assert orders.counts == [1, 4]


def test_a_core_that_is_half_taken_changes_nothing(governor: ThreadGovernor, machine: Machine) -> None:
    machine.others = 0.5
    assert machine.step(1, governor) == 4
    machine.others = 1.0
    assert machine.step(1, governor) == 3
    machine.others = 0.5
    assert machine.step(1, governor) == 3


def test_steps_in_quick_succession_do_not_look_at_the_machine(
    governor: ThreadGovernor, machine: Machine
) -> None:
    machine.others = 4.0
    assert machine.step(0.1, governor) == 4
    assert machine.step(0.1, governor) == 4
    assert machine.step(0.4, governor) == 1


def test_the_load_of_another_program_is_seen_and_ones_own_is_not(busy_program: None) -> None:
    load = OthersLoad()
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        pass
    # The machine may be busy with more; but never more than this process leaves to others.
    assert 0.4 < load.measure() < usable_cpus() - 0.1


def test_the_plan_is_stored_as_plain_json(
    orders: Orders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OthersLoad, "measure", lambda _self: 0.0)
    choose_threads(orders.library(tmp_path / "library.so"), tmp_path)
    (entry,) = json.loads((tmp_path / "blas-proofs.json").read_text()).values()
    assert entry.keys() == {"decode", "prefill", "found_at"}
