"""`mcp.json` and the routes that change it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from quart import Quart

from agent.tools.mcp_harness import free_port, served, state, until, write
from fireside_agent.tools.mcp.config import ConfigFile, Entry, EntryError
from fireside_agent.tools.mcp.masking import MASK, mask, unmask
from fireside_agent.tools.mcp.routes import create_blueprint
from fireside_agent.tools.mcp.servers import McpServers


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"mcpServers": []}', '{"mcpServers": {"a": }}', "\xff\xfe", "[" * 100_000]
)
async def test_a_broken_file_is_told_of_and_left_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(content, encoding="latin-1")
    client, servers = await settings(path)
    listing = await (await client.get("/api/settings/mcp")).get_json()
    assert listing["servers"] == []
    assert str(path) in listing["problem"]
    for answer in (
        await client.put("/api/settings/mcp/demo", json={"command": "sh", "disabled": True}),
        await client.delete("/api/settings/mcp/demo"),
    ):
        assert (answer.status_code, (await answer.get_json())["error"]["code"]) == (
            409,
            "mcp_config_unusable",
        )
    assert path.read_text(encoding="latin-1") == content
    path.unlink()
    assert (await (await client.get("/api/settings/mcp")).get_json())["problem"] is None
    await servers.close()


async def settings(path: Path) -> tuple[Any, McpServers]:
    servers = McpServers(path)
    await servers.start()
    app = Quart(__name__)
    app.register_blueprint(create_blueprint(servers))
    return app.test_client(), servers


async def test_servers_are_added_changed_and_removed_through_the_settings(
    tmp_path: Path,
) -> None:
    port = free_port()
    with served(port):
        await change_servers(tmp_path, f"http://127.0.0.1:{port}/mcp")


async def change_servers(tmp_path: Path, url: str) -> None:
    path = write(
        tmp_path,
        {"old": {"command": "sh", "disabled": True, "icon": "🔧"}, "bad": {"url": "ftp://x"}},
        inputs=[1],
    )
    client, servers = await settings(path)
    entry = {"url": f"{url}?key=s3cret", "headers": {"Authorization": "Bearer t0ken"}}
    answer = await client.put("/api/settings/mcp/my%20web", json=entry)
    assert answer.status_code == 200
    await until(lambda: state(servers, "my web").state == "ready")
    answer = await client.get("/api/settings/mcp")
    body = await answer.get_data(as_text=True)
    assert "s3cret" not in body
    assert "t0ken" not in body
    listed = {one["name"]: one for one in json.loads(body)["servers"]}
    assert {name: one["state"] for name, one in listed.items()} == {
        "old": "disabled",
        "my web": "ready",
        "bad": "failed",
    }
    shown = listed["my web"]
    assert shown["config"]["headers"] == {"Authorization": MASK}
    tool = next(tool for tool in shown["tools"] if tool["tool"] == "add")
    assert tool["description"] == "Adds two numbers."
    assert re.fullmatch(r"my_web__add_[0-9a-f]{6}", tool["name"])
    assert (path.stat().st_mode & 0o777) == 0o600

    # Sent back as it was shown, it keeps its secrets; what nobody here knows stays in the file.
    await client.put("/api/settings/mcp/my%20web", json={**shown["config"], "disabled": True})
    await client.put("/api/settings/mcp/old", json={"command": "env", "args": ["-i"], "disabled": True})
    assert json.loads(path.read_text()) == {
        "mcpServers": {
            "old": {"command": "env", "args": ["-i"], "disabled": True, "icon": "🔧"},
            "bad": {"url": "ftp://x"},
            "my web": {**entry, "disabled": True},
        },
        "inputs": [1],
    }
    assert state(servers, "my web").state == "disabled"
    restart = await client.post("/api/settings/mcp/my%20web/restart")
    assert restart.status_code == 404
    await client.put("/api/settings/mcp/my%20web", json=shown["config"])
    assert (await client.post("/api/settings/mcp/my%20web/restart")).status_code == 200
    assert (await client.delete("/api/settings/mcp/my%20web")).status_code == 200
    assert "my web" not in [one.name for one in servers.states()]
    assert (await client.delete("/api/settings/mcp/my%20web")).status_code == 404
    await servers.close()


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("demo", b"{", "not JSON"),
        ("demo", b'{"x":' * 100_000, "not JSON"),
        ("demo", b"[]", "Expected `object`"),
        ("demo", b"{}", "either `command`"),
        ("demo", b'{"command": ""}', "`command` is empty"),
        ("demo", b'{"command": "sh", "args": "-c"}', "`$.args`"),
        ("demo", b'{"command": "sh", "env": {"A=B": "x"}}', "`env`"),
        ("demo", b'{"command": "sh\\u0000"}', "NUL"),
        ("demo", b'{"url": "localhost:80/mcp"}', "no URL"),
        ("demo", b'{"url": "http://[::1"}', "no URL"),
        ("demo", b'{"url": "http://x/", "headers": {"A": "b\\r\\nC: d"}}', "one line of ASCII"),
        ("demo", json.dumps({"url": "http://x/", "headers": {"A": MASK}}).encode(), "names another server"),
        ("demo", json.dumps({"command": "sh", "env": {"A": MASK}}).encode(), "no stored value for 'A'"),
        ("x" * 65, b'{"command": "sh"}', "name has 1 to 64"),
        ("a/b", b'{"command": "sh"}', "no slash"),
    ],
)
async def test_a_wrong_server_is_refused_and_nothing_written(
    tmp_path: Path, name: str, body: bytes, said: str
) -> None:
    path = tmp_path / "mcp.json"
    client, servers = await settings(path)
    headers = {"Content-Type": "application/json"}
    answer = await client.put(f"/api/settings/mcp/{name}", data=body, headers=headers)
    error = (await answer.get_json())["error"]
    assert answer.status_code == 400
    assert error.keys() == {"message", "type", "code", "param"}
    assert said in error["message"]
    assert not path.exists()
    form = await client.put("/api/settings/mcp/demo", form={"command": "sh"})
    assert form.status_code == 415
    await servers.close()


def test_a_secret_does_not_follow_the_url_to_another_server() -> None:
    stored = Entry(url="https://me:pw@one.example/mcp?key=k", headers={"A": "secret"})
    shown = mask(stored)
    assert shown == Entry(url=f"https://me:{MASK}@one.example/mcp?{MASK}", headers={"A": MASK})
    assert unmask(shown, stored) == stored
    for url in ("https://two.example/mcp", "http://one.example/mcp", f"https://two.example/?{MASK}"):
        with pytest.raises(EntryError, match=r"again|masked"):
            unmask(Entry(url=url, headers={"A": MASK}), stored)
    same = Entry(url="https://one.example/other", headers={"A": MASK})
    assert unmask(same, stored).headers == {"A": "secret"}


def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "dotfiles" / "mcp.json", tmp_path / "mcp.json"
    target.parent.mkdir()
    link.symlink_to(target)
    ConfigFile(link).put("demo", Entry(command="sh"))
    assert link.is_symlink()
    assert json.loads(target.read_text()) == {"mcpServers": {"demo": {"command": "sh"}}}
    assert [one.name for one in target.parent.iterdir()] == ["mcp.json"]
