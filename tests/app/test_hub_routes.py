"""The hub's routes and downloads of a running app, against a hub on a real socket."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import pytest
from safetensors import safe_open
from safetensors.numpy import save

from support.hub import Cut, Hub, Refused, Slow, running_hub
from support.server import POCKET, Server, serving

NOBODY = ("--upstream", "http://127.0.0.1:9")
"""A server that needs no model: nothing here asks one."""
WEIGHTS = save({"weight": np.zeros(1 << 20, dtype=np.uint8)})
FILES = {
    "config.json": b'{"model_type": "llama"}',
    "tokenizer.json": b"{}",
    "README.md": b"---\nlicense: mit\n---\n# Tiny\n\nA <script>alert(1)</script> **model**.\n",
    "model.safetensors": WEIGHTS,
}


@pytest.fixture(scope="module")
def shared_hub() -> Iterator[Hub]:
    with running_hub() as running:
        yield running


@pytest.fixture(scope="module")
def app(shared_hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One app for the tests that do not end it, with a cache that they share."""
    with using(shared_hub, tmp_path_factory.mktemp("hub")) as server:
        yield server


@pytest.fixture
def hub(shared_hub: Hub) -> Hub:
    """The hub with nothing in it but a small model."""
    for arranged in (
        shared_hub.repos,
        shared_hub.faults,
        shared_hub.wrong,
        shared_hub.sizes,
        shared_hub.asked,
    ):
        arranged.clear()
    shared_hub.down = None
    shared_hub.add("org/tiny", FILES, tags=["mlx", "license:mit"], downloads=5)
    return shared_hub


@pytest.fixture
def name(hub: Hub, request: pytest.FixtureRequest) -> str:
    """A model that no other test downloads."""
    repo_id = "org/" + request.node.name.removeprefix("test_").replace("_", "-")
    hub.add(repo_id, FILES)
    return repo_id


@contextmanager
def using(hub: Hub, home: Path) -> Iterator[Server]:
    with serving(home, *NOBODY, model=None, command=None, **hub.environment(home)) as server:
        yield server


def refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def asked(app: Server, path: str, body: Any = None) -> httpx.Response:
    if body is None:
        return httpx.get(app.url + path, timeout=20)
    return httpx.post(app.url + path, json=body, timeout=20)


def job(app: Server, identity: str) -> dict[str, Any]:
    return next(each for each in app.get("/api/downloads")["downloads"] if each["id"] == identity)


def until(app: Server, identity: str, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    while not reached(found := job(app, identity)):
        assert found["state"] != "failed", found
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def started(app: Server, repo_id: str, **more: Any) -> str:
    answer = asked(app, "/api/hub/download", {"repo_id": repo_id, **more})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def arrives(found: dict[str, Any]) -> bool:
    return found["file"] == "model.safetensors" and found["bytes"] > 200_000


def is_done(found: dict[str, Any]) -> bool:
    return found["state"] == "done"


def test_search_and_model(app: Server, hub: Hub) -> None:
    hub.add("org/other", FILES, downloads=9)
    hub.add("big/tiny-large", {**FILES, "model.safetensors": WEIGHTS * 2}, tags=["mlx"], downloads=7)
    (first, second) = app.get("/api/hub/search?q=tiny")["models"]
    assert (first["repo_id"], second["repo_id"]) == ("big/tiny-large", "org/tiny")
    assert (second["size"], second["license"], second["mlx"]) == (len(WEIGHTS) // 2 * 2, "mit", True)
    every = app.get("/api/hub/search?mlx=false")["models"]
    assert [each["repo_id"] for each in every] == ["org/other", "big/tiny-large", "org/tiny"]
    small = app.get("/api/hub/search?sort=size&limit=1")["models"]
    assert [each["repo_id"] for each in small] == ["org/tiny"]
    assert len(app.get("/api/hub/search?max_bytes=1500000")["models"]) == 1
    model = app.get("/api/hub/model?repo=org/tiny")
    assert {each["name"]: each["size"] for each in model["files"]} == {n: len(b) for n, b in FILES.items()}
    assert "<strong>model</strong>" in model["card_html"]
    assert "<script>" not in model["card_html"]
    assert "license: mit" not in model["card_html"]
    assert model["commit"] == hub.repos["org/tiny"].branches["main"]
    hub.add("org/gated", FILES, gated="manual")
    gated = app.get("/api/hub/model?repo=org/gated")
    assert (gated["model"]["gated"], gated["card_html"]) == ("manual", None)


def test_what_is_wrong_is_said_with_its_status(app: Server, hub: Hub) -> None:
    hub.add("org/gated", FILES, gated="auto")
    hub.add("org/packed", FILES | {"config.json": b'{"quantization": {"bits": 4}}'})
    hub.sizes["model.safetensors"] = 10**15
    for path, body, expected in (
        ("/api/hub/search?sort=colour", None, (400, "invalid_request")),
        ("/api/hub/search?limit=0", None, (400, "invalid_request")),
        ("/api/hub/model", None, (400, "invalid_request")),
        ("/api/hub/model?repo=../../etc", None, (400, "invalid_request")),
        ("/api/hub/model?repo=http://127.0.0.1:1/x", None, (400, "invalid_request")),
        ("/api/hub/model?repo=org/none", None, (404, "model_not_on_hub")),
        ("/api/hub/download", {"repo_id": "a/b/c"}, (400, "invalid_request")),
        ("/api/hub/download", {"repo_id": "org/tiny", "revision": "../x"}, (400, "invalid_request")),
        ("/api/hub/download", {"repo_id": "org/tiny", "convert": {"bits": 5}}, (400, "invalid_request")),
        ("/api/hub/download", {"repo_id": "org/tiny", "revision": "none"}, (404, "model_not_on_hub")),
        (
            "/api/hub/download",
            {"repo_id": "org/packed", "convert": {"bits": 4}},
            (400, "already_quantised"),
        ),
        ("/api/hub/download", {"repo_id": "org/tiny"}, (507, "disk_full")),
        ("/api/downloads/none/pause", {}, (404, "not_found")),
        ("/api/gc/execute", {"token": "x"}, (400, "invalid_request")),
        ("/api/gc/execute", {"token": "x", "yes": True}, (409, "plan_changed")),
    ):
        assert refused(asked(app, path, body)) == expected, path
    # Where to ask is never taken from a request.
    assert all(each.path.startswith(("/api/models", "/org/")) for each in hub.asked)
    hub.down = Refused(429, {"Retry-After": "7"})
    busy = asked(app, "/api/hub/search")
    assert (refused(busy), busy.headers["Retry-After"]) == ((503, "hub_busy"), "7")
    hub.down = Refused(200)
    assert refused(asked(app, "/api/hub/search")) == (503, "hub_unexpected")


def test_without_a_network_the_app_works_and_says_so(tmp_path: Path) -> None:
    with serving(
        tmp_path, *NOBODY, HF_ENDPOINT="http://127.0.0.1:9", HF_HUB_CACHE=str(tmp_path / "hub")
    ) as app:
        begin = time.monotonic()
        answer = asked(app, "/api/hub/search?q=x")
        assert refused(answer) == (503, "hub_unreachable")
        assert "http://127.0.0.1:9" in answer.json()["error"]["message"]
        assert refused(asked(app, "/api/hub/download", {"repo_id": "org/tiny"})) == (503, "hub_unreachable")
        assert time.monotonic() - begin < 5
        assert app.get("/api/downloads") == {"downloads": []}
        assert app.get("/api/gc/plan")["ok"] is True


def test_a_model_is_downloaded_through_resets_converted_and_loadable(app: Server, hub: Hub) -> None:
    hub.add("org/pocket", POCKET)
    hub.faults["model.safetensors"] = [Cut(2_000_000), Cut(2_000_000)]
    identity = started(app, "org/pocket", convert={"bits": 4})
    folder = app.home / "models" / "org--pocket-4bit"
    seen = [until(app, identity, lambda found: found["phase"] == "converting")]
    assert not folder.exists()
    seen.append(until(app, identity, is_done))
    assert [each["phase"] for each in seen] == ["converting", "converting"]
    assert (seen[-1]["path"], seen[-1]["error"], seen[-1]["rate"]) == (str(folder), None, 0.0)
    assert [path.name for path in folder.parent.iterdir()] == ["org--pocket-4bit"]
    with safe_open(folder / "model.safetensors", "np") as weights:
        assert weights.get_slice("model.layers.0.self_attn.q_proj.weight").get_dtype() == "U32"
    again = asked(app, "/api/hub/download", {"repo_id": "org/pocket", "convert": {"bits": 4}})
    assert refused(again) == (409, "model_exists")
    with serving(app.home / "second", "--api-only", model=folder) as server:
        server.wait_ready()
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}
        assert server.post("/v1/chat/completions", body)["usage"]["completion_tokens"] > 0


def test_pause_resume_and_cancel(app: Server, hub: Hub, name: str) -> None:
    hub.faults["model.safetensors"] = [Slow(0.05), Slow(0.3)]
    assert missing(app, name) is None
    identity = started(app, name)
    assert started(app, name) == identity
    found = until(app, identity, arrives)
    assert found["rate"] > 0
    assert (found["files"], found["total"]) == (4, sum(map(len, FILES.values())))
    small, weights = found["parts"][:-1], found["parts"][-1]
    assert [part["bytes"] for part in small] == [part["size"] for part in small]
    assert (weights["name"], weights["size"]) == ("model.safetensors", len(WEIGHTS))
    assert weights["bytes"] == found["bytes"] - sum(part["size"] for part in small)
    assert missing(app, name)
    assert asked(app, f"/api/downloads/{identity}/pause", {}).json()["state"] == "paused"
    assert workers(app) == []
    partial = next((folder_of(app, name) / "blobs").glob("*.incomplete"))
    had = partial.stat().st_size
    assert not [each for each in app.get("/api/gc/plan")["partials"] if str(partial) == each["path"]]
    assert asked(app, f"/api/downloads/{identity}/resume", {}).json()["state"] in ("queued", "running")
    until(app, identity, lambda found: found["state"] == "running" and found["bytes"] > had + 50_000)
    assert hub.ranges_of("model.safetensors") == [None, f"bytes={had}-"]
    assert asked(app, f"/api/downloads/{identity}/cancel", {}).json()["state"] == "cancelled"
    assert workers(app) == []
    assert not folder_of(app, name).exists()
    assert missing(app, name) is None
    assert refused(asked(app, f"/api/downloads/{identity}/resume", {})) == (409, "download_conflict")
    until(app, started(app, name), is_done)
    assert missing(app, name) == []


def test_cancelling_an_update_leaves_the_model_that_was_there(app: Server, hub: Hub, name: str) -> None:
    until(app, started(app, name), is_done)
    old = hub.repos[name].branches["main"]
    hub.repos[name].commit({**FILES, "model.safetensors": save({"weight": np.ones(1 << 20, np.uint8)})})
    hub.faults["model.safetensors"] = [Slow(0.1)]
    identity = started(app, name)
    until(app, identity, arrives)
    asked(app, f"/api/downloads/{identity}/cancel", {})
    snapshots = folder_of(app, name) / "snapshots"
    assert [path.name for path in snapshots.iterdir()] == [old]
    assert (snapshots / old / "model.safetensors").read_bytes() == WEIGHTS
    assert name not in [each["repo_id"] for each in app.get("/api/gc/plan")["superseded"]]


def test_two_at_once_in_the_order_in_which_they_came(app: Server, hub: Hub) -> None:
    names = [f"org/m{number}" for number in range(4)]
    for each in names:
        hub.add(each, FILES)
    hub.faults["model.safetensors"] = [Slow(0.05)] * 4
    ids = [started(app, each) for each in names]
    until(app, ids[1], lambda found: found["phase"] == "downloading")
    assert [job(app, each)["state"] for each in ids] == ["running", "running", "queued", "queued"]
    asked(app, f"/api/downloads/{ids[2]}/pause", {})
    asked(app, f"/api/downloads/{ids[0]}/cancel", {})
    assert [job(app, each)["state"] for each in ids] == ["cancelled", "running", "paused", "running"]
    until(app, ids[3], is_done)
    assert job(app, ids[2])["state"] == "paused"


def test_a_restart_goes_on_with_what_was_not_finished(hub: Hub, name: str, tmp_path: Path) -> None:
    hub.add("org/paused", FILES)
    hub.faults["model.safetensors"] = [Slow(0.05), Slow(0.05)]
    with using(hub, tmp_path) as app:
        paused = started(app, "org/paused")
        asked(app, f"/api/downloads/{paused}/pause", {})
        identity = started(app, name)
        until(app, identity, arrives)
        pids = workers(app)
        assert len(pids) == 1
        assert app.stop() < 3
        assert not any(map(psutil.pid_exists, pids))
    hub.faults.clear()
    with using(hub, tmp_path) as app:
        found = until(app, identity, is_done)
        assert (Path(found["path"]) / "model.safetensors").read_bytes() == WEIGHTS
        assert (hub.ranges_of("model.safetensors")[-1] or "").startswith("bytes=")
        assert job(app, paused)["state"] == "paused"


def test_workers_end_with_an_app_that_is_killed(hub: Hub, name: str, tmp_path: Path) -> None:
    hub.faults["model.safetensors"] = [Slow(0.2)]
    with using(hub, tmp_path) as app:
        until(app, started(app, name), arrives)
        (pid,) = workers(app)
        app.process.kill()
        app.process.wait()
        deadline = time.monotonic() + 5
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_failed_download_says_why_and_can_be_tried_again(app: Server, hub: Hub, name: str) -> None:
    hub.wrong.add("model.safetensors")
    identity = started(app, name)
    deadline = time.monotonic() + 20
    while (found := job(app, identity))["state"] != "failed":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert found["error"]["code"] == "wrong_content"
    hub.wrong.clear()
    assert started(app, name) == identity
    until(app, identity, is_done)


def test_the_plan_that_was_shown_is_the_one_that_runs(app: Server, hub: Hub, name: str) -> None:
    until(app, started(app, name), is_done)
    old = hub.repos[name].branches["main"]
    new = hub.repos[name].commit({**FILES, "config.json": b'{"a": 1}'})
    until(app, started(app, name), is_done)
    plan = app.get("/api/gc/plan")
    (of_name,) = [each for each in plan["superseded"] if each["repo_id"] == name]
    assert (of_name["prune_snapshots"], of_name["reclaim_bytes"]) == ([old], len(FILES["config.json"]))
    (folder_of(app, name) / "blobs/dead").write_bytes(b"123")
    order = {"yes": True, "token": plan["token"]}
    assert refused(asked(app, "/api/gc/execute", order)) == (409, "plan_changed")
    plan = app.get("/api/gc/plan")
    done = app.post("/api/gc/execute", {"yes": True, "token": plan["token"]})
    assert (done["snapshots"], done["failed"], done["reclaimed_bytes"]) == (1, [], plan["reclaim_bytes"])
    snapshots = folder_of(app, name) / "snapshots"
    assert [path.name for path in snapshots.iterdir()] == [new]
    assert (snapshots / new / "model.safetensors").read_bytes() == WEIGHTS


def missing(app: Server, name: str) -> list[str] | None:
    """What a model lacks of its files, by the library; None where it is not there."""
    rows = app.get("/api/library")["models"]
    return next((row["missing"] for row in rows if row["repo_id"] == name), None)


def folder_of(app: Server, name: str) -> Path:
    return app.home / "hub" / f"models--{name.replace('/', '--')}"


def workers(app: Server) -> list[int]:
    return [
        child.pid
        for child in psutil.Process(app.process.pid).children()
        if any("fireside.catalog.hub" in word for word in child.cmdline())
    ]
