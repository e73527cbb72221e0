"""Thinking in every family, gpt-oss channels, and finding a model's markup from its tokenizer."""

import importlib
import random
from pathlib import Path
from typing import Any

import pytest

from fireside.text.markup import AnswerParser, CallFormat, MarkupSpec, Outcome, ReasoningText
from fireside.text.mlxlm import import_text_parts, load_tokenizer
from text.test_markup import FAMILIES, TOOLS, cut, events_of, simple, spec_of

THINKING = {
    "think": ("<think>", "</think>"),
    "longcat": ("<longcat_think>", "</longcat_think>"),
    "colon": ("<|think:start|>", "<|think:end|>"),
    "gemma4": ("<|channel>thought", "<channel|>"),
    "kimi_k3": ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
}
CONTENT, REASONING = "content", "reasoning"
HARMONY = MarkupSpec(harmony=True)


def check(spec: MarkupSpec, text: str, expected: list[tuple[Any, ...]], **how: Any) -> None:
    """The events of a text: whole, one character at a time, and in random pieces."""
    rng = random.Random(text)
    for pieces in ([text], list(text), *(cut(text, rng) for _ in range(8))):
        assert simple(events_of(spec, pieces, **how)) == expected


@pytest.mark.parametrize("family", THINKING)
@pytest.mark.parametrize(
    ("text", "thinking_open", "expected"),
    [
        ("plain", False, [(CONTENT, "plain")]),
        ("\n plain\n", False, [(CONTENT, "\n plain\n")]),
        ("\n", False, [(CONTENT, "\n")]),
        ("[hm[\n\nyes", False, [(CONTENT, "[hm[\n\nyes")]),
        ("«hm»yes", False, [(REASONING, "hm"), (CONTENT, "yes")]),
        ("«\na\n\nb\n»\n\n  yes\n", False, [(REASONING, "a\n\nb"), (CONTENT, "  yes\n")]),
        ("«\n\n»\n\nyes", False, [(CONTENT, "yes")]),
        ("«»", False, []),
        ("hm\n»\n\nyes", True, [(REASONING, "hm"), (CONTENT, "yes")]),
        ("\n«\nhm»yes", True, [(REASONING, "hm"), (CONTENT, "yes")]),
        ("«hm", False, [(REASONING, "hm")]),
        ("hm\n", True, [(REASONING, "hm")]),
        ("hm <", True, [(REASONING, "hm <")]),
        ("say «so» yes", False, [(CONTENT, "say "), (REASONING, "so"), (CONTENT, " yes")]),
        ("hm»yes» no", True, [(REASONING, "hm"), (CONTENT, "yes no")]),
        ("yes» no", False, [(CONTENT, "yes no")]),
        ("«a « b»c", False, [(REASONING, "a « b"), (CONTENT, "c")]),
        ("«a»\n«b»\nc", False, [(REASONING, "ab"), (CONTENT, "c")]),
        ("1 < 2 <b> <|x|> </ <thin", False, [(CONTENT, "1 < 2 <b> <|x|> </ <thin")]),
    ],
)
def test_thinking_is_told_from_content(
    family: str, text: str, thinking_open: bool, expected: list[tuple[Any, ...]]
) -> None:
    start, end = THINKING[family]

    def marked(text: str) -> str:
        return text.replace("«", start).replace("»", end)

    told = [(kind, marked(said)) for kind, said in expected]
    check(MarkupSpec(think=(start, end)), marked(text), told, thinking_open=thinking_open)


def test_text_is_held_back_no_longer_than_it_could_begin_a_marker() -> None:
    parser = AnswerParser(MarkupSpec(think=("<think>", "</think>")), thinking_open=True)
    assert parser.feed("hm <") == [ReasoningText("hm ")]
    assert parser.feed("/thin") == []
    assert parser.feed("g") == [ReasoningText("</thing")]


def test_a_call_inside_thinking_ends_it_and_a_broken_one_does_not() -> None:
    call = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    ping = [("start", 0, "ping"), ("arguments", 0, {}), ("finish", 0, Outcome.COMPLETE)]
    spec = spec_of("json_tools")
    check(spec, f"hm\n{call}\nyes", [(REASONING, "hm"), *ping, (CONTENT, "\nyes")], thinking_open=True)
    text = "I write <tool_call> tags.\n\n</think>\nYes"
    check(
        spec,
        text,
        [(REASONING, "I write <tool_call> tags."), (CONTENT, "Yes")],
        thinking_open=True,
    )


def test_structural_markers_are_dropped_from_content() -> None:
    spec = MarkupSpec(
        think=THINKING["kimi_k3"],
        structural=("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"),
    )
    text = (
        "hm<|close|>think<|sep|><|open|>response<|sep|>Hello<|close|>response<|sep|><|close|>message<|sep|>"
    )
    check(spec, text, [(REASONING, "hm"), (CONTENT, "Hello")], thinking_open=True)


def call(index: int, name: str, arguments: Any, outcome: Outcome = Outcome.COMPLETE) -> list[tuple[Any, ...]]:
    middle = [("arguments", index, arguments)] if arguments is not None else []
    return [("start", index, name), *middle, ("finish", index, outcome)]


TO_F = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<|channel|>final<|message|>Hello", [(CONTENT, "Hello")]),
        ("<|channel|>final<|message|>Hello\n<|return|>", [(CONTENT, "Hello\n")]),
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi",
            [(REASONING, "Hm."), (CONTENT, "Hi")],
        ),
        ("<|channel|>analysis<|message|>Hm", [(REASONING, "Hm")]),
        ("<|channel|>commentary<|message|>I will look.<|end|>", [(CONTENT, "I will look.")]),
        (f'{TO_F}{{"a": "<|end|>"}}<|call|>', call(0, "f", {"a": "<|end|>"})),
        (f'{TO_F}{{"a": 1}}', call(0, "f", {"a": 1})),
        (f"{TO_F}<|call|>", call(0, "f", {})),
        (
            "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant to=functions.get_weather"
            '<|channel|>commentary json<|message|>\n{"city": "東京"}\n<|call|>',
            [(REASONING, "Hm"), *call(0, "get_weather", {"city": "東京"})],
        ),
        (" to=functions.f<|channel|>commentary<|message|>{}<|call|>", call(0, "f", {})),
        (
            "<|channel|>commentary to=ping<|message|>{}<|call|><|start|>assistant<|channel|>analysis "
            'to=functions.search code<|message|>{"n": 2}<|call|>',
            [*call(0, "ping", {}), *call(1, "search", {"n": 2})],
        ),
        (
            "<|channel|>analysis to=browser.search code<|message|>{}<|call|>"
            "<|start|>assistant<|channel|>final<|message|>x",
            [(REASONING, "{}"), (CONTENT, "x")],
        ),
        (f'{TO_F}{{"a": "cut', call(0, "f", '{"a": "cut', Outcome.TRUNCATED)),
        ("<|channel|>commentary to=functions.f <|constr", call(0, "f", None, Outcome.TRUNCATED)),
        ("<|channel|>commentary to=functions.f", []),
        ("<|channel|>ana", []),
        ("<|message|>a<|constrain|>b<|end|>", [(CONTENT, "ab")]),
        (
            f'{TO_F}{{"a": oops}}<|call|><|start|>assistant<|channel|>final<|message|>x',
            [*call(0, "f", '{"a": oops', Outcome.MALFORMED), (CONTENT, "x")],
        ),
        (f"{TO_F}not JSON<|call|>", [(CONTENT, f"{TO_F}not JSON")]),
        ("No channel at all, <b>just</b> text", [(CONTENT, "No channel at all, <b>just</b> text")]),
        (
            "<|channel|>analysis<|message|>Hm<|channel|>final<|message|>Hi",
            [(REASONING, "Hm"), (CONTENT, "Hi")],
        ),
        (
            "<|channel|>final<|message|>a<|end|>\n<|start|>assistant<|channel|>final<|message|>b",
            [(CONTENT, "ab")],
        ),
    ],
)
def test_harmony_messages_become_reasoning_calls_and_content(
    text: str, expected: list[tuple[Any, ...]]
) -> None:
    check(HARMONY, text, expected, truncated=True)


def test_harmony_primed_inside_its_analysis() -> None:
    text = "Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi"
    check(HARMONY, text, [(REASONING, "Hm."), (CONTENT, "Hi")], thinking_open=True)


def muse() -> MarkupSpec:
    form = importlib.import_module("mlx_lm.chat_templates.muse_spark").RESPONSE_FORMAT
    transitions = {state: tuple(edges) for state, edges in form["transitions"].items()}
    return MarkupSpec(
        calls=spec_of("muse_spark").calls, transitions=transitions, initial=form["initial_state"]
    )


def test_muse_spark_s_headers_are_dropped() -> None:
    calls = spec_of("muse_spark").calls
    assert calls
    body = FAMILIES["muse_spark"].bodies([("search", {"note": "to=user<|message|>"})])[0]
    text = (
        "to=self<|message|>Hm<|eom|><|start|>assistant to=search<|message|>"
        f"{calls.start}{body}{calls.end}<|eom|><|start|>assistant to=user<|message|>Here.<|eot|>"
    )
    expected = [(REASONING, "Hm"), *call(0, "search", {"note": "to=user<|message|>"}), (CONTENT, "Here.")]
    check(muse(), text, expected)
    check(muse(), "no header at all", [(CONTENT, "no header at all")])


class Bare:
    """As much of a tokenizer as mlx-lm's wrapper asks for."""

    eos_token_id = 0

    def __init__(self, vocab: list[str], chat_template: str = "") -> None:
        self.chat_template = chat_template
        self._vocab = {token: number for number, token in enumerate(vocab)}

    def get_vocab(self) -> dict[str, int]:
        return self._vocab

    def encode(self, text: str, **_: Any) -> list[int]:
        return [1] * len(text)

    def decode(self, ids: list[int]) -> str:
        return "a ,b"

    def apply_chat_template(self, messages: Any, enable_thinking: bool = True) -> str:
        raise NotImplementedError


def wrapped(vocab: list[str], parser: str | None = None) -> Any:
    utils = import_text_parts()
    if parser is None:
        return utils.TokenizerWrapper(Bare(vocab))
    calls = spec_of(parser).calls
    assert calls
    return utils.TokenizerWrapper(
        Bare(vocab), tool_call_start=calls.start, tool_call_end=calls.end, tool_parser=calls.parser
    )


@pytest.mark.parametrize("family", THINKING)
def test_thinking_is_found_in_the_vocabulary(family: str) -> None:
    start, end = THINKING[family]
    vocab = [start, end, "<|channel>", "<channel|>"]
    if family == "kimi_k3":
        vocab = ["<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"]
    spec = MarkupSpec.from_tokenizer(wrapped(vocab))
    assert spec.think == (start, end)
    assert spec.calls is None
    assert not spec.harmony


@pytest.mark.parametrize("family", FAMILIES)
def test_the_parser_is_taken_from_the_tokenizer(family: str) -> None:
    spec = MarkupSpec.from_tokenizer(wrapped([], family))
    expected = spec_of(family).calls
    assert expected
    assert spec.calls == CallFormat(
        {"laguna": "glm47"}.get(family, family), expected.start, expected.end, expected.parser
    )
    assert spec.think is None
    assert spec.without_calls().calls is None
    assert spec.keeps(expected.start)
    assert not spec.keeps("<|endoftext|>")


def test_gpt_oss_is_told_by_its_vocabulary() -> None:
    spec = MarkupSpec.from_tokenizer(wrapped(["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "a"]))
    assert spec.harmony
    assert spec.keeps("<|constrain|>")


def test_a_real_tokenizer() -> None:
    folder = Path(__file__).parents[1] / "models" / "pocket"
    spec = MarkupSpec.from_tokenizer(load_tokenizer(folder, None))
    assert spec.think == ("<think>", "</think>")
    assert spec.calls
    assert spec.calls.name == "json_tools"
    text = '<think>\nThe weather.\n</think>\n\n<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
    check(spec, text, [(REASONING, "The weather."), *call(0, "ping", {})], tools=TOOLS)
