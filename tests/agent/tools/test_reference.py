"""`reference_*`: our own documents found, listed and read within what a small context can take."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.tools.web_servers import run_tool
from fireside_agent.tools.reference import FULL_READ_BYTES, reference_tools
from fireside_agent.tools.tool import Tool, ToolError

GUIDE = """# The guide

How to begin, in a few words.

```sh
# not a heading
fireside serve
```

## Starting

Run `fireside serve`.

### On a laptop

Mind the battery.

Setext
------

The end of the guide.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs" / "more").mkdir(parents=True)
    (tmp_path / "secret.md").write_text("# Secret\n\nprivate words")
    (tmp_path / "docs" / "guide.md").write_text(GUIDE)
    (tmp_path / "docs" / "notes.txt").write_text("no document, battery")
    sections = "".join(f"## Part {number}\n\n{'Words about cells. ' * 60}\n\n" for number in range(12))
    (tmp_path / "docs" / "long.md").write_text(f"# A long page\n\nIts lead.\n\n{sections}")
    (tmp_path / "docs" / "more" / "plain.md").write_text("No heading, " + "but words. " * 1_000)
    return tmp_path / "docs"


@pytest.fixture
def tools(folder: Path) -> dict[str, Tool]:
    return {tool.name: tool for tool in reference_tools(folder)}


async def read(tools: dict[str, Tool], **arguments: str) -> str:
    return (await run_tool(tools["reference_read"], **arguments)).text


def test_they_only_read_public_documents(tools: dict[str, Tool]) -> None:
    assert list(tools) == ["reference_search", "reference_list", "reference_read"]
    assert {(tool.risk, tool.gives_local) for tool in tools.values()} == {("read", False)}


async def test_the_list_names_pages_with_their_lead(tools: dict[str, Tool]) -> None:
    lines = (await run_tool(tools["reference_list"])).text.split("\n")
    assert lines[0] == "guide: The guide. How to begin, in a few words."
    assert lines[1] == "long: A long page. Its lead."
    assert lines[2].startswith("more/plain: more/plain. No heading, but words.")
    assert len(lines[2]) < 180
    assert len(lines) == 3


async def test_a_short_page_is_read_whole(tools: dict[str, Tool]) -> None:
    for name in ("guide", "Guide.md", " guide "):
        assert await read(tools, name=name) == GUIDE.strip()


async def test_sections_are_read_by_heading(tools: dict[str, Tool]) -> None:
    starting = await read(tools, name="guide", section="## starting")
    assert starting == "## Starting\n\nRun `fireside serve`.\n\n### On a laptop\n\nMind the battery."
    assert await read(tools, name="guide", section="On a laptop") == "### On a laptop\n\nMind the battery."
    assert (await read(tools, name="guide", section="Setext")).endswith("The end of the guide.")


async def test_a_long_page_gives_lead_and_contents(tools: dict[str, Tool]) -> None:
    text = await read(tools, name="long")
    assert text.startswith("Its lead.\n")
    assert "too long to read at once" in text
    assert "\n  - Part 0\n" in text
    assert text.endswith("- Part 11")
    assert "Words about cells" not in text
    assert "Words about cells" in await read(tools, name="long", section="Part 3")


async def test_a_long_page_without_headings_is_cut(tools: dict[str, Tool]) -> None:
    text = await read(tools, name="more/plain")
    assert text.startswith("No heading")
    assert text.endswith("[The first 8,192 of 11,011 bytes.]")
    assert len(text) < FULL_READ_BYTES + 100


async def test_what_is_missing_is_said_with_what_is_close(tools: dict[str, Tool]) -> None:
    with pytest.raises(ToolError, match="Close to it: guide"):
        await read(tools, name="guid")
    with pytest.raises(ToolError, match="There are: guide, long, more/plain"):
        await read(tools, name="zzz")
    with pytest.raises(ToolError, match="“On a laptop”"):
        await read(tools, name="guide", section="laptop")
    for section in ("not a heading", "The guidebook of nothing"):
        with pytest.raises(ToolError, match="no section"):
            await read(tools, name="guide", section=section)


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "..\\secret", "more/../../secret", "notes.txt", "."]
)
async def test_names_cannot_leave_the_folder(tools: dict[str, Tool], folder: Path, name: str) -> None:
    for each in (name, str(folder.parent / "secret")):
        with pytest.raises(ToolError, match="no page"):
            await read(tools, name=each)


async def test_search_names_the_heading_of_each_hit(tools: dict[str, Tool]) -> None:
    search = tools["reference_search"]
    text = (await run_tool(search, query="Battery laptop")).text
    assert text.split("\n") == [
        "guide: The guide",
        "  [On a laptop] ### On a laptop",
        "  [On a laptop] Mind the battery.",
    ]
    text = (await run_tool(search, query="words")).text
    assert text.index("long: A long page") < text.index("guide: The guide")
    assert sum(line.startswith("  [") for line in text.split("\n")) <= 30
    assert max(len(line) for line in text.split("\n")) < 300


@pytest.mark.parametrize("query", ["zebra", "AND", '"', "*", "-", "🐝", "蜂", "ZEBRA (", "'; --", " "])
async def test_any_query_is_answered_in_words(tools: dict[str, Tool], query: str) -> None:
    with pytest.raises(ToolError):
        await run_tool(tools["reference_search"], query=query)


async def test_an_empty_folder_is_said(tmp_path: Path) -> None:
    for tool, arguments in zip(
        reference_tools(tmp_path / "none"), ({"query": "x"}, {}, {"name": "x"}), strict=True
    ):
        with pytest.raises(ToolError, match="not installed"):
            await run_tool(tool, **arguments)


async def test_fireside_s_own_documents_can_be_read() -> None:
    docs = Path(__file__).parents[3] / "docs"
    tools = {tool.name: tool for tool in reference_tools(docs)}
    for path in docs.rglob("*.md"):
        name = path.relative_to(docs).with_suffix("").as_posix()
        assert len((await read(tools, name=name)).encode()) <= FULL_READ_BYTES + 4_000
    assert "architecture" in (await run_tool(tools["reference_list"])).text
