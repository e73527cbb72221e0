"""The model may crash, the app never may: kill -9 of the core and what a user sees of it."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.chat import LONG, chatting
from support.deaths import read
from support.server import POCKET, Server, serving

ASKED = [{"role": "user", "content": LONG}]
TOKENS = 800


def stream(server: Server, **body: Any) -> Any:
    body = {"messages": ASKED, "max_tokens": TOKENS, "stream": True, "return_progress": True, **body}
    return httpx.stream("POST", f"{server.url}/v1/chat/completions", json=body, timeout=180)


@pytest.mark.parametrize("sampling", [{"temperature": 0}, {"temperature": 1.0, "top_p": 0.9, "seed": 11}])
def test_an_answer_survives_three_deaths_of_the_core_unchanged(
    dying: Server, sampling: dict[str, Any]
) -> None:
    body = {"messages": ASKED, "max_tokens": TOKENS, **sampling}
    whole, _ = read(dying, body)
    interrupted, resumed = read(dying, body, kill_after=(3, 120, 240))
    assert interrupted == whole
    assert resumed == 3


def test_the_page_is_told_and_the_turn_goes_on(dying: Server) -> None:
    restarts = dying.get("/api/status")["engine"]["restarts"]
    with chatting(dying) as chat:
        session = chat.new_session()
        chat.prompt(session, LONG)
        chat.until(lambda f: f["type"] == "text_delta")
        dying.kill_core()
        chat.until(lambda f: f["type"] == "progress" and f["phase"] == "restarting")
        chat.until(lambda f: f["type"] == "text_delta")
        chat.send("abort", session_id=session)
        message = chat.turn_end()["message"]
    assert message["status"] == "aborted"
    assert message["text"] == chat.streamed(message["id"])
    assert dying.get("/api/status")["engine"]["restarts"] == restarts + 1


def test_a_core_that_dies_idle_is_replaced(dying: Server) -> None:
    killed = dying.kill_core()
    assert dying.core_pid(other_than=killed)
    assert dying.post("/v1/chat/completions", {"messages": ASKED, "max_tokens": 2})["choices"]


def test_the_one_request_that_kills_the_core_fails_and_the_others_finish(home: Path) -> None:
    poison = [{"role": "user", "content": "zyzzyva zyzzyva"}]
    command = (sys.executable, "-m", "support.poisoned")
    tests = str(Path(__file__).parents[1])
    with serving(home, command=command, PYTHONPATH=tests, FIRESIDE_TEST_POISON=_mark()) as poisoned:
        poisoned.wait_ready()
        questions = [
            ASKED,
            poison,
            [{"role": "user", "content": "Name a bird."}],
            [{"role": "user", "content": "Hi"}],
        ]
        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(lambda q: _post(poisoned, q), questions))
    assert [reply.status_code for reply in replies] == [200, 502, 200, 200]
    error = replies[1].json()["error"]
    assert error["code"] == "engine_error"
    assert "crashed" in error["message"]
    assert all(
        reply.json()["choices"][0]["message"]["content"] for reply in replies if reply.status_code == 200
    )


def _post(server: Server, messages: list[Any]) -> httpx.Response:
    body = {"messages": messages, "max_tokens": 12, "temperature": 0, "reasoning_effort": "none"}
    return httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=180)


def _mark() -> str:
    """The token ids of the poisonous word, from the model's own tokenizer."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(POCKET / "tokenizer.json"))
    ids = tokenizer.encode("zyzzyva", add_special_tokens=False).ids
    return ",".join(map(str, ids))


def test_a_client_that_leaves_stops_the_generation(server: Server) -> None:
    body = {"messages": ASKED, "max_tokens": 4000, "temperature": 1.5}
    with stream(server, **body) as reply:
        lines = reply.iter_lines()
        while '"content":"' not in next(lines).replace('"content":""', ""):
            pass
        assert server.get("/stats")["batch"]["active_rows"] == 1
    _assert_idle(server)


def test_a_client_that_leaves_before_a_whole_answer_stops_the_generation(server: Server) -> None:
    body = {"messages": ASKED, "max_tokens": 4000, "temperature": 1.5}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=0.7)
    _assert_idle(server)


def _assert_idle(server: Server) -> None:
    wait = threading.Event()
    for _ in range(20):
        if server.get("/stats")["batch"]["active_rows"] == 0:
            return
        wait.wait(0.1)
    raise AssertionError(server.get("/stats"))
