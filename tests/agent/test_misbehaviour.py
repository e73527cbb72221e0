"""A model server that does what none should: each time the turn ends in a clear state, in time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent.harness import Client, Frame, served_agent
from agent.scripted import CUT, Step, Upstream, call_chunks
from agent.tooling import (
    Bench,
    calling,
    tools_of,
    with_tools,
)
from fireside_agent.provider import Patience

QUICK = Patience(retries_after=(0.05, 0.05), first_within=0.6, next_within=0.4)


async def ask(upstream: Upstream, database_path: Path, *scripts: list[Step]) -> tuple[Client, Frame]:
    """Ask once with these scripts; returns the client as it was left, and the turn's end."""
    upstream.scripts = list(scripts)
    bench = Bench()
    async with (
        served_agent(database_path, upstream.base_url, extra_tools=bench.tools, patience=QUICK) as served,
        served.client() as client,
    ):
        await with_tools(client)
        await client.ask("Go.")
        return client, await client.until("turn_end")


async def stall() -> None:
    await asyncio.sleep(5)


async def test_half_a_call_and_a_dropped_stream_run_nothing(upstream: Upstream, database_path: Path) -> None:
    half = call_chunks("look", {"text": "fern"})[:2]
    client, end = await ask(upstream, database_path, ["Hm. ", *half, CUT])
    assert end["status"] == "error"
    assert "before the answer had ended" in end["message"]["error"]
    assert end["message"]["text"] == "Hm. "
    assert tools_of(client) == []


async def test_arguments_that_are_not_json_are_told_to_the_model(
    upstream: Upstream, database_path: Path
) -> None:
    client, end = await ask(upstream, database_path, calling(("look", '{"text": ')), ["Sorry."])
    assert end["message"]["text"] == "Sorry."
    assert tools_of(client)[0]["status"] == "failed"
    sent = upstream.requests[1]["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert sent == "{}"


async def test_a_tool_that_does_not_exist_is_told_to_the_model(
    upstream: Upstream, database_path: Path
) -> None:
    client, end = await ask(upstream, database_path, calling(("teleport", {})), ["I cannot."])
    assert end["status"] == "done"
    assert "no tool 'teleport'" in tools_of(client)[0]["result"]


async def test_two_calls_with_one_id_are_two_calls(upstream: Upstream, database_path: Path) -> None:
    script: list[Step] = [
        *call_chunks("look", {"text": "a"}, "same", 0),
        *call_chunks("look", {"text": "b"}, "same", 1),
    ]
    client, end = await ask(upstream, database_path, script, ["Both."])
    assert end["message"]["text"] == "Both."
    calls = tools_of(client)
    assert [call["result"] for call in calls] == ["looking at a", "looking at b"]
    assert len({call["call_id"] for call in calls}) == 2
    answered = [m["tool_call_id"] for m in upstream.requests[1]["messages"] if m["role"] == "tool"]
    assert answered == [call["call_id"] for call in calls]


@pytest.mark.parametrize("index", [None, 0])
async def test_calls_without_indices_or_all_with_index_0_are_kept_apart(
    upstream: Upstream, database_path: Path, index: int | None
) -> None:
    script: list[Step] = []
    for number, text in enumerate("ab"):
        for chunk in call_chunks("look", {"text": text}, f"c{number}", 0):
            call = chunk["choices"][0]["delta"]["tool_calls"][0]
            if index is None:
                del call["index"]
            script.append(chunk)
    client, _ = await ask(upstream, database_path, script, ["Both."])
    assert [call["result"] for call in tools_of(client)] == ["looking at a", "looking at b"]


async def test_empty_choices_are_passed_over(upstream: Upstream, database_path: Path) -> None:
    nothing: list[dict[str, Any]] = [{"choices": []}, {"choices": None}, {}, {"choices": [{"index": 0}]}]
    _, end = await ask(upstream, database_path, [*nothing, "Hi.", *nothing])
    assert (end["status"], end["message"]["text"]) == ("done", "Hi.")


async def test_a_server_that_fails_is_asked_again_and_told_of(
    upstream: Upstream, database_path: Path
) -> None:
    upstream.failures = [(500, {"error": {"message": "boom"}})] * 2
    client, end = await ask(upstream, database_path, ["Back."])
    assert (end["status"], end["message"]["text"]) == ("done", "Back.")
    assert "retrying" in [frame["phase"] for frame in client.of("progress")]
    assert len(upstream.requests) == 3


async def test_a_server_that_goes_on_failing_ends_the_turn(upstream: Upstream, database_path: Path) -> None:
    upstream.failures = [(500, {"error": {"message": "boom"}})] * 9
    _, end = await ask(upstream, database_path, ["never"])
    assert end["status"] == "error"
    assert "boom" in end["message"]["error"]
    assert len(upstream.requests) == 3


async def test_a_refusal_is_not_tried_again(upstream: Upstream, database_path: Path) -> None:
    upstream.failures = [(400, {"error": {"message": "too long"}})]
    _, end = await ask(upstream, database_path, ["never"])
    assert "too long" in end["message"]["error"]
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("before", [[], ["Some text"]])
async def test_a_stall_ends_within_its_time(
    upstream: Upstream, database_path: Path, before: list[Step]
) -> None:
    began = asyncio.get_running_loop().time()
    _, end = await ask(upstream, database_path, [*before, stall, "late"])
    assert end["status"] == "error"
    assert "said nothing for" in end["message"]["error"]
    assert end["message"]["text"] == "".join(str(step) for step in before)
    assert asyncio.get_running_loop().time() - began < 4


async def test_a_stream_dropped_in_mid_answer_keeps_the_text(upstream: Upstream, database_path: Path) -> None:
    _, end = await ask(upstream, database_path, ["Half an ", CUT], ["never asked"])
    assert (end["status"], end["message"]["text"]) == ("error", "Half an ")
    assert len(upstream.requests) == 1
