"""Requests made out of `/openapi.json`: no failure of ours, and no answer that is not in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.server import Server, prepared_home, serving

CHECKS = ",".join(
    (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    )
)
TESTS = Path(__file__).parents[1]

ENDLESS = r"/api/status/events"
STARTS_PROGRAMS = r"/api/settings/mcp/"
ASKS_THE_HUB = r"/api/hub/(search|model|download)"
"""Which cannot be reached, and says so with a 503."""


@pytest.fixture(scope="module")
def disposable(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Fireside whose settings may become anything."""
    with serving(prepared_home(tmp_path_factory.mktemp("disposable"), server.home)) as running:
        yield running.wait_ready()


def schemathesis(folder: Path, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    """Run the program. Returns its exit status, what it printed and its report."""
    report = folder / "report.json"
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", *arguments),
        *("--checks", CHECKS, "--generation-deterministic", "--no-shrink", "--continue-on-failure"),
        *("--no-color", "--warnings", "off", "--request-timeout", "60", "--report-json-path", str(report)),
    ]
    env = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "support.schemathesis_hooks",
        "PYTHONPATH": str(TESTS),
    }
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=240)
    said = done.stdout + done.stderr
    return done.returncode, said, json.loads(report.read_text()) if report.exists() else {}


def test_every_answer_is_a_documented_one(disposable: Server, tmp_path: Path) -> None:
    disposable.post("/api/memory/init", None)
    excluded = ("--exclude-path-regex", f"{ENDLESS}|{STARTS_PROGRAMS}|{ASKS_THE_HUB}")
    phases = ("--phases", "examples,coverage,fuzzing", "--max-examples", "6")
    status, said, report = schemathesis(tmp_path, f"{disposable.url}/openapi.json", *phases, *excluded)
    assert status == 0, said
    assert report["operations"]["tested"] == report["operations"]["selected"] >= 50
    assert report["test_cases"]["generated"] > 1000
    assert disposable.get("/health") == {"status": "ok"}


def test_a_wrong_description_would_be_noticed(disposable: Server, tmp_path: Path) -> None:
    document = disposable.get("/openapi.json")
    del document["paths"]["/detokenize"]["post"]["responses"]["400"]
    document["components"]["schemas"]["ModelList"]["required"].append("missing")
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(document))
    only = ("--include-path-regex", "^/detokenize$|^/v1/models$")
    status, said, report = schemathesis(
        tmp_path, str(path), "--url", disposable.url, "--phases", "fuzzing", "--max-examples", "20", *only
    )
    assert status == 1, said
    titles = {failure["title"] for failure in report["failures"]}
    assert titles == {"Undocumented status code", "Response violates schema"}, said
