"""Tool calls of every family: our events are what mlx-lm's own parser finds, however the text is cut.

Each family renders the same table of calls in its own format. What is expected comes from mlx-lm's parser,
run once over everything between the markers; ours sees the raw answer in pieces.
"""

import importlib
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireside.text.markup import (
    READERS,
    AnswerParser,
    CallArguments,
    CallFinished,
    CallFormat,
    CallStarted,
    ContentText,
    MarkupEvent,
    MarkupSpec,
    Outcome,
    ReasoningText,
    merged,
)
from fireside.text.markup.source import Markers
from fireside.text.mlxlm import import_text_parts

Call = tuple[str, dict[str, Any]]

TYPES = {"city": "string", "note": "string", "count": "integer", "ratio": "number", "sure": "boolean"}
PROPERTIES: dict[str, Any] = {name: {"type": kind} for name, kind in TYPES.items()}
PROPERTIES |= {"tags": {"type": "array"}, "where": {"type": "object"}, "either": {"type": ["string", "null"]}}
TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "parameters": {"type": "object", "properties": PROPERTIES}},
    }
    for name in ("get_weather", "search", "ping")
]

CALLS: list[Call] = [
    ("get_weather", {"city": "Paris"}),
    ("get_weather", {"city": "Zürich 東京 🦊", "count": 3}),
    ("ping", {}),
    ("search", {"note": 'say "hi" and \\ go', "sure": True}),
    ("search", {"note": "line one\nline two\n\n  indented", "city": "Oslo"}),
    ("get_weather", {"count": -12, "ratio": 2.5, "sure": False}),
    ("search", {"tags": ["a", "b, c", 3], "where": {"lat": 48.85, "in": {"deep": [True, None]}}}),
    ("search", {"note": '{"looks": "like JSON"}', "count": 0}),
    ("search", {"note": "a < b && c > d", "city": 'it\'s "it", (she) said'}),
    ("search", {"note": "x, y: [1] (2) = 3;", "ratio": 1e-05}),
    ("search", {"note": "", "city": "42"}),
    ("not_offered", {"query": "free", "limit": 5}),
    ("search", {"note": "ends with a marker <tool_call> [TOOL_CALLS] </think>", "city": "Rome"}),
    ("search", {"tags": [], "where": {}, "city": "Bath"}),
]


@dataclass(frozen=True)
class Family:
    """How a family writes calls: the texts between its markers."""

    bodies: Callable[[Sequence[Call]], list[str]]
    can: Callable[[Call], bool] = lambda call: True


def each(one: Callable[[str, dict[str, Any]], str]) -> Callable[[Sequence[Call]], list[str]]:
    return lambda calls: [one(*call) for call in calls]


def section(
    one: Callable[[str, dict[str, Any]], str], glue: str = "\n"
) -> Callable[[Sequence[Call]], list[str]]:
    return lambda calls: [glue + glue.join(one(*call) for call in calls) + glue]


def plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def qwen3_coder(name: str, arguments: dict[str, Any]) -> str:
    pairs = "".join(f"<parameter={k}>\n{plain(v)}\n</parameter>\n" for k, v in arguments.items())
    return f"\n<function={name}>\n{pairs}</function>\n"


def pairs_with(prefix: str) -> Callable[[str, dict[str, Any]], str]:
    def one(name: str, arguments: dict[str, Any]) -> str:
        lines = [
            f"<{prefix}arg_key>{k}</{prefix}arg_key>\n<{prefix}arg_value>{plain(v)}</{prefix}arg_value>\n"
            for k, v in arguments.items()
        ]
        return f"{name}\n" + "".join(lines)

    return one


def minimax_m2(name: str, arguments: dict[str, Any]) -> str:
    pairs = "".join(f'<parameter name="{k}">{plain(v)}</parameter>\n' for k, v in arguments.items())
    return f'<invoke name="{name}">\n{pairs}</invoke>'


def minicpm5(name: str, arguments: dict[str, Any]) -> str:
    def value(text: str) -> str:
        return f"<![CDATA[{text}]]>" if re.search(r"[<&\n]", text) else text

    return f'"{name}">' + "".join(
        f'<param name="{k}">{value(plain(v))}</param>' for k, v in arguments.items()
    )


def muse_spark(name: str, arguments: dict[str, Any]) -> str:
    pairs = "".join(
        f'<atem:parameter name="{k}" string="{str(isinstance(v, str)).lower()}">{plain(v)}</atem:parameter>\n'
        for k, v in arguments.items()
    )
    return f'<atem:invoke name="{name}">\n{pairs}</atem:invoke>'


def kimi_k3(name: str, arguments: dict[str, Any]) -> str:
    if len(arguments) == 1:
        inner = f'<|open|>json type="object"<|sep|>{json.dumps(arguments)}<|close|>json<|sep|>'
    else:
        inner = "".join(
            f'<|open|>argument key="{k}" type="{"string" if isinstance(v, str) else "object"}"<|sep|>'
            f"{plain(v)}<|close|>argument<|sep|>"
            for k, v in arguments.items()
        )
    return f'<|open|>call tool="{name}" index="1"<|sep|>{inner}<|close|>call<|sep|>'


def kimi_k2(name: str, arguments: dict[str, Any]) -> str:
    text = repr(arguments) if "ratio" in arguments else json.dumps(arguments, ensure_ascii=False)
    return f"<|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{text}<|tool_call_end|>"


def gemma_value(value: Any) -> str:
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{gemma_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(gemma_value, value)) + "]"
    return json.dumps(value)


def gemma4(name: str, arguments: dict[str, Any]) -> str:
    return f"call:{name}{gemma_value(arguments)}"


def function_gemma(name: str, arguments: dict[str, Any]) -> str:
    pairs = [
        f"{k}:" + (f"<escape>{v}<escape>" if isinstance(v, str) else plain(v)) for k, v in arguments.items()
    ]
    return f"call:{name}{{{','.join(pairs)}}}"


def pythonic(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})"


def as_json(name: str, arguments: dict[str, Any]) -> str:
    fields: dict[str, Any] = {"name": name, "arguments": arguments}
    # Either order, with and without ASCII escapes.
    items = fields if len(arguments) % 2 else dict(reversed(fields.items()))
    return f"\n{json.dumps(items, ensure_ascii=len(arguments) > 1)}\n"


def mistral(calls: Sequence[Call]) -> list[str]:
    if len(calls) > 1:
        return ["".join(f"{name}[ARGS]{json.dumps(arguments)}" for name, arguments in calls)]
    return [
        json.dumps([{"name": name, "arguments": arguments, "id": "a1b2c3d4e"} for name, arguments in calls])
    ]


def flat(call: Call) -> bool:
    return not any(isinstance(v, list | dict) or "}" in plain(v) for v in call[1].values())


FAMILIES = {
    "function_gemma": Family(each(function_gemma), flat),
    "gemma4": Family(each(gemma4)),
    "glm47": Family(each(pairs_with(""))),
    "json_tools": Family(each(as_json)),
    "kimi_k2": Family(section(kimi_k2, "")),
    "kimi_k3": Family(section(kimi_k3)),
    "laguna": Family(each(pairs_with(""))),
    # Its parser needs an argument.
    "longcat": Family(each(pairs_with("longcat_")), lambda call: bool(call[1])),
    "minicpm5": Family(each(minicpm5)),
    "minimax_m2": Family(section(minimax_m2)),
    "mistral": Family(mistral),
    "muse_spark": Family(section(muse_spark)),
    "pythonic": Family(lambda calls: [f"[{', '.join(pythonic(*call) for call in calls)}]"]),
    "qwen3_coder": Family(each(qwen3_coder)),
}


@dataclass(frozen=True)
class Output:
    """An answer of a model, and what is expected of it."""

    family: str
    text: str
    expected: list[tuple[Any, ...]]


@cache
def spec_of(family: str) -> MarkupSpec:
    import_text_parts()
    module = importlib.import_module(f"mlx_lm.tool_parsers.{family}")
    calls = CallFormat(family, module.tool_call_start, module.tool_call_end, module.parse_tool_call)
    return MarkupSpec(think=("<think>", "</think>"), calls=calls)


def outputs_of(family: str) -> Iterator[Output]:
    """The family's calls one by one, then in pairs; alone, in prose and behind thinking, in turn."""
    calls = [call for call in CALLS if FAMILIES[family].can(call)]
    groups = [[call] for call in calls] + [[calls[i], calls[-1 - i]] for i in range(3)]
    for number, group in enumerate(groups):
        yield output(family, group, number % 4)


def output(family: str, group: Sequence[Call], manner: int) -> Output:
    calls = spec_of(family).calls
    assert calls
    bodies = FAMILIES[family].bodies(group)
    text = "\n".join(calls.start + body + calls.end for body in bodies)
    parsed = [found for body in bodies for found in as_list(calls.parser(body, TOOLS))]
    assert [call["name"] for call in parsed] == [name for name, _ in group]
    expected: list[tuple[Any, ...]] = []
    for index, call in enumerate(parsed):
        expected += [("start", index, call["name"]), ("arguments", index, call["arguments"])]
        expected.append(("finish", index, Outcome.COMPLETE))
    match manner:
        case 1:
            text, expected = f"Let me look.\n{text}", [("content", "Let me look.\n"), *expected]
        case 2:
            text = f"<think>\nWhich one?\n\n</think>\n\n{text}"
            expected = [("reasoning", "Which one?"), *expected]
        case 3:
            text, expected = f"{text}\n\nDone <b>now</b>.", [*expected, ("content", "\n\nDone <b>now</b>.")]
        case _:
            pass
    return Output(family, text, expected)


def as_list(parsed: Any) -> list[dict[str, Any]]:
    return parsed if isinstance(parsed, list) else [parsed]


def all_outputs() -> list[Output]:
    return [output for family in FAMILIES for output in outputs_of(family)]


def events_of(
    spec: MarkupSpec,
    pieces: Sequence[str],
    *,
    truncated: bool = False,
    thinking_open: bool = False,
    tools: list[Any] | None = TOOLS,
) -> list[MarkupEvent]:
    parser = AnswerParser(spec, tools, thinking_open)
    events = [event for piece in pieces for event in parser.feed(piece)]
    return merged(events + parser.finish(truncated))


def simple(events: Sequence[MarkupEvent]) -> list[tuple[Any, ...]]:
    """Events as tuples: ids checked and left out, the arguments of complete calls decoded."""
    complete = {e.index for e in events if isinstance(e, CallFinished) and e.outcome is Outcome.COMPLETE}
    ids = [event.id for event in events if isinstance(event, CallStarted)]
    assert all(re.fullmatch(r"call_[0-9a-f]{24}", id) for id in ids)
    assert len(set(ids)) == len(ids)
    tuples: list[tuple[Any, ...]] = []
    for event in events:
        match event:
            case ReasoningText(text):
                tuples.append(("reasoning", text))
            case ContentText(text):
                tuples.append(("content", text))
            case CallStarted(index, _, name):
                tuples.append(("start", index, name))
            case CallArguments(index, fragment):
                tuples.append(("arguments", index, json.loads(fragment) if index in complete else fragment))
            case CallFinished(index, outcome):
                tuples.append(("finish", index, outcome))
    return tuples


def cut(text: str, rng: random.Random) -> list[str]:
    places = sorted(rng.randrange(len(text) + 1) for _ in range(rng.randint(1, 12)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def wrong(outputs: Sequence[Output], pieces_of: Callable[[str], list[str]]) -> list[str]:
    """The answers whose events are not the expected ones when they come in these pieces."""
    return [
        f"{o.family}: {o.text}"
        for o in outputs
        if simple(events_of(spec_of(o.family), pieces_of(o.text))) != o.expected
    ]


def test_every_parser_of_mlx_lm_has_a_reader_and_samples() -> None:
    folder = Path(import_text_parts().__file__).parent / "tool_parsers"
    names = {file.stem for file in folder.glob("[!_]*.py")}
    assert names == READERS.keys() == FAMILIES.keys()
    assert len(all_outputs()) > 200


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_s_calls_are_what_mlx_lm_s_parser_finds(family: str) -> None:
    outputs = list(outputs_of(family))
    assert len(outputs) >= 10
    for output in outputs:
        assert simple(events_of(spec_of(family), [output.text])) == output.expected


def test_one_character_at_a_time_gives_the_same_events() -> None:
    assert wrong(all_outputs(), list) == []


def test_random_cuts_give_the_same_events() -> None:
    rng = random.Random(4)
    assert wrong(all_outputs() * 4, lambda text: cut(text, rng)) == []


@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_any_cut_gives_the_same_events(data: st.DataObject) -> None:
    output = data.draw(st.sampled_from(all_outputs()))
    places = sorted(data.draw(st.lists(st.integers(0, len(output.text)), max_size=6)))
    pieces = [output.text[a:b] for a, b in zip([0, *places], [*places, len(output.text)], strict=True)]
    assert simple(events_of(spec_of(output.family), pieces)) == output.expected


@given(data=st.data())
@settings(deadline=None, max_examples=150)
def test_damaged_answers_do_not_depend_on_cuts_either(data: st.DataObject) -> None:
    output = data.draw(st.sampled_from(all_outputs()))
    begin = data.draw(st.integers(0, len(output.text)))
    end = data.draw(st.integers(begin, min(len(output.text), begin + 12)))
    text = (
        output.text[:begin] + data.draw(st.sampled_from(["", "x", "<", '"', "}", "\n"])) + output.text[end:]
    )
    truncated = data.draw(st.booleans())
    spec = spec_of(output.family)
    whole = simple(events_of(spec, [text], truncated=truncated))
    assert simple(events_of(spec, list(text), truncated=truncated)) == whole
    starts = [event[1] for event in whole if event[0] == "start"]
    assert [event[1] for event in whole if event[0] == "finish"] == starts


def test_a_broken_parser_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = all_outputs()
    monkeypatch.setattr(Markers, "possible_begin", lambda self, text: 0)
    assert wrong(outputs, lambda text: [text]) == []
    assert {line.partition(":")[0] for line in wrong(outputs, list)} == FAMILIES.keys()
