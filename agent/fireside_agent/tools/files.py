"""Tools that look at one file or folder: `read` and `ls`."""

import asyncio
import io
import os
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from fireside_agent.pdf.reading import SIGNATURE, UnreadablePdfError, read_pdf
from fireside_agent.tools.opening import open_regular, opened_folder
from fireside_agent.tools.texts import as_utf8
from fireside_agent.tools.tool import Arguments, Call, Risk, Subject, Tool, ToolError, ToolResult
from fireside_agent.tools.workspace import Workspace

MAX_LINES = 2_000
MAX_BYTES = 50_000
MAX_COUNTED_BYTES = 50_000_000
"""How far a file is read on to count its lines."""

MAX_PDF_BYTES = 50_000_000
MAX_ENTRIES = 500

_CHUNK = 65_536


class ReadTool(Tool):
    """Reads a text file, or the text of a PDF."""

    name: ClassVar[str] = "read"
    description: ClassVar[str] = (
        f"Read a text file or the text of a PDF. Gives at most {MAX_LINES} lines or {MAX_BYTES // 1000} KB; "
        "offset and limit, in lines, give another part."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path, relative to the working folder or absolute"},
            "offset": {"type": "integer", "minimum": 1, "description": "First line, from 1"},
            "limit": {"type": "integer", "minimum": 1, "description": "How many lines"},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    risk: ClassVar[Risk] = "read"
    gives_local: ClassVar[bool] = True

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def subject(self, arguments: Arguments) -> Subject:
        return self._workspace.subject(arguments["path"])

    async def run(self, call: Call) -> ToolResult:
        offset = call.arguments.get("offset") or 1
        limit = min(call.arguments.get("limit") or MAX_LINES, MAX_LINES)
        shown, found = await asyncio.to_thread(self._read, call.arguments["path"], offset, limit)
        return ToolResult(found if isinstance(found, str) else await _pdf_part(found, shown, offset, limit))

    def _read(self, name: str, offset: int, limit: int) -> tuple[str, str | bytes]:
        """How the file is called, and the part of its text, or the bytes of a PDF."""
        path = self._workspace.resolve(name)
        shown = self._workspace.shown(path)
        try:
            with open_regular(path) as file:
                size = os.fstat(file.fileno()).st_size
                if file.read(len(SIGNATURE)) == SIGNATURE:
                    return shown, SIGNATURE + _rest(file, shown)
                file.seek(0)
                text = as_utf8(file)
                if isinstance(text, str):
                    raise ToolError(f"{shown} is not text: it is {text} of {size:,} bytes.")
                return shown, _part(text, shown, offset, limit)
        except OSError as error:
            raise self._workspace.failure(path, error) from error


def _rest(file: BinaryIO, shown: str) -> bytes:
    data = file.read(MAX_PDF_BYTES)
    if len(data) == MAX_PDF_BYTES:
        raise ToolError(
            f"{shown} is a PDF of more than {MAX_PDF_BYTES // 1_000_000} MB. Split it with a command."
        )
    return data


async def _pdf_part(data: bytes, shown: str, offset: int, limit: int) -> str:
    try:
        document = await read_pdf(data)
    except UnreadablePdfError as error:
        raise ToolError(f"{shown} cannot be read: {error}.") from error
    return _part(io.BytesIO(document.text.encode()), shown, offset, limit)


def _part(file: BinaryIO, shown: str, offset: int, limit: int) -> str:
    before = _skip_lines(file, offset - 1)
    if before < offset - 1 or (not (first := file.readline(MAX_BYTES + 1)) and offset > 1):
        raise ToolError(f"{shown} has only {before} lines; line {offset} does not exist.")
    if not first:
        return f"{shown} is empty."
    if len(first) > MAX_BYTES:
        return (
            f"{_text(first[:MAX_BYTES])}\n"
            f"[Line {offset} is cut after {MAX_BYTES:,} bytes. Use `grep`, or a command, for the rest of it.]"
        )
    lines, held = [first], len(first)
    while len(lines) < limit and (line := file.readline(MAX_BYTES + 1)):
        held += len(line)
        if held > MAX_BYTES:
            file.seek(-len(line), os.SEEK_CUR)
            break
        lines.append(line)
    last = offset + len(lines) - 1
    more = _count_lines(file)
    text = _text(b"".join(lines))
    if more == 0:
        return text
    total = f" of {last + more:,}" if more is not None else ""
    return f"{text.removesuffix(chr(10))}\n[Lines {offset}-{last}{total}. Read on with offset {last + 1}.]"


def _skip_lines(file: BinaryIO, count: int) -> int:
    """Go on by `count` lines, however long. Returns how many there were."""
    skipped = 0
    cut = False
    while skipped < count and (piece := file.readline(_CHUNK)):
        cut = not piece.endswith(b"\n")
        skipped += not cut
    return skipped + (cut and skipped < count)


def _count_lines(file: BinaryIO) -> int | None:
    """How many lines follow; None: too many to count."""
    count, held, last = 0, 0, b"\n"
    while chunk := file.read(_CHUNK):
        count += chunk.count(b"\n")
        held += len(chunk)
        last = chunk[-1:]
        if held > MAX_COUNTED_BYTES:
            return None
    return count + (last != b"\n")


def _text(content: bytes) -> str:
    return content.decode(errors="replace").replace("\r\n", "\n")


class ListTool(Tool):
    """Lists a folder."""

    name: ClassVar[str] = "ls"
    description: ClassVar[str] = (
        "List a folder, hidden files included: folders end in /, files have their size."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Folder; the working folder if left out"}},
        "additionalProperties": False,
    }
    risk: ClassVar[Risk] = "read"
    gives_local: ClassVar[bool] = True

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def subject(self, arguments: Arguments) -> Subject:
        return self._workspace.subject(arguments.get("path") or ".")

    async def run(self, call: Call) -> ToolResult:
        return ToolResult(await asyncio.to_thread(self._list, call.arguments.get("path") or "."))

    def _list(self, name: str) -> str:
        path = self._workspace.resolve(name)
        shown = self._workspace.shown(path)
        try:
            with opened_folder(path, listed=True) as folder, os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: (entry.name.casefold(), entry.name))
                lines = [self._line(entry, folder) for entry in found[:MAX_ENTRIES]]
        except NotADirectoryError as error:
            if path.is_file():
                raise ToolError(f"{shown} is a file. Use `read` to see what is in it.") from error
            raise self._workspace.failure(path, error) from error
        except OSError as error:
            raise self._workspace.failure(path, error) from error
        if not lines:
            return f"{shown} is empty."
        if (more := len(found) - len(lines)) > 0:
            lines.append(f"[{more:,} more entries are not shown. Use `find` with a pattern.]")
        return "\n".join(lines)

    def _line(self, entry: os.DirEntry[str], folder: int) -> str:
        name = self._workspace.shown(Path(entry.name))
        try:
            if entry.is_symlink():
                return f"{name} -> {self._workspace.shown(Path(os.readlink(entry.name, dir_fd=folder)))}"
            if entry.is_dir(follow_symlinks=False):
                return f"{name}/"
            return f"{name}  {size_text(entry.stat(follow_symlinks=False).st_size)}"
        except OSError:
            return name  # it went away meanwhile


def size_text(size: int) -> str:
    """A size in bytes, for people."""
    amount = float(size)
    for unit in ("bytes", "KB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} TB"
