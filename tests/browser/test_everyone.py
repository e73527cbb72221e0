"""The page for everyone: narrow and zoomed windows, other scripts, keyboards, screen readers, few colours."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from agent.scripted import Step, call_chunks, reasoning_chunk
from browser.pages import Scripted, answers, approval, ask, asked, expect_done, expect_true, new_chat, send
from support.browser import opened
from support.server import Server

WIDE = """A line of words that is long enough to be broken, and then

| Turn | Time | Height | Wind | Note |
| --- | --- | --- | --- | --- |
| High water | 06:12 | 4.1 m | west | a-very-long-word-that-does-not-break |

$$x_1 + x_2 + x_3 + x_4 + x_5 + x_6 + x_7 + x_8 + x_9 + x_{10} + x_{11} + x_{12} + x_{13} = y$$

```python
print("a line of code that is much longer than a narrow window is wide, whatever its font is")
```

https://example.org/a/very/long/address/without/any/place/to/break/it/in/two/which/goes/on/and/on
"""
PLACES = (
    *("#/memory", "#/memory/.about", "#/memory/.new", "#/status", "#/deleted"),
    *(
        f"#/settings/{tab}"
        for tab in "approvals tools mcp instructions presets keys appearance about".split()
    ),
)
NARROW = (("320 px", 320, 568), ("200 %", 640, 400))
"""The second is a window of 1280 by 800 at twice the size."""

TOO_WIDE = """() => {
    const may = ".out, .diff, pre, .table-box, .scroller, .sections, [class*=formula]";
    const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
    const wide = (element) => element.scrollWidth > element.clientWidth + 1;
    return [document.documentElement, ...document.querySelectorAll("body, body *")]
        .filter((element) => element.checkVisibility() && !element.matches("textarea, input, select"))
        .filter((element) => scrolls(element) || element === document.documentElement)
        .filter((element) => wide(element) && !element.matches(may))
        .map((element) => `${element.className}: ${element.scrollWidth} > ${element.clientWidth}`);
}"""
"""What scrolls sideways and is no code, no table and no formula."""

SMALL = """() => [...document.querySelectorAll("button, a, summary, input, select, textarea")]
    .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
    .filter((element) => !element.closest("[inert], .visually-hidden, p, dd, dt, .markdown, .links, .skip"))
    .map((element) => [element, (element.closest("label") ?? element).getBoundingClientRect()])
    .filter(([, box]) => box.width > 2 && (box.width < 24 || box.height < 24))
    .map(([element, box]) => `${element.className} ${element.textContent} ${box.width}x${box.height}`)"""
"""What is too small for a finger; links in a line of text may be."""

FOCUS = """() => {
    const element = document.activeElement;
    const shows = (candidate) => {
        const { outlineStyle, outlineWidth } = getComputedStyle(candidate);
        return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
    };
    const seen = element.closest(".find, .composer__box, .palette__line, label") ?? element;
    const ring = [element, seen, element.nextElementSibling].filter(Boolean).some(shows);
    const box = element.getBoundingClientRect();
    const inside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    const label = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent;
    const name = (label ?? element.textContent).trim().slice(0, 60);
    return { name, ring, inside, body: element === document.body };
}"""
LIVE = """() => {
    globalThis.spoken = 0;
    const live = "[aria-live], [role=status], [role=alert], [role=log]";
    const count = (records) => {
        for (const { target } of records) {
            const region = (target.nodeType === 1 ? target : target.parentElement)?.closest(live);
            if (region && region.getAttribute("aria-live") !== "off") globalThis.spoken += 1;
        }
    };
    const all = { subtree: true, childList: true, characterData: true };
    new MutationObserver(count).observe(document.body, all);
}"""
NOTIFIED = """
const notify = Document.prototype.ariaNotify;
if (notify) {
    Document.prototype.ariaNotify = function (...words) {
        globalThis.spoken += 1;
        return notify.apply(this, words);
    };
}
"""
MOVING = """() => document.getAnimations()
    .filter((animation) => animation.playState === "running")
    .map((animation) => animation.effect.getComputedTiming())
    .filter(({ activeDuration }) => activeDuration > 1)
    .length"""


def wide_turn(page: Page, server: Server, scripted: Scripted) -> None:
    """A chat with all that can be wide, which then asks."""
    steps: list[Step] = [reasoning_chunk("Wide things. " * 20), WIDE]
    command = "echo " + "a-long-argument-" * 12
    scripted.answer([*steps, *call_chunks("bash", {"command": command})], ["Done."])
    new_chat(page, server)
    send(page, "Show me " + "something-that-does-not-break-" * 6)
    expect(approval(page)).to_be_visible(timeout=15_000)
    send(page, "And then " + "go-on-" * 30)
    expect(page.get_by_test_id("queued")).to_be_visible(timeout=15_000)


def show(page: Page, server: Server, place: str) -> None:
    page.goto(f"{server.url}/{place}")
    expect(
        page.get_by_role("region", name=re.compile("^(Memory|Settings|Status|Recently deleted)$"))
    ).to_be_visible()
    expect(page.locator(".set__skeleton, .skeleton")).to_have_count(0)


@pytest.mark.parametrize(("width", "height"), [size[1:] for size in NARROW], ids=[size[0] for size in NARROW])
def test_no_view_scrolls_sideways(
    agent: Server, scripted: Scripted, browser: Browser, width: int, height: int
) -> None:
    agent.post("/api/memory/init", {})
    window: Any = {"width": width, "height": height}
    with opened(browser, viewport=window, device_scale_factor=2 if width == 640 else 1) as page:
        wide_turn(page, agent, scripted)
        assert page.evaluate(TOO_WIDE) == []
        for panel in ("engine-pill", "this-chat"):
            page.get_by_test_id(panel).click()
            assert page.evaluate(TOO_WIDE) == [], panel
            page.get_by_role("heading", level=1).click()
        page.keyboard.press("Control+k")
        page.keyboard.type("show")
        expect(page.get_by_role("listbox", name="Found").get_by_role("option").first).to_be_visible()
        assert page.evaluate(TOO_WIDE) == []
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Open the list of chats").click()
        assert page.evaluate(TOO_WIDE) == []
        page.keyboard.press("Escape")
        for place in PLACES:
            show(page, agent, place)
            assert page.evaluate(TOO_WIDE) == [], place
        page.goto(f"{agent.url}/docs")
        expect(page.locator("h2").first).to_be_visible()
        assert page.evaluate(TOO_WIDE) == []


def test_what_is_touched_is_large_enough(agent: Server, scripted: Scripted, browser: Browser) -> None:
    agent.post("/api/memory/init", {})
    with opened(browser, viewport={"width": 360, "height": 740}, has_touch=True) as page:
        wide_turn(page, agent, scripted)
        assert page.evaluate(SMALL) == []
        page.get_by_role("button", name="Open the list of chats").click()
        assert page.evaluate(SMALL) == []
        page.keyboard.press("Escape")
        for place in PLACES:
            show(page, agent, place)
            assert page.evaluate(SMALL) == [], place


def direction(element: Locator) -> str:
    return str(element.evaluate("(element) => getComputedStyle(element).direction"))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "كيف أحفظ الخبز؟",
            "الخبز **يجف**.\n\n1. قماش\n\n| المكان |\n| --- |\n| قماش |\n\n```sh\nls -la\n```\n",
        ),
        ("איך שומרים לחם?", "הלחם **מתייבש**.\n\n1. בד\n\n| מקום |\n| --- |\n| בד |\n\n```sh\nls -la\n```\n"),
    ],
    ids=["Arabic", "Hebrew"],
)
def test_text_goes_its_own_way_and_code_from_left_to_right(
    agent: Server, scripted: Scripted, page: Page, question: str, answer: str
) -> None:
    scripted.answer([answer])
    new_chat(page, agent)
    box = page.get_by_role("textbox", name="Message Fireside")
    box.fill(question)
    assert direction(box) == "rtl"
    box.fill("")
    shown = ask(page, question)
    assert direction(asked(page).first.locator(".markdown p")) == "rtl"
    for part in ("p", "ol", "table"):
        assert direction(shown.locator(f".markdown {part}").first) == "rtl", part
    assert direction(shown.locator(".markdown pre").first) == "ltr"
    page.get_by_role("searchbox", name="Search chats").fill(question)
    assert direction(page.get_by_role("searchbox", name="Search chats")) == "rtl"
    page.get_by_role("searchbox", name="Search chats").fill("")


def test_enter_that_ends_a_composition_does_not_send(agent: Server, scripted: Scripted, page: Page) -> None:
    scripted.answer(["はい。"])
    new_chat(page, agent)
    box = page.get_by_role("textbox", name="Message Fireside")
    box.focus()
    devtools = page.context.new_cdp_session(page)
    composing = {"text": "にほん", "selectionStart": 3, "selectionEnd": 3}
    devtools.send("Input.imeSetComposition", composing)
    expect(box).to_have_value("にほん")
    page.keyboard.press("Enter")
    expect(answers(page)).to_have_count(0)
    assert "にほん" in box.input_value()
    box.fill("")
    devtools.send("Input.imeSetComposition", composing)
    devtools.send("Input.insertText", {"text": "日本"})
    expect(box).to_have_value("日本")
    page.keyboard.press("Enter")
    expect_done(answers(page).first)
    expect(asked(page)).to_contain_text("日本")
    devtools.detach()


def test_with_less_motion_nothing_moves(agent: Server, scripted: Scripted, browser: Browser) -> None:
    wait, go_on = scripted.gate()
    scripted.answer([wait, "Here."])
    with opened(browser, reduced_motion="reduce") as page:
        new_chat(page, agent)
        send(page, "Take your time")
        expect(page.get_by_test_id("turn-progress")).to_be_visible()
        expect_true(page, f"({MOVING})() === 0")
        page.emulate_media(reduced_motion="no-preference")
        expect_true(page, f"({MOVING})() > 0")  # there is something that could move
        go_on()
        expect_done(answers(page).first)


def test_with_the_colours_of_the_system_everything_can_be_told_apart(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["Here."])
    new_chat(page, agent)
    page.emulate_media(forced_colors="active")
    ask(page, "Say something")
    for chosen in (".chat--current", ".theme__choice input:checked + span"):
        expect(page.locator(chosen).first).not_to_have_css("outline-style", "none")
    send_button = page.get_by_role("button", name="Send", exact=True)
    expect(send_button).not_to_have_css("border-top-width", "0px")
    dot, ground = page.locator(".pill__dot"), page.locator("body")
    shade = "(element) => getComputedStyle(element).backgroundColor"
    assert dot.evaluate(shade) != ground.evaluate(shade)
    for icon in page.locator("button:visible .icon").all():
        assert icon.evaluate("(element) => getComputedStyle(element).stroke") != ground.evaluate(shade)
    page.emulate_media(forced_colors="none")


def test_the_tab_key_reaches_everything_in_order_and_shows_where_it_is(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["One.\n\n```sh\nls\n```\n"])
    new_chat(page, agent)
    ask(page, "A question")
    assert page.locator("[tabindex]:not([tabindex='0']):not([tabindex='-1'])").count() == 0
    names: list[str] = []
    page.get_by_role("button", name="Skip to the message box").focus()
    for _ in range(400):
        at = page.evaluate(FOCUS)
        if at["body"] or (names[1:] and at["name"] == names[0]):
            break
        names.append(at["name"])
        assert at["ring"], f"no focus is seen on {names[-1]!r}"
        assert at["inside"], f"{names[-1]!r} has the focus out of view"
        page.keyboard.press("Tab")
    places = [
        next((place for place, name in enumerate(names) if re.search(wanted, name)), -1)
        for wanted in (
            *("^Skip to", "^Search everything", "^New chat", "^Search chats", "^Options of chat", "^Memory"),
            *("^Theme|^Auto", "^Engine", "^This chat", "^Edit and send", "^Regenerate", "^Message Fireside"),
        )
    ]
    assert places[0] == 0, names
    assert places == sorted(places), (places, names)


def test_a_stream_is_spoken_by_the_block_and_not_by_the_word(
    agent: Server, scripted: Scripted, fresh: Page
) -> None:
    fresh.add_init_script(NOTIFIED)
    words = [f"word{number} " for number in range(400)]
    scripted.answer([*words[:200], "\n\n", *words[200:]])
    new_chat(fresh, agent)
    fresh.evaluate(LIVE)
    ask(fresh, "Say a lot")
    expect(answers(fresh).first).to_contain_text("word399")
    assert 4 <= fresh.evaluate("spoken") <= 20  # begin, two blocks, end
