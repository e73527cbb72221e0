"""Unified diffs of two texts, as `git apply` reads them."""

import difflib
import hashlib
import json


def text_hash(text: str) -> str:
    """SHA-256 of the text as it lies on disk."""
    return hashlib.sha256(text.encode()).hexdigest()


def unified_diff(before: str | None, after: str, path: str) -> str:
    """From `before` (None: there is no file) to `after`; empty where both are the same."""
    old = "/dev/null" if before is None else _header(f"a/{path}")
    lines = difflib.unified_diff(_lines(before or ""), _lines(after), old, _header(f"b/{path}"))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends one, as for git."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _header(path: str) -> str:
    """A path with a character that would end the header is quoted, as git does it."""
    return json.dumps(path, ensure_ascii=False) if '"' in path or "\\" in path else path
