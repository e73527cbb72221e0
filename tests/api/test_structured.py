"""Answers that are held to a form, with a model that would not keep to it by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from support.server import Server, serving

SCHEMAS: list[Any] = json.loads((Path(__file__).parent / "schemas.json").read_text("utf-8"))
SEEDS = 3
AT_ONCE = 8
ROUTE = "/v1/chat/completions"
UNENFORCEABLE: dict[str, Any] = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}


def tool(name: str, **properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": [*properties]}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


RUN = tool("run_it", command={"type": "string", "maxLength": 12})
READ = tool("read_it", line={"type": "integer", "minimum": 1, "maximum": 9})


@pytest.fixture(scope="module")
def http(server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=120) as client:
        yield client


def body(text: str = "Hello", **fields: Any) -> dict[str, Any]:
    quiet = {"chat_template_kwargs": {"enable_thinking": False}}
    return {"messages": [{"role": "user", "content": text}], "max_tokens": 160, **quiet, **fields}


def ask(http: httpx.Client, text: str = "Hello", **fields: Any) -> httpx.Response:
    return http.post(ROUTE, json=body(text, **fields))


def answer(http: httpx.Client, text: str = "Hello", **fields: Any) -> dict[str, Any]:
    response = ask(http, text, **fields)
    assert response.status_code == 200, response.text
    assert "Warning" not in response.headers
    return response.json()["choices"][0]


def calls(choice: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    made = choice["message"].get("tool_calls") or []
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in made]


def schema_format(schema: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, **fields}}


def test_every_answer_that_ends_is_right_by_its_schema(http: httpx.Client) -> None:
    assert len(SCHEMAS) == 60

    def one(job: tuple[int, int]) -> tuple[int, str]:
        number, seed = job
        schema = SCHEMAS[number]
        fields = [{"guided_json": schema}, {"response_format": schema_format(schema, strict=True)}][seed % 2]
        choice = answer(http, temperature=1, seed=seed, max_tokens=48, **fields)
        content = choice["message"]["content"]
        if choice["finish_reason"] == "stop":
            kind = validator_for(schema, Draft202012Validator)
            kind(schema, format_checker=kind.FORMAT_CHECKER).validate(json.loads(content))
        return number, choice["finish_reason"]

    jobs = [(number, seed) for number in range(len(SCHEMAS)) for seed in range(SEEDS)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = list(pool.map(one, jobs))
    assert {reason for _, reason in ends} <= {"stop", "length"}
    # Numbers and texts without a bound may go on; most answers must end for this to show anything.
    assert sum(reason == "stop" for _, reason in ends) > 0.7 * len(ends)
    assert len({number for number, reason in ends if reason == "stop"}) > 50


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"guided_choice": ["red", "green \u2713", 'a "b"']}, {"red", "green \u2713", 'a "b"'}),
        ({"guided_regex": "[ab]-[12]"}, {f"{x}-{y}" for x in "ab" for y in "12"}),
        ({"guided_grammar": 'root ::= "x" ("y" | "z")'}, {"xy", "xz"}),
        ({"structured_outputs": {"choice": ["one"]}}, {"one"}),
        ({"structured_outputs": {"regex": "c{3}"}}, {"ccc"}),
        ({"structured_outputs": {"json": {"const": 5}}}, {"5"}),
        ({"structured_outputs": {"const": 6}}, {"6"}),
        ({"structured_outputs": {"grammar": 'root ::= "g"'}}, {"g"}),
        ({"guided_json": '{"enum": [1, 2]}'}, {"1", "2"}),
        (
            {
                "structured_outputs": {
                    "structural_tag": {"format": {"type": "const_string", "value": "tagged"}}
                }
            },
            {"tagged"},
        ),
    ],
)
def test_each_field_constrains_the_answer(
    http: httpx.Client, fields: dict[str, Any], wanted: set[str]
) -> None:
    for seed in range(3):
        choice = answer(http, temperature=1, seed=seed, **fields)
        assert choice["message"]["content"] in wanted
        assert choice["finish_reason"] == "stop"
    raw = http.post(
        "/v1/completions", json={"prompt": "Hello", "max_tokens": 40, "temperature": 1, "seed": 1, **fields}
    )
    assert raw.json()["choices"][0]["text"] in wanted


def test_any_object(http: httpx.Client) -> None:
    fields: list[dict[str, Any]] = [
        {"response_format": {"type": "json_object"}},
        {"structured_outputs": {"json_object": True}},
    ]
    for field in fields:
        for seed in range(4):
            choice = answer(http, temperature=1, seed=seed, max_tokens=60, **field)
            if choice["finish_reason"] == "stop":
                assert isinstance(json.loads(choice["message"]["content"]), dict)


def test_text_is_no_constraint(http: httpx.Client) -> None:
    fields = {"response_format": {"type": "text"}, "guided_choice": ["a"]}
    assert answer(http, **fields)["message"]["content"] == "a"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fields", "param", "words"),
    [
        (
            {"response_format": schema_format({"type": "string", "pattern": "^(unclosed["}, strict=True)},
            "response_format",
            "/pattern",
        ),
        (
            {"response_format": schema_format({"type": "string", "pattern": "(?<=a)b"})},
            "response_format",
            "lookbehind",
        ),
        ({"response_format": schema_format({"type": "foo"})}, "response_format", "/type"),
        (
            {"response_format": schema_format({"properties": {"p": {"$ref": "#/$defs/NO"}}})},
            "response_format",
            "/properties/p/$ref",
        ),
        (
            {"response_format": schema_format({"$ref": "https://example.org/s.json"})},
            "response_format",
            "leads nowhere",
        ),
        ({"response_format": schema_format({"minLength": "2"})}, "response_format", "/minLength"),
        ({"response_format": {"type": "json_schema"}}, "response_format", "json_schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
            "response_format",
            "schema",
        ),
        ({"response_format": {"type": "yaml"}}, "response_format", "yaml"),
        ({"guided_regex": "[unclosed"}, "guided_regex", "not closed"),
        ({"guided_regex": ""}, "guided_regex", "regular expression"),
        ({"guided_grammar": 'root ::= "a" b'}, "guided_grammar", "b"),
        ({"guided_grammar": "  "}, "guided_grammar", "EBNF"),
        ({"guided_json": ""}, "guided_json", "JSON"),
        ({"guided_json": 5}, "guided_json", "JSON schema"),
        (
            {"guided_json": {"type": "object", "properties": {"a/b": {"items": {"enum": 3}}}}},
            "guided_json",
            "/properties/a~1b/items/enum",
        ),
        ({"guided_choice": []}, "guided_choice", "one or more"),
        ({"structured_outputs": {"regex": "a", "choice": ["b"]}}, "structured_outputs", "regex and choice"),
        ({"structured_outputs": {"regex": "(a"}}, "structured_outputs", "not closed"),
        ({"guided_regex": "a+", "guided_choice": ["b"]}, "guided_choice", "guided_regex and guided_choice"),
        (
            {"response_format": {"type": "json_object"}, "structured_outputs": {"choice": ["a"]}},
            "structured_outputs",
            "response_format and",
        ),
        (
            {"tools": [RUN], "tool_choice": {"type": "function", "function": {"name": "other"}}},
            "tool_choice",
            "other",
        ),
        ({"tool_choice": "required"}, "tool_choice", "no tools"),
        (
            {
                "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "foo"}}}],
                "tool_choice": "required",
            },
            "tools",
            "/type",
        ),
    ],
)
def test_a_wrong_constraint_is_refused_by_name(
    http: httpx.Client, fields: dict[str, Any], param: str, words: str, stream: bool
) -> None:
    response = ask(http, stream=stream, **fields)
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert error["param"] == param
    assert error["type"] == "invalid_request_error"
    assert words in error["message"]
    assert param in error["message"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"guided_json": UNENFORCEABLE}, "guided_json"),
        ({"guided_regex": "(?=a)b"}, "guided_regex"),
        ({"guided_regex": r"(a)\1"}, "guided_regex"),
        ({"response_format": schema_format(UNENFORCEABLE, strict=True)}, "response_format"),
        ({"response_format": schema_format({"if": {}, "then": False}, strict=True)}, "response_format"),
        (
            {
                "tools": [
                    {
                        "type": "function",
                        "function": {
                            "name": "f",
                            "strict": True,
                            "parameters": {"type": "object", "properties": {"a": UNENFORCEABLE}},
                        },
                    }
                ]
            },
            "tools",
        ),
    ],
)
def test_a_strict_one_that_cannot_be_enforced_is_refused(
    http: httpx.Client, fields: dict[str, Any], param: str
) -> None:
    response = ask(http, **fields)
    assert response.status_code == 400, response.text
    assert response.json()["error"]["code"] == "unsupported_constraint"
    assert response.json()["error"]["param"] == param


@pytest.mark.parametrize(
    ("fields", "param", "told"),
    [
        (
            {"response_format": schema_format(UNENFORCEABLE, description="Numbers.")},
            "response_format",
            '"uniqueItems": true',
        ),
        ({"structured_outputs": UNENFORCEABLE}, "structured_outputs", "JSON Schema"),
        ({"structured_outputs": {"regex": "(?=a)b"}}, "structured_outputs", "(?=a)b"),
    ],
)
def test_another_degrades_to_an_instruction(
    http: httpx.Client, fields: dict[str, Any], param: str, told: str
) -> None:
    plain = ask(http)
    response = ask(http, **fields)
    assert response.status_code == 200, response.text
    warning = response.headers["Warning"]
    assert warning.startswith(f'199 fireside "grammar not enforced: {param}')
    assert warning.isascii()
    assert len(warning) < 250
    more = response.json()["usage"]["prompt_tokens"] - plain.json()["usage"]["prompt_tokens"]
    size = len(http.post("/tokenize", json={"prompt": told}).json()["tokens"])
    assert more > size, "the instruction is in the prompt"
    raw = http.post("/v1/completions", json={"prompt": "Hello", "max_tokens": 4, **fields})
    assert raw.headers["Warning"] == warning
    assert raw.json()["usage"]["prompt_tokens"] == plain_tokens(http)


def plain_tokens(http: httpx.Client) -> int:
    return http.post("/v1/completions", json={"prompt": "Hello", "max_tokens": 4}).json()["usage"][
        "prompt_tokens"
    ]


@pytest.mark.parametrize("seed", range(3))
def test_tools_that_must_be_called(http: httpx.Client, seed: int) -> None:
    fields: dict[str, Any] = {"tools": [RUN, READ], "temperature": 1, "seed": seed}
    made = answer(http, tool_choice="required", **fields)
    if made["finish_reason"] == "tool_calls":
        assert calls(made)
        assert {name for name, _ in calls(made)} <= {"run_it", "read_it"}
        for name, arguments in calls(made):
            schema = {"run_it": RUN, "read_it": READ}[name]["function"]["parameters"]
            Draft202012Validator(schema).validate(arguments)
    named = answer(
        http,
        tool_choice={"type": "function", "function": {"name": "read_it"}},
        parallel_tool_calls=False,
        **fields,
    )
    [(name, arguments)] = calls(named)
    assert (named["finish_reason"], name) == ("tool_calls", "read_it")
    assert 1 <= arguments["line"] <= 9
    thinking = answer(
        http,
        "Hello",
        chat_template_kwargs={"enable_thinking": True},
        tool_choice="required",
        parallel_tool_calls=False,
        **fields,
    )
    assert len(calls(thinking)) == 1
    assert thinking["message"]["reasoning_content"]


def test_only_one_call_where_there_may_be_no_more(http: httpx.Client) -> None:
    text = "Call run_it with command `ls` and call run_it with command `pwd`."
    one = answer(http, text, tools=[RUN], parallel_tool_calls=False, temperature=0)
    assert len(calls(one)) <= 1
    plain = answer(http, "Hello", tools=[RUN], parallel_tool_calls=False, temperature=0)
    assert plain["finish_reason"] == "stop"
    assert plain["message"]["content"]
    strict = {**RUN, "function": {**RUN["function"], "strict": True}}
    free = answer(http, "Hello", tools=[strict], temperature=0)
    assert (
        free["message"]["content"] == answer(http, "Hello", tools=[RUN], temperature=0)["message"]["content"]
    )


def test_an_answer_of_a_form_or_a_call(http: httpx.Client) -> None:
    seen: set[str] = set()
    for seed in range(4):
        choice = answer(http, tools=[READ], guided_choice=["yes"], temperature=1, seed=seed)
        assert calls(choice) or choice["message"]["content"] == "yes"
        seen.add(choice["finish_reason"])
    assert seen <= {"stop", "tool_calls"}


def test_the_form_is_for_what_comes_after_the_thoughts(http: httpx.Client) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "boolean"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    for on in (True, False):
        message = answer(http, chat_template_kwargs={"enable_thinking": on}, guided_json=schema)["message"]
        assert Draft202012Validator(schema).is_valid(json.loads(message["content"]))
        assert bool(message.get("reasoning_content")) is on


def test_streamed(http: httpx.Client) -> None:
    pieces: list[str] = []
    ends: list[str] = []
    with http.stream("POST", ROUTE, json=body(stream=True, guided_regex="ab{2}c")) as response:
        assert response.status_code == 200
        for line in response.iter_lines():
            if line.startswith("data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    pieces.append(choice["delta"].get("content") or "")
                    ends += filter(None, [choice["finish_reason"]])
    assert "".join(pieces) == "abbc"
    assert ends == ["stop"]


def test_an_unfinished_answer_says_so(http: httpx.Client) -> None:
    choice = answer(http, guided_regex="a{200,300}", max_tokens=8)
    assert choice["finish_reason"] == "length"


def test_switched_off(server: Server, home: Path) -> None:
    with serving(home, FIRESIDE_GRAMMAR="0") as running:
        running.wait_ready()
        with httpx.Client(base_url=running.url, timeout=60) as http:
            plain = ask(http, temperature=0)
            ignored: list[dict[str, Any]] = [
                {"guided_choice": ["no"]},
                {"guided_json": {"type": "foo"}},
                {"response_format": schema_format(UNENFORCEABLE, strict=True)},
            ]
            for fields in ignored:
                response = ask(http, temperature=0, **fields)
                assert response.status_code == 200
                assert "Warning" not in response.headers
                assert response.json()["choices"] == plain.json()["choices"]
                assert response.json()["usage"]["prompt_tokens"] == plain.json()["usage"]["prompt_tokens"]
