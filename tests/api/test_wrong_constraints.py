"""A constraint that is wrong is a 400 that names its field, on both text routes, and disturbs nobody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.completions import ROUTE, ask, body_of, streaming, texts
from support.server import Server


def schema(value: Any, **more: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": value, **more}}}


WRONG: list[tuple[dict[str, Any], set[str]]] = [
    (schema({"type": "string", "pattern": "^(unclosed["}, strict=True), {"response_format"}),
    (schema({"type": "string", "pattern": "(?<=a)b"}), {"response_format"}),
    (schema({"type": "foo"}), {"response_format"}),
    (schema({"type": "object", "properties": {"p": {"$ref": "#/$defs/NOPE"}}}), {"response_format"}),
    ({"guided_regex": "[unclosed"}, {"guided_regex"}),
    ({"guided_grammar": 'root ::= "a" b'}, {"guided_grammar"}),
    ({"guided_json": ""}, {"guided_json"}),
    ({"guided_choice": []}, {"guided_choice"}),
    ({"response_format": {"type": "json_schema"}}, {"response_format"}),
    ({"response_format": {"type": "poem"}}, {"response_format"}),
    ({"response_format": "json_object"}, {"response_format"}),
    ({"guided_regex": "a+", "guided_choice": ["b"]}, {"guided_regex", "guided_choice"}),
]


@pytest.fixture(scope="module")
def beside(server: Server) -> Iterator[None]:
    """A stream runs beside all of these requests, and says what it says alone."""
    prompt = "Count from 1 to 300."
    alone = ask(server, prompt, max_tokens=300).text
    with streaming(server, prompt, max_tokens=300) as chunks:
        pieces = texts(chunks)
        begun = next(pieces)
        yield
        assert begun + "".join(pieces) == alone
    assert ask(server, prompt, max_tokens=300).text == alone


@pytest.mark.usefixtures("beside")
@pytest.mark.parametrize(("fields", "params"), WRONG)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("route", [ROUTE, "/v1/completions"])
def test_a_wrong_constraint_is_refused_before_any_byte(
    server: Server, route: str, stream: bool, fields: dict[str, Any], params: set[str]
) -> None:
    body = {**body_of("Hello", max_tokens=4), "prompt": "Hello", "stream": stream, **fields}
    reply = httpx.post(server.url + route, json=body, timeout=30)
    assert reply.headers["content-type"] == "application/json"
    error = reply.json()["error"]
    assert (reply.status_code, error["type"]) == (400, "invalid_request_error")
    assert error["param"] in params
    assert error["message"].startswith(tuple(params))
