"""What an answer shows: formulas, notes, tables, images and code, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from browser.pages import Scripted, answers, ask, expect_done, expect_true, new_chat, send
from support.server import Server

PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAA"
    "DUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
RICH = rf"""# On waves[^1]

For $x \ge 0$ it costs $5 or $10:

$$
\int_0^\infty e^{{-x^2}}\,dx = \frac{{\sqrt{{\pi}}}}{{2}}
$$

So \(\mathbf{{v}}\) is known, and $\frac{{a$ is not.

- [x] read
- [ ] write

| left | right |
|:-----|------:|
| a    | $b_1$ |

![a dot]({PNG}) ![elsewhere](http://127.0.0.1:9/x.png)

[^1]: Of *water*.
"""
WIDE = "$$" + " + ".join(f"x_{{{n}}}" for n in range(60)) + "$$"


def show(page: Page, agent: Server, scripted: Scripted, text: str) -> Locator:
    scripted.answer([text])
    new_chat(page, agent)
    return ask(page, "Show it")


@pytest.fixture
def copying(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])


def clipboard(page: Page) -> str:
    return page.evaluate("navigator.clipboard.readText()")


def test_an_answer_shows_formulas_tasks_tables_and_its_own_images(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    answer = show(page, agent, scripted, RICH)
    expect(answer.get_by_role("heading", level=2, name="On waves")).to_be_visible()
    expect(answer.locator("math")).to_have_count(4)
    expect(answer.locator("math mfrac")).to_be_visible()
    expect(answer).to_contain_text("it costs $5 or $10:")
    wrong = answer.locator(".formula--wrong")
    expect(wrong).to_have_text(r"$\frac{a$")
    expect(wrong).to_have_attribute("title", "A { is not closed.")
    expect(answer.get_by_role("img", name="Done")).to_be_visible()
    expect(answer.get_by_role("img", name="To do")).to_be_visible()
    assert answer.get_by_role("img", name="a dot").evaluate("image => image.naturalWidth") == 1
    expect(answer.get_by_role("link", name="elsewhere")).to_have_attribute("href", "http://127.0.0.1:9/x.png")
    assert not any(":9/" in url for url in asked)
    assert answer.locator("[style]").count() == 0


def test_a_note_leads_to_its_text_and_back(agent: Server, scripted: Scripted, page: Page) -> None:
    answer = show(page, agent, scripted, RICH)
    address = page.url
    answer.get_by_role("button", name="Footnote 1", exact=True).focus()
    page.keyboard.press("Enter")
    back = answer.get_by_role("button", name="Footnote 1: back to the text")
    expect(back).to_be_focused()
    page.keyboard.press("Enter")
    expect(answer.get_by_role("button", name="Footnote 1", exact=True)).to_be_focused()
    assert page.url == address


def test_an_answer_is_copied_as_markdown_and_as_text(
    agent: Server, scripted: Scripted, page: Page, copying: None
) -> None:
    answer = show(page, agent, scripted, RICH)
    answer.get_by_role("button", name="Copy message").click()
    assert clipboard(page) == RICH.strip()
    opener = answer.get_by_role("button", name="Copy as…")
    opener.click()
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    expect(opener).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(opener).to_be_focused()
    assert clipboard(page) == RICH.strip()
    opener.click()
    answer.get_by_role("button", name="Copy as text").click()
    assert clipboard(page).splitlines()[:5] == [
        "On waves[1]",
        "",
        r"For $x \ge 0$ it costs $5 or $10:",
        "",
        r"$$\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}$$",
    ]
    assert "☑ read\n☐ write\n\nleft\tright\na\t$b_1$\n\na dot elsewhere\n\n[1] Of water." in clipboard(page)


def test_a_selection_with_a_formula_is_copied_with_its_source(
    agent: Server, scripted: Scripted, page: Page, copying: None
) -> None:
    answer = show(page, agent, scripted, "For $x_1$ it **holds**.\n\n- one\n- two\n")
    answer.locator(".markdown").evaluate("element => getSelection().selectAllChildren(element)")
    page.keyboard.press("Control+c")
    assert clipboard(page) == "For $x_1$ it holds.\n\n• one\n• two"


def test_a_formula_that_is_too_wide_scrolls_and_can_be_reached(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    answer = show(page, agent, scripted, f"{WIDE}\n\n$$a$$")
    expect(answer.get_by_role("group", name="Formula")).to_have_count(1)
    answer.get_by_role("group", name="Formula").focus()
    page.keyboard.press("ArrowRight")
    expect_true(page, "document.querySelector('.formula-box').scrollLeft > 0")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert answer.locator(".formula-box").first.evaluate("box => box.scrollHeight <= box.clientHeight")


def test_a_formula_comes_at_once_and_is_not_taken_for_markup_before(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    wait, go_on = scripted.gate()
    scripted.answer(["So it is\n\n$$\n*a* + ", wait, "*b*\n$$\n\nand so on"])
    new_chat(page, agent)
    send(page, "Show it")
    expect(answers(page).locator(".formula--growing")).to_have_text("$$\n*a* +")
    go_on()
    expect_done(answers(page).first)
    expect(answers(page).locator("math")).to_be_visible()
    expect(answers(page).locator("em, .formula--growing")).to_have_count(0)


CODE = 'Look:\n\n```python title="src/my app.py"\nprint("' + "x" * 400 + '")\n```\n\nand\n\n```\nplain\n```\n'


def test_code_is_named_copied_saved_and_wrapped(
    agent: Server, scripted: Scripted, page: Page, copying: None, tmp_path: Path
) -> None:
    answer = show(page, agent, scripted, CODE)
    code = answer.get_by_role("group", name="Code: src/my app.py")
    expect(code.locator(".hljs-string")).to_be_visible()
    answer.get_by_role("button", name="Copy code").first.click()
    expect(answer.get_by_role("button", name="Copy code").first).to_have_text("Copied")
    source = 'print("' + "x" * 400 + '")\n'
    assert clipboard(page) == source
    with page.expect_download() as saving:
        answer.get_by_role("button", name="Save code as my app.py").click()
    assert saving.value.suggested_filename == "my app.py"
    saving.value.save_as(tmp_path / "saved")
    assert (tmp_path / "saved").read_text() == source
    expect(answer.get_by_role("button", name="Save code as code.txt")).to_be_visible()
    assert code.evaluate("pre => pre.scrollWidth > pre.clientWidth")
    wrap = answer.get_by_role("button", name="Wrap long lines")
    wrap.first.click()
    expect(wrap.nth(1)).to_have_attribute("aria-pressed", "true")
    assert code.evaluate("pre => pre.scrollWidth <= pre.clientWidth")
    page.reload()
    expect(wrap.first).to_have_attribute("aria-pressed", "true")
    assert code.evaluate("pre => pre.scrollWidth <= pre.clientWidth")


LINES = [f"line {number} of <many> & more" for number in range(5_000)]


def test_code_of_five_thousand_lines_grows_quickly_and_is_whole(
    agent: Server, scripted: Scripted, page: Page, copying: None
) -> None:
    pieces = ["\n".join(LINES[start : start + 50]) + "\n" for start in range(0, 5_000, 50)]
    scripted.answer(["```text\n", *pieces, "```\n"])
    new_chat(page, agent)
    page.evaluate(
        "window.longest = 0; new PerformanceObserver(list => { for (const task of list.getEntries())"
        " window.longest = Math.max(window.longest, task.duration); }).observe({type: 'longtask'})"
    )
    answer = ask(page, "Show it")
    assert page.evaluate("window.longest") < 200
    answer.get_by_role("button", name="Copy code").click()
    assert clipboard(page).splitlines() == LINES
    answer.locator("pre").evaluate("element => getSelection().selectAllChildren(element)")
    page.keyboard.press("Control+c")
    assert clipboard(page).splitlines() == LINES
    page.reload()
    expect(answers(page).locator("code")).to_contain_text("line 4999")
    assert answers(page).locator("code").evaluate("code => code.textContent") == "\n".join(LINES) + "\n"


def test_paragraphs_of_both_directions_keep_their_own(agent: Server, scripted: Scripted, page: Page) -> None:
    answer = show(page, agent, scripted, "- שלום `a.b` עולם\n- hello\n\n> מים\n\nمرحبا $x$ بكم\n")
    directions = answer.locator("ul, li, blockquote, .block > p").evaluate_all(
        "elements => elements.map(element => getComputedStyle(element).direction)"
    )
    assert directions == ["rtl", "rtl", "ltr", "rtl", "rtl"]
    assert answer.locator("code, math").evaluate_all(
        "elements => elements.map(element => getComputedStyle(element).direction)"
    ) == ["ltr", "ltr"]


def test_long_numbers_of_a_list_have_their_room(agent: Server, scripted: Scripted, page: Page) -> None:
    answer = show(page, agent, scripted, "998. a\n\n---\n\n999. b\n1000. c\n\n---\n\n123456789. d\n")
    indents = answer.locator("ol").evaluate_all(
        "lists => lists.map(list => parseFloat(getComputedStyle(list).paddingInlineStart))"
    )
    widths = answer.locator("ol").evaluate_all(
        """lists => lists.map((list) => {
            const number = document.createElement("span");
            number.textContent = `${list.start + list.children.length - 1}. `;
            list.lastElementChild.prepend(number);
            const { width } = number.getBoundingClientRect();
            number.remove();
            return width;
        })"""
    )
    shown = 20  # what may hang out of the block
    assert [indent + shown >= width for indent, width in zip(indents, widths, strict=True)] == [True] * 3
    assert indents[0] < indents[1] < indents[2]


def test_hostile_text_does_nothing(agent: Server, scripted: Scripted, page: Page) -> None:
    hostile = [
        r"$\href{javascript:window.__x=1}{click}$",
        r"$$\style{color:red}{x}\class{y}{z}\text{<img src=x onerror=window.__x=1>}$$",
        r"\(x\text{</math><script>window.__x=1</script>}\)",
        "```js title='\"><img src=x onerror=window.__x=1>'\nx\n```",
        'a[^"><img/src=x/onerror=window.__x=1>]\n\n[^"><img/src=x/onerror=window.__x=1>]: b',
        "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    ]
    answer = show(page, agent, scripted, "\n\n".join(hostile))
    answer.get_by_role("button", name=re.compile("Footnote")).first.click()
    for link in answer.locator("math *").all()[:3]:
        link.dispatch_event("click")
    assert page.evaluate("window.__x") is None
    assert answer.locator("[style], script, img, [href]").count() == 0
