"""Fireside in front of another server."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import psutil
import pytest

from bench.serve import free_port, running
from support.chat import chatting
from support.server import POCKET, refused_start, serving


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A stock `mlx_lm.server`; its URL."""
    scratch = tmp_path_factory.mktemp("stock")
    (scratch / "hub").mkdir()
    url = f"http://127.0.0.1:{(port := free_port())}"
    serve = ["-m", "mlx_lm", "server", "--model", str(POCKET), "--port", str(port)]
    command = [sys.executable, "-W", "ignore", *serve]
    environment = {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(scratch / "hub")}
    with running(command, environment, f"{url}/v1/models", scratch / "log"):
        yield url


def test_a_chat_works_through_a_stock_server_and_no_core_is_started(stock: str, tmp_path: Path) -> None:
    with serving(tmp_path, "--upstream", stock) as server, chatting(server.wait_ready()) as chat:
        status = server.get("/api/status")
        assert status["mode"] == "upstream"
        assert psutil.Process(server.process.pid).children() == []
        answer = chat.ask(chat.new_session(), "Repeat: one fine day")
        assert answer["status"] == "done"
        assert "one fine day" in answer["text"]


def test_the_api_is_passed_on_and_a_route_that_is_not_there_says_so(stock: str, tmp_path: Path) -> None:
    with serving(tmp_path, "--upstream", f"{stock}/v1") as server:
        server.wait_ready()
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client:
            model = client.models.list().data[0].id
            question: list[Any] = [{"role": "user", "content": "Repeat: one fine day"}]
            chunks = client.chat.completions.create(
                model=model, messages=question, max_tokens=64, stream=True
            )  # type: ignore[arg-type]
            assert "one fine day" in "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
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
    refused = refused_start(tmp_path, "--port", "0", "--upstream", "http://127.0.0.1:1")
    assert refused.returncode == 1
    assert "chmod 600" in refused.stderr
