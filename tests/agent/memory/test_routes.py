"""The routes of the memory: what they answer, and how they fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from quart import Quart
from quart.typing import TestClientProtocol as Client

from agent.memory.vaults import commits, git, hook, put
from fireside_agent.memory.proposals import Proposals
from fireside_agent.memory.routes import create_blueprint
from fireside_agent.memory.vault import Vault

API = "/api/memory"


@pytest.fixture
def client(vault: Vault, proposals: Proposals) -> Client:
    return client_of(vault, proposals)


def client_of(vault: Vault, proposals: Proposals) -> Client:
    app = Quart(__name__)
    app.register_blueprint(create_blueprint(vault, proposals))
    return app.test_client()


async def get(client: Client, path: str, **query: str) -> Any:
    answer = await client.get(f"{API}/{path}", query_string=query)
    assert answer.status_code == 200, await answer.get_data()
    assert answer.content_type == "application/json"
    return await answer.get_json()


async def error(answer: Any) -> tuple[int, str, str | None]:
    body = await answer.get_json()
    assert set(body["error"]) == {"message", "type", "code", "param"}
    assert body["error"]["type"] == ("server_error" if answer.status_code >= 500 else "invalid_request_error")
    return answer.status_code, body["error"]["code"], body["error"]["param"]


async def test_the_vault_over_http(client: Client, vault: Vault) -> None:
    await vault.write("Bread", "---\ncategory: Food\n---\n# The bread\n\n## Rye\nSee [[Wheat]].\n", "Write")
    commit = await vault.write("Wheat", "Not [[Bread]]\n", "Write")
    (vault.root / "Reference" / "Book.md").write_text("text")
    status = await get(client, "status")
    assert {key: status[key] for key in ("root", "exists", "git", "articles", "references")} == {
        "root": str(vault.root),
        "exists": True,
        "git": True,
        "articles": 2,
        "references": 1,
    }
    assert [each["name"] for each in status["recent"]] == ["Wheat", "Bread"]
    listed = (await get(client, "list"))["articles"]
    assert [(each["name"], each["title"], each["category"]) for each in listed] == [
        ("Bread", "The bread", ["Food"]),
        ("Wheat", "Wheat", []),
    ]
    found = await get(client, "search", q="the rye")
    assert (found["terms"], found["total"]) == (["rye"], 1)
    assert found["results"][0]["hits"] == [{"line": 6, "heading": "Rye", "text": "## Rye"}]
    article = await get(client, "article", name="Bread")
    assert article["text"] == (vault.root / "articles" / "Bread.md").read_text()
    assert article["fields"] == {"category": "Food"}
    assert [each["path"] for each in article["headings"]] == ["The bread", "Rye"]
    links = await get(client, "links", name="Bread")
    assert links["outbound"][0]["article"] == links["inbound"][0]["article"] == "Wheat"
    history = (await get(client, "history", name="Wheat"))["commits"]
    assert [each["commit"] for each in history] == [commit] == commits(vault.root, "articles/Wheat.md")
    diff = (await get(client, "diff", name="Wheat", commit=str(commit)))["diff"]
    assert diff == git(vault.root, "diff", f"{commit}^", str(commit))


async def test_recent_are_at_most_eight(client: Client, vault: Vault) -> None:
    for n in range(10):
        put(vault, f"N{n}", "text")
    status = await get(client, "status")
    assert (status["articles"], len(status["recent"])) == (10, 8)


async def test_an_article_has_an_etag(client: Client, vault: Vault) -> None:
    put(vault, "A", "one")
    answer = await client.get(f"{API}/article?name=A")
    etag = answer.headers["ETag"]
    same = await client.get(f"{API}/article?name=A", headers={"If-None-Match": etag})
    assert (same.status_code, await same.get_data(), same.headers["ETag"]) == (304, b"", etag)
    for header in (f'"other", {etag}', f"W/{etag}", "*"):
        assert (
            await client.get(f"{API}/article?name=A", headers={"If-None-Match": header})
        ).status_code == 304
    put(vault, "A", "two")
    changed = await client.get(f"{API}/article?name=A", headers={"If-None-Match": etag})
    assert changed.status_code == 200
    assert changed.headers["ETag"] != etag


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("search", (400, "invalid_parameter", "q")),
        ("search?q=", (400, "invalid_parameter", "q")),
        ("article", (400, "invalid_parameter", "name")),
        ("article?name=", (400, "invalid_name", "name")),
        ("article?name=..%2F..%2Fetc%2Fpasswd", (400, "invalid_name", "name")),
        ("article?name=%00", (400, "invalid_name", "name")),
        ("article?name=None", (404, "article_not_found", "name")),
        ("links?name=None", (404, "article_not_found", "name")),
        ("history?name=None", (404, "article_not_found", "name")),
        ("diff?name=None", (404, "article_not_found", "name")),
        ("diff?name=A&commit=--output=x", (404, "article_not_found", "commit")),
        ("diff?name=A&commit=HEAD", (404, "article_not_found", "commit")),
        ("diff?name=A&commit=0123456", (404, "article_not_found", "commit")),
        ("proposals?status=odd", (400, "invalid_parameter", "status")),
    ],
)
async def test_failures_say_what_was_wrong(
    client: Client, vault: Vault, path: str, expected: tuple[int, str, str]
) -> None:
    put(vault, "A", "text")
    assert await error(await client.get(f"{API}/{path}")) == expected


async def test_init_makes_the_vault(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "new")
    client = client_of(vault, Proposals(vault, tmp_path / "proposals"))
    for path in ("list", "search?q=x", "article?name=A", "links?name=A", "history?name=A", "diff?name=A"):
        assert await error(await client.get(f"{API}/{path}")) == (404, "memory_not_initialized", None)
    assert (await get(client, "status"))["exists"] is False
    assert (await get(client, "proposals"))["proposals"] == []
    for _ in range(2):
        made = await client.post(f"{API}/init")
        assert (made.status_code, (await made.get_json())["exists"]) == (200, True)
    assert (await client.get(f"{API}/init")).status_code == 405


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    vault = Vault(tmp_path / "file" / "wiki")
    client = client_of(vault, Proposals(vault, tmp_path / "proposals"))
    assert await error(await client.post(f"{API}/init")) == (500, "storage_failed", None)


async def test_proposals_over_http(client: Client, vault: Vault, proposals: Proposals) -> None:
    made = [
        (await proposals.create(f"N{n}", reason="why", session_id="s", call_id=str(n), text="text\n")).id
        for n in range(3)
    ]
    listed = (await get(client, "proposals", status="open"))["proposals"]
    assert {each["id"] for each in listed} == set(made)
    assert {"id", "article", "reason", "session_id", "call_id", "created_at", "status", "diff"} <= set(
        listed[0]
    )
    accepted = await (await client.post(f"{API}/proposals/{made[0]}/accept")).get_json()
    assert (accepted["status"], accepted["commit"]) == ("accepted", commits(vault.root)[0])
    edited = await client.post(f"{API}/proposals/{made[1]}/accept", json={"text": "mine\n"})
    assert (await edited.get_json())["status"] == "edited"
    assert (await vault.read("N1")).text == "mine\n"
    assert (await (await client.post(f"{API}/proposals/{made[2]}/drop")).get_json())["status"] == "dropped"
    undone = await client.post(f"{API}/proposals/{made[0]}/undo")
    assert (await undone.get_json())["status"] == "undone"
    assert [each.name for each in await vault.summaries()] == ["N1"]
    for path, code in ((f"{made[0]}/accept", "proposal_settled"), (f"{made[2]}/undo", "proposal_settled")):
        assert await error(await client.post(f"{API}/proposals/{path}")) == (409, code, None)
    assert await error(await client.post(f"{API}/proposals/nothing/drop")) == (
        404,
        "proposal_not_found",
        "id",
    )


async def test_a_conflict_carries_the_diff_of_now(client: Client, vault: Vault, proposals: Proposals) -> None:
    proposal = await proposals.create("A", reason="", session_id="s", call_id="c", text="proposed\n")
    put(vault, "A", "by hand\n")
    answer = await client.post(f"{API}/proposals/{proposal.id}/accept", json={})
    assert await error(answer) == (409, "proposal_conflict", None)
    body = await answer.get_json()
    assert "-by hand\n+proposed\n" in body["diff"]
    accepted = await client.post(
        f"{API}/proposals/{proposal.id}/accept", json={"before_hash": body["before_hash"]}
    )
    assert accepted.status_code == 200


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"{", None),
        (b"\xff", None),
        (b'{"x": ' + b"[" * 200_000, None),
        (b"[]", None),
        (b'{"text": 1}', "text"),
        (b'{"before_hash": []}', "before_hash"),
    ],
)
async def test_bodies_that_are_not_understood(
    client: Client, proposals: Proposals, body: bytes, param: str | None
) -> None:
    proposal = await proposals.create("A", reason="", session_id="s", call_id="c", text="text")
    headers = {"Content-Type": "application/json"}
    answer = await client.post(f"{API}/proposals/{proposal.id}/accept", data=body, headers=headers)
    assert await error(answer) == (400, "invalid_parameter", param)
    assert (await proposals.get(proposal.id)).status == "open"


async def test_a_failing_hook_is_shown(client: Client, vault: Vault, proposals: Proposals) -> None:
    proposal = await proposals.create("A", reason="", session_id="s", call_id="c", text="text")
    hook(vault.root, "pre-commit", "echo misspelt >&2; exit 1")
    answer = await client.post(f"{API}/proposals/{proposal.id}/accept")
    assert await error(answer) == (409, "git_failed", None)
    assert "misspelt" in (await answer.get_json())["error"]["message"]
