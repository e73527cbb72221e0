"""The prompt cache: what was read once is not read again, and no answer shows whether it was."""

import functools
from collections.abc import Iterator
from typing import Any

import pytest

from fireside.text.mlxlm import load_tokenizer
from support.completions import (
    Answer,
    ask,
    ask_at_once,
    assistant,
    body_of,
    prefill,
    streaming,
    system,
    texts,
    user,
    wait_idle,
)
from support.server import POCKET, Server, prepared_home, serving

REMAINDER = 64
"""Tokens at the end of a known prompt that may be read again."""

SLACK = 32
"""Tokens more than needed that may be read for one of several requests that arrive together."""


@pytest.fixture(scope="module")
def cached(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of its own, so that its cache knows only what this file asks."""
    with serving(prepared_home(tmp_path_factory.mktemp("cached"), server.home)) as running:
        yield running.wait_ready()


@pytest.fixture(scope="module")
def uncached(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = prepared_home(tmp_path_factory.mktemp("uncached"), server.home)
    with serving(home, "--prompt-cache", "0") as running:
        yield running.wait_ready()


@pytest.fixture(scope="module")
def small(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A cache that holds the prompts of two or three requests."""
    home = prepared_home(tmp_path_factory.mktemp("small"), server.home)
    with serving(home, "--prompt-cache", "4MB", "--ssd-cache", "off") as running:
        yield running.wait_ready()


@functools.cache
def tokens(text: str) -> int:
    return len(load_tokenizer(POCKET, None).encode(text, add_special_tokens=False))


PRIMER = "<|im_start|>assistant\n"


def prose(word: str, count: int) -> str:
    """A text of about seven tokens a word, that no other begins with."""
    return " ".join(f"{word}{n}" for n in range(count))


def turns(word: str, count: int = 100) -> list[Any]:
    """A conversation's first turn, of hundreds of tokens, that is answered at length."""
    return [system(prose(word, count)), user("Count to 50.")]


def counters(server: Server) -> dict[str, int]:
    return server.get("/stats")["prompt_cache"]


@pytest.mark.parametrize("words", [0, 60])
def test_the_same_prompt_again_gives_the_same_answer(cached: Server, uncached: Server, words: int) -> None:
    conversation = [user(f"Repeat: once more {prose('same', words)}")]
    answers = [ask(cached, conversation, max_tokens=24) for _ in range(3)]
    plain = ask(uncached, conversation, max_tokens=24)
    assert plain.text.startswith("once more")
    assert [answer.text for answer in answers] == [plain.text] * 3
    assert {answer.prompt_tokens for answer in answers} == {plain.prompt_tokens}
    assert all(answer.computed_tokens >= 1 for answer in answers)
    if words:
        assert all(answer.computed_tokens <= REMAINDER for answer in answers[1:])


def test_without_a_cache_every_prompt_is_read(uncached: Server) -> None:
    answers = [ask(uncached, turns("nothing"), max_tokens=2) for _ in range(2)]
    assert [answer.cached_tokens for answer in answers] == [0, 0]
    state = counters(uncached)
    assert (state["entries"], state["bytes"], state["max_bytes"]) == (0, 0, 0)


@pytest.mark.parametrize("words", [0, 100])
def test_a_prompt_that_begins_a_cached_one(cached: Server, uncached: Server, words: int) -> None:
    """The first turn, asked again after the second."""
    first = [system(f"Be brief. {prose('inside', words)}"), user("Repeat: one fine day")]
    second = [*first, assistant("one fine day"), user("Count to 20.")]
    for conversation in (second, first, second):
        answer, plain = (ask(running, conversation, max_tokens=40) for running in (cached, uncached))
        assert answer.text == plain.text != ""
        assert answer.prompt_tokens == plain.prompt_tokens > answer.cached_tokens
    assert answer.computed_tokens <= REMAINDER


@pytest.mark.parametrize(("words", "known"), [(0, False), (100, False), (100, True)])
def test_two_identical_prompts_at_once(cached: Server, uncached: Server, words: int, known: bool) -> None:
    conversation = [user(f"Repeat: as one {prose(f'twin{known}', words)}")]
    plain = ask(uncached, conversation, max_tokens=24)
    if known:
        ask(cached, conversation, max_tokens=24)
    answers = ask_at_once(cached, [body_of(conversation, max_tokens=24)] * 2)
    assert [answer.text for answer in answers] == [plain.text] * 2
    assert all(answer.prompt_tokens == plain.prompt_tokens > answer.cached_tokens for answer in answers)


@pytest.mark.parametrize(
    ("thinking", "reply"), [(False, "as it came"), (False, "another"), (True, "as it came")]
)
def test_the_next_turn_reads_only_what_is_new(
    cached: Server, uncached: Server, thinking: bool, reply: str
) -> None:
    """Also where the answer comes back changed: its thoughts are left out, or somebody edited it."""
    fields = {"chat_template_kwargs": {"enable_thinking": thinking}, "max_tokens": 60}
    first = turns(f"next{thinking}{reply[:2]}")
    answer = ask(cached, first, **fields)
    assert ("reasoning" in answer.message) is thinking
    said = answer.text if reply == "as it came" else f"No. {answer.text}"
    second = [*first, assistant(said), user("Repeat: and now this")]
    later = ask(cached, second, **fields)
    assert later.cached_tokens >= answer.prompt_tokens - tokens(PRIMER)
    assert later.text == ask(uncached, second, **fields).text != ""


def test_the_parts_of_a_prompt_add_up(cached: Server) -> None:
    fields: dict[str, Any] = {"return_progress": True, "max_tokens": 2}
    answers = [ask(cached, turns("sums"), **fields) for _ in range(2)]
    for answer in answers:
        made = answer.usage["fireside"]
        assert made["computed"] + made["from_ram"] + made["from_ssd"] == answer.prompt_tokens
        assert made["from_ram"] + made["from_ssd"] == answer.cached_tokens
    assert answers[1].computed_tokens <= REMAINDER


def broken_off(server: Server, conversation: list[Any], pieces: int) -> str:
    """Leave a streamed answer after so many pieces; returns what came."""
    with streaming(server, conversation) as chunks:
        came = texts(chunks)
        said = "".join(next(came) for _ in range(pieces))
    wait_idle(server, 2)
    return said


def test_the_turn_after_one_that_was_broken_off(cached: Server, uncached: Server) -> None:
    complaints = cached.log.read_text().count("Traceback")
    first = turns("broken", 150)
    said = broken_off(cached, first, 5)
    size = ask(uncached, first, max_tokens=1).prompt_tokens
    second = [*first, assistant(said), user("Repeat: go on from here")]
    later = ask(cached, second, max_tokens=40)
    assert later.text == ask(uncached, second, max_tokens=40).text != ""
    assert later.cached_tokens >= size - REMAINDER
    assert cached.log.read_text().count("Traceback") == complaints


def test_the_turn_after_one_that_was_broken_off_while_it_was_read(cached: Server, uncached: Server) -> None:
    complaints = cached.log.read_text().count("Traceback")
    first = turns("unread", 450)
    with streaming(cached, first) as chunks:
        progress = prefill(chunks)
        assert progress["prefill_done"] < progress["prefill_total"]
    wait_idle(cached, 2)
    second = [*first, assistant("1, 2"), user("Repeat: go on from here")]
    later = ask(cached, second, max_tokens=40)
    assert later.text == ask(uncached, second, max_tokens=40).text != ""
    assert later.prompt_tokens > later.cached_tokens
    assert cached.log.read_text().count("Traceback") == complaints


@pytest.mark.parametrize("known", [False, True])
def test_a_system_prompt_of_many_requests_is_read_once(cached: Server, uncached: Server, known: bool) -> None:
    shared = prose(f"shared{known}", 140)
    conversations = [[system(shared), user(f"Repeat: request number {n}")] for n in range(8)]
    if known:
        ask(cached, [system(shared), user("Hello")], max_tokens=2)
    answers = ask_at_once(cached, [body_of(c, max_tokens=30) for c in conversations])
    assert [answer.text for answer in answers] == [f"request number {n}" for n in range(8)] or [
        answer.text for answer in answers
    ] == [ask(uncached, c, max_tokens=30).text for c in conversations]
    head = tokens(f"<|im_start|>system\n{shared}\n<|im_end|>\n")
    assert head > 900
    own = sum(answer.prompt_tokens - head for answer in answers)
    read = sum(answer.computed_tokens for answer in answers)
    assert read <= (0 if known else head) + own + 8 * SLACK


def test_what_is_found_is_counted(small: Server) -> None:
    begin = counters(small)
    assert begin["max_bytes"] == 4_000_000
    ask(small, turns("count"), max_tokens=2)
    cold = counters(small)
    assert cold["hits"] + cold["misses"] == begin["hits"] + begin["misses"] + 1
    assert cold["entries"] >= 1
    assert cold["bytes"] > 0
    ask(small, turns("count"), max_tokens=2)
    warm = counters(small)
    assert (warm["hits"], warm["misses"]) == (cold["hits"] + 1, cold["misses"])


def test_the_cache_stays_below_its_size_and_keeps_what_was_used_last(small: Server) -> None:
    for number in range(6):
        ask(small, turns(f"many{number}"), max_tokens=2)
        assert 0 < counters(small)["bytes"] <= 4_000_000
    last, first = (ask(small, turns(f"many{number}"), max_tokens=2) for number in (5, 0))
    assert last.computed_tokens <= REMAINDER
    assert first.computed_tokens > 500


def test_a_prompt_too_large_for_the_cache_is_answered_all_the_same(small: Server, uncached: Server) -> None:
    conversation = turns("large", 450)
    plain = ask(uncached, conversation, max_tokens=12)
    answers: list[Answer] = [ask(small, conversation, max_tokens=12) for _ in range(2)]
    assert [answer.text for answer in answers] == [plain.text] * 2
    assert counters(small)["bytes"] <= 4_000_000
