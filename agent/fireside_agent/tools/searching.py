"""The process that searches for `find` and `grep`.

A search may take for ever: a regular expression that backtracks without end, a network folder that does
not answer. Python can stop neither within its own process, and `re` holds the interpreter's lock
meanwhile. So each search runs in a process of its own, which is killed at its time limit. (`grep -E` would
need other patterns than the ones models write, and differs between Linux and macOS.)

Takes a `Search` as JSON on its input; answers in lines of JSON: a string for each hit, at last a `Finish`.
"""

import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fireside_agent.tools.credentials import secret_kind
from fireside_agent.tools.opening import open_regular
from fireside_agent.tools.texts import as_utf8
from fireside_agent.tools.tool import ToolError
from fireside_agent.tools.walking import Entry, Glob, Walk
from fireside_agent.tools.workspace import Workspace

MAX_FILE_BYTES = 5_000_000
MAX_LINE = 300
"""Characters of a line that are shown."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for.

    Attributes:
        top: folder or file to search, resolved.
        glob: of the files; None: all of them.
        pattern: regular expression of lines; None: the files themselves are looked for.
        limit: how many hits are wanted.
        seconds: after which the process ends, whatever it does.
    """

    roots: list[str]
    top: str
    glob: str | None
    pattern: str | None
    ignore_case: bool
    limit: int
    seconds: int


class Finish(msgspec.Struct, kw_only=True):
    """How a search ended.

    Attributes:
        more: there are more hits than were wanted.
        binary: files that were not searched, as they are no text. So with `huge`, `secret` and `unread`.
        error: the pattern is wrong.
    """

    more: bool = False
    binary: int = 0
    huge: int = 0
    secret: int = 0
    unread: int = 0
    error: str | None = None


def main() -> None:
    """Search as the input says."""
    search = msgspec.json.decode(sys.stdin.buffer.read(), type=Search)
    # Ends the process even within `re`, should the app that started it be gone.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(search.seconds)
    finish = Finish()
    try:
        for number, hit in enumerate(_hits(search, finish)):
            if number == search.limit:
                finish.more = True
                break
            _answer(hit)
    except re.error as error:
        finish.error = str(error)
    _answer(finish)


def _answer(value: str | Finish) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def _hits(search: Search, finish: Finish) -> Iterator[str]:
    workspace = Workspace([Path(root) for root in search.roots])
    if search.pattern is None:
        yield from _files(search, workspace, finish)
        return
    expression = re.compile(search.pattern, re.IGNORECASE if search.ignore_case else 0)
    for entry in _searched(search, finish):
        yield from _lines(entry, expression, workspace, finish)


def _files(search: Search, workspace: Workspace, finish: Finish) -> Iterator[str]:
    for entry in _walked(search, finish):
        yield workspace.shown(entry.path) + ("/" if entry.folder else "")


def _walked(search: Search, finish: Finish) -> Iterator[Entry]:
    walk = Walk(Path(search.top))
    glob = Glob(search.glob) if search.glob is not None else None
    for entry in walk:
        if glob is None or glob.matches(entry.path, walk.top):
            yield entry
    finish.unread += walk.unread


def _searched(search: Search, finish: Finish) -> Iterator[Entry]:
    top = Path(search.top)
    if not top.is_dir():
        yield Entry(top, folder=False, regular=True, size=0)
        return
    for entry in _walked(search, finish):
        if not entry.regular:
            continue
        if secret_kind(str(entry.path)) is not None:
            finish.secret += 1
        elif entry.size > MAX_FILE_BYTES:
            finish.huge += 1
        else:
            yield entry


def _lines(entry: Entry, expression: re.Pattern[str], workspace: Workspace, finish: Finish) -> Iterator[str]:
    try:
        with open_regular(entry.path) as file:
            text = as_utf8(file)
            if isinstance(text, str):
                finish.binary += 1
                return
            content = text.read(MAX_FILE_BYTES + 1)
    except (OSError, ToolError):
        finish.unread += 1
        return
    if len(content) > MAX_FILE_BYTES:
        finish.huge += 1
        return
    shown = workspace.shown(entry.path)
    for number, line in enumerate(content.decode(errors="replace").split("\n"), 1):
        if found := expression.search(line.rstrip("\r")):
            yield f"{shown}:{number}: {_cut(line.rstrip(), found.start())}"


def _cut(line: str, place: int) -> str:
    """A line, or the part of a long one around the hit."""
    if len(line) <= MAX_LINE:
        return line
    start = max(0, min(place - MAX_LINE // 3, len(line) - MAX_LINE))
    end = start + MAX_LINE
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
