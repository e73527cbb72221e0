"""LaTeX formulas as MathML, within limits of size, nesting and commands."""

import re
from functools import lru_cache
from typing import NamedTuple
from xml.etree.ElementTree import Element

from fireside_agent.markdown_mathml import UnsafeFormulaError, serialize

MAX_CHARACTERS = 4_000
"""A longer formula is shown as its source. Converting one of this size takes about 0.1 s."""

_KEPT = 256
"""How many converted formulas are remembered: while an answer streams, its last block is rendered again
and again."""


class Formula(NamedTuple):
    """Either `mathml`, safe to insert, or the `error` in words that says why there is none."""

    mathml: str
    error: str


class FormulaError(Exception):
    """A formula that cannot be converted. The text says why, for the person."""


@lru_cache(_KEPT)
def convert(latex: str, display: bool) -> Formula:
    """Convert a formula without its delimiters; `display`: one that stands by itself. Never raises."""
    try:
        return Formula(_convert(latex, display), "")
    except (FormulaError, UnsafeFormulaError) as error:
        return Formula("", str(error))
    except RecursionError:
        return Formula("", "The formula is nested too deeply.")
    except Exception as error:  # the converter raises whatever it stumbles upon, IndexError included
        return Formula("", _WRONG.get(type(error).__name__, "The formula is not complete."))


_WRONG = {
    "DenominatorNotFoundError": "A fraction has nothing below its line.",
    "NumeratorNotFoundError": "A fraction has nothing above its line.",
    "ExtraLeftOrMissingRightError": r"\left and \right do not match.",
    "MissingSuperScriptOrSubscriptError": "Nothing follows ^ or _.",
    "DoubleSubscriptsError": "Two subscripts follow each other.",
    "DoubleSuperscriptsError": "Two superscripts follow each other.",
    "MissingEndError": r"A \begin has no \end.",
    "LimitsMustFollowMathOperatorError": r"\limits follows no operator.",
}


def _convert(latex: str, display: bool) -> str:
    from latex2mathml.converter import convert_to_element

    mode = "block" if display else "inline"
    tree: Element = convert_to_element(_prepared(latex, display), display=mode)
    return serialize(tree, latex.strip(), display)


_DEFINITION = re.compile(
    r"\\(?:re|provide)?newcommand|\\(?:[egx]?def|let|newenvironment|DeclareMathOperator)(?![a-zA-Z])"
)
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{\s*([a-zA-Z]+)\*?\s*\}")
_ROW = re.compile(r"\\\\(?:\*|\s*\[\s*-?[\d.]+\s*[a-z]{2}\s*\])?")
_DROPPED = re.compile(r"\\(?:label\s*\{[^{}]*\}|nonumber|notag|displaystyle)(?![a-zA-Z])")
_TAG = re.compile(r"\\tag\*?\s*\{([^{}]*)\}")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_PIECE = re.compile(r"\\(?:begin|end)(?![a-zA-Z])|\\\\|\\.|[{}&]", re.DOTALL)

_ALIGNED, _STACKED = "align*", "matrix"
_ENVIRONMENTS = {
    **dict.fromkeys(("align", "aligned", "alignat", "alignedat", "flalign", "eqnarray"), _ALIGNED),
    **dict.fromkeys(("gather", "gathered", "multline", "multlined"), _STACKED),
    **dict.fromkeys(("equation", "displaymath", "math"), ""),
    "dcases": "cases",
    **{name: name for name in ("split", "cases", "array", "matrix", "smallmatrix", "substack")},
    **{f"{kind}matrix": f"{kind}matrix" for kind in "pbBvV"},
}
"""What of the converter stands for an environment; "" where its content stands for itself."""


def _prepared(latex: str, display: bool) -> str:
    """The formula in the part of LaTeX that the converter knows."""
    if len(latex) > MAX_CHARACTERS:
        raise FormulaError(f"The formula has {len(latex)} characters; {MAX_CHARACTERS} can be shown.")
    if found := _DEFINITION.search(latex):
        raise FormulaError(f"{found[0]}: definitions are not supported.")
    _check_braces(latex)
    latex = _ROW.sub(r"\\\\", _DROPPED.sub("", _TAG.sub(r"\\qquad\\text{(\1)}", latex)))
    latex = re.sub(r"(\\begin\s*\{(?:alignat|alignedat)\*?\})\s*\{\d*\}", r"\1", latex)
    latex = _ENVIRONMENT.sub(_renamed, latex)
    return _in_rows(latex) if display else latex


def _check_braces(latex: str) -> None:
    depth = 0
    for found in _BRACE.finditer(latex):
        depth += (found[0] == "{") - (found[0] == "}")
        if depth < 0:
            raise FormulaError("A } has no {.")
    if depth:
        raise FormulaError("A { is not closed.")


def _renamed(found: re.Match[str]) -> str:
    name = _ENVIRONMENTS.get(found[2])
    if name is None:
        raise FormulaError(f"The environment {found[2]} is not known.")
    if name:
        return f"\\{found[1]}{{{name}}}"
    return "{" if found[1] == "begin" else "}"


def _in_rows(latex: str) -> str:
    r"""A formula with `\\` outside of every environment, as rows, which is what was meant."""
    depth, rows, columns = 0, False, False
    for found in _PIECE.finditer(latex):
        depth += found[0] in (r"\begin", "{")
        depth -= found[0] in (r"\end", "}")
        rows = rows or (depth == 0 and found[0] == r"\\")
        columns = columns or (depth == 0 and found[0] == "&")
    if not rows and not columns:
        return latex
    name = _ALIGNED if columns else _STACKED
    return f"\\begin{{{name}}}{latex}\\end{{{name}}}"
