"""A thinking block that gets too long is closed, and the answer comes all the same."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest

from support.server import Server

ASK: list[Any] = [{"role": "user", "content": "Repeat: copper valley engine"}]


def ask(client: openai.OpenAI, budget: int | None, *, thinking: bool = True) -> Any:
    body: dict[str, Any] = {"chat_template_kwargs": {"enable_thinking": thinking}}
    if budget is not None:
        body["thinking_budget"] = budget
    return client.chat.completions.create(model="any", messages=ASK, temperature=0, extra_body=body)


def thoughts(completion: Any) -> str:
    return getattr(completion.choices[0].message, "reasoning", None) or ""


@pytest.mark.parametrize("budget", [2, 3, 5])
def test_thinking_ends_at_its_budget(client: openai.OpenAI, budget: int) -> None:
    whole, cut = ask(client, None), ask(client, budget)
    assert cut.choices[0].message.content == whole.choices[0].message.content == "copper valley engine"
    assert thoughts(whole).startswith(thoughts(cut).strip())
    assert len(thoughts(cut)) < len(thoughts(whole))
    assert cut.choices[0].finish_reason == "stop"


def test_thinking_within_its_budget_is_left_alone(client: openai.OpenAI) -> None:
    whole, wide = ask(client, None), ask(client, 500)
    assert thoughts(wide) == thoughts(whole)
    assert wide.choices[0].message.content == whole.choices[0].message.content


def test_an_answer_without_thoughts_has_nothing_to_close(client: openai.OpenAI) -> None:
    completion = ask(client, 0, thinking=False)
    assert completion.choices[0].message.content == "copper valley engine"
    assert not thoughts(completion)


@pytest.mark.parametrize("value", [-1, 1.5, "many"])
def test_a_budget_that_is_no_count_is_refused_by_name(server: Server, value: Any) -> None:
    answer = httpx.post(f"{server.url}/v1/chat/completions", json={"messages": ASK, "thinking_budget": value})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "thinking_budget"
