"""What fits into memory: at the start, of one request, and of several together."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from fireside.catalog.fit import Memory, MemoryPlan, Workload, plan_memory, read_model
from fireside.config import parse_size
from support.server import POCKET, Server, prepared_home, refused_start, serving

CPU_CHUNK = 512


def ask(server: Server, text: str = "hello", **body: Any) -> httpx.Response:
    messages = [{"role": "user", "content": text}]
    body = {"messages": messages, "temperature": 0, "reasoning_effort": "none", **body}
    return httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=120)


def plan(budget: int, kv_budget: int | None = None) -> MemoryPlan:
    """The plan that a server on a CPU must have."""
    need = read_model("pocket", POCKET, 10**10)
    work = Workload(8, CPU_CHUNK, 1, fused_attention=False)
    return plan_memory(need, Memory(10**12, budget), work, kv_budget_bytes=kv_budget)


@pytest.fixture(scope="module")
def small(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Memory for about a thousand tokens."""
    home = prepared_home(tmp_path_factory.mktemp("small"), server.home)
    with serving(home, "--memory-budget", "40MB") as running:
        yield running.wait_ready()


@pytest.fixture(scope="module")
def tight(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Room for the keys and values of 850 tokens, and no prompt cache."""
    home = prepared_home(tmp_path_factory.mktemp("tight"), server.home)
    kv_budget = read_model("pocket", POCKET, 10**10).row_bytes(850)
    with serving(home, "--kv-budget", f"{kv_budget}B", "--prompt-cache", "0") as running:
        yield running.wait_ready()


def test_the_plan_is_in_the_stats(small: Server) -> None:
    expected = plan(40_000_000)
    stats = small.get("/stats")
    assert stats["admission"] == {
        "max_safe_context": expected.max_safe_context,
        "memory_budget_bytes": 40_000_000,
        "usable_bytes": 40_000_000,
        "weights_bytes": expected.weights_bytes,
    }
    assert stats["batch"]["kv_budget_bytes"] == expected.kv_budget_bytes
    assert stats["prompt_cache"]["max_bytes"] == expected.prompt_cache_bytes
    assert small.get("/api/status")["engine"]["model"]["context_window"] == expected.max_row_context


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_beyond_the_memory_is_a_400_with_the_numbers(small: Server, *, stream: bool) -> None:
    refused = ask(small, "word " * 2000, stream=stream)
    error = refused.json()["error"]
    assert (refused.status_code, error["type"], error["code"]) == (
        400,
        "memory_admission",
        "context_over_budget",
    )
    assert error["param"] == "messages"
    for part in (f"{plan(40_000_000).max_safe_context:,}", "0.04 GB", "--memory-budget"):
        assert part in error["message"]
    assert ask(small).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_is_too_long_is_clamped_and_says_so(small: Server, *, stream: bool) -> None:
    reply = ask(small, max_tokens=5000, stream=stream)
    assert reply.status_code == 200
    warning = reply.headers["Warning"]
    assert warning.isascii()
    assert re.fullmatch(r'199 fireside "max_tokens 5000 .* after \d+ tokens"', warning)
    assert "Warning" not in ask(small, max_tokens=5).headers


def test_a_clamped_answer_ends_with_length(tight: Server) -> None:
    reply = ask(tight, "Count to 900.", max_tokens=5000)
    body = reply.json()
    assert body["choices"][0]["finish_reason"] == "length"
    assert body["usage"]["total_tokens"] == plan(10**9, kv_budget_of(tight)).max_row_context
    assert f"after {body['usage']['completion_tokens']} tokens" in reply.headers["Warning"]


def kv_budget_of(server: Server) -> int:
    return int(server.get("/stats")["batch"]["kv_budget_bytes"])


def test_a_prompt_beyond_the_kv_budget_is_refused_by_its_name(tight: Server) -> None:
    refused = ask(tight, "word " * 1200)
    error = refused.json()["error"]
    assert (refused.status_code, error["type"], error["code"]) == (
        400,
        "memory_admission",
        "memory_admission",
    )
    assert "--kv-budget" in error["message"]


def test_rows_that_outgrow_the_budget_together_all_finish_with_their_own_text(
    server: Server, tight: Server
) -> None:
    questions = [f"Count to {900 - n}." for n in range(3)]

    def answers(asked: Server) -> list[Future[httpx.Response]]:
        return [pool.submit(ask, asked, q, max_tokens=330, return_progress=True) for q in questions]

    budget, most = kv_budget_of(tight), 0
    with ThreadPoolExecutor(3) as pool:
        roomy = [reply.result().json() for reply in answers(server)]
        replies = answers(tight)
        while not all(reply.done() for reply in replies):
            batch = tight.get("/stats")["batch"]
            assert batch["kv_bytes"] <= budget
            most = max(most, batch["active_rows"])
            time.sleep(0.02)
    bodies = [reply.result().json() for reply in replies]
    assert [body["choices"][0]["message"] for body in bodies] == [
        body["choices"][0]["message"] for body in roomy
    ]
    assert most == 2
    assert sum(body["usage"]["fireside"]["resumed"] for body in bodies) == 1


def test_a_model_that_leaves_no_room_is_never_loaded(home: Path) -> None:
    with serving(home, "--memory-budget", "7MB") as running:
        status = until_failed(running)
        for words in ("No context fits", "pocket", "raise --memory-budget", "0.007 GB"):
            assert words in status["error"]
        assert status["restarts"] == 0
        health = httpx.get(f"{running.url}/health")
        assert health.status_code == 503
        assert "No context fits" in health.json()["reason"]
        assert running.get("/stats")["engine"]["weights_bytes"] is None


def until_failed(server: Server) -> dict[str, Any]:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        status = server.get("/api/status")["engine"]
        if status["phase"] == "failed":
            return dict(status)
        assert status["phase"] not in ("loading", "ready"), status
        time.sleep(0.02)
    raise AssertionError("the model was not refused")


def test_sizes_are_printed_as_they_were_understood(tight: Server) -> None:
    assert tight.process.stdout is not None
    line = tight.process.stdout.readline()
    assert f"KV budget 0.00226 GB ({kv_budget_of(tight):,} bytes), prompt cache off" in line
    assert tight.get("/stats")["prompt_cache"]["max_bytes"] == 0


def test_a_wrong_size_is_refused_by_the_flag_s_name(tmp_path: Path) -> None:
    for value in ("lots", "0"):
        refused = refused_start(tmp_path, "--memory-budget", value)
        assert refused.returncode == 2
        assert "--memory-budget" in refused.stderr


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4", 4 * 10**9),
        ("1.5", 1_500_000_000),
        (".5GB", 500_000_000),
        ("4GiB", 4 << 30),
        ("4 gib", 4 << 30),
        ("500MB", 500_000_000),
        ("500Mi", 500 << 20),
        ("2T", 2 * 10**12),
        ("7kB", 7000),
        ("9B", 9),
        ("0", 0),
    ],
)
def test_a_size_is_decimal_gigabytes_or_has_a_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1", "1e9", "4XB", "4iB", "4Gibi", "nan", "1,5", "4 G B"])
def test_what_is_no_size_is_an_error_that_shows_how(text: str) -> None:
    with pytest.raises(ValueError, match="4GiB"):
        parse_size(text)
