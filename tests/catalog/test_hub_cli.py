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
from safetensors.numpy import save, save_file

from fireside import hub_cli
from fireside.catalog.hub.cache_layout import RepoFolder
from fireside.catalog.hub.jobs_kept import Download, DownloadStore
from fireside.catalog.in_use import used
from fireside.instance import InstanceLock
from support.hub import Hub, Refused, Slow, running_hub
from support.local_models import write_model

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
    for name in ("\x1b[2Jorg/tiny", "../tiny", "org/tiny/more"):
        hub.add(name, FILES, tags=["mlx"])
    assert told("search", "tiny").stdout.splitlines() == lines
    hub.down = Refused(403)
    refused = told("search", "tiny", status=1).output
    assert ("does not let us ask it (403)" in refused, "gated" in refused) == (True, False)
    constants.ENDPOINT = "http://127.0.0.1:9"
    assert "cannot be reached" in told("search", "tiny", status=1).output


def test_get_rm_and_what_is_missing(hub: Hub, tmp_path: Path) -> None:
    path = Path(told("get", "org/tiny").stdout.splitlines()[-1])
    assert (path / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert json.loads(told("get", "org/tiny", "--json").stdout)["path"] == str(path)
    assert "not the name" in told("get", "../x", status=1).output
    told("rm", "org/tiny", status=1, answer="n\n")
    assert path.exists()
    assert told("rm", "org/tiny", "--yes").output == "Removed; 1.0 MB are free again.\n"
    assert not path.exists()
    assert list((tmp_path / "home").iterdir()) == []
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


def test_what_is_in_use_or_comes_is_not_removed(hub: Hub, tmp_path: Path) -> None:
    snapshot = Path(told("get", "org/tiny").stdout.splitlines()[-1])
    with used(snapshot):
        assert "org/tiny is in use" in told("rm", "org/tiny", "--yes", status=1).output
        hub.repos["org/tiny"].commit({**FILES, "config.json": b'{"model_type": "qwen3"}'})
        told("get", "org/tiny", "--json")
        assert json.loads(told("gc", "--yes", "--json").stdout)["reclaim_bytes"] == 0
    with RepoFolder.of(tmp_path / "hub", "org/tiny").locked("1" * 40):
        assert "just being downloaded" in told("rm", "org/tiny", "--yes", status=1).output
    store = DownloadStore(tmp_path / "home/downloads.db")
    store.save(Download(id="a", repo_id="org/tiny", state="paused"))
    lock = InstanceLock(tmp_path / "home/fireside.lock")
    lock.acquire()
    try:
        assert "Cancel its download" in told("rm", "org/tiny", "--yes", status=1).output
    finally:
        lock.release()
    assert snapshot.exists()
    told("rm", "org/tiny", "--yes")
    # What would begin it anew with the next start is gone too.
    assert store.load() == []


def test_rm_removes_a_converted_model_and_nothing_beside_it(hub: Hub, tmp_path: Path) -> None:
    models = tmp_path / "home/models"
    for name in ("org--tiny-4bit", "owner/own"):
        write_model(models / name)
    elsewhere = write_model(tmp_path / "elsewhere")
    (models / "linked").symlink_to(elsewhere)
    for name in ("", ".", "..", "../home", "org--tiny-4bit/.."):
        assert "not the name" in told("rm", name, "--yes", status=1).output
    assert "has not made" in told("rm", "owner/own", "--yes", status=1).output
    told("rm", "linked", "--yes")
    told("rm", "org--tiny-4bit", "--yes")
    assert sorted(path.name for path in models.iterdir()) == ["owner"]
    assert (elsewhere / "config.json").is_file()


def test_a_converted_model_that_is_there_is_not_fetched_again(hub: Hub, tmp_path: Path) -> None:
    write_model(tmp_path / "home/models/org--tiny-4bit")
    assert "is there already" in told("get", "org/tiny", "--convert", "4", status=1).output
    assert hub.asked == []


def test_a_quantised_model_is_not_fetched_to_be_converted(hub: Hub) -> None:
    hub.add("org/packed", FILES | {"config.json": b'{"quantization_config": {"bits": 4}}'})
    assert "quantised already" in told("get", "org/packed", "--convert", "8", status=1).output
    assert not any(each.path.endswith(".safetensors") for each in hub.asked)
    hub.add("org/null", FILES | {"config.json": b'{"quantization_config": null}'})
    assert "quantised already" not in told("get", "org/null", "--convert", "8", status=1).output


def test_gc_removes_caches_of_models_that_are_gone(hub: Hub, tmp_path: Path) -> None:
    name = f"{'1' * 32}-100-{'2' * 32}.safetensors"
    facts = {"fireside": json.dumps({"model": str(tmp_path / "gone")})}
    (tmp_path / "home/ssd-cache").mkdir()
    save_file({"keys": np.zeros(8)}, tmp_path / "home/ssd-cache" / name, facts)
    assert json.loads(told("gc", "--yes", "--json").stdout)["ssd_cache"] == 1
    assert list((tmp_path / "home/ssd-cache").iterdir()) == []


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
