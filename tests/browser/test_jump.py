"""The way to the end of a chat is offered where there is one."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from browser.pages import Scripted, ask, new_chat
from support.server import Server


def test_a_chat_that_fits_the_window_offers_no_jump_to_its_end(
    agent: Server, page: Page, scripted: Scripted
) -> None:
    new_chat(page, agent)
    scripted.answer(["A short answer."])
    ask(page, "Where do wombats sleep?")
    page.goto(f"{agent.url}/#/chat")
    page.get_by_role("searchbox", name="Search chats").fill("wombats")
    page.get_by_role("navigation").get_by_role("link", name="Where do wombats sleep?").last.click()
    prompt = page.get_by_role("article", name="You")
    expect(prompt).to_be_focused()
    latest = page.get_by_role("button", name="Jump to latest")
    expect(latest).to_have_count(0)
    page.get_by_role("log", name="Conversation").press("Home")
    expect(latest).to_have_count(0)
