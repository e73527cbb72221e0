"""The routes: what they answer and what they refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from quart import Quart

from agent.search.stock import Stock
from fireside_agent.search.routes import create_blueprint

if TYPE_CHECKING:
    from quart.typing import TestClientProtocol

MESSAGES = {
    "m1": "tune the re-ranker in fern.load()",
    "m2": "we can't ship the F++ build",
    "m3": "write to kit@lab.example about the 30% cut",
    "m4": "src/lib AND the rest",
}
QUERIES = {
    "re-ranker": "m1", "fern.load()": "m1", '"fern load"': "m1", "can't": "m2", "F++": "m2",
    "kit@lab.example": "m3", "30%": "m3", "AND": "m4", "src/lib": "m4", "-ranker": "m1",
    '"': None, "*": None, "NEAR(": None, "": None,
}  # fmt: skip


@pytest.fixture
def client(stock: Stock) -> TestClientProtocol:
    app = Quart(__name__)
    app.register_blueprint(create_blueprint(stock.searcher))
    return app.test_client()


async def ask(client: TestClientProtocol, path: str = "/api/search", **parameters: Any) -> dict[str, Any]:
    response = await client.get(path, query_string=parameters)
    assert response.status_code == 200, await response.get_data(as_text=True)
    return await response.get_json()


@pytest.mark.parametrize(("query", "hit"), QUERIES.items())
async def test_syntax_of_full_text_queries_is_plain_text(
    stock: Stock, client: TestClientProtocol, query: str, hit: str | None
) -> None:
    for name, text in MESSAGES.items():
        stock.session(f"session of {name}", text)
        stock.message(name, text, session=f"session of {name}")

    for path in ("/api/search", "/api/sessions/search"):
        bodies = await ask(client, path, q=query, kind="message")
        titles = await ask(client, path, q=query, kind="title")
        inside = await ask(client, path, q=query, kind="message", session_id=f"session of {hit}")
        assert [found["message_id"] for found in bodies["hits"]] == ([hit] if hit else [])
        assert [found["message_id"] for found in inside["hits"]] == ([hit] if hit else [])
        assert [found["session_id"] for found in titles["hits"]] == ([f"session of {hit}"] if hit else [])


async def test_the_shape_of_an_answer(stock: Stock, client: TestClientProtocol) -> None:
    stock.session("s", "A <title>", at=1.5)
    stock.message("m", "an ember & more", at=2.5)

    assert await ask(client, q="ember") == {
        "hits": [
            {
                "kind": "message", "session_id": "s", "session_title": "A <title>", "message_id": "m",
                "role": "user", "call_id": None, "name": None, "heading": None, "created_at": 2.5,
                "archived": False, "snippet": "an <mark>ember</mark> &amp; more",
            }
        ],
        "cursor": None,
        "considered": {"newest": 5000, "all": True},
        "note": None,
    }  # fmt: skip


async def test_parameters_are_understood(stock: Stock, client: TestClientProtocol) -> None:
    stock.session("s", "ember", at=1)
    stock.message("old", "ember", at=1_700_000_000)
    stock.message("new", "ember", at=1_800_000_000, role="assistant")

    async def found(**parameters: Any) -> list[str | None]:
        return [hit["message_id"] for hit in (await ask(client, q="ember", **parameters))["hits"]]

    assert await found(kind="message") == ["new", "old"]
    assert await found(kind="message,title") == [None, "new", "old"]
    assert await found(kind="message", before="2025-01-31") == ["old"]
    assert await found(after="2023-11-14T22:13:20+00:00") == ["new", "old"]
    assert await found(after="1700000000.5") == ["new"]
    assert await found(role="user", before="", cursor="") == ["old"]
    first = await ask(client, q="ember", limit=2)
    assert len(first["hits"]) == 2
    assert len((await ask(client, q="ember", limit=2, cursor=first["cursor"]))["hits"]) == 1


@pytest.mark.parametrize(
    ("parameters", "param"),
    [
        ({}, "q"),
        ({"q": "x", "kind": "nonsense"}, "kind"),
        ({"q": "x", "kind": "message,memory"}, "kind"),
        ({"q": "x", "role": "system"}, "role"),
        ({"q": "x", "before": "yesterday"}, "before"),
        ({"q": "x", "after": "nan"}, "after"),
        ({"q": "x", "after": "1e999"}, "after"),
        ({"q": "x", "limit": "0"}, "limit"),
        ({"q": "x", "limit": "101"}, "limit"),
        ({"q": "x", "limit": "9" * 5000}, "limit"),
        ({"q": "x", "limit": "²"}, "limit"),
        ({"q": "x", "cursor": "nonsense"}, "cursor"),
    ],
)
async def test_wrong_parameters_are_named(
    client: TestClientProtocol, parameters: dict[str, str], param: str
) -> None:
    response = await client.get("/api/sessions/search", query_string=parameters)

    error = (await response.get_json())["error"]
    assert (response.status_code, error["param"]) == (400, param)
    assert error["type"] == "invalid_request_error"
    assert param in error["message"]
