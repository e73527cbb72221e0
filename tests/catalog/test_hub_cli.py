"""`fireside models search|get|rm|gc`, in this process and against a hub on a real socket."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result
from huggingface_hub import constants
from safetensors.numpy import save

from fireside import hub_cli
from fireside.instance import InstanceLock
from support.hub import Hub, Slow, running_hub

FILES = {
    "config.json": b'{"model_type": "llama"}',
    "tokenizer.json": b"{}",
    "model.safetensors": save({"weight": np.zeros(1 << 20, dtype=np.uint8)}),
}


@click.group()
def models() -> None:
    """As `fireside models`."""


hub_cli.add_to(models)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    with running_hub() as running:
        running.add("org/tiny", FILES, tags=["mlx"], downloads=1234)
        template = running.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "ENDPOINT", running.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setenv("FIRESIDE_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("HF_TOKEN", "")
        (tmp_path / "home").mkdir()
        yield running


def told(*arguments: str, status: int = 0, answer: str | None = None) -> Result:
    result = CliRunner().invoke(models, arguments, input=answer)
    assert result.exit_code == status, result.output
    return result


def test_search(hub: Hub) -> None:
    lines = told("search", "tiny").stdout.splitlines()
    assert lines[1].split() == ["org/tiny", "1.0", "MB", "1,234"]
    assert json.loads(told("search", "--json").stdout)[0]["repo_id"] == "org/tiny"
    assert "no such model" in told("search", "nothing", status=1).output
    constants.ENDPOINT = "http://127.0.0.1:9"
    assert "cannot be reached" in told("search", "tiny", status=1).output


def test_get_rm_and_what_is_missing(hub: Hub, tmp_path: Path) -> None:
    path = Path(told("get", "org/tiny").stdout.splitlines()[-1])
    assert (path / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert json.loads(told("get", "org/tiny", "--json").stdout)["path"] == str(path)
    assert "not the name" in told("get", "../x", status=1).output
    told("rm", "org/tiny", status=1, answer="n\n")
    assert path.exists()
    assert "free again" in told("rm", "org/tiny", "--yes").stdout
    assert not path.exists()
    assert "There is no org/tiny" in told("rm", "org/tiny", "--yes", status=1).output


def test_gc_shows_and_then_removes(hub: Hub, tmp_path: Path) -> None:
    told("get", "org/tiny", "--json")
    hub.repos["org/tiny"].commit({**FILES, "config.json": b'{"model_type": "qwen3"}'})
    told("get", "org/tiny", "--json")
    snapshots = tmp_path / "hub/models--org--tiny/snapshots"
    assert "org/tiny" in told("gc", status=1, answer="n\n").stdout
    plan = json.loads(told("gc", "--json").stdout)
    assert plan["reclaim_bytes"] == len(FILES["config.json"])
    assert len(list(snapshots.iterdir())) == 2
    done = json.loads(told("gc", "--json", "--yes").stdout)
    assert (done["snapshots"], done["reclaimed_bytes"]) == (1, plan["reclaim_bytes"])
    assert len(list(snapshots.iterdir())) == 1
    assert "0 B can be made free" in told("gc").stdout


def test_nothing_is_removed_under_a_running_fireside(hub: Hub, tmp_path: Path) -> None:
    told("get", "org/tiny", "--json")
    lock = InstanceLock(tmp_path / "home/fireside.lock")
    lock.acquire()
    try:
        for arguments in (("rm", "org/tiny", "--yes"), ("gc", "--yes")):
            assert "Fireside is running" in told(*arguments, status=1).output
    finally:
        lock.release()


def test_ctrl_c_keeps_what_has_arrived(hub: Hub, tmp_path: Path) -> None:
    hub.faults["model.safetensors"] = [Slow(0.1)]
    code = "from fireside.hub_cli import get; get()"
    environment = {**os.environ, **hub.environment(tmp_path), "FIRESIDE_HOME": str(tmp_path / "home")}
    process = subprocess.Popen(
        [sys.executable, "-c", code, "org/tiny"], env=environment, stderr=subprocess.PIPE, text=True
    )
    blobs = tmp_path / "hub/models--org--tiny/blobs"
    deadline = time.monotonic() + 20
    partial = blobs / f"{hashlib.sha256(FILES['model.safetensors']).hexdigest()}.incomplete"
    while not (partial.exists() and partial.stat().st_size):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=10)
    assert (process.returncode, "goes on from there" in stderr) == (130, True)
    had = partial.stat().st_size
    assert 0 < had < len(FILES["model.safetensors"])
    told("get", "org/tiny", "--json")
    assert hub.ranges_of("model.safetensors")[-1] == f"bytes={had}-"
