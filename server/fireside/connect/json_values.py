"""Values in other programs' JSON files: set, and later put back as they were."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fireside.connect.files import CannotEdit

Path = tuple[str, ...]
"""Names from the outermost object inwards."""

_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)


class Written(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value that was set.

    Attributes:
        path: where.
        value: what was written there.
        before: what was there; unset if nothing was.
        made: how many of the objects on the way were not there before, counted from the innermost.
    """

    path: Path
    value: Any
    before: Any = msgspec.UNSET
    made: int = 0


def set_values(
    text: str | None, values: Mapping[Path, Any], known: Iterable[Written] = ()
) -> tuple[str | None, list[Written]]:
    """The text with the values set, and how to undo that. All else stays, in its order.

    Args:
        known: what was set earlier: it is put back where it is not among the values, and what was there
            before it is still what comes back of the others.

    Raises:
        CannotEdit: it is not JSON, or has something else where an object should be.
    """
    data = _parse(text)
    earlier = {each.path: each for each in known}
    _undo(data, [each for each in earlier.values() if each.path not in values])
    written: list[Written] = []
    for path, value in values.items():
        at, made = data, 0
        for name in path[:-1]:
            made += name not in at
            at = at.setdefault(name, {})
            if not isinstance(at, dict):
                raise CannotEdit(f"there is something else than an object under {name!r}")
        now = Written(path, value, at.get(path[-1], msgspec.UNSET), made)
        old = earlier.get(path)
        if old is not None and old.value == now.before:
            now = msgspec.structs.replace(old, value=value)
        written.append(now)
        at[path[-1]] = value
    return _write(data, text), written


def undo_values(text: str | None, written: Iterable[Written]) -> tuple[str | None, list[Path]]:
    """The text as it was before, and where somebody has changed a value since, which stays.

    None: nothing is left of a file that had nothing but ours.

    Raises:
        CannotEdit: it is not JSON.
    """
    data = _parse(text)
    changed = _undo(data, written)
    return _write(data, text), changed


def _undo(data: dict[str, Any], written: Iterable[Written]) -> list[Path]:
    changed: list[Path] = []
    for each in reversed(list(written)):
        *outer, last = each.path
        parents = [data]
        for name in outer:
            inner = parents[-1].get(name)
            parents.append(inner if isinstance(inner, dict) else {})
        if parents[-1].get(last, msgspec.UNSET) != each.value:
            changed.append(each.path)
        elif each.before is msgspec.UNSET:
            del parents[-1][last]
        else:
            parents[-1][last] = each.before
        for depth in range(len(outer), len(outer) - each.made, -1):
            if parents[depth - 1].get(outer[depth - 1]) == {}:
                del parents[depth - 1][outer[depth - 1]]
    return changed


def _parse(text: str | None) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        data = json.loads(text, object_pairs_hook=_once)
    except ValueError as error:
        raise CannotEdit(f"it is not plain JSON ({error}); comments would be lost") from error
    if not isinstance(data, dict):
        raise CannotEdit("it holds no JSON object")
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def _write(data: dict[str, Any], like: str | None) -> str | None:
    """JSON, indented as a text is; the text itself if it says that; None if there is nothing to say."""
    if data == _parse(like):
        return like
    if not data:
        return None
    found = _INDENT.search(like or "")
    end = "" if like and not like.endswith("\n") else "\n"
    return json.dumps(data, indent=found[1] if found else 2, ensure_ascii=False) + end
