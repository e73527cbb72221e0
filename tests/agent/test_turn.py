"""A prompt and its answer over `/ws`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent.harness import Client, Served, eventually
from agent.scripted import CUT, Upstream, end_chunks, progress_chunk
from fireside_agent.markdown import render_blocks


async def short_pause() -> None:
    await asyncio.sleep(0.1)


async def forever() -> None:
    await asyncio.Event().wait()


def details(**fireside: Any) -> dict[str, Any]:
    return end_chunks(**fireside)[1]


async def test_an_answer_streams_and_ends_as_it_was_streamed(client: Client, upstream: Upstream) -> None:
    upstream.scripts = [["# Fire\n", "\nIt is ", "*warm*."]]
    await client.ask("What is fire?")
    start = await client.until("turn_start")
    end = await client.until("turn_end")
    streamed = "".join(frame["text"] for frame in client.of("text_delta"))
    assert end["status"] == end["message"]["status"] == "done"
    assert streamed == end["message"]["text"] == "# Fire\n\nIt is *warm*."
    assert end["message"]["html"] == render_blocks(streamed)
    assert end["message"]["parent_id"] == start["prompt_id"]


async def test_frames_come_in_order(client: Client) -> None:
    await client.ask("Hello?")
    await client.until("turn_end")
    kinds = [frame["type"] for frame in client.frames if "seq" in frame]
    assert kinds[:3] == ["history", "accepted", "turn_start"]
    assert kinds[-1] == "turn_end"
    numbers = [frame["seq"] for frame in client.frames if "seq" in frame]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def test_what_is_shown_after_the_last_delta_is_what_is_stored(
    client: Client, upstream: Upstream
) -> None:
    upstream.scripts = [["- one\n", "- two\n\n", "[link][a]\n\n", "[a]: http://x.example", "/page\n"]]
    await client.ask("A list?")
    await client.until("turn_start")
    shown: list[str] = []
    while (frame := await client.next())["type"] != "turn_end":
        shown = next(reversed(client.messages.values()))["html"].copy()
    assert shown == frame["message"]["html"]


async def test_many_deltas_become_few_frames(client: Client, upstream: Upstream) -> None:
    upstream.scripts = [[f"word{i} " for i in range(500)]]
    await client.ask("Many words?")
    end = await client.until("turn_end")
    assert end["message"]["text"].split() == [f"word{i}" for i in range(500)]
    assert len(client.of("text_delta")) < 100


async def test_the_receipt_holds_what_the_server_told(client: Client, upstream: Upstream) -> None:
    upstream.scripts = [
        ["Hi", end_chunks()[0], details(lane="serial", ttft_ms=12.5, seed=7, resumed=1), CUT],
    ]
    await client.ask("Hello?")
    receipt = (await client.until("turn_end"))["message"]["receipt"]
    assert receipt == {
        "model": "scripted-1",
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "cached_tokens": 2,
        "finish_reason": "stop",
        "lane": "serial",
        "ttft_ms": 12.5,
        "seed": 7,
        "resumed": 1,
    }


async def test_progress_is_passed_on(client: Client, upstream: Upstream) -> None:
    prefill = progress_chunk("prefill", prefill_done=5, prefill_total=9)
    upstream.scripts = [[prefill, short_pause, prefill, progress_chunk("unheard-of"), "Hi"]]
    await client.ask("Hello?")
    await client.until("turn_end")
    phases = [(frame["phase"], frame["prefill_done"]) for frame in client.of("progress")]
    assert [phase for phase in phases if phase[0] != "waiting"] == [("prefill", 5)]


async def test_a_restart_in_mid_answer_is_told_after_the_text_before_it(
    client: Client, upstream: Upstream
) -> None:
    upstream.scripts = [["before ", progress_chunk("restarting"), "after"]]
    await client.ask("Hello?")
    await client.until("turn_end")
    told = [frame.get("text") or frame.get("phase") for frame in client.of("text_delta", "progress")]
    assert told == ["waiting", "before ", "restarting", "after"]


async def test_a_loading_model_is_waited_for(client: Client, upstream: Upstream) -> None:
    upstream.loading = 3
    await client.ask("Hello?")
    end = await client.until("turn_end")
    assert end["status"] == "done"
    assert [frame["phase"] for frame in client.of("progress")] == ["loading", "waiting"]


async def test_waiting_for_a_loading_model_can_be_aborted(client: Client, upstream: Upstream) -> None:
    upstream.loading = 1_000_000
    await client.ask("Hello?")
    await client.until("progress")
    await client.send("abort", session_id=client.session_id)
    assert (await client.until("turn_end"))["status"] == "aborted"


async def test_prompts_are_queued_and_asked_in_order(client: Client, upstream: Upstream) -> None:
    upstream.scripts = [["one"], ["two"], ["three"]]
    for text in ("first", "second", "third"):
        await client.send("prompt", session_id=client.session_id, text=text, client_id=text)
    ends = [await client.until("turn_end") for _ in range(3)]
    assert [end["message"]["text"] for end in ends] == ["one", "two", "three"]
    last = [message["content"] for message in upstream.requests[-1]["messages"]]
    assert last[1:] == ["first", "one", "second", "two", "third"]


async def test_history_is_in_reading_order_while_prompts_wait(
    served: Served, client: Client, upstream: Upstream
) -> None:
    go = asyncio.Event()
    upstream.scripts = [["one"], ["two ", go.wait]]  # type: ignore[list-item]
    await client.ask("first")
    await client.until("turn_end")
    for text in ("second", "third"):
        await client.ask(text)
    await client.until_shown("two ")
    async with served.client() as other:
        history = await (await other.open(client.session_id)).until("history")
    messages = history["messages"]
    assert [message["text"] for message in messages] == ["first", "one", "second", "two ", "third"]
    assert [message["status"] for message in messages] == ["done", "done", "done", "running", "queued"]
    assert [m["parent_id"] for m in messages] == [None, *(m["id"] for m in messages[:-1])]
    go.set()


async def test_abort_keeps_the_text_and_the_queue_goes_on(client: Client, upstream: Upstream) -> None:
    upstream.scripts = [["kept", forever], ["next answer"]]
    await client.ask("first")
    await client.ask("second")
    await client.until_shown("kept")
    await client.send("abort", session_id=client.session_id)
    aborted = await client.until("turn_end")
    after = await client.until("turn_end")
    assert (aborted["status"], aborted["message"]["text"]) == ("aborted", "kept")
    assert (after["status"], after["message"]["text"]) == ("done", "next answer")


async def test_abort_closes_the_stream_to_the_model(client: Client, upstream: Upstream) -> None:
    upstream.scripts = [["kept", *["."] * 3, forever]]
    await client.ask("first")
    await client.until("text_delta")
    assert upstream.open_streams == 1
    await client.send("abort", session_id=client.session_id)
    await client.until("turn_end")
    await eventually(lambda: upstream.open_streams == 0)


async def test_abort_without_a_turn_changes_nothing(client: Client) -> None:
    await client.send("abort", session_id=client.session_id)
    await client.ask("Hello?")
    assert (await client.until("turn_end"))["status"] == "done"
    assert client.of("error") == []


async def test_a_known_client_id_is_accepted_again_but_not_asked_again(
    client: Client, upstream: Upstream
) -> None:
    first = await client.ask("Hello?", client_id="same")
    await client.until("turn_end")
    again = await client.ask("Hello?", client_id="same")
    assert again["message"]["id"] == first["message"]["id"]
    assert again["message"]["status"] == "done"
    await client.ask("Another?")
    await client.until("turn_end")
    assert len(upstream.requests) == 2


async def test_two_sockets_with_one_client_id_ask_once(
    served: Served, client: Client, upstream: Upstream
) -> None:
    async with served.client() as other:
        await (await other.open(client.session_id)).until("history")
        prompt = {"session_id": client.session_id, "text": "Hello?", "client_id": "same"}
        await asyncio.gather(client.send("prompt", **prompt), other.send("prompt", **prompt))
        await client.until("turn_end")
        await client.ask("Done?")
        await client.until("turn_end")
    assert len(upstream.requests) == 2
    assert len([m for m in client.messages.values() if m["role"] == "user"]) == 2


@pytest.mark.parametrize(("text", "code"), [("", "empty_prompt"), (" \n\t", "empty_prompt")])
async def test_an_empty_prompt_is_refused(client: Client, text: str, code: str) -> None:
    await client.send("prompt", session_id=client.session_id, text=text, client_id="c1")
    error = await client.until("error")
    assert (error["code"], error["client_id"], error["session_id"]) == (code, "c1", client.session_id)


async def test_a_prompt_of_more_than_a_million_characters_is_refused(client: Client) -> None:
    await client.send("prompt", session_id=client.session_id, text="x" * 1_000_001, client_id="c1")
    assert (await client.until("error"))["code"] == "prompt_too_long"


async def test_a_prompt_of_100_kilobytes_reaches_the_model_unchanged(
    client: Client, upstream: Upstream
) -> None:
    text = "Ünïcode 漢字 🙂 אבג\n" * 4_000
    assert len(text.encode()) > 100_000
    await client.ask(text, client_id="big")
    await client.until("turn_end")
    assert upstream.requests[0]["messages"][-1] == {"role": "user", "content": text}


async def test_characters_split_between_chunks_arrive_whole(client: Client, upstream: Upstream) -> None:
    upstream.scripts = [["a", "\ud83d", "\ude42", "b", "\ud83d"]]
    await client.ask("Emoji?")
    end = await client.until("turn_end")
    assert end["message"]["text"] == "a\U0001f642b\ufffd"


async def test_a_failure_in_mid_answer_keeps_the_text(client: Client, upstream: Upstream) -> None:
    upstream.scripts = [["so far ", {"error": {"message": "the GPU is on fire"}}], ["fine"]]
    await client.ask("first")
    failed = await client.until("turn_end")
    assert failed["status"] == failed["message"]["status"] == "error"
    assert failed["message"]["text"] == "so far "
    assert "the GPU is on fire" in failed["message"]["error"]
    await client.ask("second")
    assert (await client.until("turn_end"))["status"] == "done"


async def test_a_stream_without_an_end_is_an_error(client: Client, upstream: Upstream) -> None:
    upstream.scripts = [["half of", CUT]]
    await client.ask("Hello?")
    end = await client.until("turn_end")
    assert (end["status"], end["message"]["text"]) == ("error", "half of")
    assert "before the answer had ended" in end["message"]["error"]


async def test_the_servers_own_words_are_in_the_error(client: Client, upstream: Upstream) -> None:
    words = "This prompt has 9000 tokens; 8192 fit."
    upstream.failures = [(400, {"error": {"message": words, "code": "context_over_budget"}})]
    await client.ask("Hello?")
    assert words in (await client.until("turn_end"))["message"]["error"]


async def test_an_answer_goes_on_when_every_socket_is_gone(served: Served, upstream: Upstream) -> None:
    go = asyncio.Event()
    upstream.scripts = [["begun ", go.wait, "and finished"]]  # type: ignore[list-item]
    async with served.client() as client:
        session_id = (await client.new_session()).session_id
        await client.ask("Hello?")
        await client.until_shown("begun ")
    go.set()
    await eventually(lambda: not served.agent.hub.running)
    async with served.client() as again:
        history = await (await again.open(session_id)).until("history")
    assert history["messages"][-1]["text"] == "begun and finished"
    assert history["messages"][-1]["status"] == "done"


async def test_eight_sessions_answer_at_once(served: Served, upstream: Upstream) -> None:
    gate = asyncio.Barrier(8)
    upstream.scripts = [[gate.wait, "together"]]  # type: ignore[list-item]

    async def chat() -> str:
        async with served.client() as client:
            await (await client.new_session()).ask("Hello?")
            return str((await client.until("turn_end"))["message"]["text"])

    assert await asyncio.gather(*(chat() for _ in range(8))) == ["together"] * 8
