"""`/api/logs`: the lines of the request log, through all its rotations."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec
from quart import Blueprint, Response, request

from fireside.api.request_log import FILE, RequestRecord
from fireside.http.answers import json_answer
from fireside.http.errors import BadRequest

DEFAULT_LINES = 100
MAX_LINES = 1000

_MAX_BYTES = 4 * 1024 * 1024
"""Of lines in one answer, so that a log with texts cannot fill the memory; one line is always given."""

_BLOCK = 64 * 1024
_CURSOR = re.compile(r"(?P<mark>[0-9a-f]{16})-(?P<offset>\d{1,15})")
_NO_FILE = "0" * 16

_record = msgspec.json.Decoder(RequestRecord)


class LogPage(msgspec.Struct, frozen=True):
    """Lines of the request log, the newest last.

    Attributes:
        next: what `after` must be for the lines that come later.
        more: there are later lines already.
        gone: lines after the cursor have been rotated away meanwhile.
        unreadable: lines that were left out because they are not whole.
    """

    lines: list[RequestRecord]
    next: str
    more: bool
    gone: bool
    unreadable: int


@dataclass(frozen=True)
class _File:
    """A file of the log, open: it stays what it is, whatever it is renamed to meanwhile.

    Attributes:
        mark: of its first line, which it keeps under every name.
        size: up to the end of the last line that is whole.
    """

    file: BinaryIO
    mark: str
    size: int

    def read(self, begin: int, end: int) -> bytes:
        self.file.seek(begin)
        return self.file.read(end - begin)

    def lines_before(self, end: int) -> Iterator[tuple[int, int]]:
        """Where lines begin and end, backwards from `end`."""
        after, held = end, end
        while held > 0:
            begin = max(0, held - _BLOCK)
            block = self.read(begin, held)
            at = len(block)
            while (at := block.rfind(b"\n", 0, at)) >= 0:
                if begin + at + 1 < after:
                    yield begin + at + 1, after
                    after = begin + at + 1
            held = begin
        if after > 0:
            yield 0, after

    def lines_after(self, begin: int) -> Iterator[tuple[int, int]]:
        """Where lines begin and end, from `begin` on."""
        self.file.seek(begin)
        while begin < self.size:
            end = begin + len(self.file.readline())
            yield begin, end
            begin = end
            self.file.seek(begin)


class LogReader:
    """Reads what a `RequestLog` writes. Its methods read the disk.

    A cursor is the mark of a file and an offset in it, so that it holds when the file is renamed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def newest(self, count: int) -> LogPage:
        """The last lines."""
        files = self._open()
        try:
            spans: list[tuple[_File, int, int]] = []
            room = _MAX_BYTES
            for file in reversed(files):
                for begin, end in file.lines_before(file.size):
                    room -= end - begin
                    if len(spans) == count or (room < 0 and spans):
                        return _page(spans[::-1], _end(files), more=False)
                    spans.append((file, begin, end))
            return _page(spans[::-1], _end(files), more=False)
        finally:
            _close(files)

    def after(self, cursor: str, count: int) -> LogPage:
        """The first lines after a cursor; from the oldest on where its file is gone.

        Raises:
            BadRequest: it is no cursor.
        """
        found = _CURSOR.fullmatch(cursor)
        if found is None:
            raise BadRequest(
                f"after: {cursor[:80]!r} is no cursor. Send what `next` was in the answer before, "
                "or leave it out for the newest lines.",
                param="after",
            )
        files = self._open()
        try:
            index = next((i for i, file in enumerate(files) if file.mark == found["mark"]), None)
            offset = 0 if index is None else int(found["offset"])
            gone = index is None and found["mark"] != _NO_FILE
            return _forward(files[index or 0 :], offset, count, gone)
        finally:
            _close(files)

    def _open(self) -> list[_File]:
        """The files, oldest first.

        They are opened from the newest on: a rotation meanwhile shows one twice, which its mark tells, and
        hides none.
        """
        numbers = sorted(
            int(path.suffix[1:]) for path in self._folder.glob(f"{FILE}.*") if path.suffix[1:].isdigit()
        )
        files: dict[str, _File] = {}
        for name in (FILE, *(f"{FILE}.{number}" for number in numbers)):
            try:
                handle = (self._folder / name).open("rb")
            except FileNotFoundError:
                continue
            file = _opened(handle)
            if file is None or file.mark in files:
                handle.close()
            else:
                files[file.mark] = file
        return list(files.values())[::-1]


def create_blueprint(folder: Path) -> Blueprint:
    """The route over the log in a folder."""
    blueprint = Blueprint("logs", __name__)
    reader = LogReader(folder)

    @blueprint.get("/api/logs")
    async def logs() -> Response:
        limit, after = _limit(), request.args.get("after")
        if after is None:
            page = await asyncio.to_thread(reader.newest, limit)
        else:
            page = await asyncio.to_thread(reader.after, after, limit)
        return json_answer(page)

    return blueprint


def _limit() -> int:
    text = request.args.get("limit", str(DEFAULT_LINES))
    if not (text.isascii() and text.isdigit() and len(text) < 9 and 1 <= int(text) <= MAX_LINES):
        raise BadRequest(
            f"limit must be a number of lines from 1 to {MAX_LINES}, not {text[:80]!r}.", param="limit"
        )
    return int(text)


def _opened(handle: BinaryIO) -> _File | None:
    """A file with what is known of it; None where it has no whole line."""
    first = handle.readline()
    while first == b"\n":
        first = handle.readline()
    if not first.endswith(b"\n"):
        return None
    size = handle.seek(0, 2)
    while size > 0:
        begin = max(0, size - _BLOCK)
        handle.seek(begin)
        at = handle.read(size - begin).rfind(b"\n")
        if at >= 0:
            size = begin + at + 1
            break
        size = begin
    return _File(handle, hashlib.sha256(first).hexdigest()[:16], size)


def _forward(files: Sequence[_File], offset: int, count: int, gone: bool) -> LogPage:
    spans: list[tuple[_File, int, int]] = []
    room = _MAX_BYTES
    for file in files:
        for begin, end in file.lines_after(offset):
            room -= end - begin
            if len(spans) == count or (room < 0 and spans):
                last, _, at = spans[-1]
                return _page(spans, f"{last.mark}-{at}", more=True, gone=gone)
            spans.append((file, begin, end))
        offset = 0
    return _page(spans, _end(files), more=False, gone=gone)


def _page(spans: Sequence[tuple[_File, int, int]], cursor: str, *, more: bool, gone: bool = False) -> LogPage:
    lines: list[RequestRecord] = []
    unreadable = 0
    for file, begin, end in spans:
        text = file.read(begin, end).strip()
        try:
            if text:
                lines.append(_record.decode(text))
        except (msgspec.DecodeError, UnicodeDecodeError):
            # Half a line: the disk was full. Or a line of a Fireside that wrote other fields.
            unreadable += 1
    return LogPage(lines, cursor, more, gone, unreadable)


def _end(files: Sequence[_File]) -> str:
    return f"{files[-1].mark}-{files[-1].size}" if files else f"{_NO_FILE}-0"


def _close(files: Sequence[_File]) -> None:
    for file in files:
        file.file.close()
