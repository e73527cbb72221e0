"""Replaces text in a file's content and leaves every other byte as it is."""

import codecs
import difflib
import re

from fireside_agent.tools.texts import binary_kind
from fireside_agent.tools.tool import ToolError

MAX_PLACES = 20
MAX_NEAREST_LINES = 20_000
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def replaced(content: bytes, old: str, new: str, shown: str) -> bytes:
    """The content with `new` in place of `old`, which has to be there exactly once.

    A newline in `old` also stands for the file's CRLF, and those in `new` become CRLF in a file that uses it.

    Args:
        shown: the file's name, for errors.

    Raises:
        ToolError: the file is no UTF-8 text, or `old` is not there, or not once.
    """
    if kind := binary_kind(content) or ("a text in UTF-16" if content.startswith(_UTF16) else None):
        raise ToolError(f"{shown} cannot be edited: it is {kind}.")
    encoded(old, "old_text")
    encoded(new, "new_text")
    # Bytes that are not UTF-8 stay what they are.
    text = content.decode(errors="surrogateescape")
    wanted = re.escape(old.replace("\r\n", "\n")).replace("\\\n", "\r?\n")
    places = [found.start() for found in re.finditer(f"(?={wanted})", text)]
    if not places:
        raise ToolError(f"`old_text` is not in {shown}. {_nearest(text, old)}")
    if len(places) > 1:
        lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places[:MAX_PLACES])
        lines += ", …" * (len(places) > MAX_PLACES)
        raise ToolError(
            f"`old_text` is in {shown} {len(places)} times, at the lines {lines}. "
            "Give more of the text around the one you mean."
        )
    changed = re.sub(wanted, lambda _: with_endings_of(text, new), text)
    return changed.encode(errors="surrogateescape")


def encoded(text: str, argument: str) -> bytes:
    """Text in UTF-8.

    Raises:
        ToolError: it holds half a character.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"`{argument}` is not valid text: it holds half of a surrogate pair.") from error


def with_endings_of(text: str, new: str) -> str:
    """`new` with the line endings of `text`, if those are mostly CRLF; otherwise as it is."""
    crlf = text.count("\r\n")
    if crlf == 0 or crlf * 2 < text.count("\n"):
        return new
    return new.replace("\r\n", "\n").replace("\n", "\r\n")


def _nearest(text: str, old: str) -> str:
    """What in the text is most like the beginning of `old`, so that the next try fits."""
    advice = "Read the file again and give the text exactly, with its white space."
    first = next((line.strip() for line in old.split("\n") if line.strip()), "")
    lines = text.encode(errors="replace").decode(errors="replace").split("\n")[:MAX_NEAREST_LINES]
    plain = [line.strip()[:300] for line in lines]
    near = difflib.get_close_matches(first[:300], plain, n=1, cutoff=0.5)
    if not near:
        return advice
    start = plain.index(near[0])
    part = "\n".join(line.rstrip("\r")[:300] for line in lines[start : start + min(old.count("\n") + 1, 10)])
    return f"{advice} Nearest to it is line {start + 1}:\n{part}"
