"""Chats, completions and models through OpenAI's own client, the sync and the async one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import openai
import pytest

from support.server import Server

NO_THOUGHTS: Any = {"reasoning_effort": "none"}
COUNT: Any = [{"role": "user", "content": "Count to 9."}]
RUN: Any = [{"role": "user", "content": "Run `ls -la /tmp`"}]
BASH: Any = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "bash.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
            "additionalProperties": False,
        },
        "strict": True,
    },
}


@pytest.fixture
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as client:
        yield client


def ask(client: openai.OpenAI, messages: Any = COUNT, **options: Any) -> Any:
    options = {"temperature": 0, "max_completion_tokens": 40, **NO_THOUGHTS, **options}
    return client.chat.completions.create(model="any", messages=messages, **options)


def test_a_whole_answer_has_every_field_that_the_client_knows(client: openai.OpenAI) -> None:
    answer = ask(client)
    (choice,) = answer.choices
    assert (choice.index, choice.finish_reason, choice.message.role) == (0, "stop", "assistant")
    assert choice.message.content.strip().startswith("1")
    assert (choice.message.refusal, choice.message.annotations, choice.message.tool_calls) == (None, [], None)
    assert (answer.object, answer.model) == ("chat.completion", "pocket")
    assert answer.system_fingerprint == ask(client).system_fingerprint
    assert answer.usage.prompt_tokens_details.cached_tokens >= 0


def test_the_async_client_streams_what_the_sync_one_gets_whole(server: Server, client: openai.OpenAI) -> None:
    async def streamed() -> str:
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="unused") as other:
            chunks = await other.chat.completions.create(
                model="any", messages=COUNT, temperature=0, stream=True, **NO_THOUGHTS
            )
            return "".join([c.choices[0].delta.content or "" async for c in chunks])

    assert asyncio.run(streamed()) == ask(client).choices[0].message.content


@pytest.mark.parametrize("n", [1, 3])
def test_the_stream_helper_puts_together_the_whole_answer(client: openai.OpenAI, n: int) -> None:
    whole = ask(client, n=n)
    with client.chat.completions.stream(
        model="any",
        messages=COUNT,
        temperature=0,
        n=n,
        max_completion_tokens=40,
        stream_options={"include_usage": True},
        **NO_THOUGHTS,
    ) as stream:
        kinds = {event.type for event in stream}
        final: Any = stream.get_final_completion()
    assert {"chunk", "content.delta", "content.done"} <= kinds
    assert [c.message.content for c in final.choices] == [c.message.content for c in whole.choices]
    assert [c.finish_reason for c in final.choices] == ["stop"] * n
    assert final.usage.completion_tokens == whole.usage.completion_tokens


def test_the_stream_helper_parses_a_call(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(
        model="any", messages=RUN, temperature=0, tools=[BASH], **NO_THOUGHTS
    ) as stream:
        kinds = [event.type for event in stream]
        final: Any = stream.get_final_completion()
    (call,) = final.choices[0].message.tool_calls
    assert (call.type, call.function.name) == ("function", "bash")
    assert call.function.parsed_arguments == {"command": "ls -la /tmp"}
    assert {"tool_calls.function.arguments.delta", "tool_calls.function.arguments.done"} <= set(kinds)
    assert final.choices[0].finish_reason == "tool_calls"


def test_a_call_and_its_result_go_round(client: openai.OpenAI) -> None:
    message = ask(client, RUN, tools=[BASH]).choices[0].message
    (call,) = message.tool_calls
    assert json.loads(call.function.arguments) == {"command": "ls -la /tmp"}
    result = {"role": "tool", "tool_call_id": call.id, "content": "total 0"}
    history = [*RUN, message.model_dump(), result]
    after = ask(client, history, tools=[BASH]).choices[0]
    assert after.finish_reason in ("stop", "tool_calls", "length")
    assert ask(client, RUN, tools=[BASH], tool_choice="none").choices[0].message.tool_calls is None


def test_several_texts_go_on_beside_each_other(client: openai.OpenAI) -> None:
    options: Any = {"model": "any", "temperature": 0, "max_tokens": 6, "user": "u"}
    whole = client.completions.create(prompt=["one two", "red green"], n=2, **options)
    assert [c.index for c in whole.choices] == [0, 1, 2, 3]
    chunks = list(
        client.completions.create(
            prompt=["one two", "red green"],
            n=2,
            stream=True,
            stream_options={"include_usage": True},
            **options,
        )
    )
    pieces = ["".join(c.text for e in chunks for c in e.choices if c.index == i) for i in range(4)]
    assert pieces == [c.text for c in whole.choices]
    assert [chunk.usage for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1].usage is not None
    assert whole.usage is not None
    assert chunks[-1].usage.total_tokens == whole.usage.total_tokens


def test_models_are_listed_and_found(client: openai.OpenAI) -> None:
    (model,) = client.models.list().data
    assert client.models.retrieve("pocket") == model
    assert (model.object, model.owned_by) == ("model", "fireside")
    with pytest.raises(openai.NotFoundError) as missing:
        client.models.retrieve("org/other")
    assert missing.value.code == "model_not_found"


def test_errors_are_of_the_client_s_own_classes(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as wrong:
        ask(client, temperature=9)
    assert (wrong.value.param, wrong.value.type) == ("temperature", "invalid_request_error")
    with pytest.raises(openai.BadRequestError) as long:
        ask(client, [{"role": "user", "content": "word " * 9000}], stream=True)
    assert long.value.code == "context_over_budget"
    with pytest.raises(openai.NotFoundError):
        client.get("/nothing", cast_to=object)
    with pytest.raises(openai.InternalServerError):
        ask(client, [{"role": "user", "content": "Count to 5000."}], extra_body={"deadline_s": 0.01})
    stream = ask(
        client,
        [{"role": "user", "content": "Count to 5000."}],
        stream=True,
        max_completion_tokens=None,
        logit_bias={"2": -100},
        extra_body={"deadline_s": 0.4},
    )
    with pytest.raises(openai.APIError) as late:
        list(stream)
    assert late.value.code == "deadline_exceeded"


def test_too_many_requests_are_a_rate_limit(client: openai.OpenAI) -> None:
    with ExitStack() as streams:
        for _ in range(2):
            streams.enter_context(ask(client, n=128, stream=True, max_completion_tokens=1000))
        with pytest.raises(openai.RateLimitError) as busy:
            ask(client, n=128)
    assert busy.value.code == "queue_full"
    assert busy.value.response.headers["retry-after"] == "1"
    assert ask(client).choices[0].finish_reason == "stop"
