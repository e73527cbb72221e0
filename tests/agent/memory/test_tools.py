"""The tools of the memory: what the model is told, within its budgets."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from agent.memory.vaults import commits, put
from fireside_agent.memory.proposals import Proposals
from fireside_agent.memory.vault import Vault
from fireside_agent.tools.memory import memory_tools
from fireside_agent.tools.tool import Call, ChatFacts, Tool, ToolError

FIND_ORDER = "status list search resolve category read section links infobox propose revise".split()


@pytest.fixture
def tools(vault: Vault, proposals: Proposals) -> dict[str, Tool]:
    return {tool.name.removeprefix("memory_"): tool for tool in memory_tools(vault, proposals)}


async def run(tool: Tool, **arguments: Any) -> str:
    jsonschema.validate(arguments, tool.parameters)
    result = await tool.run(Call("call-1", "session-1", arguments, lambda text: None))
    assert result.ok
    return result.text


def test_the_set_reads_and_never_asks(tools: dict[str, Tool]) -> None:
    assert list(tools) == FIND_ORDER
    for tool in tools.values():
        assert (tool.risk, tool.gives_local, tool.question({}, ChatFacts())) == ("read", True, None)
        jsonschema.Draft202012Validator.check_schema(tool.parameters)
    assert all("FIND" in tools[name].description for name in ("list", "resolve", "category", "links"))
    assert all("READ" in tools[name].description for name in ("read", "section", "infobox"))
    assert "memory_read" in tools["search"].description


async def test_status_and_list(tools: dict[str, Tool], vault: Vault) -> None:
    for n in range(120):
        put(vault, f"N{n:03}", f"# Title {n}\n")
    assert "120 articles" in await run(tools["status"])
    listed = await run(tools["list"])
    assert "N000 (Title 0)" in listed
    assert listed.count("\n- ") == 100
    assert "20 more" in listed


async def test_search_gives_eight_summaries_and_thirty_lines(tools: dict[str, Tool], vault: Vault) -> None:
    for n in range(12):
        put(vault, f"N{n}", "## Part\n" + "rye bread\n" * 10)
    found = await run(tools["search"], query="the rye")
    assert found.count("\n- ") == 8
    assert 24 <= found.count("\n    line") <= 30
    assert "line 2, Part: rye bread" in found
    assert "4 more" in found
    assert "Nothing in memory" in await run(tools["search"], query="quinoa")
    with pytest.raises(ToolError, match="empty"):
        await run(tools["search"], query=" ")


async def test_resolve_gives_the_article_or_three_near_misses(tools: dict[str, Tool], vault: Vault) -> None:
    for name in ("Bread", "Breads", "Broad", "Beard", "Cooking/Loaf"):
        put(vault, name, "---\naliases: [Daily bread]\n---\n" if name == "Bread" else "text")
    assert "article Bread" in await run(tools["resolve"], article="daily BREAD")
    assert "article Cooking/Loaf" in await run(tools["resolve"], article="loaf")
    near = await run(tools["resolve"], article="Bred")
    assert near.count("\n- ") == 3
    assert near.splitlines()[1] == "- Bread"
    assert "memory_search" in await run(tools["resolve"], article="xyzzy")


async def test_category_needs_exactly_one_of_three(tools: dict[str, Tool], vault: Vault) -> None:
    for n in range(45):
        put(vault, f"N{n:02}", f"---\ncategories: [Food, Grain]\ntype: note\n---\n# T\n{'word ' * 100}")
    put(vault, "Other", "---\nseries: Travels\n---\nshort")
    listed = await run(tools["category"], category="food")
    rows = [line for line in listed.splitlines() if line.startswith("- ")]
    assert len(rows) == 40
    assert all(len(row.partition(": ")[2]) <= 140 for row in rows)
    assert "5 more" in listed
    assert "1 articles:\n- Other: short" in await run(tools["category"], series="Travels")
    assert "There is: Food, Grain" in await run(tools["category"], category="Drink")
    for arguments in ({}, {"category": "Food", "type": "note"}, {"category": ""}):
        with pytest.raises(ToolError, match="exactly one"):
            await run(tools["category"], **arguments)


async def test_a_long_article_is_read_in_sections(tools: dict[str, Tool], vault: Vault) -> None:
    exactly = "# T\n" + "x" * (8 * 1024 - 4)
    put(vault, "Short", exactly)
    assert await run(tools["read"], article="Short") == exactly
    part = "## Part {0}\n" + "é" * 900 + "\n### Below\nof {0}\n"
    put(vault, "Long", "# Long\nThe lead.\n" + "".join(part.format(n) for n in range(6)))
    text = await run(tools["read"], article="long")
    assert len(text.encode()) < 3000
    assert "The lead." in text
    assert "- Part 3 > Below" in text
    assert "ééé" not in text
    assert await run(tools["section"], article="Long", section="## Part 3 > Below") == "### Below\nof 3"
    with pytest.raises(ToolError, match="Part 0 > Below"):
        await run(tools["section"], article="Long", section="Below")
    with pytest.raises(ToolError, match="no such section"):
        await run(tools["section"], article="Long", section="Nowhere")
    whole = await run(tools["section"], article="Long", section="Long")
    assert len(whole.encode()) < 8 * 1024 + 1000
    assert "- Part 5" in whole
    with pytest.raises(ToolError, match="Near it: Long"):
        await run(tools["read"], article="Lomg")
    with pytest.raises(ToolError):
        await run(tools["read"], article="../../etc/passwd")


async def test_links_are_twenty_five_a_group(tools: dict[str, Tool], vault: Vault) -> None:
    put(vault, "Hub", "".join(f"[[N{n}]] [[N{n}]] [[Gone {n}]]\n" for n in range(30)))
    for n in range(30):
        put(vault, f"N{n}", "[[Hub]] and [[Hub#Nowhere]]")
    text = await run(tools["links"], article="Hub")
    assert "Links to 60:" in text
    assert "Gone 1 (broken: no such article)" in text
    outbound, inbound = text.split("Linked from 60:")
    assert (outbound.count("\n- "), inbound.count("\n- ")) == (25, 25)
    assert "35 more" in outbound


async def test_the_infobox_is_the_front_matter(tools: dict[str, Tool], vault: Vault) -> None:
    put(vault, "A", "---\nborn: 1912\nfields: [logic, biology]\n---\ntext")
    assert await run(tools["infobox"], article="A") == "born: 1912\nfields: logic, biology"
    put(vault, "B", "text")
    assert "no such facts" in await run(tools["infobox"], article="B")


async def test_propose_adds_at_the_end_or_begins_an_article(
    tools: dict[str, Tool], vault: Vault, proposals: Proposals
) -> None:
    put(vault, "A", "one\n\n")
    await run(tools["propose"], article="A", text="two")
    (proposal,) = await proposals.of_status("open")
    assert proposal.after == "one\n\ntwo\n"
    await proposals.drop(proposal.id)
    call = Call("c2", "session-1", {"article": "New", "text": "# New\n"}, lambda text: None)
    await tools["propose"].run(call)
    (proposal,) = await proposals.of_status("open")
    assert (proposal.before, proposal.after) == (None, "# New\n")


async def test_propose_stores_and_writes_nothing(
    tools: dict[str, Tool], vault: Vault, proposals: Proposals
) -> None:
    put(vault, "A", "one\n")
    before = commits(vault.root)
    text = await run(tools["revise"], article="A", passage="one", replacement="two", reason="Said.")
    (proposal,) = await proposals.of_status("open")
    assert (proposal.session_id, proposal.call_id, proposal.after) == ("session-1", "call-1", "two\n")
    assert proposal.id in text
    assert "nothing is written" in text
    assert "-one\n+two\n" in text
    assert commits(vault.root) == before
    assert (await vault.read("A")).text == "one\n"
    for tool, arguments in (
        ("propose", {"text": "  "}),
        ("revise", {"passage": "absent", "replacement": "x", "reason": "r"}),
        ("revise", {"passage": "one", "replacement": "one", "reason": "r"}),
    ):
        call = Call("other", "session-1", {"article": "A", **arguments}, lambda text: None)
        with pytest.raises(ToolError):
            await tools[tool].run(call)
