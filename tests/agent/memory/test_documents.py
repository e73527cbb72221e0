"""The sections that full-text search gets."""

from __future__ import annotations

import pytest

from agent.memory.vaults import put
from fireside_agent.memory.documents import VaultArticles
from fireside_agent.memory.vault import Vault


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("", [("", "")]),
        ("A text alone.\n", [("", "A text alone.\n")]),
        ("Lead.\n\n## One\nfirst\n\n## Two\nsecond\n", [("", "Lead."), ("One", "first"), ("Two", "second")]),
    ],
)
async def test_an_article_is_its_lead_and_its_sections(
    vault: Vault, text: str, sections: list[tuple[str, str]]
) -> None:
    put(vault, "Ferns", text)
    found = [part for part in await VaultArticles(vault).search_documents() if part.name == "Ferns"]
    assert [part.heading for part in found] == [heading for heading, _ in sections]
    assert all(words.strip() in part.text for part, (_, words) in zip(found, sections, strict=True))
