"""Code in Markdown: what stands in it is neither a heading nor a link."""

import re

_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?(`{3,}|~{3,})(.*)")
_TICKS_OR_GAP = re.compile(r"`+|\n[ \t]*\r?\n")
_VISIBLE = re.compile(r"[^\n]")


def hide_code(text: str) -> str:
    """`text` with blanks in place of fenced blocks and code spans: same length, same lines."""
    return _hide_spans(_hide_fences(text)) if "`" in text or "~~~" in text else text


def _hide_fences(text: str) -> str:
    lines = text.split("\n")
    fence = ""
    for index, line in enumerate(lines):
        found = _FENCE.match(line)
        if fence:
            closes = found and found[1].startswith(fence) and not found[2].strip()
            lines[index] = " " * len(line)
            fence = "" if closes else fence
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            lines[index] = " " * len(line)
    return "\n".join(lines)


def _hide_spans(text: str) -> str:
    """A run of backticks is closed by the next run of the same length in its paragraph."""
    runs = list(_TICKS_OR_GAP.finditer(text))
    closing: list[int | None] = [None] * len(runs)
    later: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        run = runs[index][0]
        if run[0] != "`":
            later.clear()
            continue
        closing[index] = later.get(len(run))
        later[len(run)] = index
    pieces: list[str] = []
    done = index = 0
    while index < len(runs):
        close = closing[index]
        if close is not None:
            start, end = runs[index].start(), runs[close].end()
            pieces += [text[done:start], _VISIBLE.sub(" ", text[start:end])]
            done, index = end, close
        index += 1
    return "".join([*pieces, text[done:]])
