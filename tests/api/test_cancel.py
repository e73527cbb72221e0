"""Nothing is worked on that nobody waits for: streamed or not, running, reading its prompt, or queued."""

import statistics
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from fireside.text.mlxlm import load_tokenizer
from support.chat import LONG
from support.completions import (
    ROUTE,
    ask,
    body_of,
    prefill,
    rows,
    seconds_to_first_text,
    streaming,
    texts,
    user,
    wait_idle,
    wait_until,
)
from support.server import POCKET, Server

IDLE_WITHIN_S = 2.0
ROWS = 8
GREETING = "Hello! How can I help you?"


@pytest.fixture(scope="module")
def endless() -> dict[str, object]:
    """Fields of a request whose answer the model cannot end."""
    stops = load_tokenizer(POCKET, None).eos_token_ids
    return {"logit_bias": {str(token): -100 for token in stops}, "max_tokens": 4000}


@pytest.fixture(scope="module")
def idle_ttft(server: Server) -> float:
    """How soon the first text comes on an idle server, in seconds."""
    wait_idle(server, 10)
    return statistics.median(seconds_to_first_text(server, "Hello") for _ in range(5))


@pytest.fixture(autouse=True)
def leaves_an_idle_server(server: Server, idle_ttft: float) -> Iterator[None]:
    """After each test nothing runs, the next request starts at once, and the log has no new complaint."""
    complaints = server.log.read_text().count("Traceback")
    restarts = server.get("/stats")["engine"]["restarts"]
    yield
    wait_idle(server, IDLE_WITHIN_S)
    assert min(seconds_to_first_text(server, "Hello") for _ in range(3)) < 2 * idle_ttft + 0.2
    assert ask(server, "Hello").text == GREETING
    assert server.log.read_text().count("Traceback") == complaints
    assert server.get("/stats")["engine"]["restarts"] == restarts


def long_prompt(word: str) -> str:
    """Thousands of tokens that no other prompt begins with."""
    return " ".join([word, *(f"word{n}" for n in range(1200))])


def leave_after(server: Server, seconds: float, body: dict[str, object]) -> None:
    """Ask for a whole answer and close the connection before it has come."""
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(server.url + ROUTE, json=body, timeout=httpx.Timeout(30, read=seconds))


def test_a_stream_ends_with_its_client(server: Server, endless: dict[str, object]) -> None:
    with streaming(server, LONG, **endless) as chunks:
        next(texts(chunks))
        assert rows(server) == (1, 0)


def test_a_whole_answer_ends_with_its_client(server: Server, endless: dict[str, object]) -> None:
    leave_after(server, 0.5, body_of(LONG, **endless))


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_is_read_no_further_than_its_client_stays(server: Server, stream: bool) -> None:
    if not stream:
        leave_after(server, 0.4, body_of(long_prompt("whole")))
        return
    with streaming(server, long_prompt("streamed")) as chunks:
        progress = prefill(chunks)
        assert progress["prefill_done"] < progress["prefill_total"]


@pytest.mark.parametrize("stream", [False, True])
def test_who_waits_and_leaves_is_never_started(
    server: Server, endless: dict[str, object], stream: bool
) -> None:
    with ExitStack() as stack:
        for number in range(ROWS):
            running = stack.enter_context(streaming(server, [user(f"Count to {300 + number}.")], **endless))
            next(texts(running))
        if stream:
            with streaming(server, LONG) as chunks:
                assert any(c.get("fireside", {}).get("phase") == "queued" for c in chunks)
        else:
            leave_after(server, 0.4, body_of(LONG))
        wait_until(lambda: rows(server) == (ROWS, 0), IDLE_WITHIN_S)


@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_text_ends_the_work(server: Server, endless: dict[str, object], stream: bool) -> None:
    if stream:
        with streaming(server, LONG, stop=", 12", **endless) as chunks:
            text = "".join(texts(chunks))
    else:
        text = ask(server, LONG, stop=", 12", **endless).text
    assert text.endswith(" 11")


def test_a_deadline_ends_the_work_and_says_so(server: Server, endless: dict[str, object]) -> None:
    late = httpx.post(server.url + ROUTE, json=body_of(LONG, deadline_s=0.3, **endless), timeout=30)
    assert late.status_code == 504
    assert late.json()["error"]["code"] == "deadline_exceeded"
    wait_idle(server, 0.5)
    with streaming(server, LONG, deadline_s=0.5, **endless) as chunks:
        received = list(chunks)
    assert received[-1]["error"]["code"] == "deadline_exceeded"
    assert len(received) > 3
    assert ask(server, "Hello", deadline_s=30).text == GREETING


def test_a_deadline_holds_while_waiting_too(server: Server, endless: dict[str, object]) -> None:
    with ExitStack() as stack:
        for number in range(ROWS):
            running = stack.enter_context(streaming(server, [user(f"Count to {400 + number}.")], **endless))
            next(texts(running))
        late = httpx.post(server.url + ROUTE, json=body_of(LONG, deadline_s=0.3), timeout=30)
        assert late.status_code == 504
        assert rows(server) == (ROWS, 0)


def test_who_leaves_does_not_disturb_the_others(server: Server) -> None:
    alone = ask(server, "Count to 300.", max_tokens=200).text
    with ExitStack() as stack:
        stayed = stack.enter_context(streaming(server, "Count to 300.", max_tokens=200))
        pieces = [next(texts(stayed))]
        for prompt in (LONG, "Count to 800.", long_prompt("beside")):
            with streaming(server, prompt) as left:
                prefill(left)
            pieces.append(next(texts(stayed)))
        pieces += texts(stayed)
    assert "".join(pieces) == alone
