"""Conversations that cannot fit are told from those that can without tokenizing, whatever of them is long."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from fireside.text.messages import ChatMessage, FunctionCall
from fireside.text.model import TextModel
from fireside.text.template import TemplateOptions
from support.server import POCKET, Server

LONG = " ".join(f"{n:x}" for n in range(330_000))
AT_ONCE_S = 1.0
"""Tokenizing `LONG` takes several times as long."""

USER = ChatMessage("user", "Hi")
RESULT = ChatMessage("tool", "2", call_id="c", name="f")


def call(arguments: dict[str, Any], *, name: str = "f", call_id: str = "c") -> ChatMessage:
    return ChatMessage("assistant", "", calls=(FunctionCall(name, arguments, call_id),))


def tool(description: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "description": description}}


@pytest_asyncio.fixture
async def text() -> AsyncIterator[TextModel]:
    loaded = await TextModel.load(POCKET)
    yield loaded
    loaded.close()


@pytest.mark.parametrize(
    ("messages", "options"),
    [
        ([ChatMessage("user", LONG)], TemplateOptions()),
        ([ChatMessage("system", LONG), USER], TemplateOptions()),
        ([USER, call({"a": LONG}), RESULT], TemplateOptions()),
        ([USER, call({"a": [{"b": [LONG]}]}), RESULT], TemplateOptions()),
        ([USER, call({LONG: 1}), RESULT], TemplateOptions()),
        ([USER, call({}, name=LONG), RESULT], TemplateOptions()),
        ([USER, call({"a": "é" * 1_000_000}), RESULT], TemplateOptions()),
        ([USER], TemplateOptions(tools=[tool(LONG)])),
    ],
    ids=["content", "system", "argument", "nested", "argument name", "call", "accents", "tool"],
)
async def test_a_conversation_that_cannot_fit_is_not_tokenized(
    text: TextModel, messages: list[ChatMessage], options: TemplateOptions
) -> None:
    await text.render([USER, call({}), RESULT], TemplateOptions())
    begin = time.monotonic()
    assert await text.render(messages, options) is None
    assert time.monotonic() - begin < AT_ONCE_S


@pytest.mark.parametrize(
    ("messages", "values"),
    [
        ([USER, ChatMessage("assistant", "Hello", reasoning=LONG), USER], {}),
        ([USER, call({}, call_id=LONG), RESULT], {}),
        ([USER], {"unknown": LONG}),
    ],
    ids=["old reasoning", "call id", "template value"],
)
async def test_what_the_template_leaves_out_is_not_held_against_a_conversation(
    text: TextModel, messages: list[ChatMessage], values: dict[str, Any]
) -> None:
    prompt = await text.render(messages, TemplateOptions(values=values))
    assert prompt is not None
    assert len(prompt.ids) < 100


async def test_a_text_that_is_long_only_in_characters_is_tokenized(text: TextModel) -> None:
    """As many characters as could fit if all tokens were the longest: only tokenizing tells."""
    fits = 0
    while not text.too_many_characters(fits + 2000):
        fits += 1000
    prompt = await text.render([USER, call({"a": "x" * fits}), RESULT], TemplateOptions())
    assert prompt is not None


def test_the_refusal_says_so(server: Server) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], "tools": [tool(LONG)]}
    begin = time.monotonic()
    answer = httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=60)
    assert time.monotonic() - begin < AT_ONCE_S
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "context_over_budget"
    assert "far too many tokens" in answer.json()["error"]["message"]
