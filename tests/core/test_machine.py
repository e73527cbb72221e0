"""Limits of containers, read from control groups of both versions."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil
import pytest

from fireside.catalog.memory import Cgroups, available_memory
from fireside.core.machine import cpu_identity, usable_cores

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")

GB = 10**9


def cgroups(folder: Path, membership: str, files: dict[str, str]) -> Cgroups:
    """A made-up tree of control groups."""
    (folder / "membership").write_text(membership)
    for name, content in files.items():
        path = folder / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    return Cgroups(folder / "root", folder / "membership")


def test_without_control_groups_nothing_is_limited(tmp_path: Path) -> None:
    nothing = Cgroups(tmp_path / "none", tmp_path / "none")
    assert nothing.cpu_quota() is None
    assert nothing.memory_headroom() is None
    assert 1 <= usable_cores(nothing) <= len(os.sched_getaffinity(0))
    assert 0 < available_memory(nothing) <= psutil.virtual_memory().total


def test_unlimited_groups_limit_nothing(tmp_path: Path) -> None:
    files = {"a/cpu.max": "max 100000", "a/memory.max": "max", "a/memory.current": "5"}
    groups = cgroups(tmp_path, "0::/a\n", files)
    assert groups.cpu_quota() is None
    assert groups.memory_headroom() is None


def test_the_tightest_group_on_the_way_to_the_root_counts(tmp_path: Path) -> None:
    files = {
        "a/b/cpu.max": "400000 100000",
        "a/cpu.max": "150000 100000",
        "a/b/memory.max": f"{8 * GB}",
        "a/b/memory.current": f"{1 * GB}",
        "a/memory.max": f"{6 * GB}",
        "a/memory.current": f"{4 * GB}",
        "a/memory.stat": f"anon 1\ninactive_file {1 * GB}\nactive_file 7",
    }
    groups = cgroups(tmp_path, "0::/a/b\n", files)
    assert groups.cpu_quota() == 1.5
    assert groups.memory_headroom() == 3 * GB
    assert usable_cores(groups) == 1


def test_version_1_groups_are_read(tmp_path: Path) -> None:
    membership = "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n1:name=systemd:/docker/x\n0::/\n"
    files = {
        "cpu,cpuacct/cpu.cfs_quota_us": "50000",
        "cpu,cpuacct/cpu.cfs_period_us": "100000",
        "memory/docker/x/memory.limit_in_bytes": f"{2 * GB}",
        "memory/docker/x/memory.usage_in_bytes": f"{GB}",
        "memory/docker/x/memory.stat": "total_inactive_file 1000\ninactive_file 5",
    }
    groups = cgroups(tmp_path, membership, files)
    assert groups.cpu_quota() == 0.5
    assert groups.memory_headroom() == GB + 1000
    assert usable_cores(groups) == 1


def test_memory_over_the_limit_is_no_memory(tmp_path: Path) -> None:
    files = {"memory.max": "100", "memory.current": "200"}
    assert available_memory(cgroups(tmp_path, "0::/\n", files)) == 0


def test_the_cpu_is_known_by_more_than_its_clock() -> None:
    identity = cpu_identity()
    assert identity == cpu_identity()
    assert "MHz" not in identity
    assert "flags" in identity or "Features" in identity
