"""`usage.lane`: what really ran, alone and in company."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from support.server import Server, serving


def ask(server: Server, text: str = "hello", **body: Any) -> Any:
    messages = [{"role": "user", "content": text}]
    return server.post("/v1/chat/completions", {"messages": messages, "reasoning_effort": "none", **body})


def test_an_explicit_seed_runs_alone_and_everything_else_in_the_batch(server: Server) -> None:
    for seed, lane in ((7, "serial"), (0, "serial"), (None, "batched")):
        usage = ask(server, seed=seed, return_progress=True)["usage"]
        assert (usage["lane"], usage["fireside"]["lane"]) == (lane, lane)


def test_with_one_row_every_request_is_serial(home: Path) -> None:
    with serving(home, "--batch", "1") as single:
        single.wait_ready()
        assert ask(single)["usage"]["lane"] == "serial"
        batch = single.get("/stats")["batch"]
        assert (batch["configured"], batch["batched"], batch["submitted_rows"]) == (1, False, 1)


def test_serial_and_batched_requests_all_finish_and_never_run_together(server: Server) -> None:
    def one(number: int) -> Any:
        seed = {"seed": number} if number % 2 else {"temperature": 0}
        return ask(server, f"Count to {20 + number}.", max_tokens=60, **seed)["usage"]["lane"]

    with ThreadPoolExecutor(12) as pool:
        lanes = list(pool.map(one, range(12)))
    assert lanes == ["batched", "serial"] * 6


def test_a_seed_gives_the_same_text_beside_others_as_alone(server: Server) -> None:
    def seeded(_: int) -> Any:
        return ask(server, "Count to 40.", seed=11, temperature=1.5, max_tokens=40)["choices"]

    alone = seeded(0)
    with ThreadPoolExecutor(6) as pool:
        company = [pool.submit(ask, server, f"Count to {n}.", max_tokens=60) for n in range(30, 33)]
        together = list(pool.map(seeded, range(3)))
        assert all(reply.result()["usage"]["lane"] == "batched" for reply in company)
    assert together == [alone] * 3


def test_usage_tells_what_came_out_of_the_prompt_cache(server: Server) -> None:
    text = " ".join(f"lantern{n}" for n in range(80))
    first, again = (
        ask(server, text, temperature=0, max_tokens=4, return_progress=True)["usage"] for _ in range(2)
    )
    for usage, cached in ((first, False), (again, True)):
        tokens = usage["prompt_tokens_details"]["cached_tokens"]
        assert (tokens > usage["prompt_tokens"] // 2) is cached
        assert usage["fireside"]["from_ram"] == tokens
        assert usage["fireside"]["computed"] == usage["prompt_tokens"] - tokens
    cache = server.get("/stats")["prompt_cache"]
    assert cache["hits"] >= 1
    assert 0 < cache["bytes"] <= cache["max_bytes"]
    assert server.get("/stats")["kv_quant"] == {"mode": "float32"}


def test_lanes_are_told_on_standard_error_where_somebody_asked(home: Path) -> None:
    with serving(home, FIRESIDE_LANE_DEBUG="1") as running:
        running.wait_ready()
        ask(running, "Repeat: secret", seed=3, max_tokens=9)
        lines = [line for line in running.log.read_text().splitlines() if line.startswith("lane ")]
    assert len(lines) == 1
    assert lines[0].startswith("lane serial: ")
    assert lines[0].endswith("up to 9 new, priority normal, alone, for its seed")
