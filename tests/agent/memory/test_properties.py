"""Any text comes back as it was accepted; any name is answered without leaving the vault."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.memory.vaults import is_clean
from fireside_agent.memory.articles import Article
from fireside_agent.memory.errors import VaultError
from fireside_agent.memory.folder import Folder
from fireside_agent.memory.names import check_name
from fireside_agent.memory.proposals import Proposals
from fireside_agent.memory.search import search
from fireside_agent.memory.vault import Vault

WORDS = st.sampled_from(
    ["# a", "## b", "```", "`", "[[a]]", "[[", "---", "\n", "\r\n", "\0", "\u2028", "é", "東", " ", "- x"]
)
TEXTS = st.lists(WORDS | st.text(max_size=5), max_size=30).map("".join)
NAMES = st.text(max_size=30) | st.lists(
    st.sampled_from(["..", "/", ".", "\\", "\0", "a", "~", ".git", "-", "é", "*", ".md", " "]), max_size=8
).map("".join)

few = settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
many = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])


@few
@given(text=TEXTS)
def test_any_text_round_trips_through_accept_and_read(vault: Vault, tmp_path: Path, text: str) -> None:
    async def round_trip() -> None:
        own = Vault(vault.root)
        proposals = Proposals(own, tmp_path / "proposals")
        name = f"N{len(await own.summaries())}"
        made = await proposals.create(name, reason=text, session_id="s", call_id=name, text=text)
        accepted = await proposals.accept(made.id)
        assert accepted.commit is not None
        assert (await own.read(name)).text == text
        assert (await proposals.get(made.id)).after == text

    asyncio.run(round_trip())
    assert is_clean(vault.root)


@many
@given(name=NAMES)
def test_any_name_is_answered_inside_the_vault(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("secret")
    folder = Folder(tmp_path / "wiki" / "articles")
    try:
        path = folder.write(name, "text")
    except VaultError:
        pass
    else:
        assert (tmp_path / "wiki" / "articles") in path.resolve().parents
        assert folder.read(name).text == "text"
        assert (
            check_name(name) in folder.scan()
            or folder.find(name).name.casefold() == check_name(name).casefold()
        )
        path.unlink()
    assert {path.name for path in tmp_path.iterdir()} <= {"outside.md", "wiki"}
    assert outside.read_text() == "secret"


@many
@given(text=TEXTS, query=st.text(max_size=20))
def test_any_article_can_be_read_and_searched(text: str, query: str) -> None:
    article = Article("name", text, 0.0)
    assert article.visible.count("\n") == article.text.count("\n")
    for heading in article.headings:
        assert text[heading.start : heading.end]
        assert text.split("\n")[heading.line - 1].lstrip(" ").startswith("#")
    assert article.lead in text
    try:
        found = search({"name": article}, query)
    except VaultError:
        assert not query.strip()
    else:
        lines = text.split("\n")
        assert all(hit.text == lines[hit.line - 1].strip() for each in found.results for hit in each.hits)
