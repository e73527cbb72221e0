"""A chat of 2,000 messages, of which only those near the reader are in the document."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from agent.scripted import Step
from bench.page_replay import long_chat
from browser.pages import Scripted, answers, asked, expect_done, expect_true, new_chat, send
from support.server import Server

MESSAGES = 2_000
MOST = 40
"""Messages in the document: what is visible, and somewhat more on both sides."""
AT_END = """(() => {
    const { scrollHeight, scrollTop, clientHeight } = document.querySelector(".thread__scroll");
    return scrollHeight - scrollTop - clientHeight <= 1;
})()"""
AT_TOP = 'document.querySelector(".thread__scroll").scrollTop === 0'


@pytest.fixture(scope="module")
def chat(agent: Server) -> str:
    """The id of the long chat."""
    answer = httpx.post(f"{agent.url}/api/sessions/import", json=long_chat(MESSAGES, "Long"), timeout=30)
    return str(answer.raise_for_status().json()["imported"][0]["id"])


@pytest.fixture
def long(agent: Server, chat: str, page: Page) -> Page:
    """The page with the long chat, just opened."""
    new_chat(page, agent)
    page.goto(f"{agent.url}/#/chat/{chat}")
    expect(said(page, "Answer 1999.")).to_be_in_viewport()
    return page


def said(page: Page, words: str) -> Locator:
    return page.get_by_role("article").filter(has_text=words)


def thread(page: Page) -> Locator:
    return page.get_by_role("log", name="Conversation")


def expect_few(page: Page) -> None:
    assert 0 < page.get_by_role("article").count() <= MOST


def to_top(page: Page) -> None:
    thread(page).focus()
    page.keyboard.press("Home")
    expect(said(page, "Question 0:")).to_be_in_viewport()
    expect_true(page, AT_TOP)


def test_it_opens_at_its_end_and_says_where_in_all_of_it_that_is(long: Page) -> None:
    expect_true(long, AT_END)
    expect_few(long)
    last = said(long, "Answer 1999.")
    expect(last).to_have_attribute("aria-posinset", str(MESSAGES))
    expect(last).to_have_attribute("aria-setsize", str(MESSAGES))


def test_the_keyboard_reaches_the_top_and_the_end_again(long: Page) -> None:
    to_top(long)
    expect(said(long, "Question 0:")).to_have_attribute("aria-posinset", "1")
    expect_few(long)
    # What a chat does not bring along came when it was wanted.
    expect(said(long, "Answer 3.").locator(".markdown > .block").first).to_be_visible()
    expect(long.locator("[data-raw]")).to_have_count(0)
    long.keyboard.press("End")
    expect(said(long, "Answer 1999.")).to_be_in_viewport()
    expect_true(long, AT_END)


def test_scrolling_back_moves_nothing_that_is_visible(long: Page) -> None:
    """Heights above are guesses until they are shown: each step must move the text by itself alone."""
    long.mouse.move(700, 400)
    for _ in range(40):
        long.evaluate(_NOTE)
        long.mouse.wheel(0, -350)
        # Within a pixel, as rows have fractions of one.
        assert abs(long.evaluate(_MOVED) - 350) <= 2
    expect_few(long)


_NOTE = """(() => {
    const box = document.querySelector(".thread__scroll").getBoundingClientRect();
    window.noted = [...document.querySelectorAll(".thread__row")].find((row) => {
        const { top, bottom } = row.getBoundingClientRect();
        return bottom > box.top + 10 && top < box.bottom;
    });
    window.notedTop = window.noted.getBoundingClientRect().top;
})()"""
_MOVED = """async () => {
    const top = () => window.noted.getBoundingClientRect().top;
    for (let frame = 0, still = 0, before = top(); frame < 200 && still < 3; frame += 1) {
        await new Promise(requestAnimationFrame);
        still = top() === before && top() !== window.notedTop ? still + 1 : 0;
        before = top();
    }
    return top() - window.notedTop;
}"""
"""Once it has been still for some frames."""


def test_a_hit_of_the_search_in_the_middle_is_brought_into_view(long: Page) -> None:
    field = long.get_by_role("searchbox", name="Search chats")
    field.fill("Question 998")
    long.get_by_role("link", name=re.compile("Question 998")).first.click()
    found = said(long, "Question 998:")
    expect(found).to_be_in_viewport()
    expect(found).to_be_focused()
    expect(found).to_have_attribute("aria-posinset", "999")
    expect_few(long)
    # What has the focus stays in the document.
    long.evaluate('document.querySelector(".thread__scroll").scrollTop = 0')
    expect(said(long, "Question 0:")).to_be_in_viewport()
    expect(found).to_be_focused()
    field.fill("")


def test_what_is_selected_stays_and_scrolling_does_not_ask_what_that_is(long: Page) -> None:
    """To tell what is selected a browser lays out the page, which each step would wait for."""
    chosen = said(long, "Answer 1997.")
    chosen.locator(".markdown").evaluate("element => getSelection().selectAllChildren(element)")
    to_top(long)
    expect(chosen).to_have_count(1)
    long.evaluate("getSelection().empty()")
    long.keyboard.press("End")
    expect_true(long, AT_END)
    long.evaluate("""() => {
        window.asked = 0;
        const ask = document.getSelection.bind(document);
        document.getSelection = () => (window.asked++, ask());
    }""")
    to_top(long)
    expect(chosen).to_have_count(0)
    assert long.evaluate("window.asked") <= 1


def test_what_was_opened_by_hand_is_open_when_it_comes_back(long: Page) -> None:
    last = long.locator('[aria-posinset="1999"]')
    last.get_by_role("button", name="Edit and send again").click()
    editor = last.get_by_role("textbox")
    editor.fill("Another question")
    to_top(long)
    thread(long).focus()
    long.keyboard.press("End")
    expect(editor).to_have_value("Another question")
    long.keyboard.press("Escape")


def test_a_new_answer_is_followed_from_wherever_it_was_asked(
    agent: Server, scripted: Scripted, long: Page
) -> None:
    to_top(long)
    wait, go_on = scripted.gate()
    # So long a chat is summarized for the model first.
    summary: list[Step] = ["The tide turned each day."]
    scripted.answer(summary, ["It begins.\n\n", wait, *(f"Paragraph {number}.\n\n" for number in range(60))])
    send(long, "One more")
    expect(said(long, "It begins.")).to_be_in_viewport()
    expect(asked(long).last).to_contain_text("One more")
    go_on()
    expect_done(answers(long).last)
    expect(long.get_by_text("Paragraph 59.")).to_be_in_viewport()
    expect_true(long, AT_END)
    expect_few(long)
    scripted.answer([*(f"Line {number}.\n\n" for number in range(40))])
    send(long, "And again")
    expect(said(long, "Line 39.")).to_be_in_viewport()
    expect_few(long)
