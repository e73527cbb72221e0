"""The client of `/v1`: what it sends, what it makes of answers and of failures."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent.scripted import CUT, Upstream
from fireside_agent.completions import SurrogateJoiner
from fireside_agent.errors import ProviderError
from fireside_agent.messages import Message
from fireside_agent.prompts import SYSTEM_PROMPT, build_messages
from fireside_agent.provider import (
    AnswerEnd,
    AnswerEvent,
    AnswerProgress,
    AnswerText,
    ModelLoadingError,
    Patience,
    Provider,
)
from fireside_agent.question import Question

QUESTION = Question([{"role": "user", "content": "Hello?"}])


@pytest.fixture
async def provider(upstream: Upstream) -> AsyncIterator[Provider]:
    provider = Provider(upstream.base_url, "secret", patience=Patience(retries_after=()))
    yield provider
    await provider.close()


async def events_of(provider: Provider) -> list[AnswerEvent]:
    return [event async for event in provider.answer(QUESTION)]


async def test_an_answer_is_text_then_an_end(provider: Provider, upstream: Upstream) -> None:
    events = await events_of(provider)
    assert events[:-1] == [
        AnswerProgress("waiting"),
        AnswerText("Hello"),
        AnswerText(" there"),
        AnswerText("."),
    ]
    assert isinstance(events[-1], AnswerEnd)
    assert upstream.requests[0] == {
        "model": "default",
        "messages": QUESTION.messages,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
        "priority": "interactive",
    }


async def test_a_server_that_sends_only_what_openai_sends_will_do(
    provider: Provider, upstream: Upstream
) -> None:
    upstream.models = {"object": "list", "data": [{"id": "plain", "object": "model"}]}
    stop = {
        "id": "1",
        "object": "x",
        "choices": [{"index": 0, "delta": {"content": None}, "finish_reason": "stop"}],
    }
    role = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "logprobs": None}]}
    upstream.scripts = [[role, stop, CUT]]
    events = await events_of(provider)
    assert events[1] == AnswerText("Hi")
    assert isinstance(events[-1], AnswerEnd)
    assert events[-1].receipt.finish_reason == "stop"
    assert (await provider.model_info()).context_window is None


async def test_a_loading_server_is_told_apart(provider: Provider, upstream: Upstream) -> None:
    upstream.loading = 1
    with pytest.raises(ModelLoadingError, match="the model is loading") as loading:
        await provider.model_info()
    assert loading.value.retry_seconds == 0.2


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (400, {"error": {"message": "temperature must be a number"}}, "400: temperature must be a number"),
        (401, {"error": {"message": "wrong key"}}, "401: wrong key"),
        (404, "no such route", "404: no such route"),
        (500, {"error": "boom"}, "500: boom"),
        (503, {"error": {"message": "overloaded"}}, "503: overloaded"),
    ],
)
async def test_a_refusal_carries_the_servers_words(
    provider: Provider, upstream: Upstream, status: int, body: Any, words: str
) -> None:
    upstream.failures = [(status, body)]
    with pytest.raises(ProviderError, match=words):
        await events_of(provider)
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("chunk", [5, None, [], {"choices": 7}, {"choices": [{"delta": {"content": {}}}]}])
async def test_a_chunk_of_another_format_is_named(provider: Provider, upstream: Upstream, chunk: Any) -> None:
    upstream.scripts = [["fine", chunk]]
    with pytest.raises(ProviderError, match="OpenAI's format"):
        await events_of(provider)


async def test_a_server_of_another_kind_is_named(provider: Provider, upstream: Upstream) -> None:
    upstream.models = {"hello": "world"}
    with pytest.raises(ProviderError, match="OpenAI's format"):
        await provider.model_info()


async def test_a_server_without_a_model_is_named(provider: Provider, upstream: Upstream) -> None:
    upstream.models = {"data": []}
    with pytest.raises(ModelLoadingError):
        await provider.model_info()
    other = Provider(upstream.base_url, "secret", own_server=False, patience=Patience(retries_after=()))
    with pytest.raises(ProviderError, match="lists no model"):
        await other.model_info()
    await other.close()


async def test_nobody_listening_is_named_with_the_address() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        provider = Provider(base_url, "", patience=Patience(retries_after=()))
        with pytest.raises(ProviderError, match=base_url):
            await events_of(provider)
        await provider.close()


async def test_a_proxy_from_the_environment_is_not_used_for_this_machine(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert (await provider.model_info()).id == "scripted-1"


def test_importing_the_agent_imports_nothing_slow() -> None:
    code = (
        "import sys, fireside_agent.socket, fireside_agent.agent\n"
        "print(*({'openai', 'pydantic', 'sqlite_utils', 'markdown_it', 'fireside'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_halves_of_characters_are_joined_or_replaced() -> None:
    joiner = SurrogateJoiner()
    assert [joiner.feed(part) for part in ("a\ud83d", "\ude42b", "", "\ude42", "c\ud83d", "d")] == [
        "a", "\U0001f642b", "", "\ufffd", "c", "\ufffdd",
    ]  # fmt: skip
    assert joiner.flush() == ""


# The messages that are sent


def path(*messages: tuple[str, str, str]) -> list[Message]:
    return [
        Message(id=str(i), role=role, status=status, text=text, html=[], created_at=0.0)  # type: ignore[arg-type]
        for i, (role, status, text) in enumerate(messages)
    ]


def sent(*messages: tuple[str, str, str]) -> list[tuple[str, str]]:
    built = build_messages(path(*messages))
    assert built[0] == {"role": "system", "content": SYSTEM_PROMPT}
    return [(message["role"], message["content"]) for message in built[1:]]


def test_answers_that_broke_off_stay_in_the_conversation() -> None:
    assert sent(
        ("user", "done", "a"),
        ("assistant", "interrupted", "half"),
        ("user", "done", "b"),
        ("assistant", "aborted", "part"),
        ("user", "done", "c"),
    ) == [("user", "a"), ("assistant", "half"), ("user", "b"), ("assistant", "part"), ("user", "c")]


def test_prompts_that_were_never_asked_are_left_out() -> None:
    assert sent(
        ("user", "done", "a"),
        ("assistant", "done", "b"),
        ("user", "interrupted", "never"),
        ("user", "error", "nor this"),
        ("user", "done", "c"),
    ) == [("user", "a"), ("assistant", "b"), ("user", "c")]


def test_roles_alternate_when_an_answer_is_empty() -> None:
    assert sent(("user", "done", "a"), ("assistant", "error", " \n"), ("user", "done", "b")) == [
        ("user", "a\n\nb")
    ]


def test_a_prompt_repeated_after_a_failure_is_sent_once() -> None:
    assert sent(("user", "done", "a"), ("assistant", "error", ""), ("user", "done", "a")) == [("user", "a")]
