"""The arrows between the packages, checked from the source, and what a fresh app has loaded."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOTS = {"fireside": ROOT / "server", "fireside_agent": ROOT / "agent"}

# What each part of `fireside` may import of `fireside`. Whoever adds a part adds its line.
ARROWS: dict[str, set[str]] = {
    "http": set(),
    "wire": set(),
    "framing": {"wire"},
    "stand_ins": set(),
    "xgr": {"stand_ins"},
    "paths": set(),
    "config": {"paths"},
    "instance": {"paths"},
    "text": {"http", "xgr"},
    "catalog": {"http", "paths"},
    "engine": {"http", "wire", "framing", "catalog"},
    "core": {"wire", "framing", "catalog", "stand_ins", "xgr"},
    "api": {"http", "text", "engine", "wire"},
    "web": {"http", "engine", "catalog"},
    "hosting": {"http", "wire", "config", "text", "catalog", "engine", "api"},
    "connect": {"http"},
    "jobs": set(),
}
# These build and start the app out of the parts above and of one another; nobody else imports them.
WIRING = {
    "app",
    "serve",
    "serve_options",
    "pool_options",
    "cli",
    "connect_cli",
    "memory_cli",
    "models_cli",
    "hub_cli",
}
# A process of its own: nobody imports it.
APART = {"core"}

# Who may import a library that needs a device or is slow to load. The app reads text with mlx-lm, no more.
MAY_IMPORT = {
    "mlx": ("fireside.core", "fireside.jobs.workers"),
    "mlx_lm": ("fireside.core", "fireside.jobs.workers", "fireside.text"),
    "xgrammar": ("fireside.xgr",),
}
SLOW = ("mlx", "mlx_lm", "transformers", "xgrammar", "openai", "mcp")

# These run with an environment of their own.
PROGRAMS = ROOT / "tests" / "clients" / "programs"

MAX_LINES = 400
GENERATED = ROOT / "frontend" / "js" / "protocol.d.ts"
WRITTEN_BY_HAND = ("server/**/*.py", "agent/**/*.py", "scripts/*.py", "tests/**/*.py", "frontend/**/*.*s")


def modules(package: str) -> Iterator[tuple[str, Path]]:
    """Dotted name and file of every module of a package."""
    for file in sorted((ROOTS[package] / package).rglob("*.py")):
        parts = file.relative_to(ROOTS[package]).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file


def imports(file: Path) -> Iterator[str]:
    """Dotted names of what a file imports anywhere in it; `from a import b` counts as `a.b`."""
    for node in ast.walk(ast.parse(file.read_text(), file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import; write the full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part(dotted: str) -> str:
    """`engine` of `fireside.engine.link`; empty for the package itself and for its `__version__`."""
    name = dotted.split(".")[1] if "." in dotted else ""
    return "" if name.startswith("__") else name


def uses(package: str, library: str) -> list[str]:
    """The modules of a package that import a library or something of it."""
    return [
        module
        for module, file in modules(package)
        if any(name == library or name.startswith(f"{library}.") for name in imports(file))
    ]


def test_the_table_names_what_is_there() -> None:
    on_disk = {part(module) for module, _ in modules("fireside")} - {""}
    assert on_disk == ARROWS.keys() | WIRING


@pytest.mark.parametrize("name", sorted(ARROWS))
def test_a_part_imports_only_what_its_arrows_allow(name: str) -> None:
    wrong = [
        f"{module} imports {target}"
        for module, file in modules("fireside")
        if part(module) == name
        for target in imports(file)
        if target.startswith("fireside.") and part(target) not in {"", name, *ARROWS[name]}
    ]
    assert wrong == []


def test_the_core_is_imported_by_nobody() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, file in modules("fireside")
        for target in imports(file)
        if target.startswith("fireside.") and part(target) in APART and part(module) not in APART
    ]
    assert wrong == []


def test_only_the_wiring_knows_the_agent() -> None:
    assert {part(module) for module in uses("fireside", "fireside_agent")} <= WIRING


def test_the_agent_knows_nothing_of_the_engine() -> None:
    assert uses("fireside_agent", "fireside") == []


@pytest.mark.parametrize("library", sorted(MAY_IMPORT))
def test_only_the_core_runs_mlx(library: str) -> None:
    allowed = MAY_IMPORT[library]
    users = uses("fireside", library) + uses("fireside_agent", library)
    assert [user for user in users if not user.startswith(allowed)] == []


def test_a_file_stays_small_enough_to_read() -> None:
    found = [path for pattern in WRITTEN_BY_HAND for path in ROOT.glob(pattern)]
    files = [path for path in found if "vendor" not in path.parts and path != GENERATED]
    assert files
    assert [path.name for path in files if len(path.read_text().splitlines()) > MAX_LINES] == []


@pytest.mark.parametrize("folder", ["server", "agent", "scripts", "tests"])
def test_what_is_imported_is_declared(folder: str) -> None:
    """A package that is only there because another one needs it may be gone with that one's next release."""
    here = {path.stem for path in [*ROOT.glob("scripts/*"), *ROOT.glob("tests/*")]}
    files = [file for file in (ROOT / folder).rglob("*.py") if PROGRAMS not in file.parents]
    imported = {name.split(".")[0] for file in files for name in imports(file)}
    foreign = imported - here - ROOTS.keys() - sys.stdlib_module_names
    origins = packages_distributions()
    if folder == "scripts":
        foreign -= {"torch"}  # scripts/pocket trains where there is a GPU, and PyTorch with it
    undeclared = {name for name in foreign if declared().isdisjoint(map(canonical, origins.get(name, [])))}
    assert undeclared == set()


def declared() -> set[str]:
    """The distributions that `pyproject.toml` names, for running, for an extra, for tests or for building."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = pyproject["project"]
    groups = [*project["optional-dependencies"].values(), *pyproject["dependency-groups"].values()]
    lines = [*project["dependencies"], *pyproject["build-system"]["requires"], *itertools.chain(*groups)]
    return {canonical(re.split(r"[^\w.-]", line)[0]) for line in lines}


def canonical(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def test_importing_the_app_loads_nothing_slow() -> None:
    code = "import sys, fireside.app; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert "quart" in loaded
    assert [name for name in SLOW if name in loaded] == []


def test_the_core_loads_no_tokenizers_and_no_hub() -> None:
    code = (
        "import sys; from fireside.core.mlx_lm_alone import import_mlx_lm; import_mlx_lm();"
        "import fireside.core.runner; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert {"mlx", "mlx_lm"} <= set(loaded)
    assert {"transformers", "huggingface_hub", "httpx", "torch"}.isdisjoint(loaded)
