"""The tools that work on the person's own files and machine."""

from fireside_agent.tools.edits import EditTool, WriteTool
from fireside_agent.tools.files import ListTool, ReadTool
from fireside_agent.tools.finding import FindTool, GrepTool
from fireside_agent.tools.journal import Journal
from fireside_agent.tools.shell import BashTool
from fireside_agent.tools.tool import Tool
from fireside_agent.tools.workspace import Workspace


def file_tools(workspace: Workspace, journal: Journal) -> list[Tool]:
    """`read`, `ls`, `find`, `grep`, `edit`, `write` and `bash`, within one workspace."""
    return [
        ReadTool(workspace),
        ListTool(workspace),
        FindTool(workspace),
        GrepTool(workspace),
        EditTool(workspace, journal),
        WriteTool(workspace, journal),
        BashTool(workspace),
    ]
