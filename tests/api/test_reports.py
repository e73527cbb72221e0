"""Faults that people met in servers like this one, as checks over a real socket."""

import asyncio
import json
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import websockets

from fireside.text.mlxlm import load_tokenizer
from support.completions import (
    ROUTE,
    ask,
    ask_at_once,
    assistant,
    at_once,
    body_of,
    streaming,
    system,
    texts,
    user,
)
from support.server import POCKET, Server, prepared_home, serving

GREETING = "Hello! How can I help you?"
MIXED = "Žluťoučký kůň 👩\u200d👩\u200d👧 漢字 🏳\ufe0f\u200d🌈 e\u0301x 🙂"
"""Letters, signs and families whose bytes are spread over several tokens."""


def streamed(server: Server, prompt: str, **fields: Any) -> tuple[list[str], str]:
    """The pieces of a streamed answer and its finish reason."""
    with streaming(server, prompt, **fields) as chunks:
        kept = list(chunks)
    (finish,) = [c["finish_reason"] for chunk in kept for c in chunk["choices"] if c["finish_reason"]]
    return list(texts(iter(kept))), finish


def test_characters_of_several_tokens_come_whole(server: Server) -> None:
    def call(client: httpx.Client) -> list[str]:
        return streamed(server, f"Repeat: {MIXED}")[0]

    for pieces in at_once([call]) + at_once([call, call]):
        assert "".join(pieces) == MIXED
        assert not any("\ufffd" in piece for piece in pieces)
        assert all(piece.encode("utf-8") for piece in pieces)


def test_an_answer_cut_inside_a_character_is_the_same_in_a_stream(server: Server) -> None:
    tokenizer = load_tokenizer(POCKET, None)
    ids = tokenizer.encode(MIXED, add_special_tokens=False)
    heads = {size: tokenizer.decode(ids[:size]) for size in range(1, len(ids))}
    cuts = {size: text.rstrip("\ufffd") for size, text in heads.items() if text.endswith("\ufffd")}
    assert len(cuts) > 10
    bodies = [body_of(f"Repeat: {MIXED}", max_tokens=size) for size in cuts]
    for (size, whole_part), answer in zip(cuts.items(), ask_at_once(server, bodies), strict=True):
        assert answer.finish == "length"
        assert answer.text in (whole_part, whole_part + "\ufffd")
        if len(whole_part) % 5 == 0:
            pieces, finish = streamed(server, f"Repeat: {MIXED}", max_tokens=size)
            assert ("".join(pieces), finish) == (answer.text, "length")


PING = {
    "type": "function",
    "function": {"name": "ping", "description": "Ping.", "parameters": {"type": "object", "properties": {}}},
}


@pytest.mark.parametrize("usage_asked", [False, True])
@pytest.mark.parametrize(
    ("prompt", "fields", "finish"),
    [
        ("Repeat: one fine day", {}, "stop"),
        ("Repeat: one fine day", {"stop": "fine"}, "stop"),
        ("Count to 300.", {"max_tokens": 5}, "length"),
        ("Call ping", {"tools": [PING]}, "tool_calls"),
        ("Call ping", {"tools": [PING], "max_tokens": 6}, "length"),
        ("Hello", {"max_tokens": 1, "reasoning_effort": "high"}, "length"),
    ],
)
def test_a_stream_ends_once(
    server: Server, prompt: str, fields: dict[str, Any], finish: str, usage_asked: bool
) -> None:
    """One finish reason, then the usage if it was asked for, then one `[DONE]` and nothing after it."""
    options = {"stream_options": {"include_usage": True}} if usage_asked else {}
    body = body_of(prompt, **{"stream": True, **options, **fields})
    reply = httpx.post(server.url + ROUTE, json=body, timeout=60)
    assert reply.text.endswith("data: [DONE]\n\n")
    assert reply.text.count("[DONE]") == 1
    chunks = [json.loads(line.removeprefix("data: ")) for line in reply.text.splitlines()[:-2] if line]
    ends = [i for i, chunk in enumerate(chunks) for c in chunk["choices"] if c["finish_reason"]]
    assert [chunks[i]["choices"][0]["finish_reason"] for i in ends] == [finish]
    assert [chunk["choices"] for chunk in chunks[ends[0] + 1 :]] == ([[]] if usage_asked else [])
    usage = chunks[-1]["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


@pytest.mark.parametrize("content", [None, "", "absent"])
def test_the_default_model_reads_a_call_that_came_back_without_content(
    default_server: Server, content: str | None
) -> None:
    """Its template adds texts, and would fail on a null."""
    function = {"name": "length", "arguments": '{"text": "fern"}'}
    call = {"id": "call_1", "type": "function", "function": function}
    answer = {"role": "assistant", "tool_calls": [call], "content": content}
    if content == "absent":
        del answer["content"]
    result = {"role": "tool", "tool_call_id": "call_1", "content": "4"}
    history = [user("How long is fern?"), answer, result, user("And?")]
    replaced = [history[0], assistant(""), *history[2:]]
    got, expected = (ask(default_server, messages, max_tokens=4) for messages in (history, replaced))
    assert got.prompt_tokens == expected.prompt_tokens
    assert got.text == expected.text


ALTERNATING = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "<{{ m['role'] }}>{{ m['content'] | trim }}</>{% endfor %}"
)


@pytest.fixture(scope="module")
def alternating(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A model whose template knows no system role and insists on turns."""
    folder: Path = tmp_path_factory.mktemp("models") / "alternating"
    shutil.copytree(POCKET, folder)
    (folder / "chat_template.jinja").write_text(ALTERNATING)
    home = prepared_home(tmp_path_factory.mktemp("alternating"), server.home)
    with serving(home, model=folder) as running:
        yield running.wait_ready()


@pytest.mark.parametrize(
    ("messages", "same_as"),
    [
        ([system("S"), user("U")], [user("S\n\nU")]),
        ([system("S"), system("T"), user("U")], [user("S\n\nT\n\nU")]),
        (
            [user("A"), assistant("B"), system("S"), user("C")],
            [user("S\n\nA"), assistant("B"), user("C")],
        ),
        ([user("A"), user("B")], [user("A\n\nB")]),
        ([system("S")], [user("S")]),
    ],
)
def test_what_a_template_refuses_is_put_into_its_form(
    alternating: Server, messages: list[Any], same_as: list[Any]
) -> None:
    got, expected = (ask(alternating, m, max_tokens=4) for m in (messages, same_as))
    assert got.prompt_tokens == expected.prompt_tokens
    assert got.text == expected.text


@pytest.mark.parametrize("stream", [False, True])
def test_a_template_s_refusal_is_a_400_with_its_words(alternating: Server, stream: bool) -> None:
    body = body_of([assistant("I begin."), user("Why?")], stream=stream)
    reply = httpx.post(alternating.url + ROUTE, json=body)
    assert reply.status_code == 400
    assert reply.headers["content-type"] == "application/json"
    assert "Conversation roles must alternate" in reply.json()["error"]["message"]


ODD: list[dict[str, Any]] = [
    {"stop": 7},
    {"stop": [7]},
    {"stop": {}},
    {"messages": [user("")]},
    {"messages": []},
    {"messages": None},
    {"messages": "Hello"},
    {"messages": [[user("Hello")]]},
    {"messages": [{"role": "user"}]},
    {"messages": [{"role": "user", "content": []}]},
    {"messages": [{"role": "user", "content": [[]]}]},
    {"messages": [{"role": "user", "content": ["Hello"]}]},
    {"messages": [{"role": "user", "content": [{}]}]},
    {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": None}]}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
    {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}]},
    {"messages": [{"role": "assistant", "content": ""}]},
    {"messages": [user("\ud800")]},
    {"messages": [user("\x00")]},
    {"messages": [user("word " * 20_000)]},
    {"logit_bias": {"999999": 1}},
    {"logit_bias": {"x": 1}},
    {"max_tokens": -1},
    {"max_tokens": 10**30},
    {"seed": 10**30},
    {"temperature": 1e39, "top_p": 0},
]


def test_odd_requests_are_answered_or_refused_and_disturb_nobody(server: Server) -> None:
    """Each is no more than a 400, while answers beside it go on as if nothing had happened."""
    engine = server.get("/stats")["engine"]
    prompts = [f"Count from 1 to {n}." for n in (300, 400, 500)]
    alone = [ask(server, prompt, max_tokens=300).text for prompt in prompts]
    with ExitStack() as stack:
        beside = [texts(stack.enter_context(streaming(server, p, max_tokens=300))) for p in prompts]
        begun = [next(pieces) for pieces in beside]
        for change in ODD:
            body = json.dumps({**body_of("Hello", max_tokens=4), **change})
            headers = {"Content-Type": "application/json"}
            reply = httpx.post(server.url + ROUTE, content=body, headers=headers, timeout=30)
            assert reply.status_code in (200, 400), (change, reply.text)
            assert ("error" in reply.json()) == (reply.status_code == 400)
        assert [first + "".join(rest) for first, rest in zip(begun, beside, strict=True)] == alone
    assert server.get("/stats")["engine"] == engine
    assert ask(server, "Hello").text == GREETING


def test_clients_that_connect_at_the_same_moment_are_all_served(server: Server) -> None:
    answers = ask_at_once(server, [body_of(f"Repeat: client {n}") for n in range(32)])
    assert [answer.text for answer in answers] == [f"client {n}" for n in range(32)]


WATCHED_S = 4.0


async def test_health_and_files_answer_while_the_engine_and_the_tokenizer_work(server: Server) -> None:
    """Beside a stream, a prompt that fills the context and messages of 2 MB that are tokenized."""
    call = {"type": "function", "function": {"name": "f", "arguments": json.dumps({"a": "word " * 400_000})}}
    large = [user("Go"), {"role": "assistant", "content": None, "tool_calls": [call]}, user("On")]
    long = " ".join(f"word{n}" for n in range(1500))
    times: list[float] = []
    over = asyncio.Event()

    async def every_100_ms(answered: Callable[[], Awaitable[None]]) -> None:
        while not over.is_set():
            begin = time.monotonic()
            await answered()
            times.append(time.monotonic() - begin)
            await asyncio.sleep(max(0.0, begin + 0.1 - time.monotonic()))

    async with (
        httpx.AsyncClient(base_url=server.url, timeout=60) as client,
        websockets.connect(server.url.replace("http", "ws", 1) + "/ws") as socket,
    ):

        async def get(path: str) -> None:
            assert (await client.get(path)).status_code == 200

        async def ping() -> None:
            await (await socket.ping())

        async def post(body: dict[str, Any]) -> httpx.Response:
            return await client.post(ROUTE, json=body)

        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(post(body_of("Count to 300.", max_tokens=300, stream=True)))
            await asyncio.sleep(0.1)
            reading = tasks.create_task(post(body_of(long)))
            for path in ("/health", "/assets/icon.svg"):
                tasks.create_task(every_100_ms(lambda path=path: get(path)))
            tasks.create_task(every_100_ms(ping))
            refused = [tasks.create_task(post(body_of(m))) for m in (large, "word " * 400_000, large)]
            await asyncio.sleep(WATCHED_S)
            over.set()
            reading.cancel()
        assert all(task.result().status_code == 400 for task in refused)
        assert '"completion_tokens":300' in running.result().text
    times.sort()
    assert len(times) > 30
    assert times[int(0.95 * len(times))] < 0.3
    assert times[-1] < 2
