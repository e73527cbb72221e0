"""Tools that look for files: `find` by name, `grep` by content. `searching` says how."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from fireside_agent.tools.searching import MAX_FILE_BYTES, Finish, Search
from fireside_agent.tools.tool import Arguments, Call, Risk, Subject, Tool, ToolError, ToolResult
from fireside_agent.tools.workspace import Workspace
from fireside_agent.workers import lines_of

MAX_HITS = 200
SECONDS = 20

_decode = msgspec.json.Decoder(str | Finish).decode


class _SearchTool(Tool):
    risk: ClassVar[Risk] = "read"
    gives_local: ClassVar[bool] = True

    def __init__(self, workspace: Workspace, seconds: int = SECONDS) -> None:
        self._workspace = workspace
        self._seconds = seconds

    def subject(self, arguments: Arguments) -> Subject:
        return self._workspace.subject(arguments.get("path") or ".")

    async def _search(self, call: Call, glob: str | None, pattern: str | None) -> ToolResult:
        top = await asyncio.to_thread(self._top, call.arguments.get("path") or ".", pattern is not None)
        search = Search(
            roots=[str(root) for root in self._workspace.roots],
            top=str(top),
            glob=glob,
            pattern=pattern,
            ignore_case=bool(call.arguments.get("ignore_case")),
            limit=MAX_HITS,
            seconds=self._seconds + 5,
        )
        hits: list[str] = []
        finish: Finish | None = None
        try:
            async with (
                asyncio.timeout(self._seconds),
                aclosing(lines_of("fireside_agent.tools.searching", msgspec.json.encode(search))) as lines,
            ):
                async for line in lines:
                    answer = _decode(line)
                    if isinstance(answer, Finish):
                        finish = answer
                    else:
                        hits.append(answer)
        except TimeoutError:
            note = f"[Stopped after {self._seconds} s. Use a narrower path or a simpler pattern.]"
            return ToolResult("\n".join([*hits, note]), ok=False)
        if finish is None:
            raise ToolError("The search ended unexpectedly. Try a simpler pattern or a narrower path.")
        if finish.error is not None:
            raise ToolError(f"The pattern is not a regular expression: {finish.error}.")
        return ToolResult("\n".join([*(hits or ["Nothing found."]), *_notes(finish)]))

    def _top(self, name: str, may_be_file: bool) -> Path:
        path = self._workspace.resolve(name)
        if not path.exists():
            raise self._workspace.failure(path, FileNotFoundError())
        if not may_be_file and not path.is_dir():
            raise ToolError(f"{self._workspace.shown(path)} is not a folder. Name the folder to look in.")
        return path


def _notes(finish: Finish) -> list[str]:
    left_out = {
        "binary": finish.binary,
        f"larger than {MAX_FILE_BYTES // 1_000_000} MB": finish.huge,
        "blocked as they hold secrets": finish.secret,
        "not readable": finish.unread,
    }
    notes = [f"[Only the first {MAX_HITS}; there are more. Narrow the search.]"] if finish.more else []
    if parts := [f"{count:,} {why}" for why, count in left_out.items() if count]:
        notes.append(f"[Not searched: {', '.join(parts)}.]")
    return notes


class FindTool(_SearchTool):
    """Looks for files and folders by name."""

    name: ClassVar[str] = "find"
    description: ClassVar[str] = (
        "Find files and folders by a pattern of their names, such as *.py or src/**/test_*.py. "
        "Leaves out .git, node_modules, __pycache__ and .venv."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "description": "Glob; * ? [a-z] {a,b} **"},
            "path": {"type": "string", "description": "Folder to look in; the working folder if left out"},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }

    async def run(self, call: Call) -> ToolResult:
        return await self._search(call, glob=call.arguments["pattern"], pattern=None)


class GrepTool(_SearchTool):
    """Looks for lines of text files."""

    name: ClassVar[str] = "grep"
    description: ClassVar[str] = "Find lines in text files by a regular expression. Gives file:line: text."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "description": "Python regular expression"},
            "path": {"type": "string", "description": "File or folder; the working folder if left out"},
            "glob": {"type": "string", "description": "Only files with such names, as in *.py"},
            "ignore_case": {"type": "boolean"},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }

    async def run(self, call: Call) -> ToolResult:
        return await self._search(
            call, glob=call.arguments.get("glob") or None, pattern=call.arguments["pattern"]
        )
