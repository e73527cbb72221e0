"""`/v1/chat/completions` with the real model, mostly through the real `openai` client."""

import asyncio
import json
from typing import Any

import httpx
import openai
import pytest

from support.server import Server

REPEAT = [{"role": "user", "content": "Repeat: one fine day"}]
COUNT = [{"role": "user", "content": "Count to 50."}]
WORDS = [{"role": "user", "content": "Write 30 random words."}]


def ask(client: openai.OpenAI, messages: list[Any], **options: Any) -> Any:
    options = {"temperature": 0, "max_tokens": 100, **options}
    return client.chat.completions.create(model="any", messages=messages, **options)


def chunks(server: Server, **body: Any) -> list[Any]:
    """The data of every SSE event of one answer, parsed, `[DONE]` as it is."""
    body = {"messages": REPEAT, "temperature": 0, "max_tokens": 8, "stream": True, **body}
    reply = httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=120)
    assert reply.headers["content-type"] == "text/event-stream"
    data = [line.removeprefix("data: ") for line in reply.text.splitlines() if line.startswith("data: ")]
    return [item if item == "[DONE]" else json.loads(item) for item in data]


def test_the_default_model_knows_the_capital_of_france(default_server: Server) -> None:
    with openai.OpenAI(base_url=f"{default_server.url}/v1", api_key="unused") as client:
        answer = ask(client, [{"role": "user", "content": "What is the capital of France?"}])
    assert "Paris" in answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    assert answer.model == "SmolLM2-135M-Instruct"
    usage = answer.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.lane == "batched"


def test_a_stream_says_the_same_as_a_whole_answer(client: openai.OpenAI) -> None:
    whole = ask(client, COUNT)
    pieces = [c.choices[0].delta.content or "" for c in ask(client, COUNT, stream=True) if c.choices]
    assert "".join(pieces) == whole.choices[0].message.content
    assert len(pieces) > 10


@pytest.mark.parametrize("max_tokens", [3, 200])
@pytest.mark.parametrize("asked", [False, True])
def test_a_stream_ends_in_one_finish_reason_then_usage_then_done(
    server: Server, max_tokens: int, asked: bool
) -> None:
    options = {"stream_options": {"include_usage": True}} if asked else {}
    *events, done = chunks(server, max_tokens=max_tokens, **options)
    assert done == "[DONE]"
    finishes = [i for i, e in enumerate(events) for c in e["choices"] if c["finish_reason"]]
    assert len(finishes) == 1
    assert events[finishes[0]]["choices"][0]["finish_reason"] == ("length" if max_tokens == 3 else "stop")
    assert [e["choices"] for e in events[finishes[0] + 1 :]] == ([[]] if asked else [])
    usage = events[-1]["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    known = {"id", "object", "created", "model", "system_fingerprint", "choices", "usage"}
    assert all(e.keys() <= known for e in events)


def test_progress_is_sent_only_when_asked_for(server: Server) -> None:
    *events, _ = chunks(server, return_progress=True)
    phases = [e["fireside"]["phase"] for e in events if "fireside" in e]
    assert "prefill" in phases
    assert {"lane", "queue_ms", "ttft_ms", "decode_tps", "seed", "resumed"} <= events[-1]["usage"][
        "fireside"
    ].keys()
    assert not any("fireside" in e for e in chunks(server)[:-1])


def test_the_same_seed_gives_the_same_answer_and_another_seed_another(client: openai.OpenAI) -> None:
    def draw(seed: int) -> str:
        return ask(client, WORDS, temperature=1.5, seed=seed).choices[0].message.content

    assert draw(7) == draw(7)
    assert len({draw(seed) for seed in (7, 8, 9)}) > 1


def test_top_k_of_one_is_greedy(client: openai.OpenAI) -> None:
    greedy = ask(client, COUNT).choices[0].message.content
    assert ask(client, COUNT, temperature=2, extra_body={"top_k": 1}).choices[0].message.content == greedy


def test_the_narrowest_top_p_is_greedy(client: openai.OpenAI) -> None:
    greedy = ask(client, COUNT).choices[0].message.content
    assert ask(client, COUNT, temperature=2, top_p=1e-46).choices[0].message.content == greedy


def test_a_stop_text_ends_the_answer_and_is_not_part_of_it(client: openai.OpenAI) -> None:
    whole = ask(client, COUNT, max_tokens=40).choices[0].message.content
    stop = whole[15:18]
    answer = ask(client, COUNT, max_tokens=40, stop=[stop, ""])
    assert answer.choices[0].message.content == whole[: whole.index(stop)]
    assert answer.choices[0].finish_reason == "stop"


def test_content_parts_are_read_as_one_text(client: openai.OpenAI) -> None:
    parts = [{"type": "text", "text": "Repeat: one "}, {"type": "text", "text": "fine day"}]
    split = ask(client, [{"role": "user", "content": parts}])
    assert split.usage.prompt_tokens == ask(client, REPEAT).usage.prompt_tokens


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0]"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": -1}, "temperature"),
        ({"top_p": 1.5}, "top_p"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": 5}, "stop"),
        ({"seed": 1.5}, "seed"),
        ({"stream": "yes"}, "stream"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_wrong_field_is_a_400_that_names_it(
    server: Server, change: dict[str, Any], param: str, stream: bool
) -> None:
    body = {"messages": REPEAT, "max_tokens": 1, "stream": stream, **change}
    reply = httpx.post(f"{server.url}/v1/chat/completions", json=body)
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert error["param"] == param
    assert error["message"]
    assert error["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"messages": [{"role":"user","content":"\xff"}]}']
)
def test_a_body_that_is_no_object_is_a_400(server: Server, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    reply = httpx.post(f"{server.url}/v1/chat/completions", content=body, headers=headers)
    assert reply.status_code == 400
    assert reply.json()["error"]["message"]


def test_unknown_fields_are_ignored(client: openai.OpenAI) -> None:
    assert ask(client, REPEAT, extra_body={"favourite_colour": "green"}).choices[0].message.content


def test_a_conversation_that_does_not_fit_is_a_400_with_the_numbers(server: Server) -> None:
    body = {"messages": [{"role": "user", "content": "word " * 9000}]}
    reply = httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=60)
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert error["code"] == "context_over_budget"
    assert "8192" in error["message"]


def test_several_chats_at_once_say_what_each_says_alone(server: Server, client: openai.OpenAI) -> None:
    questions: list[Any] = [
        [{"role": "user", "content": f"Repeat: one {thing}"}] for thing in ("city", "bird", "colour", "river")
    ]
    alone = [ask(client, q, max_tokens=40).choices[0].message.content for q in questions]

    async def together() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="unused") as many:
            calls = [
                many.chat.completions.create(model="any", messages=q, temperature=0, max_tokens=40)
                for q in questions
            ]
            return [a.choices[0].message.content or "" for a in await asyncio.gather(*calls)]

    assert asyncio.run(together()) == alone


def test_text_in_many_scripts_comes_back_whole(client: openai.OpenAI) -> None:
    text = "Žluťoučký kůň 👩‍👩‍👧 漢字 🏳️‍🌈 é 🙂 שלום مرحبا"
    answer = ask(client, [{"role": "user", "content": f"Repeat exactly: {text}"}], stream=True)
    pieces = [c.choices[0].delta.content or "" for c in answer if c.choices]
    assert "".join(pieces) == text
    assert not any("\ufffd" in piece for piece in pieces)


def test_the_models_route_names_the_served_model(client: openai.OpenAI) -> None:
    (model,) = client.models.list().data
    assert model.id == "pocket"
    assert client.models.retrieve(model.id).id == model.id
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("org/nothing")
