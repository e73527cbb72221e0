"""`/openapi.json` describes the routes that there are, with the types that they read and write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import httpx
import msgspec
import pytest
from jsonschema import Draft202012Validator

from fireside import app
from fireside.api.chat_format import ChatBody
from fireside.api.embedding_task import EmbeddingsBody
from fireside.config import ServeConfig
from fireside.http.access import is_open
from fireside.http.describable import describable
from fireside.http.openapi import document, path_of
from fireside.http.operations import Answer, Operation
from fireside.paths import Home
from fireside.web.hub import NewDownload
from fireside.web.serving import ServeBody
from support.server import Server

PAGES = {
    ("GET", path)
    for path in (
        "/", "/assets/{name}", "/docs", "/help/phone", "/login", "/manifest.webmanifest", "/sw.js", "/ws",
    )
} | {("POST", "/login"), ("POST", "/logout")}  # fmt: skip
"""Files, pages and what they alone use."""

REFUSED = {(method, "/api/settings/tool-approvals") for method in ("POST", "PUT", "PATCH")}
"""Methods that are there to say that they are not."""

MODES: dict[str, dict[str, Any]] = {
    "own": {},
    "api only": {"api_only": True},
    "upstream": {"upstream": "http://127.0.0.1:9"},
}


def application(home: Path, **options: Any) -> Any:
    home.mkdir(exist_ok=True)
    return app.create_app(ServeConfig(Home(home), **options), ("127.0.0.1", 1)).asgi.app


def served(quart: Any) -> set[tuple[str, str]]:
    return {
        (method, path_of(rule.rule))
        for rule in quart.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }


async def described(quart: Any) -> dict[str, Any]:
    answer = await quart.test_client().get("/openapi.json")
    assert answer.status_code == 200
    found: dict[str, Any] = await answer.get_json()
    return found


def methods(spec: dict[str, Any]) -> set[tuple[str, str]]:
    return {(method.upper(), path) for path, item in spec["paths"].items() for method in item}


def operations(spec: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(path, operation) for path, item in spec["paths"].items() for operation in item.values()]


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if "$ref" in value else set()
        return own.union(*(references(each) for each in value.values()))
    return set().union(*(references(each) for each in value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("mode", MODES)
async def test_every_route_is_described_and_nothing_else(tmp_path: Path, mode: str) -> None:
    quart = application(tmp_path / "home", **MODES[mode])
    spec = await described(quart)
    assert methods(spec) == served(quart) - PAGES - REFUSED
    assert (("POST", "/v1/chat/completions") in methods(spec)) is (mode != "upstream")
    assert ("GET", "/api/requests") in methods(spec)


async def test_the_document_is_whole(tmp_path: Path) -> None:
    spec = await described(application(tmp_path / "home"))
    schemas = spec["components"]["schemas"]
    assert references(spec) == {f"#/components/schemas/{name}" for name in schemas}
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
    ids = [operation["operationId"] for _, operation in operations(spec)]
    assert len(ids) == len(set(ids))
    for path, operation in operations(spec):
        named = {each["name"] for each in operation.get("parameters", []) if each["in"] == "path"}
        assert all(f"{{{name}}}" in path for name in named)
        assert path.count("{") == len(named)
        assert operation["summary"]
        assert any(status < "500" for status in operation["responses"])


def test_schemas_come_from_the_types_that_decode(server: Server) -> None:
    schemas = server.get("/openapi.json")["components"]["schemas"]
    body = schemas["ChatBody"]
    assert body["properties"].keys() == {field.encode_name for field in msgspec.structs.fields(ChatBody)}
    assert body["required"] == ["messages"]
    top = next(each["maximum"] for each in body["properties"]["temperature"]["anyOf"] if "maximum" in each)
    for temperature, status in ((top, 200), (top + 1, 400)):
        sent = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1, "temperature": temperature}
        assert httpx.post(f"{server.url}/v1/chat/completions", json=sent, timeout=60).status_code == status


def test_examples_are_what_the_routes_take(server: Server) -> None:
    spec = server.get("/openapi.json")
    tried = 0
    # These need a model or a hub that is not here.
    bodies: dict[str, type] = {
        "/v1/embeddings": EmbeddingsBody,
        "/api/hub/serve": ServeBody,
        "/api/hub/download": NewDownload,
    }
    for path, operation in operations(spec):
        media = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        if "example" in media and path not in bodies:
            answer = httpx.post(server.url + path, json=media["example"], timeout=60)
            assert answer.is_success, answer.text
            tried += 1
    assert tried >= 7
    for path, body in bodies.items():
        content = spec["paths"][path]["post"]["requestBody"]["content"]
        msgspec.convert(content["application/json"]["example"], body)


def test_every_event_of_a_stream_is_described(server: Server) -> None:
    spec = server.get("/openapi.json")
    for path in ("/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"):
        operation = spec["paths"][path]["post"]
        example = operation["requestBody"]["content"]["application/json"]["example"]
        text = httpx.post(server.url + path, json={**example, "stream": True}, timeout=60).text
        data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
        described = operation["responses"]["200"]["content"]["text/event-stream"]["schema"]
        content = described["properties"]["data"]
        if "if" in content:
            assert data.pop() == content["if"]["const"]
            content = content["else"]
        validator = Draft202012Validator({"components": spec["components"], **content["contentSchema"]})
        assert len(data) > 3
        for event in data:
            validator.validate(json.loads(event))
        assert not validator.is_valid({"object": "something else"})


async def test_keys_are_described_where_they_are_needed(tmp_path: Path) -> None:
    quart = application(tmp_path / "home", api_keys=("sk-one-key-that-is-long-enough",))
    spec = await described(quart)
    assert set(spec["components"]["securitySchemes"]) == {"bearer", "api_key"}
    assert spec["security"] == [{"bearer": []}, {"api_key": []}]
    for path, operation in operations(spec):
        assert ("401" not in operation["responses"]) is is_open(path), path
        assert (operation.get("security") == []) is is_open(path), path
    without = await described(application(tmp_path / "other"))
    assert "security" not in without
    assert "securitySchemes" not in without["components"]


class Near(msgspec.Struct):
    text: str
    type: Literal["near"] = "near"


class Far(msgspec.Struct):
    """Far away.

    Attributes:
        inside: what is in it; it may
            hold anything.
    """

    inside: list[Near]
    type: Literal["far"] = "far"


class Holder(msgspec.Struct):
    items: list[Near | Far]
    name: str | None = None


def test_a_choice_that_only_a_field_tells_apart_is_described() -> None:
    (kind,) = describable([Holder])
    example = Holder([Near("a"), Far([Near("b")])], "x")
    again = msgspec.json.decode(msgspec.json.encode(example), type=kind)
    assert json.loads(msgspec.json.encode(again)) == json.loads(msgspec.json.encode(example))
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode('{"items": [{"type": "between"}]}', type=kind)
    assert describable([Near, list[int], int | None]) == [Near, list[int], int | None]


def test_words_of_docstrings_are_at_their_fields() -> None:
    operation = Operation("GET", "/far", "Tag", "Far", answers={200: Answer("It.", Far)})
    spec = document([operation], version="1", served={("GET", "/far")}, keys=False)
    far = next(schema for name, schema in spec["components"]["schemas"].items() if name == "Far")
    assert far["description"] == "Far away."
    assert far["properties"]["inside"]["description"] == "what is in it; it may hold anything."
