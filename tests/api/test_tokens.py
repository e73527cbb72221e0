"""`/tokenize` and `/detokenize` against the tokenizer itself, in both dialects."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tokenizers import Tokenizer

from support.completions import ask, user
from support.server import POCKET, Server

TEXTS = ["", "Hello", "Žluťoučký kůň 👩‍👩‍👧 漢字", "<|im_start|>user\nHi<|im_end|>", "a  b\t\n"]
TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture(scope="module")
def reference() -> Tokenizer:
    return Tokenizer.from_file(str(POCKET / "tokenizer.json"))


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_goes_to_tokens_and_back(server: Server, reference: Tokenizer, text: str) -> None:
    expected = reference.encode(text, add_special_tokens=False).ids
    for body in ({"content": text}, {"prompt": text, "add_special_tokens": False}):
        told = server.post("/tokenize", body)
        assert told == {"tokens": expected, "count": len(expected), "max_model_len": 8192}
    with_special = reference.encode(text, add_special_tokens=True).ids
    for body in ({"content": text, "add_special": True}, {"prompt": text, "model": "any"}):
        assert server.post("/tokenize", body)["tokens"] == with_special
    back = server.post("/detokenize", {"tokens": expected, "model": "any"})
    assert back == {"content": text, "prompt": text}


def test_tokens_come_with_their_texts_in_both_dialects(server: Server, reference: Tokenizer) -> None:
    text = "Count to <|im_end|>"
    ids = reference.encode(text, add_special_tokens=False).ids
    pieces = server.post("/tokenize", {"content": text, "with_pieces": True})["tokens"]
    assert [piece["id"] for piece in pieces] == ids
    assert "".join(piece["piece"] for piece in pieces) == text
    body = {"prompt": text, "add_special_tokens": False, "return_token_strs": True}
    assert server.post("/tokenize", body)["token_strs"] == [piece["piece"] for piece in pieces]


@pytest.mark.parametrize("fields", [{}, {"tools": [TOOL]}])
def test_a_conversation_has_as_many_tokens_as_its_answer_says(server: Server, fields: dict[str, Any]) -> None:
    values = {"chat_template_kwargs": {"enable_thinking": False}}
    told = server.post("/tokenize", {"messages": [user("Hello there")], **values, **fields})
    answer = ask(server, "Hello there", max_tokens=1, **values, **fields)
    assert told["count"] == len(told["tokens"]) == answer.prompt_tokens


@pytest.mark.parametrize(
    ("route", "body", "param"),
    [
        ("/tokenize", {}, "content"),
        ("/tokenize", {"content": "a", "prompt": "b"}, "prompt"),
        ("/tokenize", {"content": 1}, "content"),
        ("/tokenize", {"messages": []}, "messages"),
        ("/tokenize", {"content": "a", "parse_special": False}, "parse_special"),
        ("/tokenize", {"messages": [user("a")], "add_generation_prompt": False}, "add_generation_prompt"),
        ("/tokenize", {"content": "word " * 200_000}, "content"),
        ("/tokenize", {"messages": [user("word " * 200_000)]}, "messages"),
        ("/detokenize", {}, "tokens"),
        ("/detokenize", {"tokens": [-1]}, "tokens[0]"),
        ("/detokenize", {"tokens": [1, 2048]}, "tokens[1]"),
        ("/detokenize", {"tokens": [10**30]}, "tokens[0]"),
        ("/detokenize", {"tokens": "x"}, "tokens"),
    ],
)
def test_what_is_wrong_is_a_400_that_names_it(
    server: Server, route: str, body: dict[str, Any], param: str
) -> None:
    reply = httpx.post(server.url + route, json=body, timeout=30)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, param)
