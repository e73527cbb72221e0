"""MathML that is safe to insert and that browsers draw: an allow-list, and what MathML Core left out.

MathML Core (https://www.w3.org/TR/mathml-core/) has no `mathvariant` but "normal", no alignment or lines of
columns, no `menclose` and no colours by name of ours; they become letters and classes.
"""

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from xml.etree.ElementTree import Element

MAX_DEPTH = 80
"""Of elements inside one another."""

_CHILDREN = {
    **dict.fromkeys(("mfrac", "mroot", "msub", "msup", "munder", "mover"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
}
_ELEMENTS = {
    *("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "msqrt", "mstyle", "mpadded", "mphantom"),
    *("mtable", "mtr", "mtd", *_CHILDREN),
}
_BOOLEAN = re.compile("true|false")
_LENGTH = re.compile(r"-?(?:\d?(?:\.\d{1,4})?(?:em|ex)|\d{1,2}(?:\.\d+)?(?:px|pt)|0)")
"""At most ten lines away: a formula must not reach over what is not its own."""

_ATTRIBUTES = {
    **dict.fromkeys(
        (
            *("accent", "accentunder", "displaystyle", "fence", "largeop"),
            *("movablelimits", "separator", "stretchy", "symmetric"),
        ),
        _BOOLEAN,
    ),
    **dict.fromkeys(("width", "height", "depth", "lspace", "rspace", "voffset"), _LENGTH),
    **dict.fromkeys(("linethickness", "minsize", "maxsize"), _LENGTH),
    "form": re.compile("prefix|infix|postfix"),
    "scriptlevel": re.compile(r"[+-]?\d"),
}
_SPACES = {
    **{"negativethinmathspace": "-0.167em", "negativemediummathspace": "-0.222em"},
    **{"negativethickmathspace": "-0.278em", "thinmathspace": "0.167em", "thickmathspace": "0.278em"},
}
_COLORS = {
    **{name: name for name in ("red", "green", "blue", "gray", "orange", "purple")},
    **{"cyan": "blue", "teal": "green", "brown": "orange", "violet": "purple", "magenta": "purple"},
}
_NOTATIONS = {
    **{"box": "box", "horizontalstrike": "through"},
    **{"updiagonalstrike": "up", "downdiagonalstrike": "down"},
}
_VARIANTS = {
    **{name: name.upper() for name in ("bold", "double-struck", "fraktur", "script", "sans-serif")},
    **{"monospace": "MONOSPACE", "italic": "ITALIC", "bold-italic": "BOLD ITALIC"},
}
_LIMITS = {
    *("lim", "max", "min", "sup", "inf", "lim inf", "lim sup", "arg max", "arg min", "argmax", "argmin"),
    *("inj lim", "proj lim", "plim", "gcd", "det", "Pr", *"∑∏∐⋃⋂⋁⋀⨁⨂⨄⨆"),
}
"""What carries its limits below and above where a formula stands by itself."""
_BARS = ("|", "\u2016", "\u2225")
"""Around something most often, which MathML does not see."""
_UNDER = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}

_RULE = "rule"
_REFERENCE = re.compile("&#x[0-9A-Fa-f]{1,6};")
_WORD = re.compile(r"[A-Za-z]{2,}")


class UnsafeFormulaError(Exception):
    """The MathML holds what is not allowed, or is not complete. The text is for the person."""


def serialize(math: Element, source: str, display: bool) -> str:
    """The tree as HTML; `source` is the formula's LaTeX, which its `alttext` carries."""
    shown = "block" if display else "inline"
    content = "".join(_children(math, display, 0))
    return f'<math display="{shown}" dir="ltr" alttext="{html.escape(source)}">{content}</math>'


def _children(parent: Element, display: bool, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        raise UnsafeFormulaError("The formula is nested too deeply.")
    children = list(parent)
    spaced = parent.tag in ("math", "mrow", "mtd", "mstyle")
    for index, child in enumerate(children):
        if spaced and _needs_space(children, index):
            yield '<mspace width="0.167em"></mspace>'
        yield _element(child, display, depth + 1)


def _needs_space(children: Sequence[Element], index: int) -> bool:
    """Whether a name of a function meets its argument, or what it is multiplied with."""
    if index == 0:
        return False
    before, after = children[index - 1], children[index]
    if "mo" in (before.tag, after.tag) or "mspace" in (before.tag, after.tag):
        return False
    return _is_function(before) or (_is_function(after) and before.tag != "mtext")


def _is_function(element: Element) -> bool:
    if element.tag in _UNDER and len(element):
        element = element[0]
    return element.tag == "mi" and _WORD.fullmatch(element.text or "") is not None


def _element(element: Element, display: bool, depth: int) -> str:
    tag, classes = element.tag, list(_classes(element))
    if tag in _UNDER and len(element) and display and " ".join(_text(element[0]).split()) in _LIMITS:
        tag = _UNDER[tag]
    if tag == "menclose":
        tag = "mrow"
    if tag not in _ELEMENTS:
        raise UnsafeFormulaError(f"The formula has an element {tag}, which is not shown.")
    if len(element) != _CHILDREN.get(tag, len(element)):
        raise UnsafeFormulaError("A command has too few arguments.")
    if tag == "mrow" and len(element) == 1 and not classes:
        return _element(element[0], display, depth) if depth < MAX_DEPTH else _too_deep()
    if tag == "mtable":
        _rule(element)
    text, attributes = _text(element), dict(_attributes(element))
    if text.startswith("\\") and len(text) > 1 and tag == "mi":
        raise UnsafeFormulaError(f"{text} is not known.")
    if tag == "mi" and len(text) == 1 and (unicodedata.category(text) == "Sm" or text in ":⟹⟸⟺"):
        tag = "mo"
    variant = element.get("mathvariant", "")
    if variant == "normal" and tag == "mi":
        attributes["mathvariant"] = "normal"
    elif variant in _VARIANTS:
        text = "".join(_styled(character, variant) for character in text)
    if tag == "mo" and text in _BARS and not element.get("form"):
        attributes |= {"lspace": "0", "rspace": "0"}
    if classes:
        attributes["class"] = " ".join(classes)
    written = "".join(f' {name}="{html.escape(value)}"' for name, value in attributes.items())
    content = html.escape(text, quote=False) + "".join(_children(element, display, depth))
    return f"<{tag}{written}>{content}</{tag}>"


def _too_deep() -> str:
    raise UnsafeFormulaError("The formula is nested too deeply.")


def _attributes(element: Element) -> Iterator[tuple[str, str]]:
    """The allowed ones. Padding with a part that cannot be kept is dropped whole: it is a balance."""
    kept: list[tuple[str, str]] = []
    for name, value in element.attrib.items():
        value = _SPACES.get(value, value)
        if name in _ATTRIBUTES and _ATTRIBUTES[name].fullmatch(value):
            kept.append((name, value))
        elif element.tag == "mpadded" and name in _ATTRIBUTES:
            return
    yield from kept


def _classes(element: Element) -> Iterator[str]:
    if element.tag == "mtd":
        align = element.get("columnalign", "")
        if align in ("left", "right"):
            yield f"align-{align}"
    if color := _COLORS.get(element.get("mathcolor", "").strip("{} ")):
        yield f"formula--{color}"
    for notation in element.get("notation", "").split():
        if notation in _NOTATIONS:
            yield f"formula--{_NOTATIONS[notation]}"
    for side in element.get(_RULE, "").split():
        yield f"formula--{side}"


def _rule(table: Element) -> None:
    """Say of each cell on which sides a line runs."""
    columns = table.get("columnlines", "").split()
    rows = [*table.get("rowlines", "").split(), *("none" for _ in table)]
    for row, below in zip(table, rows, strict=False):
        for index, cell in enumerate(row):
            sides = ["below"] if below != "none" else []
            sides += ["after"] if index < len(columns) and columns[index] != "none" else []
            cell.set(_RULE, " ".join(sides))


def _text(element: Element) -> str:
    """The converter writes characters as references, as a text of their own."""
    return _REFERENCE.sub(lambda found: html.unescape(found[0]), element.text or "")


@cache
def _styled(character: str, variant: str) -> str:
    """The letter of Unicode's mathematical alphabets, or the character itself where there is none."""
    try:
        name = unicodedata.name(character)
    except ValueError:
        return character
    name = re.sub("LATIN |GREEK |LETTER ", "", name)
    style = _VARIANTS[variant]
    exceptions = {"FRAKTUR": "BLACK-LETTER", "ITALIC": "PLANCK CONSTANT"}
    plain = name.replace("CAPITAL", f"{style} CAPITAL") if style in ("SCRIPT", "DOUBLE-STRUCK") else ""
    for wanted in (
        f"MATHEMATICAL {style} {name}",
        plain,
        f"{style} {name}",
        f"{exceptions.get(style)} {name}",
    ):
        try:
            return unicodedata.lookup(wanted) if wanted else character
        except KeyError:
            continue
    return character
