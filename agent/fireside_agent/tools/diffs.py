"""Unified diffs of files, for people to look at before and after a change."""

import difflib
import re
from collections.abc import Iterator
from itertools import takewhile

CONTEXT = 5
"""Unchanged lines around each change."""

MAX_COMPARED = 4_000
"""Lines; a longer stretch is shown as removed and added whole, as comparing takes the square of the time."""

_HUNK = re.compile(r"@@ -(\d+)(.*?) \+(\d+)(.*?) @@")


def unified_diff(path: str, before: bytes | None, after: bytes | None) -> str:
    """What changes in the file at `path`; None: there is none.

    Binary content is told of by its size. A last line without its newline is marked as `diff` does.
    """
    old, new = before or b"", after or b""
    header = [f"--- {path if before is not None else '/dev/null'}\n"]
    header.append(f"+++ {path if after is not None else '/dev/null'}\n")
    if b"\0" in old or b"\0" in new:
        return "".join(header) + f"Binary content: {len(old):,} bytes before, {len(new):,} after.\n"
    return "".join(
        [*header, *_hunks(*(lines_of(content.decode(errors="replace")) for content in (old, new)))]
    )


def lines_of(text: str) -> list[str]:
    """Lines with their ends. They end at a newline and nothing else, unlike with `str.splitlines`."""
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def with_newline(line: str) -> str:
    """A line of a diff; where the file's last line has no newline, that is said as `diff` does."""
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    if max(len(old), len(new)) <= MAX_COMPARED:
        lines, first = list(difflib.unified_diff(old, new, n=CONTEXT))[2:], 0
    else:
        lines, first = _trimmed(old, new)
    for line in lines:
        shifted = _HUNK.sub(lambda hunk: _shift(hunk, first), line) if line.startswith("@@") else line
        yield with_newline(shifted)


def _trimmed(old: list[str], new: list[str]) -> tuple[list[str], int]:
    """The diff of what is between the common start and the common end, and how many lines come before it.

    So a small edit of a long file is quick.
    """
    start = _alike(zip(old, new, strict=False))
    most = min(len(old), len(new)) - start
    end = min(_alike(zip(reversed(old), reversed(new), strict=False)), most)
    first = max(start - CONTEXT, 0)
    before, after = (
        old[first : len(old) - max(end - CONTEXT, 0)],
        new[first : len(new) - max(end - CONTEXT, 0)],
    )
    if max(len(before), len(after)) <= MAX_COMPARED:
        return list(difflib.unified_diff(before, after, n=CONTEXT))[2:], first
    return _whole(before, after, start - first, min(end, CONTEXT)), first


def _alike(pairs: Iterator[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _whole(before: list[str], after: list[str], lead: int, tail: int) -> list[str]:
    """One hunk that removes and adds all between the context at its start and its end."""
    rest, added = before[lead : len(before) - tail], after[lead : len(after) - tail]
    position = f"@@ -{bool(before):d},{len(before)} +{bool(after):d},{len(after)} @@\n"
    return [
        position,
        *(f" {line}" for line in before[:lead]),
        *(f"-{line}" for line in rest),
        *(f"+{line}" for line in added),
        *(f" {line}" for line in before[len(before) - tail :]),
    ]


def _shift(hunk: re.Match[str], lines: int) -> str:
    return f"@@ -{int(hunk[1]) + lines}{hunk[2]} +{int(hunk[3]) + lines}{hunk[4]} @@"
