"""Rows with grammars, each beside what the grammar's own language says."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonschema
import mlx.core as mx
import mlx.nn as nn
import msgspec
import numpy as np
import pytest
from mlx_lm.utils import load_model

from fireside.core.cache.prompt_cache import PromptCache
from fireside.core.grammar import Grammars
from fireside.core.scheduler import Scheduler
from fireside.text.grammar.compiler import GrammarCompiler
from fireside.text.grammar.spec import GrammarSpec
from fireside.text.model import TextModel
from fireside.wire import Cancel, Grammar, Logprobs, Sampling, Step, Submit, ThinkingBudget, Vocabulary
from fireside.xgr import xgrammar
from support.server import POCKET

PLENTY = 1 << 34
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["red", "blue"]}, "maxItems": 2},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
CODE = "[A-Z]{2}-[0-9]{3}"
SPECS = {
    "schema": GrammarSpec("json_schema", json.dumps(PERSON)),
    "regex": GrammarSpec("regex", CODE),
    "choice": GrammarSpec("ebnf", 'root ::= "maybe" | "of course" | "never, ever"'),
    "letters": GrammarSpec("regex", "[ab]{2,4}c?"),
    "number": GrammarSpec("json_schema", '{"type": "integer", "minimum": 5, "maximum": 12}'),
}
DEAD = {"dead": 'root ::= "a" root', "nothing": "root ::= root"}
"""Grammars without a text, which the app never sends."""
OPEN, CLOSE, NEWLINE, END = 2046, 2047, 201, 2


def valid(name: str, text: str) -> bool:
    """Whether a text is in the language of a spec, as others than xgrammar say."""
    match name:
        case "schema":
            return jsonschema.Draft202012Validator(PERSON).is_valid(json.loads(text))
        case "regex":
            return re.fullmatch(CODE, text) is not None
        case "choice":
            return text in ("maybe", "of course", "never, ever")
        case "letters":
            return re.fullmatch("[ab]{2,4}c?", text) is not None
        case _:
            return 5 <= int(text) <= 12


@dataclass
class Pocket:
    """The test model, its tokens' texts, and the compiled grammars."""

    model: nn.Module
    vocabulary: Vocabulary
    compiled: dict[str, bytes]
    pieces: list[str]

    def text(self, tokens: Sequence[int]) -> str:
        return "".join(self.pieces[token] for token in tokens)


def unchecked(ebnf: str, info: bytes) -> bytes:
    """A compiled grammar, whatever it means."""
    tokens = xgrammar().TokenizerInfo.deserialize_json(info.decode())
    return xgrammar().GrammarCompiler(tokens, max_threads=1).compile_grammar(ebnf).serialize_json().encode()


@pytest.fixture(scope="module")
def pocket() -> Pocket:
    async def prepare() -> tuple[bytes, dict[str, bytes], list[str]]:
        text = await TextModel.load(POCKET)
        compiler = GrammarCompiler(text.vocabulary)
        try:
            compiled = {name: await compiler.compile(spec) for name, spec in SPECS.items()}
            pieces = await text.token_texts(range(text.vocab_size))
            info = await compiler.vocabulary()
            return info, compiled | {name: unchecked(ebnf, info) for name, ebnf in DEAD.items()}, pieces
        finally:
            await compiler.close()
            text.close()

    info, compiled, pieces = asyncio.run(prepare())
    return Pocket(load_model(POCKET)[0], Vocabulary(info), compiled, pieces)


@dataclass
class Run:
    """A scheduler at work on rows of one prompt length."""

    pocket: Pocket
    answers: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    finished: dict[int, str] = field(default_factory=dict[int, str])
    failed: dict[int, str] = field(default_factory=dict[int, str])
    knows: bool = True

    def __post_init__(self) -> None:
        self.scheduler = Scheduler(self.pocket.model, 2048, PromptCache(PLENTY), PLENTY, 64)
        if self.knows:
            self.scheduler.apply(self.pocket.vocabulary)

    def step(self) -> Step:
        step = self.scheduler.step()
        for token in step.tokens:
            if token.finish != "stop":
                self.answers.setdefault(token.id, []).append(token.token)
            if token.finish:
                self.finished[token.id] = token.finish
        self.failed.update({failure.id: failure.message for failure in step.failed})
        return step

    def finish(self, *rows: Submit) -> Run:
        for row in rows:
            self.scheduler.apply(row)
        while self.scheduler.busy:
            self.step()
        return self

    def text(self, row: int) -> str:
        return self.pocket.text(self.answers[row])


def ask(
    number: int,
    grammar: Grammar | None,
    seed: int | None = None,
    generated: Sequence[int] = (),
    *,
    most: int = 80,
    prompt: int | None = None,
    thinking: ThinkingBudget | None = None,
    **sampling: Any,
) -> Submit:
    start = number if prompt is None else prompt
    ids = [300 + (7 * start + i) % 900 for i in range(24)]
    drawn = Sampling(**sampling) if seed is None else Sampling(temperature=1.0, seed=seed, **sampling)
    return Submit(number, ids, list(generated), most, [END], drawn, thinking=thinking, grammar=grammar)


@pytest.mark.parametrize("name", SPECS)
def test_every_answer_that_ends_is_of_the_grammar(pocket: Pocket, name: str) -> None:
    grammar = Grammar(pocket.compiled[name])
    rows = [ask(1, grammar), *(ask(seed, grammar, seed) for seed in range(2, 9))]
    run = Run(pocket).finish(*rows)
    ended = [row for row, reason in run.finished.items() if reason == "stop"]
    assert len(run.finished) == 8
    assert len(ended) >= 4
    assert [run.text(row) for row in ended if not valid(name, run.text(row))] == []


def test_the_mask_is_the_tokens_that_the_language_goes_on_with(pocket: Pocket) -> None:
    heads = ["".join(letters) for n in (2, 3, 4) for letters in itertools.product("ab", repeat=n)]
    language = {head + tail for head in heads for tail in ("", "c")}
    prefixes = {word[:length] for word in language for length in range(len(word) + 1)}
    rng = np.random.default_rng(1)
    for _ in range(5):
        tokens: list[int] = []
        for allowed in follow(pocket, Grammar(pocket.compiled["letters"]), tokens):
            so_far = pocket.text(tokens)
            goes_on = {
                token
                for token, piece in enumerate(pocket.pieces)
                if piece and token > END and so_far + piece in prefixes
            }
            assert allowed == goes_on | ({END} if so_far in language else set())
            if END in allowed and rng.random() < 0.4:
                break
            tokens.append(int(rng.choice(sorted(allowed - {END}) or [END])))
            if tokens[-1] == END:
                break


def follow(pocket: Pocket, grammar: Grammar, tokens: list[int], size: int = 2048) -> Iterator[set[int]]:
    """The ids that may come next, for as long as the caller appends one to `tokens`."""
    grammars = Grammars()
    grammars.learn(pocket.vocabulary)
    row = ask(1, grammar)
    processor = grammars.processor(row, grammar)
    processor.latest = lambda: tokens[-1]
    while True:
        masked = processor(mx.array(row.prompt + tokens), mx.zeros((1, size)))
        assert processor.failure is None
        yield set(np.flatnonzero(np.array(masked)[0] == 0).tolist())


def test_ids_that_the_tokenizer_does_not_have_are_masked(pocket: Pocket) -> None:
    (allowed,) = itertools.islice(follow(pocket, Grammar(pocket.compiled["regex"]), [], size=2100), 1)
    assert allowed
    assert max(allowed) < 2048


def test_a_resumed_answer_is_the_same(pocket: Pocket) -> None:
    grammar = Grammar(pocket.compiled["schema"])
    whole = Run(pocket).finish(ask(1, grammar, 3))
    assert whole.finished[1] == "stop"
    answer = whole.answers[1]
    cuts = range(1, len(answer), 1 + len(answer) // 8)
    rows = [ask(cut, grammar, 3, answer[:cut], prompt=1) for cut in cuts]
    again = Run(pocket).finish(*rows)
    assert {row.id: row.generated + again.answers[row.id] for row in rows} == dict.fromkeys(cuts, answer)
    assert again.finished == dict.fromkeys(cuts, "stop")


def test_rows_with_grammars_leave_a_free_row_its_own_text(pocket: Pocket) -> None:
    alone = Run(pocket).finish(ask(9, None)).answers[9]
    names = ["schema", "regex", "choice", "number"]
    rows = [ask(i, Grammar(pocket.compiled[name]), i) for i, name in enumerate(names)]
    run = Run(pocket)
    batch = run.finish(ask(9, None), *rows)
    assert batch.answers[9] == alone
    assert all(valid(name, run.text(i)) for i, name in enumerate(names) if run.finished[i] == "stop")
    assert run.text(2) in ("maybe", "of course", "never, ever")


def test_the_grammar_starts_after_the_thoughts(pocket: Pocket) -> None:
    grammar = Grammar(pocket.compiled["letters"], opened=True, closing=[CLOSE, NEWLINE])
    script = [500, END, CLOSE, 600, CLOSE, CLOSE, NEWLINE]
    tokens: list[int] = []
    masks = follow(pocket, grammar, tokens)
    for token in script:
        assert len(next(masks)) == 2048
        tokens.append(token)
    assert {pocket.pieces[token][0] for token in next(masks)} == {"a", "b"}


def test_the_first_token_may_open_the_thoughts(pocket: Pocket) -> None:
    grammar = Grammar(pocket.compiled["letters"], open_id=OPEN, closing=[CLOSE])
    tokens: list[int] = []
    masks = follow(pocket, grammar, tokens)
    first = next(masks)
    letters = first - {OPEN}
    assert OPEN in first
    assert {pocket.pieces[token][0] for token in letters} == {"a", "b"}
    for token in (OPEN, 500, CLOSE):
        tokens.append(token)
        allowed = next(masks)
        assert len(allowed) == 2048 if token != CLOSE else allowed == letters
    # A block that did not begin the answer does not begin at all.
    straight = [min(letters, key=lambda token: len(pocket.pieces[token]))]
    masks = follow(pocket, grammar, straight)
    assert OPEN not in next(masks)


@pytest.mark.parametrize("tokens", [0, 4])
def test_a_thinking_budget_closes_the_thoughts_and_the_grammar_follows(pocket: Pocket, tokens: int) -> None:
    closing = [NEWLINE, CLOSE, NEWLINE, NEWLINE]
    budget = ThinkingBudget(tokens, True, OPEN, CLOSE, closing)
    grammar = Grammar(pocket.compiled["regex"], opened=True, closing=[CLOSE])
    bias = {CLOSE: -100.0, END: -100.0}
    free = Run(pocket).finish(ask(1, None, most=max(1, tokens), logit_bias=bias)).answers[1][:tokens]
    run = Run(pocket).finish(ask(1, grammar, thinking=budget, logit_bias=bias))
    answer = run.answers[1]
    assert answer[: tokens + 4] == free + closing
    assert re.fullmatch(CODE, pocket.text(answer[tokens + 4 :]))
    assert run.finished[1] == "stop"
    cuts = sorted({1, tokens, tokens + 1, tokens + 3, tokens + 4, tokens + 6} - {0})
    again = Run(pocket).finish(
        *(ask(cut, grammar, None, answer[:cut], prompt=1, thinking=budget, logit_bias=bias) for cut in cuts)
    )
    assert again.answers == {cut: answer[cut:] for cut in cuts}


def test_thoughts_that_end_in_time_are_not_closed_again(pocket: Pocket) -> None:
    budget = ThinkingBudget(3, True, OPEN, CLOSE, [NEWLINE, CLOSE])
    grammar = Grammar(pocket.compiled["letters"], opened=True, closing=[CLOSE])
    run = Run(pocket).finish(ask(1, grammar, None, [500, CLOSE], thinking=budget))
    assert re.fullmatch("[ab]{2,4}c?", run.text(1))


def test_an_answer_that_is_whole_at_its_limit_has_ended_by_itself(pocket: Pocket) -> None:
    grammar = Grammar(pocket.compiled["regex"])
    answer = Run(pocket).finish(ask(1, grammar)).answers[1]
    whole = Run(pocket).finish(ask(1, grammar, most=len(answer)))
    cut = Run(pocket).finish(ask(1, grammar, most=len(answer) - 1))
    assert (whole.answers[1], whole.finished[1]) == (answer, "stop")
    assert (cut.answers[1], cut.finished[1]) == (answer[:-1], "length")


def test_the_last_token_of_a_whole_answer_comes_with_its_end(pocket: Pocket) -> None:
    run = Run(pocket)
    run.scheduler.apply(ask(1, Grammar(pocket.compiled["regex"])))
    steps = list[Step]()
    while run.scheduler.busy:
        steps.append(run.step())
    ends = [(token.finish, token.token == END) for token in steps[-1].tokens]
    assert ends == [(None, False), ("stop", True)]


@pytest.mark.parametrize("knows", [True, False])
def test_a_grammar_that_cannot_be_followed_fails_its_row_alone(pocket: Pocket, knows: bool) -> None:
    alone = Run(pocket).finish(ask(9, None)).answers[9]
    run = Run(pocket, knows=knows)
    good = Grammar(pocket.compiled["regex"])
    run.finish(ask(9, None), ask(1, Grammar(b'{"no": "grammar"}')), ask(2, good))
    assert run.answers[9] == alone
    assert "cannot be followed" in run.failed[1]
    assert (2 in run.failed) is not knows
    assert 1 not in run.answers


def test_a_token_outside_the_grammar_fails_its_row_alone(pocket: Pocket) -> None:
    grammar = Grammar(pocket.compiled["regex"])
    run = Run(pocket).finish(ask(9, None), ask(1, grammar, None, [500]))
    assert "does not allow token 500" in run.failed[1]
    assert run.finished.keys() == {9}


def test_a_grammar_without_an_end_does_not_end_its_row(pocket: Pocket) -> None:
    run = Run(pocket).finish(ask(1, Grammar(pocket.compiled["dead"]), most=20))
    assert run.finished == {1: "length"}
    assert set(run.text(1)) == {"a"}


def test_a_grammar_that_leaves_no_token_fails_its_row_alone(pocket: Pocket) -> None:
    alone = Run(pocket).finish(ask(9, None)).answers[9]
    run = Run(pocket).finish(ask(9, None), ask(1, Grammar(pocket.compiled["nothing"])))
    assert "leaves no token" in run.failed[1]
    assert run.answers == {9: alone}


def test_a_row_with_a_grammar_can_be_cancelled(pocket: Pocket) -> None:
    run = Run(pocket)
    run.scheduler.apply(ask(1, Grammar(pocket.compiled["schema"])))
    run.step()
    run.step()
    run.scheduler.apply(Cancel(1))
    assert not run.scheduler.busy


def test_likely_tokens_are_those_that_can_come(pocket: Pocket) -> None:
    run = Run(pocket)
    run.scheduler.apply(msgspec.structs.replace(ask(1, Grammar(pocket.compiled["letters"])), top_logprobs=20))
    reports = list[Logprobs]()
    while run.scheduler.busy:
        reports += [token.logprobs for token in run.step().tokens if token.logprobs]
    assert reports
    for report in reports:
        assert all(pocket.pieces[token][0] in "abc" or token == END for token, _ in report.top)
