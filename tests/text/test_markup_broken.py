"""Calls that are cut off, broken or only talked about; when events come; that the work stays linear."""

import json
from typing import Any

import pytest

from fireside.text.markup import (
    AnswerParser,
    CallArguments,
    CallFinished,
    CallFormat,
    CallStarted,
    ContentText,
    MarkupSpec,
    Outcome,
)
from text.test_markup import CALLS, FAMILIES, TOOLS, events_of, output, outputs_of, simple, spec_of
from text.test_markup_reasoning import HARMONY, call, check

CONTENT = "content"
HERMES_PING = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'


def check_family(family: str, text: str, expected: list[tuple[Any, ...]], **how: Any) -> None:
    check(spec_of(family), text, expected, **how)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_call_cut_off_anywhere_is_never_completed(family: str) -> None:
    """Before the name is out the text is content, unchanged; after it the call is truncated."""
    calls = spec_of(family).calls
    assert calls
    whole = output(family, [("search", {"note": "a long one", "city": "Oslo"})], 0)
    seen: set[str] = set()
    for length in range(1, len(whole.text)):
        text = whole.text[:length]
        events = simple(events_of(spec_of(family), [text], truncated=True))
        if events[0][0] == "content":
            assert events == [(CONTENT, text)]
            seen.add("content")
            continue
        assert events[0] == ("start", 0, "search")
        last = events[-1]
        if last[2] is Outcome.COMPLETE:
            # All arguments are there, and only what encloses the call is missing.
            assert events == whole.expected
        else:
            assert last == ("finish", 0, Outcome.TRUNCATED)
            given = "".join(fragment for kind, _, fragment in events[1:-1] if kind == "arguments")
            assert json.dumps(whole.expected[1][2]).startswith(given)
        seen.add(last[2])
    assert Outcome.TRUNCATED in seen
    assert "content" in seen


@pytest.mark.parametrize("family", FAMILIES)
def test_the_model_s_own_end_inside_a_call_is_malformed(family: str) -> None:
    text = output(family, [("search", {"note": "a long one", "city": "Oslo"})], 0).text
    events = simple(events_of(spec_of(family), [text[: text.index("long")]]))
    assert events[0][0] in ("start", "content")
    assert events[-1][0] == "content" or events[-1][2] is Outcome.MALFORMED


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("filling", ["", " ", " tags, as I said, are <b>odd</b>", "{", "\n\n", "(日本)"])
def test_markers_around_something_else_are_content(family: str, filling: str) -> None:
    calls = spec_of(family).calls
    assert calls
    text = f"The {calls.start}{filling}{calls.end} markers."
    check(spec_of(family), text, [(CONTENT, text)])


@pytest.mark.parametrize("family", FAMILIES)
def test_a_call_after_a_broken_one_is_found(family: str) -> None:
    good = output(family, [("get_weather", {"city": "Paris"})], 0)
    calls = spec_of(family).calls
    assert calls
    broken = f"{calls.start} (oops) {calls.end or ' '}"
    check(spec_of(family), broken + good.text, [(CONTENT, broken), *good.expected])


@pytest.mark.parametrize(
    ("family", "text", "expected"),
    [
        (
            "json_tools",
            '<tool_call>{"name": "f", "arguments": {"a": 1, }}</tool_call>ok',
            [*call(0, "f", '{"a": 1, ', Outcome.MALFORMED), (CONTENT, "ok")],
        ),
        (
            "json_tools",
            '<tool_call>{"name": "f", "arguments": {"a": NaN}}</tool_call>ok',
            [*call(0, "f", '{"a": NaN', Outcome.MALFORMED), (CONTENT, "ok")],
        ),
        (
            "json_tools",
            f'<tool_call>{{"name": "f", "arguments": [1]}}{HERMES_PING}',
            [*call(0, "f", None, Outcome.MALFORMED), *call(1, "ping", {})],
        ),
        ("json_tools", '<tool_call>{"name": "f", oops', call(0, "f", None, Outcome.MALFORMED)),
        (
            "qwen3_coder",
            "<tool_call><function=search><parameter=count>\nmany\n</parameter></function></tool_call>ok",
            [*call(0, "search", None, Outcome.MALFORMED), (CONTENT, "ok")],
        ),
        (
            "pythonic",
            '<|tool_call_start|>[f("positional")]<|tool_call_end|>ok',
            [*call(0, "f", None, Outcome.MALFORMED), (CONTENT, "ok")],
        ),
        (
            "json_tools",
            '<tool_call>{"name": "f", "args": {"a": 1}}</tool_call>ok',
            [*call(0, "f", None, Outcome.MALFORMED), (CONTENT, "ok")],
        ),
        (
            "pythonic",
            "<|tool_call_start|>[f(a=1, b=[1, oops])]<|tool_call_end|>ok",
            [*call(0, "f", '{"a": 1', Outcome.MALFORMED), (CONTENT, "ok")],
        ),
        (
            "pythonic",
            '<|tool_call_start|>[f(a="one\ntwo", b="""x"y, )""", c="")]<|tool_call_end|>ok',
            [*call(0, "f", {"a": "one\ntwo", "b": 'x"y, )', "c": ""}), (CONTENT, "ok")],
        ),
        (
            "gemma4",
            "<|tool_call>call:f{a:1,b:]}<tool_call|>ok",
            [*call(0, "f", '{"a": 1', Outcome.MALFORMED), (CONTENT, "ok")],
        ),
        (
            "mistral",
            '[TOOL_CALLS]f[ARGS]{"a": oops} ok',
            [*call(0, "f", '{"a": oops', Outcome.MALFORMED), (CONTENT, "} ok")],
        ),
    ],
)
def test_what_breaks_after_the_name_is_malformed(
    family: str, text: str, expected: list[tuple[Any, ...]]
) -> None:
    check_family(family, text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<tool_call>[{"name": "f"}, {"name": "g", "arguments": null}]</tool_call>', ["f", {}, "g", {}]),
        ('<tool_call>{"name": "f"}\n{"name": "g"}</tool_call>', ["f", {}, "g", {}]),
        ('<tool_call>{"arguments": {"a": "}"}, "id": [7], "name": "f"}</tool_call>', ["f", {"a": "}"}]),
        ('<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>', ["f", {"a": 1}]),
        ('<tool_call>{"name": "f", "parameters": {"a": 1.5e-3}}', ["f", {"a": 0.0015}]),
        ('<tool_call>{"na\\u006de": "f\\u00e9", "arguments": {"\\ud83e\\udd8a": -0}}', ["fé", {"🦊": 0}]),
        (f"{HERMES_PING}{HERMES_PING}\n{HERMES_PING}", ["ping", {}, "ping", {}, "ping", {}]),
    ],
)
def test_json_calls_in_other_shapes(text: str, expected: list[Any]) -> None:
    calls = [call(i, expected[2 * i], expected[2 * i + 1]) for i in range(len(expected) // 2)]
    check_family("json_tools", text, [event for one in calls for event in one])


def test_text_behind_a_whole_call_is_kept_and_its_late_end_marker_is_not() -> None:
    text = '<tool_call>{"name": "f"}} well</tool_call> and on'
    check_family("json_tools", text, [*call(0, "f", {}), (CONTENT, "} well and on")])


@pytest.mark.parametrize(
    ("family", "value"),
    [(family, "x</invoke>y") for family in ("minimax_m2", "muse_spark")]
    + [("minicpm5", "x</function>y"), ("kimi_k3", "x<|close|>call<|sep|>y"), ("function_gemma", "a {b} c")]
    + [(family, "an {end} here") for family in FAMILIES if family not in ("mistral", "minicpm5")],
)
def test_an_end_marker_inside_a_value_ends_nothing(family: str, value: str) -> None:
    """mlx-lm's server would end the call there, so this is written by hand."""
    calls = spec_of(family).calls
    assert calls
    if family != "function_gemma":
        value = value.replace("{end}", calls.end)
    arguments = {"note": value, "city": "Oslo"}
    body = FAMILIES[family].bodies([("search", arguments)])[0]
    check(spec_of(family), calls.start + body + calls.end, call(0, "search", arguments))


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ('{"name": "search", "arguments": {"count": "3", "city": "3"}}', "search", {"count": 3, "city": "3"}),
        ('search\n{"note": "</tool_call>"}', "search", {"note": "</tool_call>"}),
        ("search count=3 city=Rome", "search", {"count": 3, "city": "Rome"}),
        ("ping", "ping", {}),
        ("unheard_of", "unheard_of", {}),
    ],
)
def test_the_looser_forms_of_glm(text: str, name: str, arguments: dict[str, Any]) -> None:
    check_family("glm47", f"<tool_call>{text}</tool_call>", call(0, name, arguments))


def test_values_that_json_cannot_say_are_given_as_text() -> None:
    pairs = "".join(
        f"<arg_key>{key}</arg_key><arg_value>{value}</arg_value>"
        for key, value in [("a", "{1, 2}"), ("b", "NaN")]
    )
    check_family("glm47", f"<tool_call>f{pairs}</tool_call>", call(0, "f", {"a": "{1, 2}", "b": "nan"}))
    lone = '<tool_call>f<arg_key>a</arg_key><arg_value>"\\ud800"</arg_value></tool_call>'
    fragments = [e.fragment for e in events_of(spec_of("glm47"), [lone]) if isinstance(e, CallArguments)]
    assert fragments == ['{"a": "\\ud800"}']


@pytest.mark.parametrize("tools", [None, [], [{}, {"type": "web_search"}, {"function": {"name": "search"}}]])
@pytest.mark.parametrize("family", FAMILIES)
def test_tools_that_say_little_do_not_disturb(family: str, tools: list[Any] | None) -> None:
    for out in outputs_of(family):
        events = simple(events_of(spec_of(family), [out.text], tools=tools))
        assert [e[1:] for e in events if e[0] == "start"] == [e[1:] for e in out.expected if e[0] == "start"]


def test_a_parser_unknown_to_us_is_given_the_whole_call() -> None:
    def parser(text: str, tools: list[Any]) -> Any:
        name, _, rest = text.partition(" ")
        return {"name": name, "arguments": json.loads(rest)}

    spec = MarkupSpec(calls=CallFormat("later", "<new>", "</new>", parser))
    check(spec, 'a<new>f {"x": 1}</new>b', [(CONTENT, "a"), *call(0, "f", {"x": 1}), (CONTENT, "b")])
    check(spec, "a<new>f</new>b", [(CONTENT, "a<new>f</new>b")])
    endless = MarkupSpec(calls=CallFormat("later", "<new>", "", parser))
    check(endless, 'a<new>f {"x": 1}', [(CONTENT, "a"), *call(0, "f", {"x": 1})])


def test_without_calls_their_markup_is_content() -> None:
    text = f"a {HERMES_PING} b"
    check(spec_of("json_tools").without_calls(), text, [(CONTENT, text)])
    message = "<|channel|>commentary to=functions.f<|message|>{}<|call|>"
    check(HARMONY.without_calls(), message, [(CONTENT, "{}")])


def test_name_and_arguments_go_out_as_soon_as_they_are_certain() -> None:
    parser = AnswerParser(spec_of("json_tools"))
    assert parser.feed('Hi <tool_call>{"name": "pi') == [ContentText("Hi ")]
    (started,) = parser.feed('ng"')
    assert isinstance(started, CallStarted)
    assert (started.index, started.name) == (0, "ping")
    assert parser.feed(', "arguments": {"a": "b') == [CallArguments(0, '{"a": "b')]
    assert parser.feed('"}') == [CallArguments(0, '"}')]
    assert parser.feed("}") == [CallFinished(0, Outcome.COMPLETE)]


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"json_tools", "mistral", "kimi_k2"}))
def test_each_parameter_goes_out_when_it_is_whole(family: str) -> None:
    text = output(family, [("search", {"note": "first", "city": "second"})], 0).text
    parser = AnswerParser(spec_of(family), TOOLS)
    events = parser.feed(text[: text.index("second")])
    assert simple(events) == [("start", 0, "search"), ("arguments", 0, '{"note": "first"')]


@pytest.mark.parametrize("family", [*FAMILIES, "harmony"])
@pytest.mark.parametrize("kind", ["prose", "thinking", "value", "open", "markers"])
def test_the_work_grows_with_the_text_and_not_faster(family: str, kind: str) -> None:
    spec = HARMONY if family == "harmony" else spec_of(family)

    def text(size: int) -> str:
        start = spec.calls.start if spec.calls else "<|channel|>commentary to=functions.f<|message|>"
        match kind:
            case "prose":
                return "a <b" * (size // 4)
            case "thinking":
                return "<think>" + "hm " * (size // 3)
            case "value" if spec.calls:
                return output(family, [("search", {"note": "word < " * (size // 7)})], 0).text
            case "markers":
                return (start + " x ") * (size // len(start))
            case _:
                return start + "x" * size

    def work(size: int) -> tuple[int, int]:
        parser = AnswerParser(spec, TOOLS)
        given = text(size)
        out = [event for character in given for event in parser.feed(character)]
        out += parser.finish(True)
        assert out
        return parser.work, len(given)

    small, small_size = work(500)
    large, large_size = work(4_000)
    assert large / large_size < 1.2 * small / small_size + 1
    assert large < 100 * large_size


def test_a_hundred_kilobytes_in_single_characters() -> None:
    parser = AnswerParser(spec_of("json_tools"))
    given = json.dumps({"name": "f", "arguments": {"text": "wörd \n" * 15_000}})
    fragments = [
        event.fragment
        for character in f"<tool_call>{given}</tool_call>"
        for event in parser.feed(character)
        if isinstance(event, CallArguments)
    ]
    assert len(given) > 100_000
    assert json.loads("".join(fragments)) == {"text": "wörd \n" * 15_000}
    assert parser.work < 20 * len(given)


def test_endless_broken_calls_do_not_run_out_of_stack() -> None:
    text = '<tool_call>{"name": "f", oops ' * 3_000
    events = events_of(spec_of("json_tools"), [text])
    assert sum(isinstance(event, CallFinished) for event in events) == 3_000


def test_a_finished_answer_takes_no_more_text() -> None:
    parser = AnswerParser(spec_of("json_tools"))
    assert parser.feed("") == []
    assert parser.finish(False) == []
    assert parser.finish(False) == []
    with pytest.raises(RuntimeError, match="finished"):
        parser.feed("x")


def test_the_samples_have_what_is_hard() -> None:
    values = [value for _, arguments in CALLS for value in arguments.values()]
    assert {type(value) for value in values} == {str, int, float, bool, list, dict}
