"""Our skills are on the disk for the person to see; the person's own are never read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent.tools.web_servers import run_tool
from fireside_agent.assembly import AgentFolders, assemble
from fireside_agent.store.database import Database
from fireside_agent.tools.skill import SKILLS, SOURCE, SkillTool
from fireside_agent.tools.tool import ToolError
from fireside_agent.tools.web.settings import WebSettings


async def test_ours_are_written_once_and_read(tmp_path: Path) -> None:
    folder = tmp_path / "skills"
    tool = SkillTool(folder)
    tool.write()
    assert sorted(file.stem for file in folder.iterdir()) == sorted(SKILLS)
    (folder / "files.md").write_text("mine now")
    tool.write()
    assert (folder / "files.md").read_text() == "mine now"
    SkillTool(folder).write()
    assert (await run_tool(tool, name="files")).text == (folder / "files.md").read_text()


async def test_the_persons_own_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("secret")
    tool = SkillTool(tmp_path)
    assert "mine" not in tool.description
    with pytest.raises(ToolError, match="no skill"):
        await run_tool(tool, name="mine")
    with pytest.raises(ToolError):
        await run_tool(tool, name="../mine")


def test_every_skill_names_tools_that_there_are(tmp_path: Path) -> None:
    folders = AgentFolders(tmp_path, tmp_path / "wiki")
    assembly = assemble(folders, Database(tmp_path / "x.db"), WebSettings())
    names = {tool.name for tool in assembly.toolbox.registry.tools()}
    for name in SKILLS:
        mentioned = set(re.findall(r"`([a-z_]+)`", (SOURCE / f"{name}.md").read_text()))
        assert mentioned <= names, name
