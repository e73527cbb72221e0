"""Unified diffs of two texts, as `git apply` reads them."""

import difflib
import hashlib
import json

from fireside_agent.tools.diffs import lines_of, with_newline


def text_hash(text: str) -> str:
    """SHA-256 of the text as it lies on disk."""
    return hashlib.sha256(text.encode()).hexdigest()


def unified_diff(before: str | None, after: str, path: str) -> str:
    """From `before` (None: there is no file) to `after`; empty where both are the same."""
    old = "/dev/null" if before is None else _header(f"a/{path}")
    lines = difflib.unified_diff(lines_of(before or ""), lines_of(after), old, _header(f"b/{path}"))
    return "".join(map(with_newline, lines))


def _header(path: str) -> str:
    """A path with a character that would end the header is quoted, as git does it."""
    return json.dumps(path, ensure_ascii=False) if '"' in path or "\\" in path else path
