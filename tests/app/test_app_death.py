"""kill -9 of the app: the core goes with it, and what the page showed is there afterwards."""

import os
import random
import signal
import time
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from support.chat import LONG, Chat, chatting
from support.server import children, gone_within, serving

ROUNDS = int(os.environ.get("FIRESIDE_CHAOS_ROUNDS", "1"))
SHOWN_BEFORE_S = 0.3


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_killed_app_leaves_no_core_and_loses_nothing_it_showed(home: Path, seed: int) -> None:
    with serving(home) as server, chatting(server.wait_ready()) as chat:
        session = chat.new_session()
        chat.prompt(session, LONG)
        started = chat.until(lambda f: f["type"] == "turn_start")
        arrivals = _read_for(chat, 0.5 + random.Random(seed).random() * 2)
        cores = children(server.process.pid)
        os.kill(server.process.pid, signal.SIGKILL)
        killed = time.monotonic()
        assert cores
        assert all(gone_within(core.pid, 5) for core in cores)
    shown = "".join(text for at, text in arrivals if at < killed - SHOWN_BEFORE_S)
    with serving(home) as server, chatting(server) as chat:
        prompt, answer = chat.history(session)["messages"]
    assert prompt["text"] == LONG
    assert answer["id"] == started["message"]["id"]
    assert answer["status"] == "interrupted"
    assert answer["text"].startswith(shown)


def _read_for(chat: Chat, seconds: float) -> list[tuple[float, str]]:
    """The text that comes in so long a time, with the moments at which it came."""
    arrivals: list[tuple[float, str]] = []
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        try:
            frame = chat.next(left)
        except TimeoutError:
            break
        except ConnectionClosed as error:
            raise AssertionError("the app died by itself") from error
        if frame["type"] == "text_delta":
            arrivals.append((time.monotonic(), frame["text"]))
    return arrivals
