"""Anthropic's own client against a running Fireside."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic.types import Message, MessageParam, ToolParam

from support.chat import LONG
from support.completions import wait_idle
from support.server import Server

BASH: ToolParam = {
    "name": "bash",
    "description": "bash.",
    "input_schema": {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
}
READ: ToolParam = {
    "name": "read",
    "description": "read.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
GREEDY = {"temperature": 0}
BOTH = "Run `ls -la` and read notes.md"


@pytest.fixture
def claude(server: Server) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="unused", max_retries=0) as client:
        yield client


def fields_of(text: str | list[MessageParam], **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}] if isinstance(text, str) else text
    extra = {**GREEDY, **fields.pop("extra_body", {})}
    return {"model": "claude-any", "max_tokens": 300, "messages": messages, "extra_body": extra, **fields}


def ask(client: anthropic.Anthropic, text: str | list[MessageParam], **fields: Any) -> Message:
    message: Message = client.messages.create(**fields_of(text, **fields))
    return message


def plain(message: Message) -> dict[str, Any]:
    """An answer without what differs each time."""
    dump = message.model_dump(exclude={"id", "usage", "model"}, exclude_none=True)
    for block in dump["content"]:
        block.pop("id", None)
    return {**dump, "output_tokens": message.usage.output_tokens}


def test_an_answer(claude: anthropic.Anthropic, server: Server) -> None:
    message = ask(claude, "Hello", metadata={"user_id": "somebody"}, service_tier="auto")
    assert [block.model_dump(exclude_none=True) for block in message.content] == [
        {"type": "text", "text": "Hello! How can I help you?"}
    ]
    assert (message.type, message.role, message.stop_reason) == ("message", "assistant", "end_turn")
    assert message.model == server.get("/v1/models")["data"][0]["id"]
    assert message.usage.output_tokens > 0
    assert message._request_id is not None


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Hello", {}),
        ("Repeat: one fine day", {"thinking": {"type": "adaptive"}}),
        (BOTH, {"tools": [BASH, READ]}),
        ("Say `one moment` and run `date`", {"tools": [BASH], "thinking": {"type": "adaptive"}}),
        ("Count to 300.", {"stop_sequences": [", 12"]}),
        ("Run `ls -la /tmp`", {"tools": [BASH], "max_tokens": 3}),
    ],
)
def test_the_stream_helper_makes_the_same_message(
    claude: anthropic.Anthropic, text: str, fields: dict[str, Any]
) -> None:
    whole = ask(claude, text, **fields)
    with claude.messages.stream(**fields_of(text, **fields)) as stream:
        pieces = [event.text for event in stream if event.type == "text"]
        streamed = stream.get_final_message()
    assert plain(streamed) == plain(whole)
    assert "".join(pieces) == "".join(block.text for block in whole.content if block.type == "text")
    usage = streamed.usage
    assert usage.input_tokens + (usage.cache_read_input_tokens or 0) == (
        whole.usage.input_tokens + (whole.usage.cache_read_input_tokens or 0)
    )


@pytest.mark.parametrize(
    ("content", "is_error", "report"),
    [
        ("total 3\nnotes.md", False, "It says: total 3"),
        ([{"type": "text", "text": "total 3"}], False, "It says: total 3"),
        ("no such file", True, "That failed: Error: no such file"),
    ],
)
def test_tools_go_round(claude: anthropic.Anthropic, content: Any, is_error: bool, report: str) -> None:
    question: MessageParam = {"role": "user", "content": "Run `ls -la /tmp`"}
    thinking = {"type": "enabled", "budget_tokens": 1024}
    called = ask(claude, [question], tools=[READ, BASH], thinking=thinking)
    assert called.stop_reason == "tool_use"
    *_, use = called.content
    assert use.type == "tool_use"
    assert (use.name, use.input) == ("bash", {"command": "ls -la /tmp"})
    answer: MessageParam = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": use.id, "content": content, "is_error": is_error}],
    }
    history: list[MessageParam] = [question, {"role": "assistant", "content": called.content}, answer]
    reported = ask(claude, history, tools=[READ, BASH])
    assert reported.stop_reason == "end_turn"
    assert [block.text for block in reported.content if block.type == "text"] == [report]


def test_no_tool_is_called_where_none_may_be(claude: anthropic.Anthropic) -> None:
    message = ask(claude, "Run `ls -la`", tools=[BASH], tool_choice={"type": "none"})
    (block,) = message.content
    assert block.type == "text"
    assert block.text == "I have no tool for that."


def test_tokens_are_counted(claude: anthropic.Anthropic) -> None:
    messages: list[MessageParam] = [{"role": "user", "content": BOTH}]
    count = claude.messages.count_tokens(
        model="any", messages=messages, tools=[BASH, READ], system="Be brief."
    )
    usage = ask(claude, messages, tools=[BASH, READ], system="Be brief.").usage
    assert count.input_tokens == usage.input_tokens + (usage.cache_read_input_tokens or 0)


def test_an_answer_goes_on_where_the_last_message_ends(claude: anthropic.Anthropic) -> None:
    history: list[MessageParam] = [
        {"role": "user", "content": "Repeat: one fine day"},
        {"role": "assistant", "content": "one fine"},
    ]
    (block,) = ask(claude, history).content
    assert block.type == "text"
    assert block.text == " day"


def test_a_stop_sequence_is_named(claude: anthropic.Anthropic) -> None:
    message = ask(claude, "Count to 300.", stop_sequences=["never", ", 12", ", 13"])
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", ", 12")
    (block,) = message.content
    assert block.type == "text"
    assert block.text.endswith(" 11")


@pytest.mark.parametrize("budget", [3, 2000])
def test_thoughts_end_at_their_budget(claude: anthropic.Anthropic, budget: int) -> None:
    thought, text = ask(
        claude, "Repeat: one fine day", thinking={"type": "enabled", "budget_tokens": budget}
    ).content
    assert thought.type == "thinking"
    assert text.type == "text"
    assert (thought.thinking.strip() == "The user wants me to repeat something.") is (budget == 2000)
    assert text.text == "one fine day"


def test_the_beta_client_is_answered_too(claude: anthropic.Anthropic) -> None:
    message = claude.beta.messages.create(
        model="any",
        max_tokens=20,
        messages=[{"role": "user", "content": "Hello"}],
        betas=["context-management-2025-06-27"],
        context_management={"edits": []},
    )
    assert message.stop_reason == "end_turn"


def test_models_are_listed(claude: anthropic.Anthropic, server: Server) -> None:
    (model,) = claude.models.list()
    assert model.id == server.get("/v1/models")["data"][0]["id"]


def test_errors_are_the_clients_own_exceptions(claude: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError) as refused:
        ask(claude, "Hello", max_tokens=0)
    assert refused.value.type == "invalid_request_error"
    assert refused.value.api_message is not None
    assert "max_tokens" in refused.value.api_message
    assert refused.value.request_id is not None
    with pytest.raises(anthropic.BadRequestError) as refused:
        ask(claude, "word " * 9000)
    assert refused.value.error_code == "context_over_budget"
    with pytest.raises(anthropic.PermissionDeniedError):
        ask(claude, "Hello", extra_body={"priority": "interactive"})
    with pytest.raises(anthropic.NotFoundError):
        claude.post("/v1/messages/batches", body={"requests": []}, cast_to=object)
    with pytest.raises(anthropic.InternalServerError):
        ask(claude, LONG, max_tokens=4000, extra_body={"deadline_s": 0.05})


def test_an_error_in_a_stream_is_an_exception(claude: anthropic.Anthropic) -> None:
    fields = fields_of(LONG, max_tokens=4000, extra_body={"deadline_s": 0.3})
    with (
        pytest.raises(anthropic.APIStatusError) as broken,
        claude.messages.stream(**fields) as stream,
    ):
        stream.get_final_message()
    assert broken.value.type == "api_error"
    assert broken.value.error_code == "deadline_exceeded"


async def test_who_leaves_a_stream_ends_the_work(server: Server) -> None:
    async with anthropic.AsyncAnthropic(base_url=server.url, api_key="unused", max_retries=0) as client:
        started = asyncio.Event()

        async def read() -> None:
            async with client.messages.stream(**fields_of(LONG, max_tokens=4000)) as stream:
                async for _ in stream.text_stream:
                    started.set()

        reading = asyncio.create_task(read())
        whole = asyncio.create_task(client.messages.create(**fields_of(LONG, max_tokens=4000)))
        await asyncio.wait_for(started.wait(), 20)
        reading.cancel()
        whole.cancel()
        await asyncio.wait({reading, whole})
    await asyncio.to_thread(wait_idle, server, 2.0)
