"""More requests than the engine takes at once."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from support.chat import LONG
from support.completions import streaming
from support.server import Server, serving


@pytest.fixture(scope="module")
def narrow(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One row, and room for two that wait."""
    home = tmp_path_factory.mktemp("narrow")
    with serving(home, "--batch", "1", "--max-queue", "2", "--thinking", "off") as running:
        yield running.wait_ready()


def until_text(chunks: Iterator[Any]) -> None:
    next(c for c in chunks if any(choice["delta"].get("content") for choice in c["choices"]))


def queued(chunks: Iterator[Any]) -> Any:
    return next(c["fireside"] for c in chunks if c.get("fireside", {}).get("phase") == "queued")


def brief(server: Server) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": "hello"}], "temperature": 0}
    return httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=60)


def test_what_the_queue_cannot_hold_is_a_429_and_the_others_are_served(narrow: Server) -> None:
    with ExitStack() as stack:
        until_text(stack.enter_context(streaming(narrow, LONG)))
        first, second = (stack.enter_context(streaming(narrow, LONG, max_tokens=3)) for _ in range(2))
        assert queued(first)["queue_position"] == 0
        assert queued(second)["queue_position"] == 1
        for stream in (False, True):
            body = {"messages": [{"role": "user", "content": "hello"}], "stream": stream}
            refused = httpx.post(f"{narrow.url}/v1/chat/completions", json=body)
            assert refused.status_code == 429
            assert int(refused.headers["Retry-After"]) >= 1
            assert refused.json()["error"]["code"] == "queue_full"
            assert "2 requests are waiting" in refused.json()["error"]["message"]
    assert brief(narrow).json()["choices"][0]["message"]["content"] == "Hello! How can I help you?"


def test_a_place_in_the_queue_is_free_when_its_client_leaves(narrow: Server) -> None:
    with ExitStack() as stack:
        until_text(stack.enter_context(streaming(narrow, LONG)))
        for _ in range(4):
            with streaming(narrow, LONG) as chunks:
                assert queued(chunks)["queue_position"] == 0
                assert narrow.get("/stats")["batch"]["active_rows"] == 1


def test_who_waits_is_told_about_when_it_will_start(narrow: Server) -> None:
    assert brief(narrow).status_code == 200
    with streaming(narrow, LONG) as running, streaming(narrow, LONG) as waiting:
        until_text(running)
        assert queued(waiting)["eta_s"] > 0


def test_a_client_that_leaves_while_its_prompt_is_read_frees_the_engine(narrow: Server) -> None:
    long = " ".join(f"word{n}" for n in range(1200))
    with streaming(narrow, long) as chunks:
        progress = next(c["fireside"] for c in chunks if c.get("fireside", {}).get("phase") == "prefill")
        assert progress["prefill_done"] < progress["prefill_total"]
    assert brief(narrow).json()["choices"][0]["message"]["content"] == "Hello! How can I help you?"
    assert narrow.get("/stats")["batch"]["active_rows"] == 0
