"""The routes over the models on this machine, and `fireside models`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from click.testing import CliRunner
from quart import Quart

from fireside import app
from fireside.cli import main
from fireside.config import ServeConfig
from fireside.paths import Home
from support.embedders import make_decoder
from support.local_models import write_cached, write_model
from support.server import POCKET, Server, prepared_home, serving

NAMES = ["org/chat", "org/half-there", "org/whisper", "own", "tiny-embedder"]


def fill(hub: Path, folder: Path) -> None:
    """A cache as people have it, and a folder beside it."""
    write_cached(hub, "org/chat")
    write_cached(hub, "org/whisper", {"model_type": "whisper"})
    broken = write_cached(hub, "org/half-there", shards=2)
    (broken / "model-00002-of-00002.safetensors").unlink()
    for stray in ("snapshots", "blobs", "datasets--org--data"):
        (hub / stray).mkdir()
    write_model(folder / "own")
    make_decoder(folder / "tiny-embedder")


@pytest.fixture
def quart(tmp_path: Path, hub_cache: Path) -> Quart:
    """An app that has not started: the catalog needs no model."""
    fill(hub_cache, tmp_path / "models")
    (tmp_path / "home").mkdir()
    config = ServeConfig(Home(tmp_path / "home"), models_dirs=(tmp_path / "models",), api_only=True)
    return app.create_app(config, ("127.0.0.1", 1)).asgi.app


async def get(quart: Quart, path: str, status: int = 200) -> Any:
    answer = await quart.test_client().get(path)
    assert answer.status_code == status, await answer.get_data()
    return await answer.get_json()


async def test_the_library_has_every_model_with_all_that_is_known_of_it(quart: Quart) -> None:
    rows = {row["repo_id"]: row for row in (await get(quart, "/api/library"))["models"]}
    assert sorted(rows) == NAMES
    chat = rows["org/chat"]
    assert (chat["model_type"], chat["quant_bits"], chat["vision"], chat["audio"]) == (
        "llama",
        None,
        False,
        False,
    )
    assert (chat["supported"], chat["support_tier"], chat["serving"], chat["usable"]) == (
        True,
        "targeted",
        False,
        True,
    )
    assert chat["assessment"]["fits"] is True
    assert chat["assessment"]["max_safe_context"] == 4096
    assert chat["size_bytes"] > 0
    assert rows["org/half-there"]["missing"] == ["model-00002-of-00002.safetensors is missing"]
    assert not rows["org/half-there"]["usable"]
    assert rows["org/whisper"]["kind"] == "speech"
    assert not rows["org/whisper"]["supported"]
    assert rows["tiny-embedder"]["kind"] == "embedding"


async def test_the_hubs_panel_gets_the_same_models(quart: Quart) -> None:
    found = await get(quart, "/api/hub/local")
    assert [row["id"] for row in found["models"]] == NAMES
    assert found["models"][0]["name"] == "chat"
    assert found["size_bytes"] == sum(row["size_bytes"] for row in found["models"])


async def test_a_fit_is_told_with_its_reasons(quart: Quart) -> None:
    found = await get(quart, "/api/fit?model=org%2Fchat&context=3000")
    assert (found["model"], found["context_tokens"]) == ("org/chat", 3000)
    assert found["assessment"]["fits"] is True
    assert found["machine"]["memory_bytes"] > 0
    assert found["report"]
    assert len(found["matrix"]) > 5
    too_long = await get(quart, "/api/fit?model=chat&context=9000")
    assert not too_long["assessment"]["fits"]
    assert "at most 4,096 tokens" in too_long["assessment"]["reason"]


@pytest.mark.parametrize(("query", "status", "code", "words"), [
    ("", 400, "invalid_request", "Say which model"),
    ("model=org", 400, "model_ambiguous", "org/chat, org/half-there"),
    ("model=org%2Fchta", 404, "model_not_found", "Did you mean org/chat"),
    ("model=chat&context=0", 400, "invalid_request", "whole number"),
    ("model=chat&context=1e3", 400, "invalid_request", "whole number"),
    ("model=chat&context=99999999999", 400, "invalid_request", "whole number"),
])  # fmt: skip
async def test_a_wrong_question_is_answered_with_what_is_wrong(
    query: str, status: int, code: str, words: str, quart: Quart
) -> None:
    error = (await get(quart, f"/api/fit?{query}", status))["error"]
    assert error["code"] == code
    assert words in error["message"]


async def test_models_are_offered(quart: Quart) -> None:
    found = await get(quart, "/api/models/recommended")
    assert found["machine"]["chip"]
    assert all(not model["here"] for model in found["models"])


async def test_without_a_cache_and_before_a_model_is_there_the_lists_are_empty(
    tmp_path: Path, hub_cache: Path
) -> None:
    (tmp_path / "home").mkdir()
    quart = app.create_app(ServeConfig(Home(tmp_path / "home")), ("127.0.0.1", 1)).asgi.app
    assert await get(quart, "/api/library") == {"models": []}
    assert await get(quart, "/v1/models") == {"object": "list", "data": []}
    assert not (tmp_path / hub_cache.name).exists()


def test_a_model_from_a_path_is_listed_usable_and_found_in_both_spellings(
    server: Server, tmp_path: Path
) -> None:
    """Beside a cache in which nothing else can be asked."""
    hub = tmp_path / "hub"
    fill(hub, tmp_path / "models")
    named = hub / "models--org--pocket" / "snapshots" / ("1" * 40)
    named.parent.mkdir(parents=True)
    named.symlink_to(POCKET)
    (hub / "models--org--pocket" / "refs").mkdir()
    (hub / "models--org--pocket" / "refs" / "main").write_text("1" * 40)
    home = prepared_home(tmp_path / "home", server.home)
    flags = ("--api-only", "--model", "org POCKET", "--models-dir", str(tmp_path / "models"))
    with serving(home, *flags, HF_HUB_CACHE=str(hub), HF_HUB_OFFLINE="1") as running:
        running.wait_ready()
        (row,) = running.get("/v1/models")["data"]
        assert row["id"] == "org/pocket"
        for spelling in (row["id"], quote(row["id"], safe="")):
            assert running.get(f"/v1/models/{spelling}") == row
        assert httpx.get(f"{running.url}/v1/models/org/chat").status_code == 404
        body = {"model": row["id"], "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
        assert running.post("/v1/chat/completions", body)["model"] == row["id"]
        library = running.get("/api/library")["models"]
        assert [each["repo_id"] for each in library if each["serving"]] == ["org/pocket"]
        assert sorted(each["repo_id"] for each in library if each["repo_id"] in NAMES) == NAMES
        assert running.get("/api/fit")["model"] == "org/pocket"


@pytest.fixture
def command(tmp_path: Path, hub_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    fill(hub_cache, tmp_path / "models")
    monkeypatch.setenv("FIRESIDE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FIRESIDE_MODELS", str(tmp_path / "models"))

    def run(*arguments: str, status: int = 0) -> str:
        result = CliRunner().invoke(main, ["models", *arguments])
        assert result.exit_code == status, result.output
        return result.output

    return run


def test_the_command_lists_models_in_a_table_and_as_json(command: Any) -> None:
    lines = command("ls").splitlines()
    assert [line.split()[0] for line in lines] == ["MODEL", *NAMES]
    assert "not complete: model-00002" in lines[2]
    assert lines[1].endswith("chat, tools, thinking")
    (row,) = json.loads(command("ls", "--json", "org", "chat"))
    assert row["repo_id"] == "org/chat"
    assert "No model has such a name" in command("ls", "no-such", status=1)


def test_the_command_reads_all_again(command: Any) -> None:
    found = command("scan")
    assert found.startswith("5 models, 3 of which can be served.")
    assert "org/half-there is not complete" in found
    assert [model["repo_id"] for model in json.loads(command("scan", "--json"))] == NAMES


def test_the_command_tells_what_fits(command: Any) -> None:
    found = command("fit", "own", "--context", "2000")
    assert "It fits, with conversations of up to 4,096 tokens" in found
    assert "NVIDIA H200, 141 GB" in found
    assert json.loads(command("fit", "own", "--json"))["model"] == "own"
    assert "org/chat, org/half-there" in command("fit", "org", status=1)
    assert "Did you mean own" in command("fit", "onw", status=1)
    assert "of memory" in command("fit")


def test_a_folder_may_be_named_by_a_flag(
    tmp_path: Path, hub_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRESIDE_HOME", str(tmp_path / "home"))
    write_model(tmp_path / "a" / "one")
    write_model(tmp_path / "b" / "owner" / "two")
    flags = [f"--models-dir={tmp_path / 'a'}", "--models-dir", str(tmp_path / "b")]
    result = CliRunner().invoke(main, ["models", *flags, "ls"])
    assert [line.split()[0] for line in result.output.splitlines()[1:]] == ["one", "owner/two"]
    empty = CliRunner().invoke(main, ["models", "ls"])
    assert "no models yet" in empty.output
