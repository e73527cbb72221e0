"""An article gets another name: one commit, its history goes on, and links lead where they did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from quart import Quart
from quart.typing import TestClientProtocol as Client

from agent.memory.vaults import commits, git, hook, is_clean, put
from fireside_agent.memory.proposals import Proposals
from fireside_agent.memory.routes import create_blueprint
from fireside_agent.memory.vault import Vault

API = "/api/memory"
LONG = "".join(f"Line {number} of this article.\n" for number in range(20))


@pytest.fixture
def client(vault: Vault, proposals: Proposals) -> Client:
    app = Quart(__name__)
    app.register_blueprint(create_blueprint(vault, proposals))
    return app.test_client()


async def rename(client: Client, vault: Vault, name: str, new_name: str, seen: str | None = None) -> Any:
    """The answer's status and body; the hash is that of the article now, unless `seen` is another."""
    before_hash = (await vault.read(name)).hash if seen is None else seen
    body = {"new_name": new_name, "before_hash": before_hash}
    answer = await client.post(f"{API}/rename", query_string={"name": name}, json=body)
    return answer.status_code, await answer.get_json()


async def renamed(client: Client, vault: Vault, name: str, new_name: str) -> Any:
    status, body = await rename(client, vault, name, new_name)
    assert status == 200, body
    return body


def text(vault: Vault, name: str) -> str:
    return (vault.root / "articles" / f"{name}.md").read_text()


async def test_one_commit_renames_and_git_follows(client: Client, vault: Vault) -> None:
    first = await vault.write("Food/Bread", LONG, "Write")
    second = await vault.write("Food/Bread", f"{LONG}\nMore.\n", "Edit")
    await vault.write("Rye", "See [[Bread]].\n", "Write")
    count = len(commits(vault.root))
    body = await renamed(client, vault, "food/bread", "Baking/Loaf")
    assert (body["name"], body["linked"]) == ("Baking/Loaf", ["Rye"])
    assert len(commits(vault.root)) == count + 1
    assert git(vault.root, "log", "-1", "--format=%H %s").split() == [
        body["commit"], "Rename", "Food/Bread", "to", "Baking/Loaf",
    ]  # fmt: skip
    assert is_clean(vault.root)
    assert not (vault.root / "articles/Food/Bread.md").exists()
    assert (text(vault, "Baking/Loaf"), text(vault, "Rye")) == (f"{LONG}\nMore.\n", "See [[Loaf]].\n")
    whole = [body["commit"], second, first]
    assert git(vault.root, "log", "--follow", "--format=%H", "--", "articles/Baking/Loaf.md").split() == whole
    assert [each.commit for each in await vault.history("Baking/Loaf")] == whole
    assert await vault.version("Baking/Loaf", str(first)) == LONG
    assert "+More." in await vault.diff("Baking/Loaf", str(second))
    assert "rename from articles/Food/Bread.md" in await vault.diff("Baking/Loaf", body["commit"])
    assert "+More." in await vault.diff("Baking/Loaf", body["commit"], str(first))
    assert [each.commit for each in await vault.history("Food/Bread")] == whole
    await renamed(client, vault, "Baking/Loaf", "Food/Bread")
    back = [each.commit for each in await vault.history("Food/Bread")]
    assert back[1:] == whole
    assert text(vault, "Rye") == "See [[Bread]].\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[[Bread]] and [[bread|the bread]]", "[[Loaf]] and [[Loaf|the bread]]"),
        ("[[Food/Bread#Rye]], ![[Bread#^b1]]", "[[Baking/Loaf#Rye]], ![[Loaf#^b1]]"),
        ("[[articles/Food/Bread.md]]", "[[Baking/Loaf]]"),
        ("| [[Bread\\|x]] |", "| [[Loaf\\|x]] |"),
        ("[[Staff of life]] by its alias", None),
        ("`[[Bread]]` and ![[Bread.png]] and [[Breadboard]]", None),
        ("---\nrelated: '[[Bread]]'\n---\nText", "---\nrelated: '[[Loaf]]'\n---\nText"),
        ("Schön: [[Bread]]\r\nnext", "Schön: [[Loaf]]\r\nnext"),
    ],
)
async def test_links_follow_as_they_are_written(
    client: Client, vault: Vault, before: str, after: str | None
) -> None:
    put(vault, "Food/Bread", f"---\naliases: [Staff of life]\n---\n# Staff\n\n## Rye\n{LONG}")
    put(vault, "Other", before)
    body = await renamed(client, vault, "Food/Bread", "Baking/Loaf")
    assert (vault.root / "articles/Other.md").read_bytes().decode() == (after or before)
    assert body["linked"] == ([] if after is None else ["Other"])


async def test_links_of_its_own_and_those_that_would_lead_elsewhere_follow(
    client: Client, vault: Vault
) -> None:
    put(vault, "A/Bread", f"# Old\n{LONG}See [[A/Bread#Old]] and [[#Old]].\n")
    put(vault, "B/Loaf", "Another loaf.")
    put(vault, "Links", "[[Bread]], [[Loaf]]")
    body = await renamed(client, vault, "A/Bread", "Loaf")
    assert text(vault, "Loaf") == f"# Old\n{LONG}See [[Loaf#Old]] and [[#Old]].\n"
    assert body["hash"] == (await vault.read("Loaf")).hash
    assert text(vault, "Links") == "[[Loaf]], [[B/Loaf]]"
    assert [out.article for out in (await vault.links("Links")).outbound] == ["Loaf", "B/Loaf"]


async def test_what_was_changed_by_hand_is_committed_first(client: Client, vault: Vault) -> None:
    await vault.write("Bread", LONG, "Write")
    await vault.write("Rye", "See [[Bread]].\n", "Write")
    put(vault, "Bread", f"{LONG}By hand.\n")
    put(vault, "Rye", "By hand, see [[Bread]].\n")
    put(vault, "Apart", "Not of this.\n")
    body = await renamed(client, vault, "Bread", "Loaf")
    subjects = git(vault.root, "log", "-3", "--format=%s").splitlines()
    assert subjects[0] == "Rename Bread to Loaf"
    assert sorted(subjects[1:]) == ["Keep changes made by hand to Bread", "Keep changes made by hand to Rye"]
    assert git(vault.root, "status", "--porcelain") == "?? articles/Apart.md\n"
    changed = git(vault.root, "show", "--format=", "--name-status", "-M", body["commit"]).splitlines()
    assert changed == ["R100\tarticles/Bread.md\tarticles/Loaf.md", "M\tarticles/Rye.md"]


@pytest.mark.parametrize("ignorecase", ["true", "false"])
async def test_another_case_is_another_name(client: Client, vault: Vault, ignorecase: str) -> None:
    git(vault.root, "config", "core.ignorecase", ignorecase)
    await vault.write("bread", LONG, "Write")
    await vault.write("Rye", "[[bread]]\n", "Write")
    body = await renamed(client, vault, "bread", "Bread")
    assert git(vault.root, "ls-tree", "--name-only", "HEAD", "articles/").split() == [
        "articles/Bread.md", "articles/Rye.md",
    ]  # fmt: skip
    assert git(vault.root, "ls-files", "articles").split() == ["articles/Bread.md", "articles/Rye.md"]
    assert body["linked"] == [], "the link leads there as it is"
    assert len(await vault.history("Bread")) == 2


async def test_what_cannot_be_is_refused_and_nothing_changes(client: Client, vault: Vault) -> None:
    await vault.write("Bread", LONG, "Write")
    await vault.write("Rye", "[[Bread]]\n", "Write")
    (vault.root / "articles/Folder.md").mkdir()
    head = commits(vault.root)
    seen = (await vault.read("Bread")).hash
    for new_name, status, code, param in [
        ("rye", 409, "name_taken", "new_name"),
        ("Folder", 409, "name_taken", "new_name"),
        ("../out", 400, "invalid_name", "new_name"),
        ("", 400, "invalid_name", "new_name"),
        ("A [b]", 400, "invalid_name", "new_name"),
    ]:
        answered, body = await rename(client, vault, "Bread", new_name, seen)
        error = body["error"]
        assert (answered, error["code"], error["param"]) == (status, code, param), new_name
    answered, body = await rename(client, vault, "Bread", "Loaf", "another hash")
    assert (answered, body["error"]["code"], body["before_hash"]) == (409, "article_changed", seen)
    assert (await rename(client, vault, "Nothing", "Loaf", seen))[0] == 404
    assert (await client.post(f"{API}/rename", query_string={"name": "Bread"}, json={})).status_code == 400
    assert (await renamed(client, vault, "Bread", "Bread"))["commit"] is None
    assert commits(vault.root) == head
    assert is_clean(vault.root)


async def test_where_git_or_the_disk_refuses_all_is_as_before(
    client: Client, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    await vault.write("Bread", f"{LONG}[[Bread]]\n", "Write")
    await vault.write("Rye", "[[Bread]]\n", "Write")
    files = {path: path.read_bytes() for path in (vault.root / "articles").rglob("*.md")}
    head = commits(vault.root)

    async def check(expected: str) -> None:
        status, body = await rename(client, vault, "Bread", "New/Loaf")
        assert (status >= 400, body["error"]["code"]) == (True, expected)
        assert {path: path.read_bytes() for path in (vault.root / "articles").rglob("*.md")} == files
        assert commits(vault.root) == head
        assert is_clean(vault.root)

    hook(vault.root, "pre-commit", "echo no; exit 1")
    await check("git_failed")
    (vault.root / ".git/hooks/pre-commit").unlink()
    (vault.root / ".git/index.lock").touch()
    await check("git_locked")
    (vault.root / ".git/index.lock").unlink()
    real = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", refuse)
    await check("storage_failed")
    monkeypatch.setattr(Path, "rename", real)
    assert (await renamed(client, vault, "Bread", "New/Loaf"))["linked"] == ["Rye"]
