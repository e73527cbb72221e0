"""Schemas, expressions and calls as xgrammar gets them: what a grammar allows is right by what was asked."""

from __future__ import annotations

import importlib
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from fireside.text.grammar import expressions, patterns
from fireside.text.grammar.calls import Offered, calls_format
from fireside.text.grammar.characters import IN_STRING
from fireside.text.grammar.lowering import lowered
from fireside.text.grammar.spec import GrammarError, GrammarUnsupported, GrammarWrong
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
from fireside.text.mlxlm import import_text_parts
from fireside.xgr import xgrammar

STOP = 256
SCHEMAS: list[Any] = json.loads((Path(__file__).parents[1] / "api" / "schemas.json").read_text("utf-8"))
PARAMETERS: dict[str, Any] = {
    "get_weather": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
            "unit": {"type": "string", "enum": ["C", "F"]},
            "much": {"type": "boolean"},
        },
        "required": ["city"],
    },
    "put-it": {
        "type": "object",
        "properties": {
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            "size": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]},
        },
        "required": ["tags"],
    },
}


class Walker:
    """Writes texts that a grammar allows, at random, a byte at a time."""

    def __init__(self) -> None:
        self.xgr = xgrammar()
        tokens = [bytes([byte]) for byte in range(256)] + [b"</s>"]
        info = self.xgr.TokenizerInfo(
            tokens, vocab_type=self.xgr.VocabType.RAW, vocab_size=257, stop_token_ids=[STOP]
        )
        self.compiler = self.xgr.GrammarCompiler(info, max_threads=1)

    def schema(self, core: Any) -> Any:
        return self.compiler.compile_json_schema(json.dumps(core), strict_mode=False, max_whitespace_cnt=2)

    def accepts(self, grammar: Any, text: str) -> bool:
        matcher = self.xgr.GrammarMatcher(grammar)
        return matcher.accept_string(text) and matcher.accept_token(STOP)

    def walk(self, grammar: Any, draw: random.Random, most: int = 600) -> str | None:
        """None where the text does not end in time."""
        matcher, text = self.xgr.GrammarMatcher(grammar), bytearray()
        mask = np.zeros((1, 9), np.int32)
        while len(text) < most:
            matcher.fill_next_token_bitmask(mask, 0)
            bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[: STOP + 1]
            allowed: list[int] = np.nonzero(bits)[0].tolist()
            assert allowed, f"nothing may follow {bytes(text)!r}"
            if STOP in allowed and (len(allowed) == 1 or draw.random() < 0.4):
                return text.decode(errors="replace")
            ends = [byte for byte in allowed if byte < 127 and chr(byte) in 'etan}>]"/0,:']
            ascii_ = [byte for byte in allowed if 32 < byte < 127]
            rare, common = draw.random() < 0.02, draw.random() < 0.7
            pool = allowed if rare else (ends if common else ascii_) or ascii_ or allowed
            byte = draw.choice([byte for byte in pool if byte != STOP] or pool)
            assert matcher.accept_token(byte)
            text.append(byte)
        return None


@pytest.fixture(scope="module")
def walker() -> Walker:
    return Walker()


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_all_that_a_grammar_allows_is_right_by_the_schema(walker: Walker, number: int) -> None:
    schema = SCHEMAS[number]
    grammar = walker.schema(lowered(schema))
    kind = validator_for(schema, Draft202012Validator)
    validator = kind(schema, format_checker=kind.FORMAT_CHECKER)
    draw = random.Random(number)
    texts = [text for _ in range(8) if (text := walker.walk(grammar, draw)) is not None]
    assert texts
    for text in texts:
        validator.validate(json.loads(text))


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        (
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}},
                "additionalProperties": {"type": "string"},
            },
            ['{"a":1,"b":"x"}'],
            ['{"a":1,"\\u0061":"x"}', '{"b":1}'],
        ),
        ({"type": "object", "required": ["a"]}, ['{"a": []}'], ["{}"]),
        ({"minimum": 5}, ["6"], ["4"]),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}], "minimum": 5}, ["6", "6.5"], ["4"]),
        ({"enum": [1, "a"], "type": "integer"}, ["1"], ['"a"']),
        ({"type": "string", "pattern": "^a*$", "minLength": 2}, ['"aa"'], ['"a"']),
        ({"type": "string", "maxLength": 2}, ['"\u00e9\u00e9"'], ['"abc"', '"\f"']),
        ({"type": "string", "pattern": "^[^a]$"}, ['"b"', '"`"'], ['"a"']),
        ({"type": "string", "pattern": "b"}, ['"abc"'], ['"ac"']),
        ({"type": "array", "minItems": 1}, ['[{"a":1}]'], ["[]"]),
        ({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True}, ["[1,2]"], ["[1,1]"]),
        ({"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n", "minimum": 3}, ["3"], ["2"]),
        (
            {
                "type": "object",
                "properties": {"a": {}, "b": {}},
                "minProperties": 1,
                "dependentRequired": {"a": ["b"]},
            },
            ['{"b":1}', '{"a":1,"b":2}'],
            ['{"a":1}', "{}"],
        ),
        ({"type": "object", "properties": {"a": True}, "minProperties": 2}, ['{"a":1,"b":2}'], ['{"a":1}']),
    ],
)
def test_what_xgrammar_passes_over_is_held(
    walker: Walker, schema: Any, right: list[str], wrong: list[str]
) -> None:
    grammar = walker.schema(lowered(schema))
    assert all(walker.accepts(grammar, text) for text in right)
    assert not any(walker.accepts(grammar, text) for text in wrong)


@pytest.mark.parametrize(
    ("schema", "at"),
    [
        ({"not": {"minimum": 3}}, "/not"),
        ({"properties": {"a": {"if": {}, "then": False}}}, "/properties/a/if"),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "/uniqueItems"),
        ({"type": "array", "contains": {"const": 1}}, "/contains"),
        ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, "/oneOf"),
        ({"type": "number", "multipleOf": 0.5}, "/multipleOf"),
        ({"type": "integer", "multipleOf": 5, "minimum": 0}, "/multipleOf"),
        ({"type": "string", "pattern": r"\bword"}, "/pattern"),
        ({"type": "string", "format": "regex"}, "/format"),
        ({"type": "string", "pattern": "a.*b", "maxLength": 5}, "length"),
        ({"patternProperties": {"^a": {"type": "integer"}, "b$": {"type": "string"}}}, "/patternProperties"),
        ({"$dynamicRef": "#n", "$defs": {"n": {"$dynamicAnchor": "n"}}}, "/$dynamicRef"),
        ({"type": "object", "required": ["c"], "properties": {"c": {"$ref": "#"}}}, "finite"),
        ({"enum": [10**20]}, "too large"),
        ({"$schema": "https://example.org/own"}, "dialect"),
    ],
)
def test_what_cannot_be_enforced_is_said(schema: Any, at: str) -> None:
    with pytest.raises(GrammarUnsupported, match=re.escape(at)):
        lowered(schema)


@pytest.mark.parametrize(
    "schema", [{"type": 5}, {"$ref": "#/x"}, {"$ref": "#/x", "x": 5}, {"pattern": "a**"}, []]
)
def test_what_is_no_schema_is_wrong(schema: Any) -> None:
    with pytest.raises(GrammarWrong):
        lowered(schema)


def test_schemas_of_any_depth_and_width_end() -> None:
    deep: Any = {"type": "integer"}
    for _ in range(3000):
        deep = {"type": "array", "items": deep}
    with pytest.raises(GrammarUnsupported):
        lowered(deep)
    pairs = {
        f"n{i}": {"properties": {"a": {"$ref": f"#/$defs/n{i + 1}"}, "b": {"$ref": f"#/$defs/n{i + 1}"}}}
        for i in range(40)
    }
    wide = lowered({"$ref": "#/$defs/n0", "$defs": {**pairs, "n40": {"type": "null"}}})
    assert len(json.dumps(wide)) < 20_000
    with pytest.raises(GrammarUnsupported, match="alternatives"):
        lowered({"allOf": [{"anyOf": [{"minimum": i}, {"maximum": -i}]} for i in range(1, 12)]})


CROSSED = {
    kind: {f"a{n}": {kind: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)}
    | {"a40": {"type": "null"}}
    for kind in ("allOf", "anyOf")
}
LATTICE = {
    f"d{n}": {
        "type": "object",
        "properties": {f"p{m}": {"$ref": f"#/$defs/d{n + 1}"} for m in range(10)},
        "required": [f"p{m}" for m in range(10)],
    }
    for n in range(9)
} | {"d9": {"type": "null"}}
LONG = "a" * 60 + "b"
TWICE = "^(a+)+$"


WORK: list[tuple[Any, bool]] = [
    ({"enum": [LONG, "a"], "pattern": TWICE}, True),
    ({"enum": [{LONG: 1}, {"a": 1}], "patternProperties": {TWICE: {}}, "additionalProperties": False}, True),
    ({"enum": [{LONG: 1}, {}], "propertyNames": {"pattern": TWICE}}, True),
    ({"properties": {LONG: {}}, "patternProperties": {TWICE: {"type": "null"}}}, True),
    ({"properties": {LONG: {}}, "propertyNames": {"pattern": TWICE}}, True),
    ({"enum": ["a" * 4000 + "b"], "pattern": "^((a*)*)*$"}, False),
    ({"enum": [f"x{n}" for n in range(10_000)]}, True),
    ({"allOf": [{"enum": list(range(5000))}, {"enum": list(range(5000))}]}, True),
    ({"enum": list(range(100_000))}, False),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "enum": [{"a": n} for n in range(6000)]}, False),
    ({"$defs": CROSSED["allOf"], "$ref": "#/$defs/a0"}, False),
    ({"$defs": CROSSED["anyOf"], "$ref": "#/$defs/a0"}, True),
    ({"$defs": CROSSED["allOf"], "enum": [None], "$ref": "#/$defs/a0"}, False),
    ({"oneOf": [{"properties": {"k": {"const": n}}, "required": ["k"]} for n in range(900)]}, False),
    ({"$defs": LATTICE, "oneOf": [{"$ref": "#/$defs/d0"}, {"$ref": "#/$defs/d0", "title": "x"}]}, False),
    ({"properties": {f"p{n}": {"type": "string"} for n in range(20_000)}}, False),
]
LOOK = """
import json, sys
from fireside.text.grammar.lowering import compact, lowered
from fireside.text.grammar.spec import GrammarUnsupported

for schema in json.load(sys.stdin):
    try:
        print("enforced", compact(lowered(schema)))
    except GrammarUnsupported as error:
        print("refused", error)
"""


def test_no_schema_takes_for_ever() -> None:
    # In a process that can be ended: Python's regular expressions hold all threads up.
    schemas = json.dumps([schema for schema, _ in WORK])
    command = [sys.executable, "-c", LOOK]
    done = subprocess.run(command, input=schemas, capture_output=True, text=True, timeout=60, check=True)
    said = done.stdout.splitlines()
    expected = ["enforced" if enforced else "refused" for _, enforced in WORK]
    assert [line.partition(" ")[0] for line in said] == expected
    assert not any(f'[{{"{LONG}"' in line or f'["{LONG}"' in line for line in said)


def test_texts_fit_expressions_as_in_python() -> None:
    chance = random.Random(5)
    written = ["(a|ab)(c|bcd)*", "(a{2}){1,3}b?", "(a*){3,}b", "[^a]{2,}|", "(a|b|)*c", "a{0}b", "(ab?){2,4}"]
    for expression in written:
        node = expressions.whole(patterns.parse(expression))
        for _ in range(300):
            text = "".join(chance.choices("abcd", k=chance.randrange(9)))
            right = re.fullmatch(expression, text) is not None
            assert expressions.found(node, text) is right, (expression, text)


def test_expressions_mean_what_python_means(walker: Walker) -> None:
    atoms = [
        "a",
        "[ab]",
        "[^a]",
        r"[^\w]",
        r"\d",
        r"\w",
        r"\s",
        ".",
        "(a|b)",
        "(?:ab|)",
        r"\.",
        r"[\^a]",
        "[a-c^]",
        r"\D",
        r"\W",
        r"[\]x-]",
        r"\S",
        "^",
        "$",
        "[!-~]",
        r"[\^-a]",
    ]
    draw, held, compared = random.Random(1), 0, 0
    for _ in range(250):
        pattern = "".join(
            draw.choice(atoms) + draw.choice(["", "", "*", "+", "?", "{2}", "{1,2}"])
            for _ in range(draw.randint(1, 3))
        )
        pattern = draw.choice(["", "^"]) + pattern + draw.choice(["", "$"])
        try:
            node = expressions.limited(expressions.searched(patterns.parse(pattern)), IN_STRING)
        except GrammarError:
            continue
        grammar = walker.schema({"type": "string", "pattern": f"^({expressions.text_of(node)})$"})
        for _ in range(20):
            text = "".join(draw.choice('ab^1 .-]_\u00e9x~\\"c`') for _ in range(draw.randint(0, 4)))
            compared += 1
            if walker.accepts(grammar, json.dumps(text, ensure_ascii=False)):
                held += 1
                assert re.search(pattern, text), (pattern, text)
    assert compared > 3000
    assert held > 500


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize(
    "family", ["json_tools", "mistral", "kimi_k2", "qwen3_coder", "glm47", "laguna", "minimax_m2"]
)
def test_calls_by_a_grammar_are_calls_to_the_reader(walker: Walker, family: str, parallel: bool) -> None:
    import_text_parts()
    module = importlib.import_module(f"mlx_lm.tool_parsers.{family}")
    calls = CallFormat(family, module.tool_call_start, module.tool_call_end or "", module.parse_tool_call)
    markup = MarkupSpec(calls=calls)
    offered = [Offered(name, lowered(schema), schema) for name, schema in PARAMETERS.items()]
    tools = [{"type": "function", "function": {"name": n, "parameters": s}} for n, s in PARAMETERS.items()]
    form = calls_format(markup, offered, required=True, parallel=parallel)
    grammar = walker.compiler.compile_structural_tag(json.dumps({"type": "structural_tag", "format": form}))
    draw, read = random.Random(5), 0
    for _ in range(12):
        text = walker.walk(grammar, draw, 900)
        if text is None:
            continue
        parser = AnswerParser(markup, tools, False)
        events = [*parser.feed(text), *parser.finish(False)]
        content = "".join(event.text for event in events if isinstance(event, ContentText))
        names = [event.name for event in events if isinstance(event, CallStarted)]
        ends = [event.outcome for event in events if isinstance(event, CallFinished)]
        assert names
        assert not content.strip()
        assert set(ends) == {Outcome.COMPLETE}
        assert parallel or len(names) == 1
        for index, name in enumerate(names):
            pieces = [e.fragment for e in events if isinstance(e, CallArguments) and e.index == index]
            Draft202012Validator(PARAMETERS[name]).validate(json.loads("".join(pieces)))
            read += 1
    assert read


def test_text_before_a_call_is_free(walker: Walker) -> None:
    markup = MarkupSpec(
        calls=CallFormat("json_tools", "<tool_call>", "</tool_call>", lambda text, tools: None)
    )
    offered = [Offered(name, lowered(schema), schema) for name, schema in PARAMETERS.items()]
    form = calls_format(markup, offered, required=False, parallel=False)
    grammar = walker.compiler.compile_structural_tag(json.dumps({"type": "structural_tag", "format": form}))
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Bonn"}}\n</tool_call>'
    for text in ("Just text.", call, f"I look. {call}"):
        assert walker.accepts(grammar, text)
    for text in (call.replace("get_weather", "other"), call.replace("Bonn", 'B", "x": "'), f"{call}\n{call}"):
        assert not walker.accepts(grammar, text)


def test_a_family_without_a_form_has_none() -> None:
    calls = CallFormat("pythonic", "<s>", "</s>", lambda text, tools: None)
    assert calls_format(MarkupSpec(calls=calls), [], required=True, parallel=True) is None
