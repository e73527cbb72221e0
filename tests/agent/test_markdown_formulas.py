"""Formulas in Markdown: which text is one, what comes out, and what must not."""

from __future__ import annotations

import html
import re
import time
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireside_agent.markdown import render_blocks
from fireside_agent.markdown_latex import MAX_CHARACTERS, convert
from fireside_agent.markdown_mathml import _ATTRIBUTES, _ELEMENTS  # pyright: ignore[reportPrivateUsage]
from fireside_agent.markdown_stream import StreamRenderer

ALLOWED = {"display", "dir", "alttext", "mathvariant", "class", *_ATTRIBUTES}
CLASS = re.compile(r"((formula--[a-z]+|align-(left|right)) ?)+")


def sources(text: str) -> list[str]:
    """The LaTeX of every formula that the text renders to."""
    math = re.findall(r"<math [^>]*>", "".join(render_blocks(text)))
    return [html.unescape(tag.split('alttext="')[1].removesuffix('">')) for tag in math]


def mathml(latex: str) -> ElementTree.Element:
    formula = convert(latex, True)
    assert formula.error == ""
    return ElementTree.fromstring(formula.mathml)


def check(tree: ElementTree.Element) -> None:
    for element in tree.iter():
        assert element.tag in _ELEMENTS
        assert set(element.attrib) <= ALLOWED
        assert CLASS.fullmatch(element.get("class", "formula--red"))


# Which text is a formula


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("so $x^2$ is", "x^2"),
        (r"so \(a_1 + b_1\) is", "a_1 + b_1"),
        (r"so \[a\] is", "a"),
        ("so $$a$$ is", "a"),
        ("$$a$$", "a"),
        ("$$\na\n$$", "a"),
        ("\\[\n  a\n\\]\n", "a"),
        ("\\begin{align}\na&=b\n\\end{align}", "\\begin{align}\na&=b\n\\end{align}"),
        ("It is:\n$$\na\n$$\nso", "a"),
        ("> $$\n> a\n> $$", "a"),
        ("- so\n\n  $$\n  a\n  $$", "a"),
        ("|a|\n|-|\n|$b$|", "b"),
        ("# On $x$", "x"),
        ("**$x$**", "x"),
        ("the $n$-th", "n"),
        ("the $n$th", "n"),
        (r"$\$5$", r"\$5"),
        ("($x$)", "x"),
        ("$a\nb$", "a\nb"),
        (r"\[ a \\[2pt] b \]", r"a \\[2pt] b"),
        ("$3x = 6$", "3x = 6"),
        (r"$5 \text{ apples}$", r"5 \text{ apples}"),
        ("$*a*b*$", "*a*b*"),
    ],
)
def test_what_is_a_formula(text: str, latex: str) -> None:
    assert sources(text) == [latex]


@pytest.mark.parametrize(
    "text",
    [
        "$5 and $10",
        "$5, $10.",
        "from $1,000 to $2,000",
        "$5-$10",
        "$5 apples and 10$ more",
        "US$5 or A$6",
        "$HOME and $PATH",
        "$HOME:$PATH",
        r"\$x\$",
        r"\$5 and $x",
        "`$x$`",
        "```\n$x$\n```",
        "    $$x$$",
        "$ x $",
        "$$ $$",
        "a $`$ b",
        r"\\(x\\)",
        r"\(\)",
        r"\[\\\]",
        r"\(a",
        "$$\na\n\nb\n$$",
        "$$",
        "$",
        "a$",
    ],
)
def test_what_is_none(text: str) -> None:
    assert sources(text) == []
    assert "formula" not in "".join(render_blocks(text))


def test_two_formulas_and_an_amount() -> None:
    assert sources(r"For $x$ and \(y\) it costs $5, or $z$.") == ["x", "y", "z"]


# What comes out


@pytest.mark.parametrize(
    "latex",
    [
        r"\int_0^\infty e^{-x^2}\,dx=\frac{\sqrt\pi}{2}",
        r"\begin{cases}x&\text{if } x>0\\-x&\text{otherwise}\end{cases}",
        r"\begin{aligned}a&=b\\[4pt]&=c\end{aligned}",
        r"\begin{gather*}a\\b\end{gather*}",
        r"\begin{array}{c|c}a&b\\\hline c&d\end{array}",
        r"\left\{\frac12\right.",
        r"\boxed{\cancel{x}}",
        r"\mathbf{AB}\mathbb{RC}\mathcal{LB}\mathfrak{gC}\mathrm{sin}\mathit{h}\mathsf{T}\mathtt{t}",
        r"\underbrace{a+b}_{n}\overline{AB}\hat{x}\vec{v}",
        r"\xrightarrow{f}\binom nk\substack{a\\b}",
        r"\color{red}{x}\textcolor{blue}{y}",
        r"\text{a<b & <script>alert(1)</script>}",
        r"\href{javascript:alert(1)}{x}",
        r"\style{color:red;position:fixed}{x}\class{evil}{y}",
        r"\unicode{3c}script\unicode{3e}",
        r"\rule{900em}{900em}\hspace{9999em}\raise{99em}{x}",
        r"\colorbox{url(x)}{y}\fcolorbox{red}{blue}{z}",
        r'x"onload="alert(1)',
        r"\text{&lt;b&gt; &#x3c;i&#x3e;}",
    ],
)
def test_what_comes_out_is_complete_and_harmless(latex: str) -> None:
    tree = mathml(latex)
    check(tree)
    assert tree.attrib["alttext"] == latex
    shown = re.sub('alttext="[^"]*"', "", convert(latex, True).mathml)
    assert re.search(" style=| href=|<script|javascript", shown) is None


ATOMS = [
    *("x", "1", "+", "{", "}", "^", "_", "&", r"\\", r"\frac", r"\sqrt", r"\left(", r"\right)", "'", "<"),
    *(r"\text{<b>}", r"\mathbf{", r"\href{javascript:x}", r"\style{color:red}", r"\class{c}", r"\color{red}"),
    *(r"\begin{matrix}", r"\end{matrix}", r"\begin{cases}", r"\end{cases}", r"\unicode{", '"', " "),
    *(r"\not", r"\hspace{1em}", r"\rule{1em}{1em}", r"\genfrac", r"\over", "[", "]", "%", "\n", r"\sum"),
    *(r"\limits", r"\xrightarrow"),
    *(r"\mbox{", r"\verb|<i>|", r"\sideset", r"\skew", r"\operatorname{<u>}", "&#x3c;", "&lt;", r"\raise"),
]  # fmt: skip


@given(st.lists(st.sampled_from(ATOMS), max_size=14), st.booleans())
@settings(max_examples=400, deadline=None)
def test_nothing_harmful_comes_out_of_any_formula(pieces: list[str], display: bool) -> None:
    formula = convert("".join(pieces), display)
    assert bool(formula.mathml) != bool(formula.error)
    if formula.mathml:
        check(ElementTree.fromstring(formula.mathml))


@pytest.mark.parametrize(
    ("latex", "drawn"),
    [
        (r"\sum_{i=1}^n i", "munderover"),
        (r"\lim_{x\to0} x", "munder"),
        (r"\argmax_x y", "munder"),
        (r"\bigcup_i A", "munder"),
        (r"\int_0^1 x", "msubsup"),
    ],
)
def test_limits_stand_below_where_they_should(latex: str, drawn: str) -> None:
    assert mathml(latex).find(f".//{drawn}") is not None


def test_letters_of_alphabets_are_letters() -> None:
    assert (
        "".join(mathml(r"\mathbb{RZ}\mathcal{LB}\mathfrak{C}\mathbf{x}\boldsymbol{\alpha}").itertext())
        == "ℝℤℒℬℭ𝐱𝜶"
    )


def test_rows_outside_an_environment_are_rows() -> None:
    assert len(mathml(r"a = b \\ c = d").findall(".//mtr")) == 2
    assert len(mathml(r"a &= b \\ &= d").findall(".//mtr")) == 2


def test_a_name_of_a_function_keeps_its_distance() -> None:
    assert [child.tag for child in mathml(r"2\sin x")[0]] == ["mn", "mspace", "mi", "mspace", "mi"]


# What cannot be shown


@pytest.mark.parametrize(
    ("latex", "why"),
    [
        (r"\frac{a", "A { is not closed."),
        ("x}", "A } has no {."),
        (r"\foo{x}", r"\foo is not known."),
        ("x^", "Nothing follows ^ or _."),
        (r"\left(x", r"\left and \right do not match."),
        (r"\frac{a}", "not complete|few arguments"),
        (r"\begin{tikzpicture}x\end{tikzpicture}", "The environment tikzpicture is not known."),
        (r"\newcommand{\a}{\b\b}\a", r"\newcommand: definitions are not supported."),
        (r"\def\a{x}", "definitions are not supported"),
        ("x_1_2", "Two subscripts follow each other."),
        (r"\sqrt" * 700, "nested too deeply|not complete"),
        ("x^{" * 90 + "}" * 90, "nested too deeply|not complete|Nothing follows"),
        ("x" * (MAX_CHARACTERS + 1), str(MAX_CHARACTERS)),
    ],
)
def test_a_formula_that_cannot_be_shown_is_its_source_and_says_why(latex: str, why: str) -> None:
    [block] = render_blocks(f"$$\n{latex}\n$$")
    found = re.fullmatch(
        r'<div class="formula-box"><code class="formula formula--wrong" title="([^"]*)">(.*)</code></div>\n',
        block,
        re.S,
    )
    assert found
    assert any(words in found[1] for words in why.split("|"))
    assert latex in found[2].replace("&amp;", "&")


def test_huge_formulas_take_no_time() -> None:
    started = time.thread_time()
    for text in (r"\frac{a}{b}" * 2_000, "{" * 20_000, r"\(" * 10_000, "$a" * 10_000, r"a\[" * 6_000):
        for around in ("$$\n{}\n$$", "{}", r"\({}\)", "a ${}$ b"):
            render_blocks(around.replace("{}", text))
    assert time.thread_time() - started < 3


def test_the_largest_formula_takes_little_time() -> None:
    started = time.thread_time()
    render_blocks("$$" + "x+" * (MAX_CHARACTERS // 2) + "$$")
    assert time.thread_time() - started < 1.5


# While it is being written


@pytest.mark.parametrize(
    "text",
    [r"The sum \(a_1 * b_1 * c\)", "$$\n*a* + *b*\n# c\n$$", r"So $\frac{a}{b_1}$", "\\[\n- a\n- b\n\\]"],
)
def test_a_growing_formula_is_never_taken_for_markup(text: str) -> None:
    renderer = StreamRenderer()
    for character in text:
        renderer.feed(character)
        assert not re.search("<em>|<h[1-6]>|<li>", "".join(renderer.blocks))
    assert "<math " in renderer.blocks[-1]


def test_what_only_looked_like_one_becomes_text_again() -> None:
    renderer = StreamRenderer()
    renderer.feed("$$ is the *pid*\n")
    assert "formula--growing" in renderer.blocks[0]
    renderer.feed("\nNext")
    assert renderer.blocks == ["<p>$$ is the <em>pid</em></p>\n", "<p>Next</p>\n"]


def test_a_text_that_ends_within_a_formula_is_as_it_was_written() -> None:
    assert render_blocks("$$\na") == ["<p>$$\na</p>\n"]
    assert render_blocks(r"\(a") == ["<p>(a</p>\n"]
