"""Fireside in front of another server."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import openai
import psutil
import pytest

from bench.serve import with_float32_scales
from support.chat import chatting
from support.server import Server, serving


@pytest.fixture(scope="module")
def stock(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A stock `mlx_lm.server` on the default model; its URL."""
    scratch = tmp_path_factory.mktemp("stock")
    folder = with_float32_scales(server.home / "models" / "SmolLM2-135M-Instruct", scratch / "model")
    (scratch / "hub").mkdir()
    port = free_port()
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "mlx_lm",
        "server",
        "--model",
        str(folder),
        "--port",
        str(port),
    ]
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(scratch / "hub")}
    with (scratch / "log").open("w") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    try:
        wait_until_it_answers(f"http://127.0.0.1:{port}/v1/models")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until_it_answers(url: str) -> None:
    for _ in range(600):
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"{url} does not answer")


def test_a_chat_works_through_a_stock_server_and_no_core_is_started(stock: str, tmp_path: Path) -> None:
    with serving(tmp_path, "--upstream", stock) as server, chatting(server.wait_ready()) as chat:
        status = server.get("/api/status")
        assert status["mode"] == "upstream"
        assert psutil.Process(server.process.pid).children() == []
        answer = chat.ask(chat.new_session(), "What is the capital of France?")
        assert answer["status"] == "done"
        assert "Paris" in answer["text"]


def test_the_api_is_passed_on_and_a_route_that_is_not_there_says_so(stock: str, tmp_path: Path) -> None:
    with serving(tmp_path, "--upstream", f"{stock}/v1") as server:
        server.wait_ready()
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client:
            model = client.models.list().data[0].id
            question = [{"role": "user", "content": "What is the capital of France?"}]
            chunks = client.chat.completions.create(model=model, messages=question, max_tokens=8, stream=True)  # type: ignore[arg-type]
            assert "Paris" in "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        reply = httpx.post(f"{server.url}/v1/nothing", json={})
        assert reply.status_code == 404
        assert "/v1/nothing" in reply.json()["error"]["message"]


def test_an_upstream_that_is_not_there_is_shown(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with serving(tmp_path, "--upstream", url) as server:
        errors = (server.get("/api/status")["engine"]["error"] for _ in range(2000))
        assert url in next(filter(None, errors))
        assert httpx.get(f"{server.url}/health").status_code == 503
        assert httpx.post(f"{server.url}/v1/chat/completions", json={}).status_code == 502


def test_the_key_is_sent_and_must_be_private(tmp_path: Path) -> None:
    key = tmp_path / "upstream.key"
    key.write_text("secret")
    key.chmod(0o644)
    command = [
        sys.executable,
        "-m",
        "fireside.cli",
        "serve",
        "--no-open",
        "--port",
        "0",
        "--upstream",
        "http://127.0.0.1:1",
    ]
    env = {**os.environ, "FIRESIDE_HOME": str(tmp_path)}
    refused = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1
    assert "chmod 600" in refused.stderr
