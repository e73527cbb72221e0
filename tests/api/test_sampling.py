"""Sampling of `/v1/chat/completions`: what each field does, whose default counts, what is refused."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import openai
import pytest
from tokenizers import Tokenizer

from fireside.api.generation import ChatTask, Served, prepare
from fireside.api.sampling import SamplingFields, choose
from fireside.engine.engine import Engine
from fireside.http.errors import BadRequest
from fireside.text.model import Defaults, TextModel, read_config
from fireside.text.template import Prompt
from fireside.wire import Sampling
from support.deaths import read
from support.server import POCKET, Server, serving

WORDS: list[Any] = [{"role": "user", "content": "Write 30 random words."}]
COUNT: list[Any] = [{"role": "user", "content": "Count to 50."}]

EVERYTHING = {
    "temperature": 1.3,
    "top_p": 0.98,
    "seed": 5,
    "presence_penalty": 0.4,
    "frequency_penalty": 0.3,
    "logit_bias": {"300": 1.5},
    "top_k": 200,
    "min_p": 0.001,
    "xtc_probability": 0.5,
    "xtc_threshold": 0.1,
    "repetition_penalty": 1.2,
    "repetition_context_size": 0,
    "presence_context_size": 40,
    "frequency_context_size": 10,
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(POCKET / "tokenizer.json"))


def ask(client: openai.OpenAI, messages: list[Any] = WORDS, **options: Any) -> str:
    """All text of one answer, reasoning included; fields that `openai` does not know go in `extra_body`."""
    options = {"temperature": 0, "max_tokens": 60, **options}
    answer = client.chat.completions.create(model="any", messages=messages, **options)
    return said(answer.choices[0].message)


def said(message: Any) -> str:
    return (getattr(message, "reasoning_content", None) or "") + (message.content or "")


def test_a_bias_forces_a_token(client: openai.OpenAI, tokenizer: Tokenizer) -> None:
    bias: dict[str, int] = {str(tokenizer.token_to_id("files")): 100}
    assert ask(client, max_tokens=5, logit_bias=bias) == "files" * 5
    assert ask(client, max_tokens=5, logit_bias=bias, temperature=1) == "files" * 5


def test_a_bias_bans_tokens(client: openai.OpenAI, tokenizer: Tokenizer) -> None:
    commas = [token for text, token in tokenizer.get_vocab().items() if "," in text]
    assert "," in ask(client, COUNT)
    assert "," not in ask(client, COUNT, logit_bias=dict.fromkeys(map(str, commas), -100))
    assert "," not in ask(client, COUNT, logit_bias=cast(Any, dict.fromkeys(map(str, commas), "-100")))


@pytest.mark.parametrize(
    "options",
    [
        {"frequency_penalty": 1.0},
        {"presence_penalty": 2.0},
        {"extra_body": {"repetition_penalty": 1.5}},
    ],
)
def test_a_penalty_makes_a_repetitive_answer_less_so(client: openai.OpenAI, options: dict[str, Any]) -> None:
    def most_repeated(text: str) -> int:
        return Counter(text.split()).most_common(1)[0][1]

    assert most_repeated(ask(client, **options)) < most_repeated(ask(client))


def test_a_window_of_zero_looks_at_everything(client: openai.OpenAI) -> None:
    def count(**extra: Any) -> str:
        return ask(client, COUNT, max_tokens=80, frequency_penalty=1.0, extra_body=extra)

    assert count(frequency_context_size=20) == count()
    assert count(frequency_context_size=0) != count()
    assert count(frequency_context_size=8000) == count(frequency_context_size=0)


def test_xtc_takes_away_the_likelier_of_two_tokens_unless_it_ends_the_answer(
    client: openai.OpenAI, tokenizer: Tokenizer
) -> None:
    def answer(*likeliest_first: str, **extra: Any) -> str:
        ids = [tokenizer.token_to_id(token) for token in likeliest_first]
        bias = {str(token): 100 - 15 * place for place, token in enumerate(ids)}
        options = {"xtc_probability": 1, "xtc_threshold": 1e-12, **extra}
        return ask(client, max_tokens=3, temperature=0.5, logit_bias=bias, extra_body=options)

    assert answer("files", "day", xtc_probability=0) == "files" * 3
    assert answer("files", "day") == "day" * 3
    assert answer("files", "day", xtc_threshold=1) == "files" * 3
    assert answer("<|im_end|>", "day") == ""
    assert answer("Ċ", "day").count("\n") == 3


def test_a_seed_gives_the_same_text_alone_and_under_load(server: Server) -> None:
    async def texts() -> tuple[str, list[str], str]:
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="unused") as client:

            async def draw(**body: Any) -> str:
                options = {"messages": WORDS, "max_tokens": 40, "extra_body": {**EVERYTHING, **body}}
                return said((await client.chat.completions.create(model="any", **options)).choices[0].message)

            alone = await draw()
            others = [draw(seed=seed, temperature=0.5 + seed / 10, top_k=0) for seed in range(6)]
            first, *rest, last = await asyncio.gather(draw(), *others, draw())
            return alone, [first, last], rest[0]

    alone, among, other = asyncio.run(texts())
    assert among == [alone, alone]
    assert other != alone


def test_an_answer_survives_the_death_of_the_core_unchanged_with_every_option_on(dying: Server) -> None:
    body = {"messages": WORDS, "max_tokens": 800, **EVERYTHING}
    whole, _ = read(dying, body)
    assert read(dying, body, kill_after=(15,)) == (whole, 1)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("temperature", -0.1, ">= 0"),
        ("temperature", 5.1, "<= 5"),
        ("temperature", True, "float"),
        ("top_p", -0.1, ">= 0"),
        ("top_p", 1.1, "<= 1"),
        ("top_k", -1, ">= 0"),
        ("top_k", 2.5, "int"),
        ("top_k", 2**31, "<= 2147483647"),
        ("min_p", 1.1, "<= 1"),
        ("min_p", "low", "float"),
        ("xtc_probability", 1.1, "<= 1"),
        ("xtc_probability", -1, ">= 0"),
        ("xtc_threshold", -0.1, ">= 0"),
        ("xtc_threshold", 1.5, "<= 1"),
        ("repetition_penalty", -1, ">= 0"),
        ("repetition_penalty", 11, "<= 10"),
        ("repetition_penalty", "strong", "float"),
        ("repetition_context_size", -1, ">= 0"),
        ("repetition_context_size", 1.5, "int"),
        ("presence_penalty", 2.1, "<= 2"),
        ("presence_penalty", -2.1, ">= -2"),
        ("presence_context_size", -1, ">= 0"),
        ("frequency_penalty", 2.1, "<= 2"),
        ("frequency_penalty", [], "float"),
        ("frequency_context_size", 2**31, "<= 2147483647"),
        ("seed", "x", "int"),
        ("max_completion_tokens", 0, ">= 1"),
        ("logit_bias", [[1, 2]], "logit_bias must be a dict of int to float"),
        ("logit_bias", 0, "logit_bias must be a dict of int to float"),
        ("logit_bias", {"a": 1}, "logit_bias must be a dict of int to float"),
        ("logit_bias", {"1": "x"}, "logit_bias must be a dict of int to float"),
        ("logit_bias", {"1": None}, "logit_bias must be a dict of int to float"),
        ("logit_bias", {"1": 101}, "from -100 to 100"),
        ("logit_bias", {"1": "nan"}, "from -100 to 100"),
        ("logit_bias", {"-1": 1}, "-1 is not a token id"),
        ("logit_bias", {"2048": 1}, "from 0 to 2047"),
        ("logit_bias", {"1" * 30: 1}, "is not a token id"),
    ],
)
def test_a_value_out_of_range_is_a_400_that_names_the_field_and_the_range(
    server: Server, field: str, value: Any, told: str
) -> None:
    body = {"messages": WORDS, "max_tokens": 1, field: value}
    reply = httpx.post(f"{server.url}/v1/chat/completions", json=body)
    error = reply.json()["error"]
    assert (reply.status_code, error["param"]) == (400, field)
    assert field in error["message"]
    assert told in error["message"]


def test_the_newer_name_of_the_token_limit_wins(server: Server) -> None:
    body = {"messages": COUNT, "max_tokens": 5, "max_completion_tokens": 3}
    assert server.post("/v1/chat/completions", body)["usage"]["completion_tokens"] == 3


def test_the_outermost_values_are_accepted(server: Server) -> None:
    for fields in (
        {"temperature": 5, "top_p": 1, "top_k": 2**31 - 1, "min_p": 1, "xtc_probability": 1},
        {"xtc_probability": 1, "xtc_threshold": 1, "temperature": 1, "top_p": 5e-324, "min_p": 5e-324},
        {"repetition_penalty": 10, "presence_penalty": 2, "frequency_penalty": -2, "temperature": 1},
        {"repetition_penalty": 5e-324, "frequency_context_size": 2**31 - 1, "temperature": 1},
        {"logit_bias": {}, "seed": -(2**70), "temperature": 1},
        {"logit_bias": None, "seed": None, "temperature": None, "xtc_probability": None, "top_k": None},
    ):
        reply = server.post("/v1/chat/completions", {"messages": WORDS, "max_tokens": 3, **fields})
        assert reply["usage"]["completion_tokens"] == 3


def test_a_flag_counts_where_a_request_says_nothing(home: Path, server: Server) -> None:
    def answer(of: Server, **fields: Any) -> Any:
        body = {"messages": WORDS, "seed": 3, **fields}
        return of.post("/v1/chat/completions", body)

    quiet = ("--thinking", "off")
    with serving(
        home, "--temp", "4.5", "--top-k", "100", "--top-p", "0.99", "--max-tokens", "12", *quiet
    ) as hot:
        hot.wait_ready()
        flagged, cold = answer(hot), answer(hot, temperature=0, max_tokens=20)
    unthinking = {"reasoning_effort": "none"}
    named = answer(server, temperature=4.5, top_k=100, top_p=0.99, max_tokens=12, **unthinking)
    greedy = answer(server, temperature=0, max_tokens=20, **unthinking)
    assert flagged["choices"] == named["choices"]
    assert cold["choices"] == greedy["choices"]
    assert flagged["choices"] != answer(server, max_tokens=12, **unthinking)["choices"]


async def resolved(
    fields: SamplingFields | None = None,
    flags: SamplingFields | None = None,
    model: Defaults | None = None,
) -> Sampling:
    """The sampling that the engine is asked for."""
    task = ChatTask(messages=[], sampling=fields or SamplingFields(), max_tokens=None, stop=[])
    return (await prepare(served(flags, model), task)).request.sampling


def served(flags: SamplingFields | None = None, model: Defaults | None = None) -> Served:
    """A model without tokenizer and core."""

    async def render(*_: Any) -> Prompt:
        return Prompt([1], thinking_open=False)

    text = SimpleNamespace(
        defaults=model or Defaults(),
        context_window=100,
        stop_ids=(2, 4),
        newline_ids=(7,),
        vocab_size=50,
        thinks=True,
        thinking=None,
        surely_too_long=lambda *_: False,
        render=render,
    )
    return Served("m", cast(TextModel, text), cast(Engine, None), flags or SamplingFields())


async def test_the_request_wins_over_the_flag_over_the_model_over_ours() -> None:
    values: dict[str, Any] = {"temperature": 0.3, "top_p": 0.4, "top_k": 5}
    names = tuple(values)

    def of(sampling: Any) -> tuple[Any, ...]:
        return tuple(getattr(sampling, name) for name in names)

    request = SamplingFields(**values)
    flags = SamplingFields(temperature=0.0, top_p=0.0, top_k=0)
    model = Defaults(temperature=1.1, top_p=0.9, top_k=20, repetition_penalty=1.05)
    assert of(await resolved()) == (0.7, 0, 0)
    assert of(await resolved(model=model)) == (1.1, 0.9, 20)
    assert of(await resolved(flags=flags, model=model)) == (0, 0, 0)
    assert of(await resolved(request, flags, model)) == (0.3, 0.4, 5)
    assert (await resolved(model=model)).repetition_penalty == 1.05
    assert (await resolved(SamplingFields(repetition_penalty=0), model=model)).repetition_penalty == 0


@pytest.mark.parametrize(
    ("request_has", "flag_has", "model_has", "thinks", "plain"),
    [
        (None, None, 1.0, 1.0, 0.7),
        (None, None, 0.6, 0.6, 0.6),
        (None, None, None, 0.7, 0.7),
        (1.2, None, 1.0, 1.2, 1.2),
        (None, 0.9, 1.0, 0.9, 0.9),
    ],
)
def test_an_answer_without_reasoning_is_drawn_no_hotter_than_our_own_default(
    request_has: float | None, flag_has: float | None, model_has: float | None, thinks: float, plain: float
) -> None:
    model, fields = served(SamplingFields(flag_has), Defaults(model_has)), SamplingFields(request_has)
    assert choose(fields, model.flags, model.text, thinking=True).temperature == thinks
    assert choose(fields, model.flags, model.text, thinking=False).temperature == plain


async def test_what_nobody_says_is_as_mlx_lm_s_server_has_it() -> None:
    sampling = await resolved()
    assert (sampling.xtc_probability, sampling.xtc_threshold, sampling.min_p) == (0, 0.1, 0)
    assert (sampling.repetition_penalty, sampling.presence_penalty, sampling.frequency_penalty) == (0, 0, 0)
    assert sampling.repetition_context_size == 20
    assert sampling.presence_context_size == 20
    assert sampling.frequency_context_size == 20
    assert sampling.logit_bias == {}
    assert sampling.seed != (await resolved()).seed


async def test_end_tokens_and_newlines_are_exempt_from_xtc() -> None:
    assert {2, 4, 7} <= set((await resolved(SamplingFields(xtc_probability=0.1))).xtc_exempt)


async def test_a_bias_is_by_token_id() -> None:
    assert (await resolved(SamplingFields(logit_bias={"1": 2, "0": -1.5}))).logit_bias == {1: 2.0, 0: -1.5}
    with pytest.raises(BadRequest):
        await resolved(SamplingFields(logit_bias={"1": math.inf}))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, Defaults()),
        (
            {"temperature": 1, "top_p": 0.95, "top_k": 64, "repetition_penalty": 1.1},
            Defaults(1, 0.95, 64, 1.1),
        ),
        ({"temperature": -1, "top_p": 2, "top_k": -5, "repetition_penalty": -0.1}, Defaults()),
        ({"temperature": "hot", "top_p": None, "top_k": True, "repetition_penalty": []}, Defaults()),
        ({"temperature": math.inf, "top_p": math.nan, "repetition_penalty": math.inf}, Defaults()),
    ],
)
def test_the_author_s_defaults_are_read_where_they_are_usable(
    tmp_path: Path, said: dict[str, Any], expected: Defaults
) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "generation_config.json").write_text(json.dumps(said))
    assert read_config(tmp_path).defaults == expected
