"""The palette: everything by its name, with the keyboard alone, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from agent.scripted import call_chunks, reasoning_chunk
from browser.pages import (
    Scripted,
    answers,
    ask,
    asked,
    expect_done,
    expect_inside,
    expect_true,
    new_chat,
    send,
)
from support.browser import opened
from support.server import Server


@pytest.fixture
def chat(agent: Server, scripted: Scripted, page: Page) -> Page:
    """A page with a chat in it."""
    scripted.answer(["The heron stands still."])
    new_chat(page, agent)
    ask(page, "Birds at the pond")
    expect(page.locator(".chat--current")).to_contain_text("Tides")
    return page


def opened_palette(page: Page) -> Locator:
    page.keyboard.press("Control+k")
    return page.get_by_role("combobox", name="Search chats, memory and actions")


def options(page: Page) -> Locator:
    return page.get_by_role("listbox", name="Found").get_by_role("option")


def active(page: Page) -> Locator:
    return options(page).and_(page.locator("[aria-selected=true]"))


def take(page: Page, text: str, name: str) -> None:
    """Find an entry by typing and take it, with the keyboard alone."""
    opened_palette(page)
    page.keyboard.type(text)
    expect(options(page).filter(has_text=name).first).to_be_visible()
    while name not in (active(page).text_content() or ""):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("combobox", name="Search chats, memory and actions")).to_have_count(0)


def test_the_keys_move_what_the_field_names_as_active_and_escape_gives_the_focus_back(chat: Page) -> None:
    message = chat.get_by_role("textbox", name="Message Fireside")
    message.focus()
    field = opened_palette(chat)
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-expanded", "true")
    for key, place in [("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("PageUp", 0), ("ArrowUp", -1)]:
        chat.keyboard.press(key)
        chosen = options(chat).nth(place)
        expect(chosen).to_have_attribute("aria-selected", "true")
        expect(active(chat)).to_have_count(1)
        expect(field).to_have_attribute("aria-activedescendant", chosen.get_attribute("id") or "none")
        expect(chosen).to_be_in_viewport()
    chat.keyboard.type("no such thing at all")
    expect(options(chat)).to_have_count(0)
    expect(chat.get_by_role("status").filter(has_text="Nothing found.")).to_be_attached()
    expect(field).not_to_have_attribute("aria-activedescendant", re.compile("."))
    chat.keyboard.press("Escape")
    expect(field).to_have_count(0)
    expect(message).to_be_focused()


def test_what_is_typed_before_the_palette_is_there_counts(agent: Server, page: Page) -> None:
    held: list[Route] = []
    page.route("**/palette/palette.js*", lambda route: held.append(route))
    page.goto(agent.url)
    expect(page.get_by_role("textbox", name="Message Fireside")).to_be_focused()
    page.keyboard.press("Control+k")
    page.keyboard.type("sta")
    expect(page.get_by_role("textbox", name="Search chats, memory and actions")).to_have_value("sta")
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    field = page.get_by_role("combobox", name="Search chats, memory and actions")
    expect(field).to_be_focused()
    page.keyboard.type("tus")
    expect(field).to_have_value("status")
    expect(options(page).filter(has_text="Status").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("textbox", name="Message Fireside")).to_be_focused()


def test_escape_in_the_palette_does_not_stop_the_answer(chat: Page, scripted: Scripted) -> None:
    wait, go_on = scripted.gate()
    scripted.answer(["It waits", wait, " on."])
    send(chat, "And then?")
    expect(answers(chat).last).to_contain_text("It waits")
    opened_palette(chat)
    chat.keyboard.press("Escape")
    expect(chat.get_by_role("button", name="Stop")).to_be_enabled()
    go_on()
    expect_done(answers(chat).last)


def test_what_can_be_done_to_a_chat_is_done_from_the_palette(chat: Page, scripted: Scripted) -> None:
    take(chat, "rename", "Rename this chat")
    title = chat.get_by_role("textbox", name="New title")
    expect(title).to_have_value("Tides")
    title.fill("Herons")
    chat.keyboard.press("Enter")
    expect(chat.get_by_role("heading", name="Herons", level=1)).to_be_visible()
    take(chat, "pin", "Pin this chat")
    expect(chat.get_by_role("region", name="Pinned")).to_contain_text("Herons")
    scripted.answer(["Another heron."])
    take(chat, "again", "Regenerate the last answer")
    expect(answers(chat).first).to_contain_text("Another heron.")
    with chat.expect_download() as download:
        take(chat, "export mark", "Export this chat as Markdown")
    assert "Another heron." in download.value.path().read_text()
    take(chat, "toggle theme", "Switch to the dark theme")
    expect(chat.locator("html")).to_have_attribute("data-theme", "dark")
    take(chat, "temp", "Temporary chat")
    expect(chat.get_by_role("heading", name="Temporary chat")).to_be_visible()
    expect(chat.get_by_role("textbox", name="Message Fireside")).to_be_focused()
    take(chat, "hero", "Herons")
    expect(answers(chat).first).to_contain_text("Another heron.")
    take(chat, "/archive", "Archive this chat")
    expect(chat.get_by_text(re.compile("Archived \\(1\\)"))).to_be_visible()
    take(chat, "delete", "Delete this chat")
    expect(chat.get_by_role("heading", name="New chat")).to_be_visible()
    chat.get_by_text(re.compile("“Herons” is deleted.")).locator("xpath=..").get_by_role(
        "button", name="Undo"
    ).click()
    expect(answers(chat).first).to_contain_text("Another heron.")


def test_an_answer_is_stopped_and_copied_from_the_palette(chat: Page, scripted: Scripted) -> None:
    wait, _ = scripted.gate()
    scripted.answer(["Half of", wait])
    send(chat, "And then?")
    expect(answers(chat).last).to_contain_text("Half of")
    take(chat, "stop", "Stop the answer")
    expect(answers(chat).last).to_have_attribute("data-status", "aborted")
    chat.context.grant_permissions(["clipboard-read", "clipboard-write"])
    take(chat, "copy", "Copy the last answer")
    expect_true(chat, "async () => await navigator.clipboard.readText() === 'Half of'")


def test_places_are_found(chat: Page) -> None:
    take(chat, "stat", "Status")
    expect(chat.get_by_role("heading", name="Status", level=1)).to_be_visible()
    take(chat, "api keys", "API keys")
    expect(chat.get_by_role("heading", name="API keys", level=2)).to_be_visible()
    take(chat, "sampling", "Model, thinking and sampling")
    expect(chat.get_by_role("dialog", name="Model", exact=True)).to_be_visible()


def test_everything_that_was_said_thought_done_attached_or_remembered_is_found(
    agent: Server, scripted: Scripted, notes: Path, page: Page
) -> None:
    httpx.post(f"{agent.url}/api/memory/init").raise_for_status()
    scripted.answer(
        [reasoning_chunk("Perhaps a quagga."), *call_chunks("read", {"path": "notes.txt"})],
        ["High tide, says the okapi."],
    )
    new_chat(page, agent)
    send(page, "Where is the axolotl?")
    expect_done(answers(page).first)
    page.get_by_role("button", name="New chat").first.click()
    for word, kind in [("axolotl", "Message"), ("quagga", "Thinking"), ("06:12", "Tool output")]:
        opened_palette(page)
        page.keyboard.type(word)
        hit = options(page).filter(has_text=kind)
        expect(hit.locator("mark").first).to_have_text(word)
        page.keyboard.press("Escape")
    take(page, "okapi", "High tide, says the okapi.")
    expect(page.locator(".found")).to_contain_text("High tide, says the okapi.")
    expect(page.locator(".found")).to_be_focused()
    expect(asked(page).first).to_contain_text("axolotl")


def test_a_found_article_is_there_once_opens_at_its_place_and_a_snippet_stays_text(chat: Page) -> None:
    hit = {
        "kind": "memory",
        "session_id": None,
        "session_title": None,
        "message_id": None,
        "name": "Birds/Heron",
        "heading": "Nests",
        "archived": False,
        "snippet": "## Nests | In [[Pond|the pond]] | &lt;b&gt; <mark>reed</mark> <img src=x><i>live</i>",
    }
    again = {**hit, "heading": "", "snippet": "<mark>reed</mark>"}
    chat.route("**/api/search?*", lambda route: route.fulfill(json={"hits": [hit, again], "note": None}))
    expect(opened_palette(chat)).to_be_focused()
    chat.keyboard.type("reed")
    found = options(chat).filter(has_text="Birds/Heron")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("Nests · In the pond · <b> reed")
    expect(found).to_contain_text("Memory · Nests")
    expect(found.locator("b, img, i")).to_have_count(0)
    found.click()
    expect(chat).to_have_url(re.compile("#/memory/Birds/Heron//Nests$"))


def test_what_was_found_is_seen_in_the_few_lines_of_the_sidebar(chat: Page) -> None:
    words = "a long way before it comes, " * 6
    hit = {
        **{"kind": "message", "session_id": "s", "session_title": "Far", "message_id": "m", "name": None},
        **{"heading": None, "archived": False, "snippet": f"{words}the <mark>reed</mark> bends"},
    }
    chat.route("**/api/search?*", lambda route: route.fulfill(json={"hits": [hit], "note": None}))
    chat.get_by_role("searchbox", name="Search chats").fill("reed")
    expect(chat.get_by_test_id("hit")).to_contain_text(re.compile(r"…[a-z ,]{1,40} the reed bends$"))


def test_the_newest_search_wins_whenever_the_older_one_is_answered(chat: Page) -> None:
    late: list[Route] = []

    def answer(route: Route) -> None:
        query = parse_qs(urlsplit(route.request.url).query)["q"][0]
        if query == "slow":
            late.append(route)
            return
        hit = {
            "kind": "message",
            "session_id": "x",
            "message_id": "y",
            "snippet": query,
            "session_title": query,
        }
        route.fulfill(json={"hits": [hit], "note": None})

    chat.route("**/api/search?*", answer)
    field = opened_palette(chat)
    field.fill("slow")
    expect(chat.locator(".palette__state")).to_contain_text("Looking…")
    while not late:
        chat.wait_for_timeout(20)
    field.fill("quick")
    expect(options(chat).filter(has_text="quick")).to_be_visible()
    late[0].fulfill(json={"hits": [], "note": "The older one"})
    chat.wait_for_timeout(100)
    expect(options(chat).filter(has_text="quick")).to_be_visible()
    expect(chat.get_by_text("The older one")).to_have_count(0)


def test_offline_titles_are_still_searched_and_the_page_says_so(
    agent: Server, scripted: Scripted, browser: Browser
) -> None:
    scripted.answer(["Hello."])
    with opened(browser, offline_is_fine=True) as page:
        new_chat(page, agent)
        ask(page, "Anything")
        page.route("**/api/**", lambda route: route.abort())
        opened_palette(page).fill("tid")
        failed = page.locator(".palette__state")
        expect(failed).to_contain_text("The search failed. Fireside does not answer.")
        expect(options(page).filter(has_text="Tides").first).to_be_visible()
        page.unroute("**/api/**")
        failed.get_by_role("button", name="Try again").click()
        expect(failed.get_by_role("button", name="Try again")).to_have_count(0)


def test_the_palette_fits_a_phone_and_opens_by_touch(agent: Server, browser: Browser) -> None:
    with opened(browser, viewport={"width": 320, "height": 640}, has_touch=True) as page:
        new_chat(page, agent)
        page.get_by_role("button", name="Open the list of chats").tap()
        page.get_by_role("button", name="Search everything, and actions").tap()
        expect_inside(page.get_by_role("dialog", name="Search and actions"), 320, 640)
        options(page).filter(has_text="Temporary chat").tap()
        expect(page.get_by_role("heading", name="Temporary chat")).to_be_visible()
