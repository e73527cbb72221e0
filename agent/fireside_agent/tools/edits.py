"""Tools that change files: `edit` and `write`. Every change goes through the journal."""

import asyncio
import codecs
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from fireside_agent.tools.diffs import unified_diff
from fireside_agent.tools.journal import MAX_FILE_BYTES, Journal
from fireside_agent.tools.opening import read_whole
from fireside_agent.tools.replacing import encoded, replaced, with_endings_of
from fireside_agent.tools.tool import (
    Arguments,
    Call,
    FileChange,
    Preview,
    Risk,
    Subject,
    Tool,
    ToolError,
    ToolResult,
)
from fireside_agent.tools.workspace import Workspace
from fireside_agent.waiting import to_the_end


class _ChangeTool(Tool):
    """What fails is told with the lines nearest to what was looked for, which are the file's."""

    risk: ClassVar[Risk] = "change"
    gives_local: ClassVar[bool] = True

    def __init__(self, workspace: Workspace, journal: Journal) -> None:
        self._workspace = workspace
        self._journal = journal

    @abstractmethod
    def _planned(self, path: Path, before: bytes | None, arguments: Arguments) -> bytes:
        """The file's new content; None: there is no file so far."""

    def subject(self, arguments: Arguments) -> Subject:
        return self._workspace.subject(arguments["path"])

    async def preview(self, arguments: Arguments) -> Preview:
        return Preview("diff", await asyncio.to_thread(self._diff, arguments))

    async def run(self, call: Call) -> ToolResult:
        """A call that is cancelled has changed nothing."""
        changing = asyncio.create_task(asyncio.to_thread(self._change, call.arguments))
        try:
            change = await asyncio.shield(changing)
        except asyncio.CancelledError:
            await to_the_end(self._take_back(changing))
            raise
        verb = "was created" if change.before is None else "was changed"
        return ToolResult(f"{self._workspace.shown(Path(change.path))} {verb}.", changes=(change,))

    def _diff(self, arguments: Arguments) -> str:
        path = self._workspace.resolve(arguments["path"])
        try:
            before = read_whole(path, MAX_FILE_BYTES)
        except OSError as error:
            raise self._workspace.failure(path, error) from error
        return unified_diff(str(path), before, self._checked(path, before, arguments))

    def _change(self, arguments: Arguments) -> FileChange:
        path = self._workspace.resolve(arguments["path"])
        return self._journal.change(path, lambda before: self._checked(path, before, arguments))

    async def _take_back(self, changing: asyncio.Task[FileChange]) -> None:
        try:
            change = await changing
            await asyncio.to_thread(self._journal.undo, change)
        except ToolError:
            pass  # it was not made, or somebody has gone on from it

    def _checked(self, path: Path, before: bytes | None, arguments: Arguments) -> bytes:
        after = self._planned(path, before, arguments)
        if after == before:
            raise ToolError(f"{self._workspace.shown(path)} already is like that; nothing would change.")
        if len(after) > MAX_FILE_BYTES:
            raise ToolError(f"The file would be larger than {MAX_FILE_BYTES:,} bytes. Use a command instead.")
        return after


class EditTool(_ChangeTool):
    """Replaces text in a file."""

    name: ClassVar[str] = "edit"
    description: ClassVar[str] = (
        "Replace text in a file. old_text has to be the exact text, white space included, and to occur once."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path, relative to the working folder or absolute"},
            "old_text": {"type": "string", "minLength": 1, "description": "Text to replace"},
            "new_text": {"type": "string", "description": "Text to put there"},
        },
        "required": ["path", "old_text", "new_text"],
        "additionalProperties": False,
    }

    def _planned(self, path: Path, before: bytes | None, arguments: Arguments) -> bytes:
        if before is None:
            raise self._workspace.failure(path, FileNotFoundError())
        if not arguments["old_text"]:
            raise ToolError("`old_text` is empty. Give the text to replace, or use `write` for a whole file.")
        shown = self._workspace.shown(path)
        return replaced(before, arguments["old_text"], arguments["new_text"], shown)


class WriteTool(_ChangeTool):
    """Writes a whole file."""

    name: ClassVar[str] = "write"
    description: ClassVar[str] = (
        "Write a whole file, in place of what was there; missing folders are made. "
        "To change a part of a file, use edit."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path, relative to the working folder or absolute"},
            "content": {"type": "string", "description": "All of the file"},
        },
        "required": ["path", "content"],
        "additionalProperties": False,
    }

    def _planned(self, path: Path, before: bytes | None, arguments: Arguments) -> bytes:
        content: str = arguments["content"]
        after = encoded(content, "content")
        if before is None:
            return after
        # `read` shows neither of the two, so a model that writes the file anew cannot mean to drop them.
        after = encoded(with_endings_of(before.decode(errors="replace"), content), "content")
        if before.startswith(codecs.BOM_UTF8) and not after.startswith(codecs.BOM_UTF8):
            after = codecs.BOM_UTF8 + after
        return after
