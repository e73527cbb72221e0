"""Links both ways, and why some are broken."""

from __future__ import annotations

from agent.memory.vaults import put
from fireside_agent.memory.vault import Vault


async def test_links_both_ways_with_the_broken_ones_marked(vault: Vault) -> None:
    put(
        vault,
        "Bread",
        "# Bread\n[[Rye]] [[rye#Taste]] [[Rye#Smell]] [[Nothing]] [[#Bread]] [[#No]] [[Reference/Book]]\n",
    )
    put(vault, "Grain/Rye", "## Taste\nBack to [[Bread|the loaf]]\nand [[Bread#Gone]]\n`[[Bread]]`\n")
    put(vault, "Other", "[[Rye]]")
    put(vault, "Self", "[[Self]]")
    (vault.root / "Reference" / "Book.md").write_text("a book")
    links = await vault.links("Bread")
    assert [(each.target, each.heading, each.article, each.broken) for each in links.outbound] == [
        ("Rye", "", "Grain/Rye", None),
        ("rye", "Taste", "Grain/Rye", None),
        ("Rye", "Smell", "Grain/Rye", "no such heading"),
        ("Nothing", "", None, "no such article"),
        ("", "Bread", "Bread", None),
        ("", "No", "Bread", "no such heading"),
        ("Reference/Book", "", None, None),
    ]
    assert [(each.article, each.label, each.line, each.broken) for each in links.inbound] == [
        ("Grain/Rye", "the loaf", 2, None),
        ("Grain/Rye", "Bread#Gone", 3, "no such heading"),
    ]
    assert [each.article for each in (await vault.links("Grain/Rye")).inbound] == ["Bread"] * 3 + ["Other"]
    assert (await vault.links("Self")).inbound == []


async def test_links_follow_a_file_that_appears_or_goes(vault: Vault) -> None:
    put(vault, "A", "[[B]]")
    assert (await vault.links("A")).outbound[0].broken == "no such article"
    path = put(vault, "B", "text")
    assert (await vault.links("A")).outbound[0].broken is None
    assert [each.article for each in (await vault.links("B")).inbound] == ["A"]
    path.unlink()
    assert (await vault.links("A")).outbound[0].broken == "no such article"


async def test_a_name_with_a_hash_can_be_linked_to(vault: Vault) -> None:
    put(vault, "C#", "## Types\n")
    put(vault, "A", "[[C#]] [[C##Types]]")
    found = [(each.article, each.heading, each.broken) for each in (await vault.links("A")).outbound]
    assert found == [("C#", "", None), ("C#", "Types", None)]


async def test_an_alias_can_be_linked_to(vault: Vault) -> None:
    put(vault, "Rye", "---\naliases: [Roggen]\n---\n")
    put(vault, "A", "[[roggen]]")
    assert (await vault.links("A")).outbound[0].article == "Rye"
