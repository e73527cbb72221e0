"""`/v1/models`, and streams of an engine that does what the test says, in an app of our own."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import httpx
import pytest
from quart import Quart

from fireside.api import chat, completions, models
from fireside.api.embedding_task import ServedEmbedder
from fireside.api.generation import Served
from fireside.api.sampling import SamplingFields
from fireside.api.served import Available, Serving
from fireside.engine.engine import Engine
from fireside.engine.requests import Event, GenerationRequest, Row
from fireside.engine.status import StatusBoard
from fireside.http.errors import install_error_handlers
from fireside.text.model import TextModel
from support.server import POCKET, Server

SILENCE_S = 0.05


class OddRow(Row):
    """Is silent for a while and then fails as no row should."""

    async def next(self) -> Event:
        await asyncio.sleep(3.5 * SILENCE_S)
        raise RuntimeError("odd")


class OddEngine:
    """All rows of which fail."""

    @asynccontextmanager
    async def generate(self, request: GenerationRequest, *_: Any) -> AsyncGenerator[Row]:
        yield OddRow(request)


@dataclass
class OneModel:
    """A host that has one model."""

    current: Served

    @property
    def running(self) -> list[Served | ServedEmbedder]:
        return [self.current]

    async def available(self) -> list[Available]:
        return []

    async def find(self, name: str) -> Served:
        return self.current


@pytest.fixture
async def app(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Quart]:
    for module in (chat, completions):
        monkeypatch.setattr(module, "KEEP_ALIVE_S", SILENCE_S)
    board = StatusBoard()
    board.update(phase="ready")
    text = await TextModel.load(POCKET)
    engine = cast("Engine", OddEngine())
    flags = SamplingFields(temperature=0.3, top_k=7, min_p=0.05)
    served = Served("org/pocket", text, engine, flags, thinking=False, created=1_700_000_000)
    serving = Serving(board, OneModel(served))
    quart = Quart("test", static_folder=None)
    install_error_handlers(quart)
    for module in (chat, completions, models):
        quart.register_blueprint(module.create_blueprint(serving))
    yield quart
    text.close()


ROW = {
    "id": "org/pocket",
    "object": "model",
    "created": 1_700_000_000,
    "owned_by": "fireside",
    "context_window": 8192,
    "max_model_len": 8192,
    "reasoning": True,
    "thinking": False,
    "vision": False,
    "audio": False,
    "type": "chat",
    "gen_defaults": {
        "temperature": 0.3,
        "top_p": None,
        "top_k": 7,
        "min_p": 0.05,
        "repetition_penalty": None,
    },
}


async def test_a_row_tells_what_holds_and_has_its_slashes_either_way(app: Quart) -> None:
    client = app.test_client()
    listed = await (await client.get("/v1/models")).get_json()
    assert listed == {"object": "list", "data": [ROW]}
    for path in ("/v1/models/org/pocket", "/v1/models/org%2Fpocket"):
        assert await (await client.get(path)).get_json() == ROW
    for path in ("/v1/models/pocket", "/v1/models/org%2Fpocket%2F", "/v1/models/org"):
        missing = await client.get(path)
        assert missing.status_code == 404
        assert (await missing.get_json())["error"]["code"] == "model_not_found"
    about = await (await client.get("/v1")).get_json()
    assert about.keys() == {"name", "version", "model", "endpoints"}
    assert about["model"] == "org/pocket"


def test_every_route_of_the_index_is_there(server: Server) -> None:
    (row,) = server.get("/v1/models")["data"]
    assert row["created"] > 1_600_000_000
    for path in server.get("/v1")["endpoints"]:
        body: dict[str, Any] = {}
        with pytest.raises(httpx.HTTPStatusError, match=r"40[05]"):
            server.post(path, body)


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}),
        ("/v1/completions", {"prompt": "Hi"}),
    ],
)
async def test_silence_is_kept_alive_and_any_failure_is_an_event_and_an_end(
    app: Quart, route: str, body: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    client = app.test_client()
    with caplog.at_level(logging.CRITICAL):
        reply = await client.post(route, json={**body, "stream": True})
        data = await reply.get_data(as_text=False)
    *begin, error, done, rest = data.split(b"\n\n")
    assert (reply.status_code, done, rest) == (200, b"data: [DONE]", b"")
    assert json.loads(error.removeprefix(b"data: "))["error"]["type"] == "server_error"
    assert begin.count(b": keep-alive") in (2, 3)
    whole = await client.post(route, json=body)
    assert whole.status_code == 500
    assert (await whole.get_json())["error"]["message"].startswith("Something in Fireside failed")
