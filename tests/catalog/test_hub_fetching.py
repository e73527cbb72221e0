"""One model from a hub on a real socket into the cache, by the worker process and by its function."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from huggingface_hub import constants, scan_cache_dir, try_to_load_from_cache
from safetensors.numpy import save

from fireside.catalog.hub.clean_up import Surroundings, execute, plan
from fireside.catalog.hub.fetching import fetch
from fireside.catalog.hub.names import check_repo_id, check_revision
from fireside.catalog.hub.progress import Event
from fireside.catalog.model_files import missing_files
from fireside.catalog.resolve import ModelNotFoundError, resolve_model
from fireside.http.errors import BadRequest, FiresideError
from support.hub import Cut, Hub, Refused, Short, Slow, running_hub
from support.server import POCKET

WORKER = (sys.executable, "-P", "-m", "fireside.catalog.hub.fetching")
TINY = "org/tiny"
WEIGHTS = save({"weight": np.arange(1 << 20, dtype=np.uint32).astype(np.uint8)})
OTHERS = save({"weight": np.arange(1 << 20, dtype=np.uint32).astype(np.uint8) + 1})
"""One megabyte: several pieces, and large enough to be kept beside git."""
FILES = {
    "config.json": b'{"model_type": "llama"}',
    "tokenizer.json": b"{}",
    "README.md": b"# Tiny\n",
    "model.safetensors": WEIGHTS,
    "pytorch_model.bin": b"no",
    "modeling_tiny.py": b"raise SystemExit",
    "original/model.safetensors": b"no",
}
WANTED = {"config.json", "tokenizer.json", "README.md", "model.safetensors"}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    with running_hub() as running:
        running.add(TINY, FILES)
        monkeypatch.setattr(constants, "ENDPOINT", running.url)
        template = running.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.setenv("HF_TOKEN", "")
        yield running


class Fetched:
    """A download in this process, to its end."""

    def __init__(self, home: Path, repo_id: str = TINY, revision: str = "main", begun: str = "") -> None:
        self.events: list[Event] = []
        self.error: FiresideError | None = None
        self.path: Path | None = None
        try:
            self.path = fetch(repo_id, revision, home / "hub", self.events.append, begun or None)
        except FiresideError as error:
            self.error = error

    @property
    def snapshot(self) -> Path:
        assert self.path is not None, self.error
        return self.path

    @property
    def code(self) -> str | None:
        return self.error and self.error.error_code


def worked(process: subprocess.Popen[str]) -> tuple[int, dict[str, Any]]:
    """Wait for a worker; its status and last event."""
    assert process.stdout
    # Not `communicate`, which closes its standard input: that ends it.
    events = [json.loads(line) for line in process.stdout]
    status = process.wait(timeout=30)
    process.communicate()
    return status, events[-1]


def start(
    hub: Hub, home: Path, *arguments: str, limit: int | None = None, **env: str
) -> subprocess.Popen[str]:
    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.Popen(
        [*WORKER, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **hub.environment(home), **env},
        preexec_fn=limited,
    )


def blobs(home: Path, repo: str = "models--org--tiny") -> list[str]:
    return sorted(path.name for path in (home / "hub" / repo / "blobs").iterdir())


def test_a_model_comes_whole_and_others_find_it(hub: Hub, tmp_path: Path) -> None:
    fetched = Fetched(tmp_path)
    snapshot = fetched.snapshot
    assert {path.name for path in snapshot.iterdir()} == WANTED
    assert (snapshot / "model.safetensors").read_bytes() == WEIGHTS
    assert (snapshot / "model.safetensors").is_symlink()
    assert missing_files(snapshot) == []
    cache = tmp_path / "hub"
    found = try_to_load_from_cache(TINY, "config.json", cache_dir=cache)
    assert found == str(snapshot / "config.json")
    (repo,) = scan_cache_dir(cache).repos
    assert (repo.repo_id, repo.nb_files, scan_cache_dir(cache).warnings) == (TINY, len(WANTED), [])
    assert fetched.events[-1].bytes == fetched.events[-1].total == sum(len(FILES[n]) for n in WANTED)
    # Nothing was asked that a download does not need, and a second one asks for no file.
    assert all(
        each.path.startswith(("/api/models/org/tiny/", "/org/tiny/resolve/", "/cdn/")) for each in hub.asked
    )
    hub.asked.clear()
    assert Fetched(tmp_path).snapshot == snapshot
    assert len(hub.asked) == 1


def test_a_model_survives_resets_and_resumes_where_it_was(hub: Hub, tmp_path: Path) -> None:
    hub.add("org/pocket", POCKET)
    hub.faults["model.safetensors"] = [Cut(2_000_000), Cut(1_500_000), Cut(1_000_000, reset=False)]
    status, last = worked(start(hub, tmp_path, "org/pocket", "main"))
    assert (status, last["kind"]) == (0, "done"), last
    snapshot = Path(last["path"])
    assert (snapshot / "model.safetensors").read_bytes() == (POCKET / "model.safetensors").read_bytes()
    begins = [int((part or "bytes=0-")[6:-1]) for part in hub.ranges_of("model.safetensors")]
    assert begins[0] == 0
    assert len(begins) == 4
    assert begins == sorted(set(begins))
    source = resolve_model("org/pocket", tmp_path / "models", tmp_path / "hub")
    assert source.path.resolve() == snapshot.resolve()


def test_without_parts_a_file_begins_anew(hub: Hub, tmp_path: Path) -> None:
    hub.ranges = False
    hub.faults["model.safetensors"] = [Cut(600_000)]
    assert (Fetched(tmp_path).snapshot / "model.safetensors").read_bytes() == WEIGHTS


@pytest.mark.parametrize("ranges", [True, False])
def test_a_killed_download_is_not_ready_and_resumes(hub: Hub, tmp_path: Path, ranges: bool) -> None:
    hub.ranges = ranges
    hub.faults["model.safetensors"] = [Slow(0.1)]
    process = start(hub, tmp_path, TINY, "main")
    partial = tmp_path / "hub/models--org--tiny/blobs" / f"{hashlib.sha256(WEIGHTS).hexdigest()}.incomplete"
    wait_for(lambda: partial.exists() and partial.stat().st_size > 0)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    had = partial.stat().st_size
    assert 0 < had < len(WEIGHTS)
    with pytest.raises(ModelNotFoundError, match=r"incomplete.*model\.safetensors"):
        resolve_model(TINY, tmp_path / "models", tmp_path / "hub")
    hub.asked.clear()
    assert (Fetched(tmp_path).snapshot / "model.safetensors").read_bytes() == WEIGHTS
    assert hub.ranges_of("model.safetensors") == [f"bytes={had}-"]
    assert not partial.exists()


def test_a_worker_ends_with_its_parent(hub: Hub, tmp_path: Path) -> None:
    hub.faults["model.safetensors"] = [Slow(1)]
    process = start(hub, tmp_path, TINY, "main")
    wait_for(lambda: any("model.safetensors" in each.path for each in hub.asked))
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    assert process.wait(timeout=5) == 1
    process.stdout.close()


def test_wrong_content_is_removed_and_never_a_model(hub: Hub, tmp_path: Path) -> None:
    hub.wrong.add("model.safetensors")
    fetched = Fetched(tmp_path)
    assert fetched.code == "wrong_content"
    assert "model.safetensors" in str(fetched.error)
    assert len(blobs(tmp_path)) == len(WANTED) - 1
    with pytest.raises(ModelNotFoundError, match="incomplete"):
        resolve_model(TINY, tmp_path / "models", tmp_path / "hub")
    hub.wrong = {"config.json"}
    assert Fetched(tmp_path / "other").code == "wrong_content"


def test_a_partial_file_of_something_else_is_noticed(hub: Hub, tmp_path: Path) -> None:
    folder = tmp_path / "hub/models--org--tiny/blobs"
    folder.mkdir(parents=True)
    (folder / f"{hashlib.sha256(WEIGHTS).hexdigest()}.incomplete").write_bytes(b"\1" * 1000)
    assert Fetched(tmp_path).code == "wrong_content"
    assert (Fetched(tmp_path).snapshot / "model.safetensors").read_bytes() == WEIGHTS


def test_a_body_of_another_length_is_no_model(hub: Hub, tmp_path: Path) -> None:
    hub.ranges = False
    hub.faults["model.safetensors"] = [Short(500_000)] * 9
    fetched = Fetched(tmp_path)
    assert fetched.code == "hub_unreachable"
    assert f"{len(WEIGHTS)} bytes" in str(fetched.error)
    hub.faults.clear()
    assert (Fetched(tmp_path).snapshot / "model.safetensors").read_bytes() == WEIGHTS


@pytest.mark.parametrize(
    ("repo_id", "revision", "token", "code", "words"),
    [
        ("org/gated", "main", "", "model_gated", "hf auth login"),
        ("org/gated", "main", "hf_other", "model_gated", "agreement"),
        ("org/private", "main", "", "model_not_on_hub", "HF_TOKEN"),
        (TINY, "nowhere", "", "model_not_on_hub", "revision"),
    ],
)
def test_what_the_hub_refuses_is_said_in_words(
    hub: Hub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    repo_id: str,
    revision: str,
    token: str,
    code: str,
    words: str,
) -> None:
    hub.add("org/gated", FILES, gated="manual")
    hub.add("org/private", FILES, private=True)
    monkeypatch.setenv("HF_TOKEN", token)
    fetched = Fetched(tmp_path, repo_id, revision)
    assert (fetched.code, words in str(fetched.error)) == (code, True), fetched.error


def test_no_network_is_said_in_words(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(constants, "HF_HUB_OFFLINE", True)
        offline = Fetched(tmp_path)
    assert (offline.code, "HF_HUB_OFFLINE" in str(offline.error)) == ("hub_unreachable", True)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    begin = time.monotonic()
    nobody = Fetched(tmp_path)
    assert (nobody.code, "127.0.0.1:9 cannot be reached" in str(nobody.error)) == ("hub_unreachable", True)
    assert time.monotonic() - begin < 2


@pytest.mark.parametrize(
    "name", ["", "../etc", "a/b/c", "https://x/y", "/etc", "a..b", "o/..", "o/n.git", "o /n"]
)
def test_only_names_are_names(name: str) -> None:
    with pytest.raises(BadRequest, match="not the name"):
        check_repo_id(name)
    with pytest.raises(BadRequest, match="not a revision"):
        check_revision(f"../{name}")


def test_a_token_opens_a_gated_model_and_goes_to_the_hub_alone(hub: Hub, tmp_path: Path) -> None:
    hub.add("org/gated", FILES, gated="auto")
    (tmp_path / "token").write_text(hub.token)
    assert missing_files(Fetched(tmp_path, "org/gated", "main").snapshot) == []
    assert {each.token for each in hub.asked if not each.path.startswith("/cdn/")} == {hub.token}
    assert {each.token for each in hub.asked if each.path.startswith("/cdn/")} == {None}


def test_a_busy_hub_is_waited_for(hub: Hub, tmp_path: Path) -> None:
    hub.faults["model.safetensors"] = [Refused(429, {"Retry-After": "0"}), Refused(503)]
    assert missing_files(Fetched(tmp_path).snapshot) == []


def test_a_full_disk_is_said_and_what_arrived_is_kept(hub: Hub, tmp_path: Path) -> None:
    status, last = worked(start(hub, tmp_path, TINY, "main", limit=600_000))
    assert (status, last["code"], "Make room" in last["message"]) == (1, "disk_full", True)
    assert any(name.endswith(".incomplete") for name in blobs(tmp_path))
    assert missing_files(Fetched(tmp_path).snapshot) == []


def test_what_cannot_fit_is_not_begun(hub: Hub, tmp_path: Path) -> None:
    hub.sizes["model.safetensors"] = 10**15
    fetched = Fetched(tmp_path)
    assert (fetched.code, "1000000.00 GB" in str(fetched.error)) == ("disk_full", True)
    assert not (tmp_path / "hub").exists()


def test_a_changed_revision_takes_the_place_of_the_old_one_when_it_is_whole(hub: Hub, tmp_path: Path) -> None:
    old = Fetched(tmp_path).snapshot
    new = hub.repos[TINY].commit({**FILES, "model.safetensors": OTHERS})
    hub.faults["model.safetensors"] = [Refused(403)]
    assert Fetched(tmp_path).code == "model_gated"
    source = resolve_model(TINY, tmp_path / "models", tmp_path / "hub")
    assert source.path.name == old.name
    assert Fetched(tmp_path).snapshot.name == new
    assert resolve_model(TINY, tmp_path / "models", tmp_path / "hub").path.name == new
    assert (old / "model.safetensors").read_bytes() == WEIGHTS


def test_a_revision_that_changes_in_between_leaves_no_half_of_the_old_one(hub: Hub, tmp_path: Path) -> None:
    hub.faults["model.safetensors"] = [Refused(403)]
    failed = Fetched(tmp_path)
    begun = next(event.commit for event in failed.events if event.kind == "plan")
    assert begun is not None
    new = hub.repos[TINY].commit({**FILES, "config.json": b'{"model_type": "qwen3"}'})
    snapshot = Fetched(tmp_path, TINY, "main", begun).snapshot
    assert snapshot.name == new
    assert [path.name for path in snapshot.parent.iterdir()] == [new]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tokenizer.json", "../../evil.json"),
        ("tokenizer.json", "/tmp/evil.json"),
        ("config.json", "a\\b.json"),
        ("config.json", "x" * 100_000 + ".json"),
        ("config.json", "config\x1b[2J.json"),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(hub: Hub, tmp_path: Path, name: str, said: str) -> None:
    hub.names[name] = said
    assert Fetched(tmp_path).code == "unsafe_repository"
    assert not (tmp_path / "hub").exists()


def test_a_clean_up_leaves_alone_what_another_program_downloads(hub: Hub, tmp_path: Path) -> None:
    """An update, of which no ref tells before it is whole."""
    old = Fetched(tmp_path).snapshot
    new = hub.repos[TINY].commit({**FILES, "model.safetensors": OTHERS})
    hub.faults["model.safetensors"] = [Slow(0.1)]
    first = start(hub, tmp_path, TINY, "main")
    wait_for(lambda: any(name.endswith(".incomplete") for name in blobs(tmp_path)))
    around = Surroundings(tmp_path / "hub", tmp_path / "models")
    assert plan(around, force=True).reclaim_bytes == 0
    execute(around, plan(around, force=True).token, force=True)
    assert worked(first)[1]["kind"] == "done"
    assert missing_files(old.with_name(new)) == []
    assert [each.prune_snapshots for each in plan(around).superseded] == [[old.name]]


def test_a_file_that_another_program_downloads_is_left_to_it(hub: Hub, tmp_path: Path) -> None:
    hub.faults["model.safetensors"] = [Slow(0.2)]
    first = start(hub, tmp_path, TINY, "main")
    wait_for(lambda: any(name.endswith(".incomplete") for name in blobs_if_any(tmp_path)))
    assert Fetched(tmp_path).code == "download_conflict"
    first.kill()
    first.communicate()


def test_only_safetensors_are_downloaded(hub: Hub, tmp_path: Path) -> None:
    hub.add("org/gguf", {"model.gguf": b"GGUF", "config.json": b"{}"})
    fetched = Fetched(tmp_path, "org/gguf")
    assert (fetched.code, "safetensors" in str(fetched.error)) == ("no_weights", True)


def blobs_if_any(home: Path) -> list[str]:
    return blobs(home) if (home / "hub/models--org--tiny/blobs").is_dir() else []


def wait_for(condition: Any, within_s: float = 10) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
