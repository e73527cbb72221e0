"""The page in a real browser, with the real model behind it."""

import itertools
import re
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Locator, Page, expect

from browser.pages import new_chat
from support.browser import PROFILE, opened
from support.chat import LONG
from support.server import Server, serving

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
QUESTION = "Repeat: the answer of today"
ANSWER = "the answer of today"


def send(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message Fireside").fill(text)
    page.keyboard.press("Enter")


def answers(page: Page) -> Locator:
    return page.get_by_role("article", name="Fireside")


def asked(page: Page) -> Locator:
    return page.get_by_role("article", name="You")


def expect_status(message: Locator, status: str) -> None:
    expect(message).to_have_attribute("data-status", status, timeout=60_000)


def ask(page: Page, text: str) -> Locator:
    """Ask and wait for the whole answer."""
    before = answers(page).count()
    send(page, text)
    answer = answers(page).nth(before)
    expect_status(answer, "done")
    return answer


def stop(page: Page) -> None:
    page.get_by_role("button", name="Stop").click()


def test_stop_keeps_what_was_said(server: Server, page: Page) -> None:
    new_chat(page, server)
    send(page, LONG)
    expect(answers(page).locator(".block").first).to_contain_text("1, 2, 3")
    stop(page)
    expect_status(answers(page).first, "aborted")
    kept = answers(page).first.locator(".block").first.inner_text()
    assert kept
    page.reload()
    expect(answers(page).first.locator(".block").first).to_contain_text(kept[:20])


def test_two_prompts_in_a_row_are_answered_in_order(server: Server, page: Page) -> None:
    new_chat(page, server)
    send(page, "Repeat: bird")
    send(page, "Repeat: fish")
    expect(answers(page)).to_have_count(2, timeout=60_000)
    expect_status(answers(page).nth(1), "done")
    names = [article.get_attribute("aria-label") or "" for article in page.get_by_role("article").all()]
    texts = [article.inner_text() for article in asked(page).all()]
    assert len(names) == 4
    assert "bird" in texts[0]
    assert "fish" in texts[1]


def test_any_script_is_shown_as_it_was_typed(server: Server, page: Page) -> None:
    texts = ["🙂 👩‍👩‍👧 🏳️‍🌈", "漢字とかな", "שלום עולם", "مرحبا بالعالم", "<b>bold</b> & <script>x</script>"]
    new_chat(page, server)
    send(page, "\n\n".join(texts))
    for text in texts:
        expect(asked(page).first).to_contain_text(text)
    expect(answers(page)).to_have_count(1)
    page.reload()
    for text in texts:
        expect(asked(page).first).to_contain_text(text)


def test_a_huge_message_is_kept_and_its_refusal_explained(server: Server, page: Page) -> None:
    new_chat(page, server)
    send(page, "word " * 20_000)
    expect_status(answers(page).first, "error")
    expect(answers(page).first).to_contain_text("8192")
    page.reload()
    expect(asked(page).first).to_contain_text("word word")


def test_an_empty_message_is_not_sent(server: Server, page: Page) -> None:
    new_chat(page, server)
    send(page, "   ")
    expect(page.get_by_role("article")).to_have_count(0)
    assert "#/chat/" not in page.url


def link_to_shown(page: Page) -> Locator:
    """The row's link in the list of chats; its title is the model's."""
    return page.locator(f'a[href="{page.evaluate("location.hash")}"]')


def test_chats_are_opened_and_deleted_from_the_list(server: Server, page: Page) -> None:
    new_chat(page, server)
    ask(page, "Say hello to the first chat.")
    first = link_to_shown(page)
    page.get_by_role("button", name="New chat").first.click()
    ask(page, "Say hello to the second chat.")
    second = link_to_shown(page)
    first.click()
    expect(asked(page).first).to_contain_text("first chat")
    row = page.get_by_role("listitem").filter(has=first)
    row.hover()
    row.get_by_role("button", name="Options of chat").click()
    row.get_by_role("button", name="Delete chat").click()
    expect(first).to_have_count(0)
    expect(second).to_have_count(1)


def test_five_reloads_in_mid_answer_lose_and_repeat_nothing(server: Server, page: Page) -> None:
    new_chat(page, server)
    with server.slowed():
        send(page, LONG)
        expect(answers(page).locator(".block").first).to_be_visible()
        for _ in range(5):
            page.reload()
            expect(answers(page)).to_have_count(1)
            expect(asked(page)).to_have_count(1)
        before = answers(page).first.inner_text()[:40]
        stop(page)
    expect_status(answers(page).first, "aborted")
    page.reload()
    assert answers(page).first.inner_text()[:40] == before


def test_two_tabs_on_one_chat_show_the_same(server: Server, browser: Browser) -> None:
    with opened(browser) as one, opened(browser) as two:
        one.goto(server.url)
        ask(one, QUESTION)
        two.goto(one.url)
        expect(answers(two).first).to_contain_text(ANSWER)
        send(two, "Again.")
        expect(answers(one)).to_have_count(2)
        expect_status(answers(one).nth(1), "done")
        expect_status(answers(two).nth(1), "done")
        assert answers(one).nth(1).locator(".block").all_inner_texts() == (
            answers(two).nth(1).locator(".block").all_inner_texts()
        )


def test_eight_tabs_chat_at_once(server: Server, browser: Browser) -> None:
    context = browser.new_context(**PROFILE)
    tabs = [context.new_page() for _ in range(8)]
    for number, tab in enumerate(tabs):
        tab.goto(server.url)
        send(tab, f"Repeat: tab {number}")
    for number, tab in enumerate(tabs):
        expect_status(answers(tab).first, "done")
        expect(asked(tab).first).to_contain_text(f"tab {number}")
    context.close()


def test_the_page_shows_the_model_loading_and_then_answers(home: Path, browser: Browser) -> None:
    with serving(home) as server, opened(browser) as page:
        page.goto(server.url)
        pill = page.get_by_test_id("engine-pill")
        expect(pill).to_be_visible()
        assert pill.get_attribute("data-phase") != "ready"
        send(page, QUESTION)
        expect(answers(page).first).to_contain_text(ANSWER, timeout=60_000)
        expect(pill).to_have_attribute("data-phase", "ready")


def test_nothing_overflows_in_any_size_or_theme(server: Server, fresh: Page) -> None:
    new_chat(fresh, server)
    send(fresh, f"{'x' * 300}\n\n{LONG}")
    expect(answers(fresh).locator(".block").first).to_be_visible()
    for width, scheme in itertools.product((360, 1280), SCHEMES):
        fresh.set_viewport_size({"width": width, "height": 720})
        fresh.emulate_media(color_scheme=scheme)
        sizes = fresh.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert sizes[0] <= sizes[1], (width, scheme)
        expect(fresh.get_by_role("button", name="Stop")).to_be_in_viewport()


def test_a_chat_by_keyboard_alone(server: Server, page: Page) -> None:
    new_chat(page, server)
    expect(page.get_by_role("textbox", name="Message Fireside")).to_be_focused()
    page.keyboard.type("Hello")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("there")
    page.keyboard.press("Enter")
    expect(asked(page).first).to_contain_text(re.compile(r"Hello\s+there"))
    expect_status(answers(page).first, "done")
    page.keyboard.press("Alt+Shift+N")
    expect(page.get_by_role("article")).to_have_count(0)


def test_a_part_that_comes_just_after_it_was_to_be_drawn_is_shown(server: Server, browser: Browser) -> None:
    with opened(browser) as page:
        new_chat(page, server)
        shown = page.evaluate("""async () => {
            const { html, render } = await import("/assets/js/lib.js");
            const { lazy } = await import("/assets/js/ui/lazy.js");
            let arrive;
            const Part = lazy(() => new Promise((resolve) => (arrive = resolve)));
            Part.load();
            const place = document.createElement("div");
            render(html`<${Part} />`, place);
            arrive(() => "there");
            await new Promise((resolve) => setTimeout(resolve, 300));
            return place.textContent;
        }""")
    assert shown == "there"
