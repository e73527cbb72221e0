"""What the conversion's process says when it cannot go on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.local_models import write_model

PROGRAM = """
import sys
from fireside.jobs.workers import convert

def failing(*_):
    {failure}

convert._convert = failing
sys.exit(convert.main(*sys.argv[1:]))
"""


def last_word(source: Path, tmp_path: Path, failure: str = "pass") -> dict[str, Any]:
    """Its last event, with this instead of what mlx-lm does."""
    (tmp_path / "staging").mkdir()
    command = [sys.executable, "-c", PROGRAM.format(failure=failure), str(source)]
    with subprocess.Popen(
        [*command, str(tmp_path / "staging"), str(tmp_path / "target"), "4"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout
        events = [json.loads(line) for line in process.stdout]
    assert (process.returncode, events[-1]["kind"]) == (1, "failed")
    assert not (tmp_path / "staging").exists()
    assert not (tmp_path / "target").exists()
    return events[-1]


@pytest.mark.parametrize("failure", [
    "raise RuntimeError('[write] Unable to write 35106 bytes to file.')",
    "raise OSError(28, 'No space left on device')",
])  # fmt: skip
def test_a_full_disk_is_called_so(failure: str, tmp_path: Path) -> None:
    told = last_word(write_model(tmp_path / "source"), tmp_path, failure)
    assert told["code"] == "disk_full"
    assert "the disk is full" in told["message"]


def test_an_error_that_names_every_array_is_cut(tmp_path: Path) -> None:
    told = last_word(write_model(tmp_path / "source"), tmp_path, "raise ValueError('array ' * 100_000)")
    assert (told["code"], len(told["message"]) < 2000) == ("conversion_failed", True)


@pytest.mark.parametrize(("config", "said"), [
    ("[]", "none of a model"),
    ('{"quantization": {"bits": 4}}', "quantised already"),
])  # fmt: skip
def test_what_is_no_model_to_convert_is_told(config: str, said: str, tmp_path: Path) -> None:
    source = write_model(tmp_path / "source")
    (source / "config.json").write_text(config)
    assert said in last_word(source, tmp_path)["message"]
