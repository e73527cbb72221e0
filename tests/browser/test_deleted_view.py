"""Deleted chats in the page: listed, restored, deleted for good, in every page that shows them."""

from __future__ import annotations

import json
import re

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from browser.pages import Scripted, drop, expect_true, new_chat
from browser.test_accessibility import check, narrow, wide
from support.browser import opened
from support.chat import chatting, stop_all
from support.server import Server

TAB = {"refusals_are_fine": True}
SPOKEN = """() => {
    globalThis.spoken = [];
    const notify = Document.prototype.ariaNotify;
    Document.prototype.ariaNotify = function (words) {
        globalThis.spoken.push(words);
        return notify.call(this, words);
    };
}"""
DELETED = "/api/sessions/deleted"
FAILURE = {
    "error": {"message": "The database: the disk is full; free some space and try again.", "code": "x"}
}


@pytest.fixture
def three(agent: Server, scripted: Scripted) -> list[str]:
    """Three deleted chats and no others; their ids, the last deleted first."""
    stop_all(agent)
    old = [row["id"] for row in agent.get(DELETED)["sessions"]]
    if old:
        httpx.request("DELETE", agent.url + DELETED, json={"ids": old}).raise_for_status()
    ids: list[str] = []
    with chatting(agent) as chat:
        for title in ("Ferns", "Tide tables", "Bread"):
            session = chat.new_session()
            chat.ask(session, title)
            chat.send("rename_session", id=session, title=title)
            chat.send("delete_session", id=session)
            chat.until(lambda f, id=session: f["type"] == "deleted" and f["session_id"] == id)
            ids.insert(0, session)
    return ids


def show(page: Page, server: Server) -> Locator:
    page.goto(f"{server.url}/#/deleted")
    view = page.get_by_role("region", name="Recently deleted")
    expect(view.locator("h2")).to_be_visible()
    return view


def rows(view: Locator) -> Locator:
    return view.get_by_test_id("deleted-chat")


def entry(page: Page) -> Locator:
    return page.get_by_role("navigation").get_by_role("link", name=re.compile("Recently deleted"))


def act(view: Locator, name: str, title: str) -> Locator:
    return view.get_by_role("button", name=f"{name}: {title}")


@pytest.mark.usefixtures("three")
def test_the_way_there_is_shown_where_there_is_something(agent: Server, page: Page) -> None:
    new_chat(page, agent)
    expect(entry(page)).to_have_text("Recently deleted (3)")
    entry(page).click()
    view = page.get_by_role("region", name="Recently deleted")
    expect(entry(page)).to_have_attribute("aria-current", "page")
    expect(page.get_by_role("heading", level=1)).to_have_text("Recently deleted")
    expect(rows(view)).to_have_count(3)
    expect(rows(view).first).to_contain_text("Bread")
    expect(rows(view).first).to_contain_text(re.compile(r"Deleted today · 30 days left · 2 messages"))
    page.goto(f"{agent.url}/#/chat")
    page.keyboard.press("Control+K")
    page.get_by_role("combobox").fill("undelete")
    expect(page.get_by_role("option")).to_have_text(re.compile("Recently deleted chats"))
    page.keyboard.press("Enter")
    expect(rows(view)).to_have_count(3)


@pytest.mark.usefixtures("three")
def test_a_chat_is_restored_and_deleted_for_good_with_the_keyboard(agent: Server, fresh: Page) -> None:
    page = fresh
    page.add_init_script(f"({SPOKEN})()")
    view = show(page, agent)
    act(view, "Restore", "Tide tables").focus()
    page.keyboard.press("Enter")
    expect(rows(view)).to_have_count(2)
    expect(act(view, "Restore", "Ferns")).to_be_focused()
    expect(page.get_by_role("navigation").get_by_role("link", name="Tide tables")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(view.get_by_role("button", name="Keep it")).to_be_focused()
    page.keyboard.press("Escape")
    expect(act(view, "Delete for good", "Ferns")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(rows(view)).to_have_count(1)
    expect(act(view, "Restore", "Bread")).to_be_focused()
    assert page.evaluate("spoken") == ["Restored: Tide tables", "Deleted for good: Ferns"]
    assert [row["title"] for row in agent.get(DELETED)["sessions"]] == ["Bread"]
    view.get_by_role("button", name="Delete all for good: 1 chat").press("Enter")
    view.get_by_role("button", name="Delete all", exact=True).press("Enter")
    expect(view).to_contain_text("There are none now.")
    expect(view.locator("h2")).to_be_focused()
    expect(entry(page)).to_have_count(0)


def test_another_page_follows(agent: Server, browser: Browser, page: Page, three: list[str]) -> None:
    view = show(page, agent)
    with opened(browser) as other:
        there = show(other, agent)
        act(view, "Restore", "Tide tables").click()
        expect(rows(there)).to_have_count(2)
        expect(other.get_by_role("navigation").get_by_role("link", name="Tide tables")).to_be_visible()
        view.get_by_role("button", name=re.compile("Delete all")).click()
        view.get_by_role("button", name="Delete all", exact=True).click()
        expect(there).to_contain_text("There are none now.")
        expect(entry(other)).to_have_count(0)
    with chatting(agent) as chat:
        chat.send("delete_session", id=three[1])
        chat.until(lambda f: f["type"] == "deleted")
    expect(rows(view)).to_have_count(1)


def test_the_focus_stays_in_the_list_when_another_page_takes_its_row(
    agent: Server, page: Page, three: list[str]
) -> None:
    view = show(page, agent)
    act(view, "Delete for good", "Tide tables").click()
    expect(view.get_by_role("group", name="It cannot be brought back.")).to_be_visible()
    expect(view.get_by_role("button", name="Keep it")).to_be_focused()
    restore(agent, three[1])
    expect(rows(view)).to_have_count(2)
    expect(act(view, "Restore", "Ferns")).to_be_focused()
    view.get_by_role("button", name=re.compile("Delete all")).click()
    expect(view.get_by_role("group", name="These 2 chats cannot be brought back.")).to_be_visible()
    restore(agent, three[0])
    restore(agent, three[2])
    expect(view.locator("h2")).to_be_focused()


@pytest.mark.usefixtures("three")
def test_the_palette_leads_to_the_heading_of_the_open_view(agent: Server, page: Page) -> None:
    view = show(page, agent)
    page.keyboard.press("Control+K")
    page.get_by_role("combobox").fill("undelete")
    expect(page.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(view.locator("h2")).to_be_focused()


def test_a_restored_chat_is_opened_from_the_notice(agent: Server, page: Page, three: list[str]) -> None:
    view = show(page, agent)
    act(view, "Restore", "Tide tables").click()
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("Restored: Tide tables")
    notice.get_by_role("link", name="Open the chat").click()
    expect(page).to_have_url(re.compile(three[1]))
    expect(page.get_by_role("article", name="You")).to_have_text(re.compile("Tide tables"))
    expect(notice.get_by_role("link")).to_have_count(0)


def test_a_long_title_takes_two_lines(agent: Server, page: Page, three: list[str]) -> None:
    restore(agent, three[0])
    title = "W" * 80
    with chatting(agent) as chat:
        chat.send("rename_session", id=three[0], title=title)
        chat.send("delete_session", id=three[0])
        chat.until(lambda f: f["type"] == "deleted")
    narrow(page)
    shown = rows(show(page, agent)).get_by_title(title)
    expect(shown).to_have_text(title)
    lines = "element => element.clientHeight / parseFloat(getComputedStyle(element).lineHeight)"
    assert round(shown.evaluate(lines)) == 2


@pytest.mark.usefixtures("three")
def test_the_settings_lead_there(agent: Server, page: Page) -> None:
    page.goto(f"{agent.url}/#/settings/about")
    link = page.get_by_role("region", name="Settings").get_by_role("link", name="Recently deleted chats")
    expect(link.locator("..")).to_contain_text("(3)")
    link.click()
    expect(rows(page.get_by_role("region", name="Recently deleted"))).to_have_count(3)


def test_the_address_of_a_deleted_chat_offers_to_restore_it(
    agent: Server, page: Page, three: list[str]
) -> None:
    page.goto(f"{agent.url}/#/chat/{three[1]}")
    expect(page.get_by_role("heading", name="This chat is deleted")).to_be_visible()
    page.route(f"**{DELETED}/restore", lambda route: route.fulfill(status=503, json=FAILURE))
    page.get_by_role("button", name="Restore", exact=True).click()
    expect(page.get_by_role("main")).to_contain_text(
        "It could not be restored. The database: the disk is full"
    )
    page.unroute_all()
    page.get_by_role("button", name="Restore", exact=True).click()
    expect(page.get_by_role("article", name="You")).to_have_text(re.compile("Tide tables"))
    page.goto(f"{agent.url}/#/chat/{three[0]}")
    expect(page.get_by_role("heading", name="This chat is deleted")).to_be_visible()
    restore(agent, three[0])
    expect(page.get_by_role("article", name="You")).to_have_text(re.compile("Bread"))


def test_an_open_chat_that_is_deleted_elsewhere_is_told_and_keeps_its_draft(
    agent: Server, page: Page, three: list[str]
) -> None:
    restore(agent, three[1])
    page.goto(f"{agent.url}/#/chat/{three[1]}")
    expect(page.get_by_role("article", name="You")).to_have_text(re.compile("Tide tables"))
    box = page.get_by_role("textbox", name="Message Fireside")
    box.fill("And at noon?")
    drop(page, "tides.txt", b"High at noon", "text/plain")
    expect(page.get_by_test_id("upload")).to_contain_text("12 B")
    delete(agent, three[1])
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("“Tide tables” was deleted in another tab or on another device.")
    expect(box).to_have_value("")
    notice.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("article", name="You")).to_have_text(re.compile("Tide tables"))
    expect(box).to_have_value("And at noon?")
    delete(agent, three[1])
    expect(notice).to_contain_text("“Tide tables” was deleted")
    draft, files = (f"localStorage.getItem('fireside.{kind}.{three[1]}')" for kind in ("draft", "files"))
    assert page.evaluate(draft) == "And at noon?"
    assert "tides.txt" in page.evaluate(files)
    purge(agent, three[1])
    expect_true(page, f"{draft} === null && {files} === null")
    notice.get_by_role("button", name="Dismiss").click()


@pytest.mark.usefixtures("three")
def test_the_undo_is_not_offered_for_what_is_restored_or_gone(agent: Server, page: Page) -> None:
    new_chat(page, agent)
    view = show(page, agent)
    act(view, "Restore", "Bread").click()
    page.get_by_role("navigation").get_by_role("link", name="Bread").hover()
    page.get_by_role("button", name="Options of chat: Bread").click()
    page.get_by_role("button", name="Delete chat: Bread").click()
    undo = page.get_by_role("alert").get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    act(view, "Delete for good", "Bread").click()
    rows(view).filter(has_text="Bread").get_by_role("button", name="Delete for good", exact=True).click()
    expect(rows(view)).to_have_count(2)
    expect(undo).to_have_count(0)


@pytest.mark.usefixtures("three")
def test_what_fails_is_told_and_can_be_tried_again(agent: Server, page: Page) -> None:
    new_chat(page, agent)
    failing = True
    held: list[Route] = []

    def answer(route: Route) -> None:
        if failing:
            route.fulfill(status=503, json=FAILURE)
        elif not held:
            held.append(route)
        else:
            route.continue_()

    page.route(f"**{DELETED}", answer)
    page.goto(f"{agent.url}/#/deleted")
    view = page.get_by_role("region", name="Recently deleted")
    expect(view.get_by_role("alert")).to_contain_text(
        "The deleted chats cannot be read. The database: the disk is full"
    )
    failing = False
    view.get_by_role("button", name="Try again").click()
    expect(view.get_by_role("button", name="Try again")).to_be_disabled()
    held[0].continue_()
    expect(rows(view)).to_have_count(3)
    expect(view.get_by_role("alert")).to_have_count(0)

    page.unroute_all()
    page.route(
        f"**{DELETED}",
        lambda route: (
            route.fulfill(status=503, json=FAILURE) if route.request.method == "DELETE" else route.continue_()
        ),
    )
    act(view, "Delete for good", "Ferns").click()
    rows(view).filter(has_text="Ferns").get_by_role("button", name="Delete for good", exact=True).click()
    expect(view.get_by_role("alert")).to_contain_text("the disk is full")
    expect(rows(view)).to_have_count(3)
    expect(act(view, "Delete for good", "Ferns")).to_be_focused()


@pytest.mark.usefixtures("three")
def test_what_failed_is_told_beside_its_button_until_the_next_try(agent: Server, page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 480})
    view = show(page, agent)
    page.route(
        f"**{DELETED}",
        lambda route: (
            route.fulfill(status=503, json=FAILURE) if route.request.method == "DELETE" else route.continue_()
        ),
    )
    every = view.get_by_role("button", name="Delete all for good: 3 chats")
    every.click()
    view.get_by_role("button", name="Delete all", exact=True).click()
    alert = view.get_by_role("alert")
    expect(alert).to_contain_text("the disk is full")
    expect(alert).to_be_in_viewport(ratio=0.9)
    expect(every).to_be_focused()
    expect(every).to_be_in_viewport(ratio=0.9)
    act(view, "Delete for good", "Ferns").click()
    expect(alert).to_have_count(0)
    rows(view).filter(has_text="Ferns").get_by_role("button", name="Delete for good", exact=True).click()
    expect(rows(view).filter(has_text="Ferns").get_by_role("alert")).to_be_in_viewport(ratio=0.9)
    every.click()
    expect(alert).to_have_count(0)


def test_what_went_meanwhile_elsewhere_is_named(agent: Server, page: Page, three: list[str]) -> None:
    view = show(page, agent)
    page.route(f"**{DELETED}/restore", lambda route: (purge(agent, three[0]), route.continue_()))
    act(view, "Restore", "Bread").click()
    expect(view.get_by_role("alert")).to_contain_text(json.dumps(three[0]).strip('"'))
    expect(rows(view)).to_have_count(2)


@pytest.mark.usefixtures("three")
def test_it_keeps_the_rules_for_everyone(agent: Server, browser: Browser) -> None:
    with opened(browser, reduced_motion="reduce", color_scheme="light") as page:
        view = show(page, agent)
        for width in (wide, narrow):
            width(page)
            check(page)
            act(view, "Delete for good", "Ferns").click()
            expect(view.get_by_role("button", name="Keep it")).to_be_focused()
            check(page)
            page.keyboard.press("Escape")


def purge(server: Server, session_id: str) -> None:
    httpx.request("DELETE", server.url + DELETED, json={"ids": [session_id]}).raise_for_status()


def restore(server: Server, session_id: str) -> None:
    httpx.post(f"{server.url}{DELETED}/restore", json={"id": session_id}).raise_for_status()


def delete(server: Server, session_id: str) -> None:
    with chatting(server) as chat:
        chat.send("delete_session", id=session_id)
        chat.until(lambda f: f["type"] == "deleted")
