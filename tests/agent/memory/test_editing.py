"""What a person does in the page: reads a rendered article, edits, deletes, compares versions."""

from __future__ import annotations

from typing import Any

import pytest
from quart import Quart
from quart.typing import TestClientProtocol as Client

from agent.memory.vaults import commits, git, is_clean, put
from fireside_agent.memory.proposals import Proposals
from fireside_agent.memory.routes import create_blueprint
from fireside_agent.memory.vault import Vault

API = "/api/memory"


@pytest.fixture
def client(vault: Vault, proposals: Proposals) -> Client:
    app = Quart(__name__)
    app.register_blueprint(create_blueprint(vault, proposals))
    return app.test_client()


async def get(client: Client, path: str, **query: str) -> Any:
    answer = await client.get(f"{API}/{path}", query_string=query)
    assert answer.status_code == 200, await answer.get_data()
    return await answer.get_json()


async def save(client: Client, name: str, text: str, before_hash: str = "") -> tuple[int, Any]:
    body = {"text": text, "before_hash": before_hash}
    answer = await client.put(f"{API}/article", query_string={"name": name}, json=body)
    return answer.status_code, await answer.get_json()


async def blocks_of(client: Client, name: str) -> str:
    return "".join((await get(client, "page", name=name))["blocks"])


async def test_a_page_has_the_article_as_html_with_links_that_lead_on(client: Client, vault: Vault) -> None:
    await vault.write("Food/Rye & co", "# Rye\n\n## Sour dough\n", "Write")
    text = (
        "---\ntags: [bread]\n---\n# Bread\n\n"
        "See [[Rye & co|the rye]], [[rye & co#Sour dough]] and [[Nowhere]].\n\n"
        "| a | b |\n|---|---|\n| [[Rye & co\\|in a table]] | `[[Rye]]` |\n\n## Later\n\nMore.\n"
    )
    await vault.write("Bread", text, "Write")
    page = await get(client, "page", name="Bread")
    assert (page["title"], page["text"], page["fields"]) == ("Bread", text, {"tags": ["bread"]})
    shown = "".join(page["blocks"])
    assert '<a class="wikilink" href="#/memory/Food/Rye%20%26%20co">the rye</a>' in shown
    assert 'href="#/memory/Food/Rye%20%26%20co//Sour%20dough">rye &amp; co#Sour dough</a>' in shown
    assert (
        '<a class="wikilink wikilink--broken" href="#/memory/Nowhere" title="no such article">Nowhere</a>'
        in shown
    )
    assert '<td><a class="wikilink" href="#/memory/Food/Rye%20%26%20co">in a table</a></td>' in shown
    assert "<code>[[Rye]]</code>" in shown
    assert "tags" not in shown
    assert "<h1>" not in shown
    assert [each["broken"] for each in page["outbound"]] == [None, None, "no such article", None]
    assert {each["article"] for each in (await get(client, "page", name="Food/Rye & co"))["inbound"]} == {
        "Bread"
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('[[<img src=x onerror="alert(1)">]]', "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;"),
        ("[[A|<b>x</b>]]", "&lt;b&gt;x&lt;/b&gt;"),
        ("<script>alert(1)</script> [[A]]", "&lt;script&gt;"),
        ('[go](https://example.org "[[A|\\" onclick=x]]")', "example.org"),
        ("[a [[A]] b](https://example.org)", "A b"),
        ("    [[A]] in code", "<code>[[A]] in code"),
        ("\ue0000\ue001 [[javascript:alert(1)]]", "\ufffd0\ufffd"),
    ],
)
async def test_hostile_articles_are_text(client: Client, vault: Vault, text: str, shown: str) -> None:
    put(vault, "A", text)
    html = await blocks_of(client, "A")
    assert shown in html
    assert "<img" not in html
    assert "<script" not in html
    assert "onclick=x" not in html.replace("&quot; onclick=x", "")
    assert 'href="javascript' not in html
    assert html.count("<a ") == html.count("</a>")
    assert "\ue000" not in html


async def test_an_edit_is_one_commit_and_only_of_what_was_seen(client: Client, vault: Vault) -> None:
    status, made = await save(client, "Cooking/Bread", "one\n")
    assert (status, made["name"], made["commit"]) == (200, "Cooking/Bread", commits(vault.root)[0])
    status, edited = await save(client, "Cooking/Bread", "two\n", made["hash"])
    assert status == 200
    assert git(vault.root, "log", "--format=%s", "-2").splitlines() == [
        "Edit Cooking/Bread",
        "Add Cooking/Bread",
    ]
    before = len(commits(vault.root))
    status, refused = await save(client, "Cooking/Bread", "three\n", made["hash"])
    assert (status, refused["error"]["code"]) == (409, "article_changed")
    assert refused["before_hash"] == edited["hash"]
    assert refused["text"] == "two\n"
    assert "-two\n+three\n" in refused["diff"]
    assert (await vault.read("Cooking/Bread")).text == "two\n"
    assert len(commits(vault.root)) == before
    assert (await save(client, "Cooking/Bread", "three\n", refused["before_hash"]))[0] == 200
    again = await save(client, "Cooking/Bread", "three\n", "of long ago")
    assert (again[0], again[1]["commit"]) == (200, None)


async def test_what_was_edited_by_hand_meanwhile_is_told_and_kept(client: Client, vault: Vault) -> None:
    made = (await save(client, "A", "one\n"))[1]
    put(vault, "A", "by hand\n")
    status, refused = await save(client, "A", "mine\n", made["hash"])
    assert (status, refused["text"]) == (409, "by hand\n")
    (vault.root / "articles" / "A.md").unlink()
    status, gone = await save(client, "A", "mine\n", made["hash"])
    assert (status, gone["text"], gone["before_hash"]) == (409, None, "")
    assert "was deleted" in gone["error"]["message"]
    put(vault, "There", "before\n")
    status, refused = await save(client, "There", "mine\n")
    assert (status, refused["text"]) == (409, "before\n")
    assert "There is an article There already." in refused["error"]["message"]
    status, refused = await save(client, "New", "x", "a hash")
    assert (status, refused["text"]) == (409, None)


async def test_a_deleted_article_is_in_the_history_and_comes_back(client: Client, vault: Vault) -> None:
    made = (await save(client, "A", "one\n"))[1]
    put(vault, "A", "by hand\n")
    url = f"{API}/article"
    refused = await client.delete(url, query_string={"name": "A", "before_hash": made["hash"]})
    assert (refused.status_code, (await refused.get_json())["text"]) == (409, "by hand\n")
    now = (await get(client, "article", name="A"))["hash"]
    done = await client.delete(url, query_string={"name": "A", "before_hash": now})
    assert (done.status_code, (await done.get_json())["hash"]) == (200, "")
    assert not (vault.root / "articles" / "A.md").exists()
    assert is_clean(vault.root)
    history = (await get(client, "history", name="A"))["commits"]
    assert [each["subject"] for each in history] == ["Delete A", "Keep changes made by hand to A", "Add A"]
    assert (await get(client, "version", name="A", commit=history[1]["commit"])) == {"text": "by hand\n"}
    gone = await client.get(f"{API}/version", query_string={"name": "A", "commit": history[0]["commit"]})
    assert gone.status_code == 404
    assert (await client.delete(url, query_string={"name": "A", "before_hash": ""})).status_code == 404
    assert (await save(client, "A", "by hand\n"))[0] == 200


async def test_two_versions_are_compared(client: Client, vault: Vault) -> None:
    first, _, last = [await vault.write("A", f"{text}\nsame\n", text) for text in ("one", "two", "three")]
    between = (await get(client, "diff", name="A", base=str(first), commit=str(last)))["diff"]
    assert between == git(vault.root, "diff", str(first), str(last))
    put(vault, "A", "by hand\nsame\n")
    now = (await get(client, "diff", name="A", base=str(first)))["diff"]
    assert "-one\n+by hand\n same\n" in now
    for query in ({"base": "HEAD"}, {"base": str(first), "commit": "0" * 40}, {"base": "0" * 40}):
        answer = await client.get(f"{API}/diff", query_string={"name": "A", **query})
        assert answer.status_code == 404
        assert (await answer.get_json())["error"]["param"] in query


async def test_a_page_is_found_as_a_link_finds_it(client: Client, vault: Vault) -> None:
    put(vault, "Cooking/Bread", "---\naliases: [Loaf]\n---\n# The bread\n")
    for name in ("bread", "Loaf", "the bread", "cooking/bread.md"):
        assert (await get(client, "page", name=name))["name"] == "Cooking/Bread"


async def test_names_that_may_be_meant_come_with_the_404(client: Client, vault: Vault) -> None:
    put(vault, "Cooking/Bread", "x")
    answer = await client.get(f"{API}/page", query_string={"name": "Bred"})
    assert answer.status_code == 404
    assert (await answer.get_json())["near"] == ["Cooking/Bread"]


@pytest.mark.parametrize(
    ("body", "param"),
    [({"text": "x"}, None), ({"text": 1, "before_hash": ""}, "text"), ([], None)],
)
async def test_bodies_that_are_not_understood(
    client: Client, vault: Vault, body: Any, param: str | None
) -> None:
    answer = await client.put(f"{API}/article", query_string={"name": "A"}, json=body)
    error = (await answer.get_json())["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "invalid_parameter", param)
    assert (await client.put(f"{API}/article", json={"text": "", "before_hash": ""})).status_code == 400
    for name in ("../A", ".git/config", ""):
        assert (await save(client, name, "x"))[0] == 400
    assert await vault.summaries() == []


async def test_without_git_nothing_is_written_or_deleted(
    client: Client, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = (await save(client, "A", "one\n"))[1]
    monkeypatch.setenv("PATH", "")
    status, refused = await save(client, "A", "two\n", made["hash"])
    assert (status, refused["error"]["code"]) == (409, "git_missing")
    query = {"name": "A", "before_hash": made["hash"]}
    assert (await client.delete(f"{API}/article", query_string=query)).status_code == 409
    assert (await vault.read("A")).text == "one\n"
