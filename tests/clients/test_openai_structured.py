"""Structured answers and enforced calls through OpenAI's own client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import openai
import pytest
from pydantic import BaseModel, Field

from support.server import Server


class City(BaseModel):
    """What the answer is to be; bounded, for the model would go on for ever."""

    name: str = Field(max_length=12)
    size: Literal["small", "large"]
    population: Annotated[int, Field(ge=0, le=20_000_000)] | None


def tool(name: str) -> Any:
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string", "maxLength": 12}},
        "required": ["path"],
    }
    parameters = {**schema, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "parameters": parameters, "strict": True}}


TOOLS: Any = [tool("read"), tool("erase")]
HELLO: Any = [{"role": "user", "content": "Hello"}]
PARIS: Any = [{"role": "user", "content": "Tell me about Paris."}]


@pytest.fixture
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0) as client:
        yield client


@pytest.mark.parametrize("effort", ["none", "medium"])
def test_an_answer_is_parsed_into_a_model(client: openai.OpenAI, effort: Any) -> None:
    answer = client.chat.completions.parse(
        model="any",
        messages=PARIS,
        temperature=0,
        response_format=City,
        reasoning_effort=effort,
        max_completion_tokens=1500,
    )
    (choice,) = answer.choices
    assert choice.finish_reason == "stop"
    assert isinstance(choice.message.parsed, City)
    assert (getattr(choice.message, "reasoning_content", None) is None) == (effort == "none")


def test_thoughts_that_fill_the_budget_leave_the_answer_empty(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model="any",
        messages=PARIS,
        temperature=0,
        response_format={"type": "json_object"},
        reasoning_effort="medium",
        max_completion_tokens=4,
    )
    (choice,) = answer.choices
    assert (choice.finish_reason, choice.message.content) == ("length", "")
    assert getattr(choice.message, "reasoning_content", "")


def test_the_stream_helper_parses_the_answer(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(
        model="any", messages=PARIS, temperature=0, response_format=City, reasoning_effort="none"
    ) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        final: Any = stream.get_final_completion()
    assert isinstance(final.choices[0].message.parsed, City)
    assert len(deltas) > 5
    assert "".join(deltas) == final.choices[0].message.content


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "erase"}}])
def test_a_call_that_must_be_made_is_made(client: openai.OpenAI, choice: Any, n: int) -> None:
    answer = client.chat.completions.create(
        model="any",
        messages=HELLO,
        temperature=1,
        n=n,
        tools=TOOLS,
        tool_choice=choice,
        parallel_tool_calls=False,
        reasoning_effort="none",
        max_completion_tokens=400,
    )
    for made in answer.choices:
        assert made.finish_reason == "tool_calls"
        (call,) = made.message.tool_calls or []
        assert call.type == "function"
        assert call.function.name in (["read", "erase"] if choice == "required" else ["erase"])
        assert json.loads(call.function.arguments).keys() == {"path"}


def test_only_allowed_tools_are_called(client: openai.OpenAI) -> None:
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "read"}}]}
    answer = client.chat.completions.create(
        model="any",
        messages=HELLO,
        tools=TOOLS,
        tool_choice={"type": "allowed_tools", "allowed_tools": allowed},  # type: ignore[arg-type]
        reasoning_effort="none",
        max_completion_tokens=400,
    )
    calls: Any = answer.choices[0].message.tool_calls
    assert {call.function.name for call in calls} == {"read"}


def test_a_text_goes_on_as_its_pattern_says(client: openai.OpenAI) -> None:
    for fields, fits in (
        ({"guided_choice": ["yes", "no"]}, ("yes", "no").__contains__),
        ({"guided_regex": "[0-9]{3}"}, lambda text: len(text) == 3 and text.isdigit()),
    ):
        answer = client.completions.create(
            model="any", prompt="The answer is ", n=2, max_tokens=40, extra_body=fields
        )
        assert [choice.finish_reason for choice in answer.choices] == ["stop", "stop"]
        assert all(fits(choice.text) for choice in answer.choices)
