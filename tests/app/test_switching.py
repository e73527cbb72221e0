"""Changing the served model, several models at once, and models that nobody asks."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import openai
import psutil
import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

from support.local_models import spoil
from support.server import POCKET, Server, serving

DRAFT = POCKET.with_name("pocket-draft")
LONG = "Count to 5000."


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`small` and `broken`, whose weights are no numbers, beside the served `pocket`."""
    folder = tmp_path_factory.mktemp("models")
    shutil.copytree(DRAFT, folder / "small")
    shutil.copytree(DRAFT, folder / "third")
    spoil(shutil.copytree(DRAFT, folder / "broken") / "model.safetensors")
    return folder


@pytest.fixture(scope="module")
def server(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home"), "--models-dir", str(models)) as server:
        yield server.wait_ready()


def client(server: Server) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=120)


def ask(server: Server, text: str = "Hello.", model: str = "default", **fields: Any) -> Any:
    fields = {"max_tokens": 16, **fields}
    return client(server).chat.completions.create(
        model=model, messages=[{"role": "user", "content": text}], **fields
    )


def serve(server: Server, model: str) -> httpx.Response:
    return httpx.post(f"{server.url}/api/hub/serve", json={"model": model}, timeout=30)


def switched(server: Server, within_s: float = 60) -> dict[str, Any]:
    """The end of a change, as the status tells it."""
    deadline = time.monotonic() + within_s
    engine: dict[str, Any] = {}
    while time.monotonic() < deadline:
        engine = server.get("/api/status")["engine"]
        over = engine["switch"] is None or engine["switch"]["state"] in ("done", "failed")
        if over and engine["phase"] in ("ready", "failed"):
            return engine
        time.sleep(0.05)
    raise AssertionError(f"the change did not end: {engine}")


def test_another_model_answers_after_the_last_answers_of_the_first(server: Server) -> None:
    assert ask(server).model == "pocket"
    answers: list[Any] = []
    first_tokens = threading.Event()

    def stream() -> None:
        for chunk in ask(server, LONG, max_tokens=400, stream=True, temperature=0):
            answers.append(chunk)
            first_tokens.set()

    running = threading.Thread(target=stream)
    running.start()
    assert first_tokens.wait(30)
    chosen = serve(server, "small")
    assert (chosen.status_code, chosen.json()) == (202, {"id": "small", "name": "small"})
    assert serve(server, "pocket").json()["error"]["code"] == "switching"
    # Who comes meanwhile waits for the new model.
    assert ask(server).model == "small"
    running.join(60)
    assert {chunk.model for chunk in answers} == {"pocket"}
    assert answers[-1].choices[0].finish_reason in ("stop", "length")
    engine = switched(server)
    assert (engine["model"]["id"], engine["switch"]["state"]) == ("small", "done")
    assert [model["id"] for model in server.get("/v1/models")["data"]] == ["small"]
    assert serve(server, str(POCKET)).status_code == 202
    assert switched(server)["model"]["id"] == "pocket"
    assert ask(server).model == "pocket"


def test_the_old_model_comes_back_where_the_new_one_fails(server: Server) -> None:
    before = server.get("/v1/models")["data"][0]["id"]
    assert serve(server, "broken").status_code == 202
    answer = ask(server)
    engine = switched(server)
    assert (answer.model, engine["model"]["id"], engine["phase"]) == (before, before, "ready")
    assert engine["switch"]["state"] == "failed"
    assert "no finite numbers" in engine["switch"]["error"]


@pytest.mark.parametrize(
    ("name", "status", "part"),
    [("nothing-like-it", 404, "no model"), ("smal", 202, ""), ("", 400, "model")],
)
def test_names(server: Server, name: str, status: int, part: str) -> None:
    answer = serve(server, name)
    assert answer.status_code == status, answer.text
    assert part in answer.text
    if status == 202:
        switched(server)


def test_changes_under_load_lose_no_request_and_leave_no_process(server: Server) -> None:
    app = psutil.Process(server.process.pid)
    serve(server, "pocket")
    switched(server)
    ask(server)
    processes, memory = len(app.children(recursive=True)), _memory(app)
    over = threading.Event()

    def load(number: int) -> list[str]:
        seen: list[str] = []
        while not over.is_set():
            answer = ask(server, f"Say the number {number}.", max_tokens=8)
            assert answer.choices[0].finish_reason
            seen.append(answer.model)
        return seen

    with ThreadPoolExecutor(3) as pool:
        loads = [pool.submit(load, number) for number in range(3)]
        try:
            for number in range(3):
                assert serve(server, "small" if number % 2 == 0 else "pocket").status_code == 202
                assert switched(server)["switch"]["state"] == "done"
        finally:
            over.set()
        answered = [model for future in loads for model in future.result()]
    assert set(answered) == {"pocket", "small"}
    assert len(app.children(recursive=True)) == processes
    assert _memory(app) < 1.05 * memory + (16 << 20)


def _memory(app: psutil.Process) -> int:
    return sum(process.memory_info().rss for process in (app, *app.children(recursive=True)))


@pytest.fixture(scope="module")
def pool(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    flags = ("--models-dir", str(models), "--model-pool", "2", "--pin", "pocket", "--idle-unload", "600")
    aliases = ("--model-alias", "gpt-*=small", "--model-alias", "claude-*=default")
    with serving(tmp_path_factory.mktemp("home"), *flags, *aliases) as server:
        yield server.wait_ready()


def test_a_pool_starts_models_by_their_names_and_stops_the_one_asked_longest_ago(pool: Server) -> None:
    assert {model["id"] for model in pool.get("/v1/models")["data"]} >= {"pocket", "small", "third"}
    cores = _cores(pool)
    with ThreadPoolExecutor(4) as asking:
        together = list(
            asking.map(lambda name: ask(pool, model=name).model, ["small", "small", "local", "pocket"])
        )
    assert together == ["small", "small", "pocket", "pocket"]
    assert _cores(pool) == cores + 1
    assert ask(pool, model="third").model == "third"
    assert _cores(pool) == cores + 1
    assert ask(pool, model="gpt-4o").model == "small"
    assert ask(pool, model="claude-sonnet").model == "pocket"
    assert _cores(pool) == cores + 1


def test_a_pool_names_what_comes_near(pool: Server) -> None:
    with pytest.raises(openai.NotFoundError, match="small"):
        ask(pool, model="smalll")


def test_a_switch_within_a_pool_keeps_the_old_model(pool: Server) -> None:
    assert serve(pool, "small").status_code == 202
    assert switched(pool)["model"]["id"] == "small"
    assert ask(pool).model == "small"
    assert ask(pool, model="pocket").model == "pocket"
    assert serve(pool, "pocket").status_code == 202
    assert switched(pool)["model"]["id"] == "pocket"


def test_the_page_hears_at_once_which_model_answers(pool: Server) -> None:
    def told(name: str, within_s: float) -> None:
        end = time.monotonic() + within_s
        while True:
            frame = json.loads(socket.recv(timeout=end - time.monotonic()))
            if frame["type"] == "ready" and frame["model"] == name:
                return

    with connect(f"ws{pool.url.removeprefix('http')}/ws", origin=Origin(pool.url)) as socket:
        told("pocket", 15)
        for name in ("small", "pocket", "small", "pocket"):
            assert serve(pool, name).status_code == 202
            assert switched(pool)["model"]["id"] == name
            told(name, 2)


def _cores(server: Server) -> int:
    children = psutil.Process(server.process.pid).children()
    return sum("fireside.core" in " ".join(child.cmdline()) for child in children)


def test_a_model_that_nobody_asks_is_stopped_and_comes_back(tmp_path: Path) -> None:
    with serving(tmp_path, "--idle-unload", "1") as server:
        server.wait_ready()
        deadline = time.monotonic() + 30
        while server.get("/api/status")["engine"]["phase"] != "idle":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert _cores(server) == 0
        assert server.get("/health") == {"status": "ok"}
        assert [model["id"] for model in server.get("/v1/models")["data"]] == ["pocket"]
        assert ask(server).model == "pocket"
        assert _cores(server) == 1


def test_a_model_that_cannot_be_loaded_at_the_start_is_left_for_another(models: Path, tmp_path: Path) -> None:
    folder = ("--model", str(models / "broken"), "--models-dir", str(models))
    with serving(tmp_path, *folder) as server:
        deadline = time.monotonic() + 60
        while server.get("/api/status")["engine"]["phase"] != "failed":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert serve(server, "small").status_code == 202
        assert switched(server)["switch"]["state"] == "done"
        assert ask(server).model == "small"


def test_who_asks_while_an_idle_model_is_being_stopped_is_answered(tmp_path: Path) -> None:
    with serving(tmp_path, "--idle-unload", "1") as server:
        server.wait_ready()
        pids = set[int]()
        for number in range(6):
            # The sweep looks four times a second: these come just before, while and after it stops the core.
            time.sleep(0.95 + 0.06 * number)
            assert ask(server).choices[0].message.content
            pids.add(server.get("/stats")["engine"]["pid"])
        assert len(pids) > 1
