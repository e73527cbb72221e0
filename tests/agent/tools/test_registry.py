"""The registry's rules for names and order, and the check of arguments against jsonschema itself."""

from __future__ import annotations

import contextlib
import http.server
import json
import re
import threading
import time
from itertools import combinations
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fireside_agent.tools.registry import Registry
from fireside_agent.tools.schema import MAX_CHARACTERS, MAX_DEPTH, MAX_VALUES, check_arguments
from fireside_agent.tools.tool import Call, Tool, ToolError, ToolResult

READ = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "lines": {"type": "integer", "minimum": 1},
        "mode": {"enum": ["text", "binary"]},
        "ranges": {"type": "array", "items": {"type": "object", "properties": {"from": {"type": "integer"}}}},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def tool(called: str, origin: str = "built-in") -> Tool:
    class Fake(Tool):
        name = called
        description = f"does {called}"
        parameters = READ
        risk = "read"
        source = origin

        async def run(self, call: Call) -> ToolResult:
            return ToolResult("")

    return Fake()


def refusal(schema: dict[str, Any], text: str) -> str:
    with pytest.raises(ToolError) as refused:
        check_arguments(schema, text)
    return str(refused.value)


def test_built_in_tools_come_first_and_win_over_a_source() -> None:
    offered = [tool("demo__add", "demo"), tool("read", "demo"), tool("demo__add", "other")]
    registry = Registry([tool("read"), tool("ls")], [lambda: offered])
    assert [one.name for one in registry.tools()] == ["read", "ls", "demo__add"]
    assert [getattr(registry.get(name), "source", None) for name in ("read", "demo__add")] == [
        "built-in",
        "demo",
    ]


def test_a_source_is_asked_anew_and_a_name_that_is_not_allowed_does_not_exist() -> None:
    offered: list[Tool] = []
    registry = Registry([tool("read")])
    registry.add_source(lambda: offered)
    assert registry.get("demo__add") is None
    offered += [tool("demo__add"), tool("demo add"), tool("x" * 65), tool("")]
    assert [one.name for one in registry.tools()] == ["read", "demo__add"]
    offered.clear()
    assert registry.get("demo__add") is None


@pytest.mark.parametrize("names", [["read", "read"], ["no spaces"], [""], ["x" * 65]])
def test_built_in_tools_with_wrong_names_are_a_mistake_of_ours(names: list[str]) -> None:
    with pytest.raises(ValueError, match=r"named|no name"):
        Registry([tool(name) for name in names])


def test_the_model_is_told_of_the_chosen_tools_in_the_registrys_order() -> None:
    registry = Registry([tool("read"), tool("ls"), tool("grep")], [lambda: [tool("demo__add")]])
    chosen = registry.specs(["demo__add", "gone__tool", "read"])
    assert [spec.name for spec in chosen] == ["read", "demo__add"]
    assert (chosen[0].description, chosen[0].parameters) == ("does read", READ)
    assert [spec.name for spec in registry.specs(None)] == ["read", "ls", "grep", "demo__add"]
    assert registry.specs([]) == []


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("Read", ["read"]),
        ("web-search", ["web_search"]),
        ("web_serch", ["web_search"]),
        ("list_files", ["files__list_files"]),
        ("files.list_files", ["files__list_files"]),
        ("frobnicate", []),
        ("", []),
    ],
)
def test_near_misses_of_an_unknown_name(wrong: str, meant: list[str]) -> None:
    registry = Registry([tool("read"), tool("web_search")], [lambda: [tool("files__list_files")]])
    assert registry.near(wrong) == meant


@pytest.mark.parametrize("text", ["", "  \n", "{}", '"{}"'])
def test_no_arguments_in_all_the_ways_models_write_them(text: str) -> None:
    assert check_arguments({"type": "object", "properties": {}}, text) == {}


def test_arguments_encoded_twice_are_unwrapped_and_nothing_else_is_guessed() -> None:
    assert check_arguments(READ, json.dumps('{"path": "a"}')) == {"path": "a"}
    for text in (
        json.dumps(json.dumps('{"path": "a"}')),
        "[]",
        "null",
        "7",
        '"a"',
        '[{"path": "a"}]',
        "{'path': 'a'}",
    ):
        assert "`path` (string)" in refusal(READ, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"path": "a", "lines": "three"}', ["`lines`: expected integer, got string", '"three"']),
        ('{"lines": 3}', ["'path' is a required property"]),
        ('{"path": ""}', ["`path`: expected minLength 1"]),
        ('{"path": "a", "mode": "hex"}', ['`mode`: expected one of ["text","binary"], got string "hex"']),
        ('{"path": "a", "ranges": [{}, {"from": "x"}]}', ["`ranges[1].from`: expected integer"]),
        ('{"path": null}', ["`path`: expected string, got null"]),
        ('{"path": "a", "colour": 1}', ["'colour'", "unexpected"]),
        ('{"path": "a"', ["not valid JSON"]),
        ('{"path": NaN}', ["not valid JSON"]),
        ('{"path": "\ud800"}', ["not valid JSON"]),
    ],
)
def test_a_refusal_says_which_argument_and_what_was_expected(text: str, expected: list[str]) -> None:
    said = refusal(READ, text)
    assert [part for part in expected if part not in said] == []
    assert "Required: `path` (string). Optional: `lines` (integer), `mode`, `ranges` (array)." in said


def test_unknown_arguments_are_fine_where_the_schema_does_not_mind() -> None:
    assert check_arguments({"type": "object"}, '{"colour": 1}') == {"colour": 1}


def test_many_faults_and_long_values_are_told_briefly() -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"type": "integer"} for n in range(20)}}
    said = refusal(schema, json.dumps({f"p{n}": "x" * 10_000 for n in range(20)}))
    assert "and 17 more" in said
    assert len(said) < 3000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps({"path": "x" * MAX_CHARACTERS}), "characters"),
        ('{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH, None),
        ('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "nested deeper"),
        ('{"a":' + "[" * 100_000 + "]" * 100_000 + "}", "nested deeper"),
        (json.dumps({"a": [[]] * (MAX_VALUES - 2)}), None),
        (json.dumps({"a": [[]] * (MAX_VALUES - 1)}), "more than"),
    ],
    ids=["long", "deep", "too deep", "bottomless", "many", "too many"],
)
def test_size_is_bounded(text: str, said: str | None) -> None:
    if said is None:
        assert check_arguments({"type": "object"}, text) == json.loads(text)
    else:
        assert said in refusal({"type": "object"}, text)


def test_the_schemas_own_draft_is_honoured() -> None:
    schema = {"properties": {"n": {"minimum": 5, "exclusiveMinimum": True}}}
    old = {"$schema": "http://json-schema.org/draft-04/schema#", **schema}
    assert check_arguments(old, '{"n": 6}') == {"n": 6}
    assert "exclusiveMinimum" in refusal(old, '{"n": 5}') or "minimum" in refusal(old, '{"n": 5}')
    assert "its schema is wrong" in refusal(schema, '{"n": 6}')


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"properties": {"a": {"pattern": "("}}},
        {"$ref": "#/$defs/missing"},
        {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"properties": ["a"]},
    ],
)
def test_a_wrong_schema_is_the_tools_fault(schema: dict[str, Any]) -> None:
    assert "its schema is wrong" in refusal(schema, '{"a": "b"}')


def test_a_schema_elsewhere_is_never_fetched() -> None:
    asked: list[str] = []

    class Recorder(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    with http.server.HTTPServer(("127.0.0.1", 0), Recorder) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/schema.json"
        assert url in refusal({"properties": {"a": {"$ref": url}}}, '{"a": 1}')
        server.shutdown()
    assert asked == []


def test_many_items_are_compared_in_no_time() -> None:
    schema = {"properties": {"a": {"uniqueItems": True}}}
    items: list[Any] = [{"x": n} for n in range(4000)] + list(range(4000)) + [str(n) for n in range(4000)]
    began = time.monotonic()
    assert check_arguments(schema, json.dumps({"a": items})) == {"a": items}
    assert "`a`: expected uniqueItems" in refusal(schema, json.dumps({"a": [*items, {"x": 7.0}]}))
    assert time.monotonic() - began < 2


def same_value(one: Any, other: Any) -> bool:
    return jsonschema.Draft202012Validator({"const": one}).is_valid(other)


@given(
    st.lists(
        st.recursive(
            st.sampled_from([0, 0.0, 1, True, False, None, "1", 1.5]),
            lambda inner: st.one_of(
                st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
            ),
            max_leaves=3,
        ),
        max_size=4,
    )
)
@example([[False], [0], [False]])
def test_items_are_unique_where_no_two_are_the_same_value(items: list[Any]) -> None:
    """What is the same says jsonschema's `const`; its `uniqueItems` overlooks some that stand apart."""
    schema = {"properties": {"a": {"uniqueItems": True}}}
    text = json.dumps({"a": items})
    if not any(same_value(one, other) for one, other in combinations(items, 2)):
        assert check_arguments(schema, text) == {"a": items}
    else:
        refusal(schema, text)


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(["a", "b", "c"])
    kinds = st.sampled_from(["string", "integer", "number", "boolean", "null", "object", "array"])
    leaf = st.one_of(
        st.fixed_dictionaries(
            {"type": st.one_of(kinds, st.lists(kinds, min_size=1, max_size=2, unique=True))}
        ),
        st.fixed_dictionaries({"enum": st.lists(st.one_of(st.none(), st.integers(), st.text()), min_size=1)}),
        st.fixed_dictionaries({"minimum": st.integers(-5, 5)}),
        st.fixed_dictionaries({"pattern": st.sampled_from(["^a", "b$", "[0-9]+"])}),
        st.just({}),
    )

    def nested(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
        return st.one_of(
            st.fixed_dictionaries(
                {},
                optional={
                    "properties": st.dictionaries(names, inner, max_size=3),
                    "required": st.lists(names, unique=True, max_size=2),
                    "additionalProperties": st.booleans(),
                    "uniqueItems": st.booleans(),
                    "items": inner,
                },
            ),
            st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)}),
            st.fixed_dictionaries({"not": inner}),
        )

    return st.recursive(leaf, nested, max_leaves=6)


def values() -> st.SearchStrategy[Any]:
    leaf = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=5),
    )
    names = st.sampled_from(["a", "b", "c", "d"])
    return st.recursive(
        leaf,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
        max_leaves=8,
    )


@given(schemas(), st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), values(), max_size=3))
def test_accepts_exactly_what_jsonschema_accepts(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    text = json.dumps(arguments)
    if jsonschema.Draft202012Validator(schema).is_valid(json.loads(text)):
        assert check_arguments(schema, text) == arguments
    else:
        said = refusal(schema, text)
        assert re.search(r"^- ", said, re.MULTILINE)
        for name in schema.get("required", []):
            assert f"`{name}`" in said


@given(st.text())
def test_any_text_gives_arguments_or_a_refusal(text: str) -> None:
    with contextlib.suppress(ToolError):
        assert check_arguments(READ, text)["path"]
