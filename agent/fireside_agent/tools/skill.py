"""`skill`: the model reads how a kind of work is done well, when that work comes up."""

from pathlib import Path
from typing import Any, ClassVar

from fireside_agent.tools.tool import Call, Risk, Tool, ToolError, ToolResult

SOURCE = Path(__file__).resolve().parents[1] / "skills"

SKILLS = {
    "files": "finding, reading and changing files",
    "memory": "using the person's memory",
    "web": "looking things up on the web",
}
"""Ours, and what they are for. Others in the folder are the person's own, and never read."""


class SkillTool(Tool):
    """Reads one of our skills from `folder`, where the person can look at them too.

    Args:
        folder: ours are written there once, when the agent starts.
    """

    name: ClassVar[str] = "skill"
    description: ClassVar[str] = "Read how to do something well: " + ", ".join(
        f"{name} ({use})" for name, use in SKILLS.items()
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"name": {"type": "string", "enum": list(SKILLS)}},
        "required": ["name"],
        "additionalProperties": False,
    }
    risk: ClassVar[Risk] = "read"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written = False

    def write(self) -> None:
        """Write ours, whatever is there of an older version. Raises OSError."""
        if self._written:
            return
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in SKILLS:
            text = (SOURCE / f"{name}.md").read_text("utf-8")
            file = self._folder / f"{name}.md"
            if not file.is_file() or file.read_text("utf-8") != text:
                file.write_text(text, "utf-8")
        self._written = True

    async def run(self, call: Call) -> ToolResult:
        name = call.arguments["name"]
        if name not in SKILLS:
            raise ToolError(f"there is no skill {name!r}; there are {', '.join(SKILLS)}.")
        return ToolResult((SOURCE / f"{name}.md").read_text("utf-8"))
