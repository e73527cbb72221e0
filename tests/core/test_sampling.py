"""Filters, penalties and seeds: against numpy, against `mlx_lm`, and in batches that are cut and resumed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx_lm import sample_utils
from mlx_lm.generate import generate_step
from mlx_lm.models import llama
from msgspec.structs import replace
from numpy.typing import NDArray

from fireside.core.cache.prompt_cache import PromptCache
from fireside.core.sampling import make_processors, make_sampler
from fireside.core.scheduler import Scheduler
from fireside.wire import Sampling, Submit

Floats = NDArray[np.float64]

VOCAB = 320
PROMPT = [5, 17, 17, 300, 42, 5, 9, 260]
TOKENS = 32
EVERYTHING = Sampling(
    temperature=1.1,
    top_p=0.95,
    top_k=60,
    min_p=0.02,
    seed=2**64 - 5,
    xtc_probability=0.5,
    xtc_threshold=0.012,
    xtc_exempt=(7, 8, 9),
    logit_bias={11: 2.0, 12: -100.0, 13: 1.5, VOCAB + 5: 100.0},
    repetition_penalty=1.4,
    repetition_context_size=6,
    presence_penalty=0.8,
    presence_context_size=30,
    frequency_penalty=0.5,
    frequency_context_size=0,
)


def logprobs(probabilities: Sequence[float]) -> mx.array:
    return mx.log(mx.array([probabilities]))


def draws(sampling: Sampling, row: mx.array, count: int, index: int = 0) -> list[int]:
    sampler = make_sampler(sampling, index, row.shape[-1])
    drawn: Any = mx.concatenate([sampler(row) for _ in range(count)]).tolist()
    return drawn


def softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def only(logits: Floats, keep: NDArray[np.bool_]) -> Floats:
    return np.where(keep, logits, -np.inf)


def distribution(row: mx.array, sampling: Sampling) -> Floats:
    """The probabilities that a draw has, from the definitions: top-p, min-p, XTC, top-k, temperature."""
    logits = np.array(row[0], np.float64)
    if 0 < sampling.top_p < 1:
        ranked = np.argsort(-logits)
        above = np.concatenate([[0], np.cumsum(np.exp(logits[ranked]))[:-1]])
        kept = ranked[above < sampling.top_p]
        logits = only(logits, np.isin(np.arange(len(logits)), kept))
    if sampling.min_p:
        logits = only(logits, np.exp(logits) >= sampling.min_p * np.exp(logits.max()))
    outcomes = [(1.0, logits)]
    if sampling.xtc_probability:
        outcomes = [
            (1 - sampling.xtc_probability, logits),
            (sampling.xtc_probability, without_top_choices(logits, sampling)),
        ]
    return sum((chance * drawn(logits, sampling) for chance, logits in outcomes), np.zeros(len(logits)))


def without_top_choices(logits: Floats, sampling: Sampling) -> Floats:
    probabilities = softmax(logits)
    above = np.flatnonzero(probabilities > sampling.xtc_threshold)
    if len(above) < 2:
        return logits
    stays = above[np.argmin(probabilities[above])]
    dropped = [i for i in above if i != stays and i not in sampling.xtc_exempt]
    return only(logits, ~np.isin(np.arange(len(logits)), dropped))


def drawn(logits: Floats, sampling: Sampling) -> Floats:
    if 0 < sampling.top_k < len(logits):
        logits = only(logits, logits >= np.sort(logits)[-sampling.top_k])
    return softmax(logits / sampling.temperature)


SLOPE = [0.3, 0.22, 0.16, 0.11, 0.08, 0.05, 0.04, 0.02, 0.015, 0.005]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"temperature": 0.5},
        {"temperature": 2.0},
        {"top_p": 0.6},
        {"top_k": 3},
        {"top_k": 10},
        {"top_k": 11},
        {"min_p": 0.3},
        {"xtc_probability": 1.0, "xtc_threshold": 0.1},
        {"xtc_probability": 0.3, "xtc_threshold": 0.1},
        {"xtc_probability": 1.0, "xtc_threshold": 0.1, "xtc_exempt": (0, 2, 99)},
        {"xtc_probability": 1.0, "xtc_threshold": 0.6},
        {"top_p": 0.6, "xtc_probability": 1.0, "xtc_threshold": 0.3},
        {"xtc_probability": 1.0, "xtc_threshold": 0.1, "top_k": 2},
        {"top_p": 0.9, "min_p": 0.2, "xtc_probability": 0.5, "top_k": 4, "temperature": 1.5},
    ],
)
def test_draws_have_the_distribution_that_the_filters_leave(fields: dict[str, Any]) -> None:
    sampling = Sampling(**{"temperature": 1.0, "seed": 3, **fields})
    row, count = logprobs(SLOPE), 1200
    expected = distribution(row, sampling)
    found = np.bincount(draws(sampling, row, count), minlength=len(SLOPE)) / count
    assert not found[expected == 0].any()
    assert (np.abs(found - expected) < 4.5 * np.sqrt(expected * (1 - expected) / count) + 1e-9).all(), (
        found,
        expected,
    )


def test_a_draw_is_that_of_mlx_lm_s_sampler_with_the_same_random_state() -> None:
    sampling = replace(EVERYTHING, xtc_exempt=(7,))
    reference = sample_utils.make_sampler(1.1, 0.95, 0.02, 1, 60, 0.5, 0.012, [7])
    rows = nn.log_softmax(3 * mx.random.normal((50, VOCAB), key=mx.random.key(0)))
    sampler = make_sampler(sampling, 0, VOCAB)
    for index in range(len(rows)):
        row = rows[index : index + 1]
        ours = sampler(row).item()
        assert make_sampler(sampling, index, VOCAB)(row).item() == ours
        mx.random.seed(_key_of(sampling.seed, index))
        assert reference(row).item() == ours


def _key_of(seed: int, index: int) -> int:
    """The n-th output of splitmix64 from `seed`, computed the way its paper has it: with a running state."""
    state = seed
    for _ in range(index + 1):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
    z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


@pytest.mark.parametrize(
    "fields", [{"temperature": 0}, {"temperature": 1e-9}, {"top_p": 1e-46}, {"top_k": 1}]
)
def test_the_narrowest_settings_take_the_most_likely_token(fields: dict[str, Any]) -> None:
    sampling = Sampling(**{"temperature": 5.0, "seed": 1, **fields})
    assert draws(sampling, logprobs([0.1, 0.2, 0.4, 0.3]), 20) == [2] * 20


def test_a_low_temperature_does_not_overflow_half_precision() -> None:
    row = logprobs([0.0001] * 4999 + [0.001] + [0.0001] * 5000).astype(mx.float16)
    assert draws(Sampling(temperature=1e-4, seed=1), row, 20) == [4999] * 20


def test_new_values_wait_for_no_compiler() -> None:
    """A compiled filter costs 0.3 s for each new value on a CPU, and every row waits."""
    row = logprobs(SLOPE)
    begin = time.perf_counter()
    for step in range(1, 30):
        values = Sampling(
            temperature=0.5 + step / 37,
            top_p=0.9 + step / 997,
            min_p=step / 9973,
            xtc_probability=step / 31,
        )
        draws(values, row, 1)
    assert time.perf_counter() - begin < 3


def test_drawing_leaves_compilation_as_it_was() -> None:
    def traces() -> int:
        calls: list[None] = []
        compiled = mx.compile(lambda x: (calls.append(None), x)[1])
        for _ in range(3):
            compiled(mx.array(0))
        return len(calls)

    draws(EVERYTHING, logprobs(SLOPE), 1)
    assert traces() == 1
    mx.disable_compile()
    try:
        draws(EVERYTHING, logprobs(SLOPE), 1)
        assert traces() == 3
    finally:
        mx.enable_compile()


def processed(sampling: Sampling, ids: list[int], logits: Floats, dtype: mx.Dtype = mx.float32) -> Floats:
    row = mx.array(logits[None]).astype(dtype)
    for processor in make_processors(sampling, len(logits)):
        row = processor(mx.array(ids), row)
    assert row.dtype == dtype
    return np.array(row[0].astype(mx.float32), np.float64)


def expected_logits(sampling: Sampling, ids: list[int], logits: Floats) -> Floats:
    logits = logits.copy()
    for token, bias in sampling.logit_bias.items():
        if token < len(logits):
            logits[token] += bias
    for token in set(window(ids, sampling.repetition_context_size)):
        factor = sampling.repetition_penalty or 1
        logits[token] = logits[token] * factor if logits[token] < 0 else logits[token] / factor
    for token in set(window(ids, sampling.presence_context_size)):
        logits[token] -= sampling.presence_penalty
    for token in window(ids, sampling.frequency_context_size):
        logits[token] -= sampling.frequency_penalty
    return logits


def window(ids: list[int], size: int) -> list[int]:
    return ids[len(ids) - size :] if 0 < size < len(ids) else ids


@pytest.mark.parametrize(
    "fields",
    [
        {"logit_bias": {0: 1.5, 3: -100.0, 9: 7.0, 10: 5.0, 2**31 - 1: 5.0}},
        {"repetition_penalty": 1.3},
        {"repetition_penalty": 0.7, "repetition_context_size": 3},
        {"repetition_penalty": 1.3, "repetition_context_size": 0},
        {"repetition_penalty": 1.0},
        {"presence_penalty": 0.7},
        {"presence_penalty": -0.7, "presence_context_size": 2},
        {"presence_penalty": 0.7, "presence_context_size": 0},
        {"frequency_penalty": 0.4},
        {"frequency_penalty": -0.4, "frequency_context_size": 5},
        {"frequency_penalty": 0.4, "frequency_context_size": 0},
        {
            "logit_bias": {1: 2.0},
            "repetition_penalty": 1.5,
            "presence_penalty": 0.3,
            "frequency_penalty": 0.2,
            "frequency_context_size": 4,
        },
    ],
)
@pytest.mark.parametrize("dtype", [mx.float32, mx.float16])
def test_logits_are_changed_as_defined(fields: dict[str, Any], dtype: mx.Dtype) -> None:
    sampling = Sampling(**fields)
    logits: Floats = np.linspace(-2.25, 2.25, 10)
    ids = [4, 4, 4, 1, 9, 9, 0, 2, *[5] * 18, 1, 1, 8]
    near = 1e-5 if dtype == mx.float32 else 2e-2
    found = processed(sampling, ids, logits, dtype)
    np.testing.assert_allclose(found, expected_logits(sampling, ids, logits), rtol=near, atol=near)


def test_nothing_asked_for_costs_nothing() -> None:
    assert make_processors(Sampling(temperature=1.0, repetition_penalty=1.0), VOCAB) == []


@pytest.fixture(scope="module")
def model() -> nn.Module:
    """A llama of two layers with random weights, loud enough that its favourites repeat."""
    args = llama.ModelArgs(
        model_type="llama",
        hidden_size=64,
        num_hidden_layers=2,
        intermediate_size=128,
        num_attention_heads=2,
        rms_norm_eps=1e-5,
        vocab_size=VOCAB,
        tie_word_embeddings=False,
    )
    mx.random.seed(11)
    made = llama.Model(args)
    made.update({"lm_head": {"weight": mx.random.normal((VOCAB, 64)) * 0.25}})
    mx.eval(made.parameters())
    return made


@pytest.fixture(scope="module")
def whole_answer(model: nn.Module) -> list[int]:
    """What the model says with every option on, uninterrupted."""
    return run(model, row(0, EVERYTHING))[0]


def row(number: int, sampling: Sampling, prompt: list[int] = PROMPT, generated: Sequence[int] = ()) -> Submit:
    return Submit(number, prompt, list(generated), TOKENS, [], sampling)


def run(model: nn.Module, *rows: Submit, apart: int = 0) -> list[list[int]]:
    """What a fresh scheduler generates for each row; each comes `apart` steps after the one before."""
    scheduler = Scheduler(model, VOCAB, PromptCache(0), kv_budget=1 << 30, prefill_step=4)
    answers: dict[int, list[int]] = {submit.id: [] for submit in rows}
    for submit in rows:
        scheduler.apply(submit)
        for _ in range(apart):
            take(scheduler, answers)
    while scheduler.busy:
        take(scheduler, answers)
    return list(answers.values())


def take(scheduler: Scheduler, answers: dict[int, list[int]]) -> None:
    for token in scheduler.step().tokens:
        answers[token.id].append(token.token)


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": 0.5},
        {"seed": 1},
        {"xtc_probability": 0.0},
        {"xtc_threshold": 0.4},
        {"logit_bias": {}},
        {"repetition_penalty": 0.0},
        {"repetition_context_size": 0},
        {"presence_penalty": 0.0},
        {"presence_context_size": 3},
        {"frequency_penalty": 0.0},
        {"frequency_context_size": 3},
    ],
)
def test_each_option_changes_the_answer(
    model: nn.Module, whole_answer: list[int], change: dict[str, Any]
) -> None:
    assert run(model, row(0, replace(EVERYTHING, **change))) != [whole_answer]


@pytest.mark.parametrize("cut", [1, 2, 13, TOKENS - 1])
def test_a_row_taken_up_again_goes_on_as_if_nothing_had_happened(
    model: nn.Module, whole_answer: list[int], cut: int
) -> None:
    assert len(whole_answer) == TOKENS
    (rest,) = run(model, row(0, EVERYTHING, generated=whole_answer[:cut]))
    assert rest == whole_answer[cut:]


MIXED = [
    Sampling(),
    Sampling(temperature=1.0, seed=1),
    Sampling(temperature=1.5, top_p=0.8, seed=1),
    Sampling(repetition_penalty=1.5, repetition_context_size=0),
    Sampling(temperature=0.9, top_k=5, presence_penalty=2.0, presence_context_size=3, seed=7),
    Sampling(temperature=1.2, xtc_probability=0.9, xtc_threshold=0.01, xtc_exempt=(5,), seed=9),
    Sampling(logit_bias={3: 1.0, 4: 2.0}, frequency_penalty=0.3, frequency_context_size=10),
    EVERYTHING,
]


@pytest.mark.parametrize("apart", [0, 3])
def test_eight_rows_say_together_what_each_says_alone(model: nn.Module, apart: int) -> None:
    rows = [row(n, sampling, [*PROMPT, 30 + n][n % 4 :]) for n, sampling in enumerate(MIXED)]
    alone = [run(model, submit)[0] for submit in rows]
    assert run(model, *rows, apart=apart) == alone
    assert len({tuple(answer) for answer in alone}) == len(rows)


@pytest.mark.parametrize(
    "fields",
    [
        {"repetition_penalty": 1.5},
        {"repetition_penalty": 1.5, "repetition_context_size": 5},
        {"repetition_penalty": 1.2, "repetition_context_size": 0},
        {"presence_penalty": 1.0, "presence_context_size": 0},
        {"frequency_penalty": 0.5, "frequency_context_size": 12},
        {"logit_bias": {3: 2.0, 250: 2.5}, "frequency_penalty": 1.0, "frequency_context_size": 0},
    ],
)
def test_penalties_count_the_prompt_as_mlx_lm_s_generate_does(
    model: nn.Module, fields: dict[str, Any]
) -> None:
    processors = sample_utils.make_logits_processors(**fields)
    reference = generate_step(mx.array(PROMPT), model, max_tokens=TOKENS, logits_processors=processors)
    expected = [token for token, _ in reference]
    assert run(model, row(0, Sampling(**fields))) == [expected]
    assert run(model, row(0, Sampling())) != [expected]


def test_drawn_tokens_with_penalties_are_those_of_mlx_lm_s_generate(model: nn.Module) -> None:
    processors = sample_utils.make_logits_processors({11: 2.0, 12: -100.0, 13: 1.5}, 1.4, 6, 0.8, 30, 0.5, 0)
    reference = generate_step(
        mx.array(PROMPT),
        model,
        max_tokens=TOKENS,
        sampler=make_sampler(EVERYTHING, 0, VOCAB),
        logits_processors=processors,
    )
    assert run(model, row(0, EVERYTHING)) == [[token for token, _ in reference]]
