"""Names cannot leave the vault, and find what is meant."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from agent.memory.vaults import git, put
from fireside_agent.memory.errors import ArticleNotFound, InvalidName, VaultError
from fireside_agent.memory.names import Names, check_name
from fireside_agent.memory.vault import Vault

BAD = [
    *("", " ", ".", "..", "../x", "a/../../x", "a/..", "/etc/passwd", "//x", "a//b", "a/", "~/../x/.."),
    *(
        "C:\\x",
        "a\\..\\b",
        "a\0b",
        "a\nb",
        "\x7f",
        ".git/config",
        ".obsidian/x",
        "a/.hidden",
        ".md",
        "a.md.md",
    ),
    *("\ud800", "x" * 300, "/".join("x" * 500)),
]


def on_disk(vault: Vault) -> list[str]:
    return sorted(path.name for path in (vault.root / "articles").iterdir())


async def test_names_that_no_article_can_have_are_refused(vault: Vault) -> None:
    for name in BAD:
        for attempt in (vault.read, vault.links, vault.history, vault.diff):
            with pytest.raises(InvalidName):
                await attempt(name)
        with pytest.raises(InvalidName):
            await vault.write(name, "text", "Write")
    assert sorted(path.name for path in vault.root.parent.iterdir()) == ["wiki"]


async def test_other_names_are_fine(vault: Vault) -> None:
    names = ["Bread", "Cooking/Bread", "日本/東京", "C#", "a.b", "~", "x..", "🍞", "a b  c"]
    for name in names:
        vault.folder.write(name, f"text of {name}")
    for name in names:
        assert (await vault.read(name)).text == f"text of {name}"
        assert (await vault.read(f"{name}.md")).name == name
    assert [each.name for each in await vault.summaries()] == sorted(names)


async def test_a_name_has_one_form_of_unicode(vault: Vault) -> None:
    composed, split = "Käse", unicodedata.normalize("NFD", "Käse")
    await vault.write(split, "one", "Write")
    assert on_disk(vault) == [f"{composed}.md"]
    put(vault, unicodedata.normalize("NFD", "Öl"), "old form on disk")
    assert (await vault.read("Öl")).text == "old form on disk"
    commit = await vault.write("Öl", "new", "Change")
    assert on_disk(vault) == sorted([f"{composed}.md", unicodedata.normalize("NFD", "Öl.md")])
    assert (await vault.history("Öl"))[0].commit == commit


async def test_case_alone_makes_no_second_article(vault: Vault) -> None:
    await vault.write("Bread", "one", "Write")
    await vault.write("bread", "two", "Change")
    assert on_disk(vault) == ["Bread.md"]
    assert (await vault.read("BREAD")).text == "two"


async def test_links_that_lead_out_are_refused(vault: Vault, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    articles = vault.root / "articles"
    (articles / "out.md").symlink_to(secret)
    (articles / "up").symlink_to(tmp_path)
    (articles / "loop").symlink_to(articles)
    (articles / "gone.md").symlink_to(tmp_path / "nothing.md")
    (articles / "config.md").symlink_to(vault.root / ".git" / "config")
    for name in ("out", "gone", "config"):
        with pytest.raises(InvalidName, match="out of the memory"):
            await vault.read(name)
        with pytest.raises(InvalidName):
            await vault.write(name, "overwritten", "Write")
    with pytest.raises(ArticleNotFound):
        await vault.read("up/secret")
    with pytest.raises(InvalidName):
        await vault.write("up/secret", "overwritten", "Write")
    assert secret.read_text() == "secret"
    assert not (tmp_path / "nothing.md").exists()
    assert "overwritten" not in (vault.root / ".git" / "config").read_text()
    assert await vault.summaries() == []


async def test_a_link_inside_is_followed_and_not_overwritten(vault: Vault) -> None:
    put(vault, "real", "text")
    (vault.root / "articles" / "alias.md").symlink_to(vault.root / "articles" / "real.md")
    assert (await vault.read("alias")).text == "text"
    with pytest.raises(InvalidName, match="link"):
        await vault.write("alias", "new", "Write")
    assert (await vault.read("real")).text == "text"


async def test_files_that_are_no_text_are_left_out_and_named_when_asked_for(vault: Vault) -> None:
    put(vault, "good", "text")
    (vault.root / "articles" / "bad.md").write_bytes(b"\xff\xfe\x00")
    (vault.root / "articles" / "big.md").write_bytes(b"x" * 2_000_001)
    (vault.root / "articles" / "folder.md").mkdir()
    os.mkfifo(vault.root / "articles" / "pipe.md")
    assert [each.name for each in await vault.summaries()] == ["good"]
    with pytest.raises(VaultError, match="UTF-8"):
        await vault.read("bad")
    with pytest.raises(VaultError, match="larger than"):
        await vault.read("big")
    with pytest.raises(ArticleNotFound):
        await vault.read("pipe")
    with pytest.raises(VaultError, match="UTF-8"):
        await vault.write("bad", "text", "Write")
    assert git(vault.root, "status", "--porcelain") != ""


def test_a_name_is_found_by_path_file_name_or_alias() -> None:
    names = Names(
        ["Cooking/Bread", "Deep/Cooking/Bread", "Rye", "C#"], [("Roggen", "Rye"), ("Éclair", "Cooking/Bread")]
    )
    expected = {
        "Cooking/Bread": "Cooking/Bread",
        "bread": "Cooking/Bread",
        "deep/cooking/bread": "Deep/Cooking/Bread",
        "articles/Rye": "Rye",
        "Rye.md": "Rye",
        "roggen": "Rye",
        "eclair": "Cooking/Bread",
        "Ry": None,
        "": None,
    }
    assert {wanted: names.find(wanted) for wanted in expected} == expected


def test_near_misses_are_at_most_three_best_first() -> None:
    names = Names([f"Note {n}" for n in range(20)] + ["Sourdough", "Sour cream", "Baking/Sourdough starter"])
    assert names.near("Sourdogh")[0] == "Sourdough"
    assert names.near("sourdough")[:2] == ["Sourdough", "Baking/Sourdough starter"]
    assert len(names.near("Note")) == 3
    assert names.near("xyzzy") == []


def test_a_checked_name_stays_as_it_is() -> None:
    assert check_name(check_name("a/b.md")) == "a/b"
    with pytest.raises(InvalidName):
        check_name("a" * 201)
