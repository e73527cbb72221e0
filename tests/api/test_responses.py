"""`/v1/responses` on the wire: the chain of events, and what a response has."""

import time
from typing import Any

import httpx
import pytest

from support.completions import rows, wait_until
from support.responses import (
    ROUTE,
    Chain,
    body_of,
    error_of,
    function,
    respond,
    streamed,
    streaming,
    texts,
    validate_event,
)
from support.server import Server

BASH = function("bash", "command")
READ = function("read", "path")
REPEAT = "Repeat: one fine day"
THINKS: dict[str, Any] = {"reasoning": {"effort": "low", "summary": "auto"}}
COUNT = "Count to 5000."


def without_ids(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in item.items() if key not in ("id", "call_id")} for item in items]


CASES: dict[str, tuple[str, dict[str, Any], list[str], str]] = {
    "text": (REPEAT, {}, ["message"], "completed"),
    "thoughts": (REPEAT, THINKS, ["reasoning", "message"], "completed"),
    "call": ("Run `ls`", {"tools": [BASH]}, ["function_call"], "completed"),
    "calls": (
        "Run `ls -la` and read notes.md",
        {"tools": [READ, BASH]},
        ["function_call", "function_call"],
        "completed",
    ),
    "thoughts and call": (
        "Run `ls`",
        {"tools": [BASH], **THINKS},
        ["reasoning", "function_call"],
        "completed",
    ),
    "text and call": (
        "Say `one moment` and run `date`",
        {"tools": [BASH]},
        ["message", "function_call"],
        "completed",
    ),
    "cut off": ("Count to 50.", {"max_output_tokens": 5}, ["message"], "incomplete"),
    "thoughts cut off": (REPEAT, {**THINKS, "max_output_tokens": 5}, ["reasoning"], "incomplete"),
    "call cut off": (
        "Run `ls -la /tmp`",
        {"tools": [BASH], "max_output_tokens": 18},
        ["function_call"],
        "incomplete",
    ),
    "nothing": (REPEAT, {"stop": "one"}, ["message"], "completed"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_stream_is_the_chain_of_events_and_ends_in_what_a_whole_response_is(
    server: Server, case: str
) -> None:
    question, fields, kinds, status = CASES[case]
    chain = Chain(streamed(server, question, **fields))
    assert chain.end["output"] == chain.output
    assert [item["type"] for item in chain.output] == kinds
    assert chain.end["status"] == status
    assert chain.output[-1]["status"] == status
    assert chain.end["incomplete_details"] == (
        {"reason": "max_output_tokens"} if status == "incomplete" else None
    )
    whole = respond(server, question, **fields)
    assert without_ids(whole["output"]) == without_ids(chain.output)
    changing = {"id", "created_at", "completed_at", "output", "usage"}
    assert {k: v for k, v in whole.items() if k not in changing} == {
        k: v for k, v in chain.end.items() if k not in changing
    }
    assert whole["usage"]["output_tokens"] == chain.end["usage"]["output_tokens"]


def test_what_was_thought_is_counted_and_shown(server: Server) -> None:
    response = respond(server, REPEAT, **THINKS)
    assert texts(response["output"]) == ["The user wants me to repeat something.", "one fine day"]
    usage = response["usage"]
    thought = usage["output_tokens_details"]["reasoning_tokens"]
    assert 0 < thought < usage["output_tokens"]
    assert respond(server, REPEAT)["usage"]["output_tokens_details"]["reasoning_tokens"] == 0
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["lane"] == "batched"


def test_logprobs_are_those_of_the_text(server: Server) -> None:
    asked = {"include": ["message.output_text.logprobs"], "top_logprobs": 2, **THINKS}
    events = streamed(server, "Repeat: žluť 🙂 fine", **asked)
    part = Chain(events).output[1]["content"][0]
    spelled = b"".join(bytes(entry["bytes"]) or b"?" for entry in part["logprobs"])
    assert spelled.startswith(b"\xc5\xbe" if part["logprobs"][0]["bytes"] else b"?")
    assert spelled.endswith(b" fine")
    assert all(len(entry["top_logprobs"]) == 2 for entry in part["logprobs"])
    deltas = [e["logprobs"] for e in events if e["type"] == "response.output_text.delta"]
    assert [entry for entries in deltas for entry in entries] == part["logprobs"]
    plain = respond(server, "Repeat: one fine day", **{**asked, "top_logprobs": 0})["output"][1]["content"][0]
    assert "".join(entry["token"] for entry in plain["logprobs"]) == "one fine day"


def test_an_answer_that_fails_on_its_way_ends_in_a_failed_response(server: Server) -> None:
    *events, failed = streamed(server, COUNT, deadline_s=1)
    validate_event(failed)
    assert failed["type"] == "response.failed"
    assert failed["sequence_number"] == len(events)
    response = failed["response"]
    assert response["status"] == "failed"
    assert response["error"]["code"] == "server_error"
    assert response["error"]["type"] == "deadline_exceeded"
    assert texts(response["output"])[0].startswith("1, 2, 3")
    assert httpx.get(f"{server.url}{ROUTE}/{response['id']}").status_code == 404


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_ends_the_answer_and_nothing_is_stored(server: Server, stream: bool) -> None:
    before = server.get("/stats")["response_store"]["entries"]
    if stream:
        with streaming(server, COUNT) as events:
            while next(events)["type"] != "response.output_text.delta":
                pass
            assert rows(server) == (1, 0)
    else:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(server.url + ROUTE, json=body_of(COUNT), timeout=0.4)
    wait_until(lambda: rows(server) == (0, 0), 2)
    assert server.get("/stats")["response_store"]["entries"] == before


def test_progress_is_told_only_to_those_who_ask(server: Server) -> None:
    events = streamed(server, REPEAT, return_progress=True)
    assert any(e.get("fireside", {}).get("phase") == "prefill" for e in events)
    assert events[-1]["response"]["usage"]["fireside"]["lane"] == "batched"
    assert not any(e["type"] == "fireside.progress" for e in streamed(server, REPEAT))


def test_the_stats_tell_of_the_store(server: Server) -> None:
    before = server.get("/stats")["response_store"]
    kept = respond(server, REPEAT)
    respond(server, REPEAT, store=False)
    after = server.get("/stats")["response_store"]
    assert after["entries"] == before["entries"] + 1
    assert after["bytes"] > before["bytes"] + 500
    assert after["max_bytes"] == 32 * 1024 * 1024
    httpx.delete(f"{server.url}{ROUTE}/{kept['id']}").raise_for_status()
    assert server.get("/stats")["response_store"] == before


def test_a_deadline_before_the_first_byte_is_a_status(server: Server) -> None:
    begin = time.monotonic()
    status, error = error_of(server, body_of(COUNT, deadline_s=0.3))
    assert (status, error["code"]) == (504, "deadline_exceeded")
    assert time.monotonic() - begin < 3
