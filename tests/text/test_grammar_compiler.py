"""Grammars compiled in a process of their own, whatever they do to it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import psutil
import pytest

from fireside.text.grammar import compiler as module
from fireside.text.grammar.compiler import COMMAND, GrammarCompiler
from fireside.text.grammar.spec import GrammarSpec, GrammarUnsupported, GrammarWrong
from fireside.text.grammar.vocabulary import VocabularyDescription, describe
from fireside.text.model import TextModel
from fireside.xgr import xgrammar
from support.server import POCKET

GOOD = GrammarSpec("regex", "a+b")
SCRIPTED = """
import mmap, os, signal, time
from fireside.text.grammar import worker

class Compiler:
    def tokenizer(self, asked):
        return worker.Answer(made=b"vocabulary")

    def compile(self, asked):
        if asked.text == "slow":
            time.sleep(60)
        if asked.text == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if asked.text == "eat":
            rows = []
            while len(rows) < 64:
                rows.append(mmap.mmap(-1, 1 << 26))
        return worker.Answer(made=asked.text.encode() * 1000)

worker._Compiler = Compiler
worker.main()
"""


@cache
def pocket() -> tuple[VocabularyDescription, list[str], tuple[int, ...]]:
    """What the test model's tokenizer says of its tokens, their texts, and those that end an answer."""

    async def load() -> tuple[VocabularyDescription, list[str], tuple[int, ...]]:
        text = await TextModel.load(POCKET)
        pieces = await text.token_texts(range(text.vocab_size))
        described = await text.vocabulary()
        text.close()
        return described, pieces, text.stop_ids

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, load()).result()


@asynccontextmanager
async def compilers(**options: Any) -> AsyncGenerator[GrammarCompiler]:
    async def described() -> VocabularyDescription:
        return pocket()[0]

    compiler = GrammarCompiler(described, **options)
    try:
        yield compiler
    finally:
        await compiler.close()


@asynccontextmanager
async def scripted(**options: Any) -> AsyncGenerator[GrammarCompiler]:
    """A compiler whose process does as the grammar says."""
    async with compilers(command=(sys.executable, "-P", "-c", SCRIPTED), **options) as compiler:
        yield compiler


def tag(schema: Any) -> GrammarSpec:
    form = {"type": "tag", "begin": "<call>", "content": {"type": "json_schema", "json_schema": schema}}
    return GrammarSpec(
        "structural_tag", json.dumps({"type": "structural_tag", "format": {**form, "end": "</call>"}})
    )


async def accepts(compiler: GrammarCompiler, spec: GrammarSpec, text: str) -> bool:
    """Whether a text is in a compiled grammar's language, as a core would see it."""
    xgr = xgrammar()
    info = xgr.TokenizerInfo.deserialize_json((await compiler.vocabulary()).decode())
    compiled = xgr.CompiledGrammar.deserialize_json((await compiler.compile(spec)).decode(), info)
    matcher = xgr.GrammarMatcher(compiled)
    return matcher.accept_string(text) and matcher.is_completed()


async def test_each_kind_is_compiled_to_its_language() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    closed = {**schema, "additionalProperties": False}
    cases = [
        (GOOD, "aab", "aa"),
        (GrammarSpec("ebnf", 'root ::= "x" root | "y"'), "xxy", "xx"),
        (GrammarSpec("json_schema", json.dumps(schema)), '{"a": 1, "b": []}', '{"a": "1"}'),
        (GrammarSpec("json_schema", json.dumps(closed)), '{"a":  1\n}', '{"a": 1, "b": 2}'),
        (GrammarSpec("json_schema", "{}"), "[[], null]", "[[], nul]"),
        (tag(schema), '<call>{"a":  1}</call>', '<call>{"a":1}'),
    ]
    async with compilers() as compiler:
        for spec, right, wrong in cases:
            assert await accepts(compiler, spec, right), spec
            assert not await accepts(compiler, spec, wrong), spec


@pytest.mark.parametrize("wrap", [tag, lambda schema: GrammarSpec("json_schema", json.dumps(schema))])
async def test_runs_of_white_space_are_bounded(wrap: Callable[[Any], GrammarSpec]) -> None:
    spec = wrap({"type": "array", "items": {"type": "integer"}})
    begin, end = ("<call>", "</call>") if spec.kind == "structural_tag" else ("", "")
    async with compilers() as compiler:
        assert await accepts(compiler, spec, f"{begin}[1,  2 ]{end}")
        assert not await accepts(compiler, spec, f"{begin}[1,   2]{end}")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (GrammarSpec("regex", "[unclosed"), "Unclosed '['"),
        (GrammarSpec("ebnf", 'root ::= "a" b'), 'Rule "b" is not defined'),
        (GrammarSpec("json_schema", ""), "JSON"),
        (GrammarSpec("json_schema", '{"type": "foo"}'), 'Unsupported type "foo"'),
        (GrammarSpec("json_schema", '{"$ref": "#/$defs/NOPE"}'), "$defs"),
        (GrammarSpec("structural_tag", "{"), "Expecting"),
        (GrammarSpec("structural_tag", '{"type": "structural_tag", "format": {"type": "no"}}'), "no"),
    ],
)
async def test_a_wrong_grammar_is_refused_in_words(spec: GrammarSpec, said: str) -> None:
    async with compilers() as compiler:
        for _ in range(2):
            with pytest.raises(GrammarWrong) as raised:
                await compiler.compile(spec)
            assert said in str(raised.value)
            assert "/project/" not in str(raised.value)
        assert await compiler.compile(GOOD)


@pytest.mark.parametrize(
    "spec",
    [
        GrammarSpec("regex", "a(?=b)"),
        GrammarSpec("regex", r"(a)\1"),
        GrammarSpec("json_schema", '{"type": "string", "pattern": "a+", "minLength": 4}'),
    ],
)
async def test_what_would_be_passed_over_is_refused(spec: GrammarSpec) -> None:
    async with compilers() as compiler:
        with pytest.raises(GrammarUnsupported, match="not supported"):
            await compiler.compile(spec)


async def test_half_a_character_is_refused() -> None:
    async with scripted() as compiler:
        with pytest.raises(GrammarUnsupported, match="half a character"):
            await compiler.compile(GrammarSpec("ebnf", 'root ::= "\ud800"'))
        assert await compiler.compile(GOOD)


@pytest.mark.parametrize("text", ["root ::= root", 'root ::= root "a"'])
async def test_a_grammar_by_which_no_text_is_right_is_wrong(text: str) -> None:
    async with compilers() as compiler:
        with pytest.raises(GrammarWrong, match="no text"):
            await compiler.compile(GrammarSpec("ebnf", text))


async def test_long_looks_at_schemas_leave_the_threads_of_others_free() -> None:
    ended = threading.Event()
    async with scripted() as compiler:
        looks = [asyncio.create_task(compiler.off_loop(ended.wait)) for _ in range(40)]
        try:
            await asyncio.sleep(0)
            assert await asyncio.wait_for(asyncio.to_thread(lambda: "free"), 5) == "free"
        finally:
            ended.set()
        assert all(await asyncio.gather(*looks))


async def test_the_process_starts_at_the_first_grammar_and_is_kept() -> None:
    async with compilers() as compiler:
        assert compiler.pid is None
        first = await compiler.compile(GOOD)
        pid = compiler.pid
        assert pid is not None
        assert await compiler.compile(GOOD) == first
        await compiler.compile(GrammarSpec("regex", "b"))
        assert compiler.pid == pid
        loaded = psutil.Process(pid).memory_maps()
        assert not [library.path for library in loaded if "mlx" in library.path or "torch" in library.path]
    assert not psutil.pid_exists(pid)


async def test_a_grammar_that_takes_too_long_is_ended_and_the_next_one_is_compiled() -> None:
    async with scripted(within_s=0.4) as compiler:
        assert await compiler.compile(GrammarSpec("regex", "one"))
        pid, begun = compiler.pid, time.monotonic()
        with pytest.raises(GrammarUnsupported, match=r"longer than 0\.4 s"):
            await compiler.compile(GrammarSpec("regex", "slow"))
        assert time.monotonic() - begun < 2
        assert compiler.pid is None
        # It is not tried again, and the process comes back for the others.
        with pytest.raises(GrammarUnsupported, match="longer than"):
            await compiler.compile(GrammarSpec("regex", "slow"))
        assert compiler.pid is None
        assert await compiler.compile(GrammarSpec("regex", "two"))
        assert compiler.pid not in (None, pid)


@pytest.mark.parametrize("how", ["die", "eat"])
async def test_a_grammar_that_ends_the_process_ends_nothing_else(how: str) -> None:
    async with scripted() as compiler:
        with pytest.raises(GrammarUnsupported, match="ended the process"):
            await compiler.compile(GrammarSpec("regex", how))
        assert await compiler.compile(GrammarSpec("regex", "two"))


async def test_a_real_grammar_that_explodes_is_ended() -> None:
    async with compilers(within_s=1) as compiler:
        with pytest.raises(GrammarUnsupported, match="longer than 1 s"):
            await compiler.compile(GrammarSpec("regex", "(a|aa|aaa|aaaa)*" * 300))
        assert await compiler.compile(GOOD)


async def test_a_killed_process_is_started_again() -> None:
    async with compilers() as compiler:
        await compiler.compile(GOOD)
        pid = compiler.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(10):
            while compiler.pid is not None:  # noqa: ASYNC110 (a process has no event for its end)
                await asyncio.sleep(0.01)
        assert await compiler.compile(GrammarSpec("regex", "b"))


async def test_what_is_asked_for_at_once_is_compiled_once() -> None:
    async with scripted() as compiler:
        spec = GrammarSpec("regex", "x")
        first, *others = await asyncio.gather(*(compiler.compile(spec) for _ in range(5)))
        assert all(other is first for other in others)


async def test_who_leaves_takes_only_his_own_grammar_along() -> None:
    async with scripted(within_s=30) as compiler:
        await compiler.compile(GrammarSpec("regex", "one"))
        slow = GrammarSpec("regex", "slow")
        waiting = [asyncio.create_task(compiler.compile(spec)) for spec in (slow, slow, GOOD)]
        await asyncio.sleep(0.1)
        waiting[0].cancel()
        await asyncio.sleep(0.1)
        assert not waiting[1].done()
        waiting[1].cancel()
        async with asyncio.timeout(10):
            assert await waiting[2] == b"a+b" * 1000
        assert await asyncio.gather(*waiting[:2], return_exceptions=True)


async def test_the_cache_is_bounded_and_keeps_what_was_asked_for_last() -> None:
    specs = [GrammarSpec("regex", letter * 10) for letter in "abc"]
    async with scripted(cache_bytes=25_000) as compiler:
        made = [await compiler.compile(spec) for spec in specs[:2]]
        assert await compiler.compile(specs[0]) is made[0]
        await compiler.compile(specs[2])
        assert await compiler.compile(specs[0]) is made[0]
        assert await compiler.compile(specs[1]) is not made[1]


async def test_a_grammar_that_gets_too_big_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 5000)
    async with scripted() as compiler:
        assert await compiler.compile(GrammarSpec("regex", "abcde"))
        with pytest.raises(GrammarUnsupported, match="when compiled"):
            await compiler.compile(GrammarSpec("regex", "abcdef"))


async def test_after_the_end_nothing_is_compiled() -> None:
    async with compilers() as compiler:
        await compiler.close()
        await compiler.close()
        with pytest.raises(GrammarUnsupported, match="stopping"):
            await compiler.compile(GOOD)


def test_the_process_ends_with_the_app() -> None:
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.communicate(timeout=20)
    assert process.returncode == 0


async def test_the_vocabulary_is_what_the_tokenizer_itself_would_give() -> None:
    described, shown, stop_ids = pocket()
    asked: list[int] = []

    async def tell() -> VocabularyDescription:
        asked.append(1)
        return described

    compiler = GrammarCompiler(tell)
    info = xgrammar().TokenizerInfo.deserialize_json((await compiler.vocabulary()).decode())
    await compiler.compile(GOOD)
    await compiler.close()
    assert asked == [1]
    assert info.vocab_size == len(shown)
    assert list(info.stop_token_ids) == list(stop_ids)
    whole = {index: piece for index, piece in enumerate(shown) if piece and "�" not in piece}
    assert len(whole) > 1800
    decoded: list[bytes] = info.decoded_vocab
    hidden = [index for index, token in enumerate(described.tokens) if not token]
    assert {i for i, piece in whole.items() if decoded[i].decode() != piece} <= {*hidden}


def test_a_tokenizer_without_a_description_is_refused() -> None:
    with pytest.raises(GrammarUnsupported, match=r"tokenizer\.json"):
        describe(object(), (), ())


async def test_what_cannot_be_described_refuses_every_grammar() -> None:
    async def refuse() -> VocabularyDescription:
        raise GrammarUnsupported("no tokenizer.json")

    asked: list[Callable[[], Awaitable[bytes]]]
    compiler = GrammarCompiler(refuse)
    asked = [lambda: compiler.compile(GOOD), compiler.vocabulary]
    for ask in asked:
        with pytest.raises(GrammarUnsupported, match="no tokenizer"):
            await ask()
    await compiler.close()
