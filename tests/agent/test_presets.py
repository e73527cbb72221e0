"""Presets and the instructions for all chats, over HTTP and a real database."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from quart import Quart
from quart.typing import TestClientProtocol as Client

from fireside_agent.messages import SamplingChoice, SessionSettings
from fireside_agent.presets import PresetStore, create_blueprint
from fireside_agent.store.database import Database
from fireside_agent.store.migrations import migrate


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[PresetStore]:
    database = Database(tmp_path / "fireside.db")
    await database.open(migrate)
    yield PresetStore(database)
    await database.close()


@pytest.fixture
def client(store: PresetStore) -> Client:
    app = Quart("test")
    app.register_blueprint(create_blueprint(store))
    return app.test_client()


async def put(client: Client, name: str, body: Any) -> tuple[int, Any]:
    response = await client.put(f"/api/presets/{quote(name, safe='')}", json=body)
    return response.status_code, json.loads(await response.get_data(as_text=False))


async def get(client: Client, path: str) -> Any:
    response = await client.get(path)
    assert response.status_code == 200
    return json.loads(await response.get_data(as_text=False))


async def test_presets_are_kept_by_name(client: Client, store: PresetStore) -> None:
    sampling = {"repetition_penalty": 1.1, "seed": 2**40}
    body = {"instructions": "Be brief", "tools": ["read"], "sampling": sampling}
    assert (await put(client, "Zoë/code", {**body, "preset": "other", "unknown": 1}))[0] == 200
    await put(client, "Alone", {})
    await put(client, "Alone", {"thinking": False})
    presets = (await get(client, "/api/presets"))["presets"]
    assert [(preset["name"], preset["settings"]) for preset in presets] == [
        ("Alone", {"thinking": False}),
        ("Zoë/code", body),
    ]
    stored = await store.get("Zoë/code")
    assert stored is not None
    assert stored.settings == SessionSettings(
        instructions="Be brief", tools=["read"], sampling=SamplingChoice(repetition_penalty=1.1, seed=2**40)
    )

    response = await client.delete("/api/presets/Zo%C3%AB%2Fcode")
    assert response.status_code == 204
    response = await client.delete("/api/presets/Zo%C3%AB%2Fcode")
    assert response.status_code == 404
    assert [preset.name for preset in await store.list()] == ["Alone"]


@pytest.mark.parametrize("name", ["a", "a" * 60, ".", "global", "instructions", "\U0001f469\u200d\U0001f467"])
async def test_names_that_are_taken(client: Client, store: PresetStore, name: str) -> None:
    await store.set_instructions("for all")
    assert (await put(client, name, {}))[0] == 200
    assert [preset.name for preset in await store.list()] == [name]
    assert await store.instructions() == "for all"
    assert await store.delete(name)
    assert await store.instructions() == "for all"


@pytest.mark.parametrize("name", ["a" * 61, " a", "a ", "a\x01b", "a\u2028b", "\0"])
async def test_names_that_are_not(client: Client, store: PresetStore, name: str) -> None:
    status, answer = await put(client, name, {})
    assert (status, answer["error"]["code"], answer["error"]["param"]) == (400, "invalid_name", "name")
    assert await store.list() == []


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"sampling": {"temperature": "hot"}}, "sampling.temperature"),
        ({"sampling": {"temperature": 2.5}}, "sampling.temperature"),
        ({"sampling": {"top_p": -0.1}}, "sampling.top_p"),
        ({"sampling": {"repetition_penalty": 11}}, "sampling.repetition_penalty"),
        ({"sampling": {"max_tokens": 0}}, "sampling.max_tokens"),
        ({"tools": "all"}, "tools"),
        ({"instructions": None}, "instructions"),
        ({"instructions": "x" * 100_001}, "instructions"),
        ([], None),
    ],
)
async def test_settings_that_are_not_valid(
    client: Client, store: PresetStore, body: Any, param: str | None
) -> None:
    status, answer = await put(client, "a", body)
    assert (status, answer["error"]["param"], answer["error"]["type"]) == (
        400,
        param,
        "invalid_request_error",
    )
    assert await store.list() == []


async def test_bodies_that_are_not_json(client: Client) -> None:
    json_type = {"Content-Type": "application/json"}
    for data, headers, status in (
        (b"{", json_type, 400),
        (b"[" * 100_000, json_type, 400),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b" " * (1024 * 1024 + 1), json_type, 413),
        (b"", json_type, 400),
    ):
        response = await client.put("/api/presets/a", data=data, headers=headers)
        assert response.status_code == status


async def test_instructions_for_all_chats(client: Client, store: PresetStore) -> None:
    assert await get(client, "/api/settings/instructions") == {"instructions": ""}
    response = await client.put(
        "/api/settings/instructions", json={"instructions": "Du bist nett \U0001f600"}
    )
    assert response.status_code == 200
    assert await get(client, "/api/settings/instructions") == {"instructions": "Du bist nett \U0001f600"}
    assert await get(client, "/api/presets") == {"presets": []}
    assert await store.get("") is None
    assert not await store.delete("")
    for body in ({}, {"instructions": 3}, {"instructions": "x" * 100_001}):
        response = await client.put("/api/settings/instructions", json=body)
        assert response.status_code == 400
    assert await store.instructions() == "Du bist nett \U0001f600"
