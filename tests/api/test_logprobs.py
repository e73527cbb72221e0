"""`logprobs` and `top_logprobs` on `/v1/chat/completions`."""

import json
from typing import Any

import httpx
import openai
import pytest

from support.reference import computed
from support.server import POCKET, Server

WORDS: list[Any] = [{"role": "user", "content": "Write 30 random words."}]

_REFERENCE = """
import json, sys
import mlx.core as mx
from mlx_lm import load
model, tokenizer = load(sys.argv[1])
model.set_dtype(mx.float32)
options = {"add_generation_prompt": True, "enable_thinking": False}
prompt = tokenizer.apply_chat_template(json.loads(sys.argv[2]), **options)
answer = json.loads(sys.argv[3])
logits = model(mx.array([prompt + answer]))[0, len(prompt) - 1 : -1]
logprobs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
rows = []
for row in logprobs.tolist():
    best = sorted(range(len(row)), key=lambda i: -row[i])[:5]
    rows.append([row, best])
print(json.dumps([[row[token], [[i, row[i]] for i in best]] for (row, best), token in zip(rows, answer)]))
"""


def ask(client: openai.OpenAI, messages: list[Any], **options: Any) -> Any:
    options = {"reasoning_effort": "none", "max_tokens": 12, "temperature": 0, **options}
    return client.chat.completions.create(model="any", messages=messages, **options)


def test_each_token_has_the_logprob_and_the_rivals_that_mlx_lm_computes(client: openai.OpenAI) -> None:
    answer = ask(client, WORDS, logprobs=True, top_logprobs=5, temperature=1, seed=4)
    entries = answer.choices[0].logprobs.content
    ids = [entry.id for entry in entries]
    expected = computed(_REFERENCE, str(POCKET), json.dumps(WORDS), json.dumps(ids))
    assert len(expected) == len(entries) == 12
    for entry, (logprob, best) in zip(entries, expected, strict=True):
        assert entry.logprob == pytest.approx(logprob, abs=1e-3)
        assert [rival.id for rival in entry.top_logprobs] == [token for token, _ in best]
        assert [r.logprob for r in entry.top_logprobs] == pytest.approx([p for _, p in best], abs=1e-3)


def test_the_sampled_token_has_its_own_value_and_not_the_likeliest_ones(client: openai.OpenAI) -> None:
    answer = ask(client, WORDS, logprobs=True, top_logprobs=1, temperature=2, seed=1, max_tokens=40)
    entries = answer.choices[0].logprobs.content
    assert any(entry.id != entry.top_logprobs[0].id for entry in entries)
    assert all(entry.logprob <= entry.top_logprobs[0].logprob for entry in entries)


def test_the_tokens_texts_are_the_answer(client: openai.OpenAI) -> None:
    question: list[Any] = [{"role": "user", "content": "Repeat: one fine day"}]
    answer = ask(client, question, logprobs=True, max_tokens=60)
    entries = answer.choices[0].logprobs.content
    assert "".join(entry.token for entry in entries) == answer.choices[0].message.content == "one fine day"
    assert all(bytes(entry.bytes).decode() == entry.token for entry in entries)
    assert all(entry.top_logprobs == [] for entry in entries)


def test_a_token_that_is_a_part_of_a_character_has_no_bytes(client: openai.OpenAI) -> None:
    question: list[Any] = [{"role": "user", "content": "Repeat: 日本"}]
    entries = ask(client, question, logprobs=True, max_tokens=60).choices[0].logprobs.content
    assert any(entry.bytes is None for entry in entries)
    assert all((entry.bytes is None) is ("\ufffd" in entry.token) for entry in entries)


def test_a_stream_carries_the_same_entries(client: openai.OpenAI) -> None:
    options = {"logprobs": True, "top_logprobs": 2}
    whole = ask(client, WORDS, **options).choices[0].logprobs.content
    streamed: list[Any] = []
    for chunk in ask(client, WORDS, stream=True, **options):
        for choice in chunk.choices:
            streamed += choice.logprobs.content if choice.logprobs else []
    assert [entry.id for entry in streamed] == [entry.id for entry in whole]
    assert [entry.logprob for entry in streamed] == pytest.approx(
        [entry.logprob for entry in whole], abs=1e-4
    )


def test_thoughts_are_counted_too(client: openai.OpenAI) -> None:
    answer = ask(client, WORDS, logprobs=True, reasoning_effort="low")
    assert answer.choices[0].message.reasoning
    assert len(answer.choices[0].logprobs.content) == answer.usage.completion_tokens


def test_top_logprobs_asks_by_itself_and_nothing_comes_unasked(client: openai.OpenAI) -> None:
    assert ask(client, WORDS, top_logprobs=3).choices[0].logprobs.content[0].top_logprobs
    for options in ({}, {"logprobs": False}, {"top_logprobs": 0}, {"top_logprobs": -1}):
        assert ask(client, WORDS, **options).choices[0].logprobs is None


@pytest.mark.parametrize(
    ("field", "value"), [("logprobs", 1), ("top_logprobs", 12), ("top_logprobs", -2), ("top_logprobs", "2")]
)
def test_a_wrong_value_is_named(server: Server, field: str, value: Any) -> None:
    reply = httpx.post(f"{server.url}/v1/chat/completions", json={"messages": WORDS, field: value})
    assert reply.status_code == 400
    assert reply.json()["error"]["param"] == field
