"""A client of `/v1/chat/completions`: whole answers, streams that may be left, many at once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
import psutil

from support.server import Server

Body = dict[str, Any]
Chunk = dict[str, Any]
T = TypeVar("T")

ROUTE = "/v1/chat/completions"
_CPU_WINDOW_S = 0.2


@dataclass(frozen=True)
class Answer:
    """A whole answer.

    Attributes:
        message: as it came.
        usage: as it came.
    """

    message: dict[str, Any]
    finish: str
    usage: dict[str, Any]

    @property
    def text(self) -> str:
        return self.message["content"] or ""

    @property
    def prompt_tokens(self) -> int:
        return self.usage["prompt_tokens"]

    @property
    def cached_tokens(self) -> int:
        return self.usage["prompt_tokens_details"]["cached_tokens"]

    @property
    def computed_tokens(self) -> int:
        """Prompt tokens that the prompt cache did not have."""
        return self.prompt_tokens - self.cached_tokens


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def system(text: str) -> dict[str, str]:
    return {"role": "system", "content": text}


def body_of(messages: str | Sequence[Any], **fields: Any) -> Body:
    """A greedy request that does not think; `fields` add to it or replace what it has."""
    conversation = [user(messages)] if isinstance(messages, str) else list(messages)
    return {"messages": conversation, "temperature": 0, "reasoning_effort": "none", **fields}


def ask(server: Server, messages: str | Sequence[Any], **fields: Any) -> Answer:
    """A whole answer; an error status raises `httpx.HTTPStatusError`."""
    return _answer(server.post(ROUTE, body_of(messages, **fields)))


def at_once(calls: Sequence[Callable[[httpx.Client], T]]) -> list[T]:
    """What the calls return, each made on a thread and a connection of its own, all at the same moment."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[httpx.Client], T]) -> T:
        with httpx.Client(timeout=120) as client:
            barrier.wait()
            return call(client)

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def ask_at_once(server: Server, bodies: Sequence[Body]) -> list[Answer]:
    """The answers of requests that arrive together."""

    def call(body: Body) -> Callable[[httpx.Client], Answer]:
        return lambda client: _answer(client.post(server.url + ROUTE, json=body).raise_for_status().json())

    return at_once([call(body) for body in bodies])


@contextmanager
def streaming(server: Server, messages: str | Sequence[Any], **fields: Any) -> Iterator[Iterator[Chunk]]:
    """The chunks of a streamed answer as they come. Leaving the context breaks the connection.

    Raises:
        AssertionError: the server refuses the request.
    """
    body = body_of(messages, **{"stream": True, "return_progress": True, **fields})
    with httpx.stream("POST", server.url + ROUTE, json=body, timeout=120) as reply:
        if reply.is_error:
            raise AssertionError(reply.read().decode())
        lines = (line.removeprefix("data: ") for line in reply.iter_lines() if line.startswith("data: {"))
        yield map(json.loads, lines)


def texts(chunks: Iterator[Chunk]) -> Iterator[str]:
    """The pieces of content in a stream. Raises `AssertionError` where the stream reports an error."""
    for chunk in chunks:
        assert "error" not in chunk, chunk
        for choice in chunk["choices"]:
            if piece := choice["delta"].get("content"):
                yield piece


def prefill(chunks: Iterator[Chunk]) -> Chunk:
    """The first report that a prompt is being read."""
    return next(c["fireside"] for c in chunks if c.get("fireside", {}).get("phase") == "prefill")


def seconds_to_first_text(server: Server, messages: str | Sequence[Any]) -> float:
    """From the request to its first text. The connection is broken there."""
    begin = time.monotonic()
    with streaming(server, messages) as chunks:
        next(texts(chunks))
        return time.monotonic() - begin


def rows(server: Server) -> tuple[int, int]:
    """How many requests run, and how many wait."""
    batch = server.get("/stats")["batch"]
    return batch["active_rows"], batch["pending_rows"]


def wait_until(condition: Callable[[], bool], within_s: float) -> None:
    """Raises `AssertionError` if a condition does not come true in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"still not so after {within_s} s"
        time.sleep(0.02)


def wait_idle(server: Server, within_s: float) -> None:
    """Wait until no request runs or waits, and then as long again at most until the core rests.

    Raises:
        AssertionError: it still works.
    """
    core = psutil.Process(server.core_pid())
    wait_until(lambda: rows(server) == (0, 0), within_s)
    wait_until(lambda: _cpu_seconds(core) < _CPU_WINDOW_S / 4, within_s)


def _cpu_seconds(process: psutil.Process) -> float:
    before = process.cpu_times()
    time.sleep(_CPU_WINDOW_S)
    after = process.cpu_times()
    return after.user + after.system - before.user - before.system


def _answer(completion: dict[str, Any]) -> Answer:
    (choice,) = completion["choices"]
    return Answer(choice["message"], choice["finish_reason"], completion["usage"])
