"""`priority`: who goes first, who makes room, and who may ask for it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench import private
from bench.private import HEADERS, address
from support.server import Server, prepared_home, serving

SCRIPTS = str(Path(private.__file__).parents[1])
TOKENS = 250


@pytest.fixture(scope="module")
def pair(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two rows, and a private listener whose key the test knows."""
    home = prepared_home(tmp_path_factory.mktemp("pair"), server.home)
    with serving(
        home,
        "--batch",
        "2",
        "--thinking",
        "off",
        command=(sys.executable, "-m", "bench.private"),
        PYTHONPATH=SCRIPTS,
    ) as running:
        yield running.wait_ready()


def body(text: str, **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "temperature": 0, **fields}


def interactive(server: Server, text: str, **fields: Any) -> httpx.Response:
    url = f"{address(server.home)}/v1/chat/completions"
    return httpx.post(url, json=body(text, priority="interactive", **fields), headers=HEADERS, timeout=60)


@contextmanager
def streaming(server: Server, text: str, **fields: Any) -> Iterator[Iterator[Any]]:
    """The chunks of a streamed answer, parsed, as they come."""
    asked = body(text, max_tokens=TOKENS, stream=True, return_progress=True, **fields)
    with httpx.stream("POST", f"{server.url}/v1/chat/completions", json=asked, timeout=60) as reply:
        reply.raise_for_status()
        lines = (line.removeprefix("data: ") for line in reply.iter_lines() if line.startswith("data: {"))
        yield map(json.loads, lines)


def text_of(chunk: Any) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])


def begun(chunks: Iterator[Any]) -> str:
    """Reads up to the first text."""
    return next(text for chunk in chunks if (text := text_of(chunk)))


def rest(chunks: Iterator[Any]) -> tuple[str, Any]:
    """The remaining text, and what `usage.fireside` says."""
    parts: list[str] = []
    usage: Any = None
    for chunk in chunks:
        parts.append(text_of(chunk))
        usage = chunk.get("usage", usage)
    return "".join(parts), usage["fireside"]


def whole(server: Server, text: str, **fields: Any) -> str:
    with streaming(server, text, **fields) as chunks:
        return rest(chunks)[0]


@pytest.mark.parametrize("kind", [{}, {"seed": 5}])
def test_an_interactive_request_takes_a_background_row_s_place_and_its_text_stays(
    pair: Server, kind: dict[str, Any]
) -> None:
    questions = ["Count to 900.", "Count to 800."][: 1 if kind else 2]
    alone = [whole(pair, question, **kind) for question in questions]
    with ExitStack() as stack:
        answers = [
            stack.enter_context(streaming(pair, question, priority="background", **kind))
            for question in questions
        ]
        starts = [begun(chunks) for chunks in answers]
        reply = interactive(pair, "hello", return_progress=True)
        assert reply.json()["choices"][0]["message"]["content"] == "Hello! How can I help you?"
        ends = [rest(chunks) for chunks in answers]
    assert [start + text for start, (text, _) in zip(starts, ends, strict=True)] == alone
    assert sorted(fireside["resumed"] for _, fireside in ends) == [0, 1][-len(questions) :]


def test_normal_requests_wait_and_go_before_background_ones(pair: Server) -> None:
    with ThreadPoolExecutor(2) as pool, ExitStack() as stack:
        running = [stack.enter_context(streaming(pair, f"Count to {n}.")) for n in (900, 800)]
        for chunks in running:
            begun(chunks)
        later = [
            stack.enter_context(streaming(pair, "hello", priority=priority))
            for priority in ("background", "normal")
        ]
        first = [place(chunks, 1 - rank) for rank, chunks in enumerate(later)]
        assert first == [1, 0]
        assert list(pool.map(lambda chunks: rest(chunks)[1]["resumed"], running)) == [0, 0]


def place(chunks: Iterator[Any], expected: int) -> int:
    """Reads up to a position in the queue."""
    queued = (chunk["fireside"] for chunk in chunks if chunk.get("fireside", {}).get("phase") == "queued")
    return next(p["queue_position"] for p in queued if p["queue_position"] == expected)


def test_only_fireside_itself_may_be_interactive(pair: Server) -> None:
    for headers in ({}, HEADERS):
        url = f"{pair.url}/v1/chat/completions"
        refused = httpx.post(url, json=body("hello", priority="interactive"), headers=headers)
        error = refused.json()["error"]
        assert (refused.status_code, error["code"], error["param"]) == (
            403,
            "priority_not_allowed",
            "priority",
        )
    assert interactive(pair, "hello", max_tokens=2).status_code == 200


@pytest.mark.parametrize("value", ["urgent", 3, ["normal"]])
def test_another_priority_is_a_400_that_names_the_field(server: Server, value: Any) -> None:
    refused = httpx.post(f"{server.url}/v1/chat/completions", json=body("hello", priority=value))
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "priority"


def test_a_priority_may_be_null(server: Server) -> None:
    assert server.post("/v1/chat/completions", body("hello", priority=None, max_tokens=1))["choices"]
