r"""Formulas in Markdown: `$…$` and `\(…\)` in a line, `$$…$$`, `\[…\]` and environments by themselves.

A formula has no blank line in it. The rules of single dollars are Pandoc's (no space inside them, no digit
after them), and stricter where money is meant.
"""

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fireside_agent.markdown_latex import MAX_CHARACTERS, convert

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

GROWING = "growing"
"""In a parser's `env`: what is parsed ends where the text does, and more of it will come."""

_CLOSERS = {"$$": "$$", r"\[": r"\]", r"\(": r"\)"}
_DISPLAY = ("$$", r"\[")
_BEGIN = re.compile(r"\\begin\{((?:align|alignat|equation|gather|multline|eqnarray|flalign)\*?)\}")
_ESCAPE = re.compile(r"\\.|\$\$", re.DOTALL)
_DOLLAR = re.compile(r"\\.|[$`]", re.DOTALL)
_MEANING = re.compile(r"[^\W_]")
_MONEY = re.compile(r"\d.*(?:^|\s)[^\W\d_]{2,}(?:\s|$)", re.DOTALL)
"""An amount with a word behind it, as in "$5 and 10$"."""
_WORTH_WAITING = re.compile(r"[^\s\d][^`]*[\\^_{]", re.DOTALL)
_LONGEST_WAIT = 300
_WIDE = 60
"""Characters of a formula in a line that may not fit into it."""


class _Found(NamedTuple):
    content: str
    end: int


def enable_formulas(parser: "MarkdownIt") -> None:
    """Let `parser` read and render formulas."""
    parser.inline.ruler.before("escape", "formula", _inline)
    parser.block.ruler.before("fence", "formula", _block)
    parser.add_render_rule("formula", _render_inline)
    parser.add_render_rule("formula_block", _render_block)


def _inline(state: "StateInline", silent: bool) -> bool:
    source, start = state.src, state.pos
    opener = source[start : start + 2]
    if opener in _CLOSERS:
        found = _find(source, opener, start + 2)
    elif opener.startswith("$"):
        opener, found = "$", _find_in_dollars(source, start)
    else:
        return False
    growing = found is None and bool(state.env.get(GROWING)) and _is_awaited(source, opener, start)
    if found is None and not growing:
        return False
    content, end = found or _Found(source[start + len(opener) :], len(source))
    if not silent:
        token = state.push("formula", "math", 0)
        token.content, token.markup, token.meta = content, opener, {GROWING: growing}
    state.pos = end
    return True


def _find(source: str, opener: str, start: int) -> _Found | None:
    closer = _CLOSERS[opener]
    if source.find(closer, start) < 0:
        return None
    for found in _ESCAPE.finditer(source, start):
        if found[0] == closer:
            content = source[start : found.start()]
            return _Found(content, found.end()) if _MEANING.search(content) else None
        if found[0] == opener:
            return None
    return None


def _find_in_dollars(source: str, start: int) -> _Found | None:
    before, after = source[start - 1 : start], source[start + 1 : start + 2]
    if before.isalnum() or before == "$" or not after or after.isspace():
        return None
    found = _DOLLAR.search(source, start + 1)
    while found and found[0] not in "$`":
        found = _DOLLAR.search(source, found.end())
    if not found or found[0] == "`":
        return None
    content, next_one = source[start + 1 : found.start()], source[found.end() : found.end() + 1]
    if content[-1:].isspace() or not _MEANING.search(content) or next_one.isdigit() or next_one == "$":
        return None
    glued = next_one.isalpha() and (" " in content or not (content[-1].isalnum() or content[-1] in "})'"))
    return None if glued or _MONEY.match(content) else _Found(content, found.end())


def _is_awaited(source: str, opener: str, start: int) -> bool:
    """Whether the rest of the text begins a formula, which is shown as such before it is complete."""
    rest = source[start + len(opener) :]
    if opener != "$":
        return len(rest) <= MAX_CHARACTERS and _CLOSERS[opener] not in rest
    before = source[start - 1 : start]
    fits = len(rest) <= _LONGEST_WAIT and "$" not in rest and not before.isalnum() and before != "$"
    return fits and _WORTH_WAITING.match(rest) is not None


def _block(state: "StateBlock", start_line: int, end_line: int, silent: bool) -> bool:
    if state.is_code_block(start_line):
        return False
    first = state.src[state.bMarks[start_line] + state.tShift[start_line] : state.eMarks[start_line]]
    opener, closer = _delimiters(first)
    if not opener:
        return False
    begin, line = len(opener), start_line
    while True:
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
        if not text.strip() or (line > start_line and state.sCount[line] < state.blkIndent):
            return False
        at = text.find(closer, begin)
        if at >= 0:
            if text[at + len(closer) :].strip():
                return False
            break
        begin, line = 0, line + 1
        if line >= end_line:
            if not state.env.get(GROWING) or line < len(state.bMarks) - 1:
                return False
            closer, line = "", line - 1
            break
    if silent:
        return True
    content = state.getLines(start_line, line + 1, state.blkIndent, False).strip()
    if not opener.startswith(r"\begin"):
        content = content.removeprefix(opener).removesuffix(closer)
    if closer and not _MEANING.search(content):
        return False
    token = state.push("formula_block", "math", 0)
    token.block, token.content, token.markup = True, content, opener
    token.map, token.meta = [start_line, line + 1], {GROWING: not closer}
    state.line = line + 1
    return True


def _delimiters(first: str) -> tuple[str, str]:
    for opener in _DISPLAY:
        if first.startswith(opener):
            return opener, _CLOSERS[opener]
    found = _BEGIN.match(first)
    return (found[0], f"\\end{{{found[1]}}}") if found else ("", "")


def _render_inline(_: Any, tokens: "Sequence[Token]", index: int, *__: Any) -> str:
    token = tokens[index]
    display = token.markup in _DISPLAY
    shown = _formula(token, display)
    if display:
        return f'<span class="formula-box">{shown}</span>'
    return f'<span class="formula-wide">{shown}</span>' if len(token.content) > _WIDE else shown


def _render_block(_: Any, tokens: "Sequence[Token]", index: int, *__: Any) -> str:
    return f'<div class="formula-box">{_formula(tokens[index], True)}</div>\n'


def _formula(token: "Token", display: bool) -> str:
    opener = "" if token.markup.startswith(r"\begin") else token.markup
    if token.meta[GROWING]:
        source = html.escape(opener + token.content, quote=False)
        return f'<code class="formula formula--growing">{source}</code>'
    mathml, error = convert(token.content, display)
    if not error:
        return mathml
    closer = opener and _CLOSERS.get(opener, "$")
    source = html.escape(opener + token.content + closer, quote=False)
    return f'<code class="formula formula--wrong" title="{html.escape(error)}">{source}</code>'
