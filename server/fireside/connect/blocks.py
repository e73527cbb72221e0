"""A marked block of lines in another program's TOML or YAML file; all other lines stay as they are."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any

from fireside.connect.files import CannotEdit

BEGIN = "# >>> written by: fireside connect"
END = "# <<< written by: fireside connect"

_BLOCK = re.compile(
    rf"(?P<gap>(?:(?<=\n)\n)?)^ *{re.escape(BEGIN)}\r?\n"
    rf"(?P<body>.*?)^ *{re.escape(END)}(\r?\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""With an empty line before it, which is ours too."""

Check = Callable[[str, str, str], None]
"""Whether a file without the block, one with it, and the block's lines go together; raises `CannotEdit`."""


def put_block(text: str | None, body: str, check: Check) -> str:
    """The text with the block: where it was, or at the end.

    Raises:
        CannotEdit: the rest of the file does not go with it.
    """
    given = text or ""
    found = _only_block(given)
    base = take_block(text, check) or ""
    indent = " " * _indent(base) if check is check_yaml else ""
    block = "".join(f"{indent}{line}\n" for line in (BEGIN, *body.splitlines(), END))
    if found:
        _, foreign = _split(found["body"])
        full = given[: found.start()] + found["gap"] + block + foreign + given[found.end() :]
    else:
        start = given if not given or given.endswith("\n") else given + "\n"
        full = start + ("\n" if start else "") + block
    check(base, full, body)
    return full


def take_block(text: str | None, check: Check) -> str | None:
    """The text without the block; None if there is nothing else in it.

    Raises:
        CannotEdit: what follows the block would mean something else without it.
    """
    found = _only_block(text or "")
    if text is None or not found:
        return text
    ours, foreign = _split(found["body"])
    rest = text[: found.start()] + foreign + text[found.end() :]
    check(rest, text, ours)
    return rest if rest.strip() else None


def _only_block(text: str) -> re.Match[str] | None:
    blocks = list(_BLOCK.finditer(text))
    if len(blocks) > 1 or text.count(BEGIN) != len(blocks) or text.count(END) != len(blocks):
        raise CannotEdit(
            f"the lines {BEGIN!r} and {END!r} are not there once each; take our lines out by hand"
        )
    return blocks[0] if blocks else None


def _split(body: str) -> tuple[str, str]:
    """What is ours between the marks, and what is not.

    A program that writes its own settings may put them after our last value, before the closing mark.
    Ours is one table or list item: what begins another is not ours, nor are the comments above it.
    """
    lines = body.splitlines(keepends=True)
    others = (number for number, line in enumerate(lines) if number and line.lstrip().startswith(("[", "- ")))
    end = next(others, len(lines))
    while 0 < end < len(lines) and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return "".join(lines[:end]), "".join(lines[end:])


def check_toml(base: str, full: str, body: str) -> None:
    """A `Check` for TOML: with the block, the file says what it said without it, and what the block says."""
    try:
        said, ours, all_of_it = (tomllib.loads(part) for part in (base, body, full))
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(f"it is not TOML, or has a Fireside of its own: {error}") from error
    if _merged(said, ours) != all_of_it:
        raise CannotEdit("lines after our block belong to its last table; move them above it")


def _merged(said: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    merged = dict(said)
    for name, value in ours.items():
        inner: Any = said.get(name)
        both = isinstance(inner, dict) and isinstance(value, dict)
        merged[name] = _merged(inner, value) if both else value
    return merged


def check_yaml(base: str, _full: str, _body: str) -> None:
    """A `Check` for a YAML list, one `- ` a line at the same depth, which is as far as it is understood."""
    _indent(base)


def _indent(text: str) -> int:
    """The depth of a list's items."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    lines = lines[1:] if lines[:1] == ["---"] else lines
    if not lines:
        return 0
    depth = len(lines[0]) - len(lines[0].lstrip(" "))
    inside = (" " * depth + "- ", " " * (depth + 1))
    if not lines[0].startswith(inside[0]) or not all(line.startswith(inside) for line in lines):
        raise CannotEdit("it is no YAML list with one item after another; add the lines by hand")
    return depth
