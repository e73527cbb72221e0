"""The agent's work with a real model, in a real browser, through reloads and the death of either process."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from browser.pages import answers, approval, call, expect_done, send
from support.browser import opened
from support.chat import chatting
from support.server import Server, prepared_home, serving

TOOLS = ["read", "bash", "edit", "memory_search", "memory_propose"]
NOTES = "green ferns\nsecond line\n"


def chat_with_tools(server: Server, page: Page) -> str:
    """Open a chat whose model may call more than a small one usually gets. Returns its id."""
    with chatting(server) as chat:
        chat.send("new_session", settings={"tools": TOOLS})
        session_id = str(chat.until(lambda frame: frame["type"] == "history")["session_id"])
        page.goto(f"{server.url}/#/chat/{session_id}")
        expect(page.get_by_role("textbox", name="Message Fireside")).to_be_visible()
        send(page, "Hello")
        expect_done(answers(page).first)
    return session_id


def reads_the_notes(page: Page) -> None:
    send(page, "Read notes.txt.")
    page.reload()
    expect(answers(page).last).to_contain_text("green ferns")
    expect(call(page).last).to_have_attribute("data-status", "done")


def runs_a_command_after_a_yes(page: Page) -> None:
    send(page, "Run `echo crane`.")
    expect(approval(page)).to_contain_text("echo crane")
    page.reload()
    approval(page).get_by_role("button", name="Allow once").click()
    expect(answers(page).last).to_contain_text("It says: crane")


def is_denied_another(page: Page, made: Path) -> None:
    send(page, "Run `touch made`.")
    expect(approval(page)).to_contain_text("touch made")
    page.reload()
    approval(page).get_by_role("button", name="Deny").click()
    expect(answers(page).last).to_contain_text("not allowed")
    assert not made.exists()


def edits_and_undoes(page: Page, notes: Path) -> None:
    send(page, "Replace `green` with `blue` in notes.txt.")
    diff = approval(page).get_by_role("region", name="What would change")
    expect(diff.locator("ins")).to_have_text("+blue ferns")
    page.reload()
    approval(page).get_by_role("button", name="Allow once").click()
    expect(call(page).last).to_have_attribute("data-status", "done")
    assert notes.read_text() == NOTES.replace("green", "blue")
    call(page).last.get_by_role("button", name="Edit a file").click()
    page.get_by_role("button", name=re.compile("Undo the change of")).click()
    expect(page.get_by_test_id("change")).to_have_attribute("data-undone", "true")
    assert notes.read_text() == NOTES


def remembers(page: Page, server: Server) -> None:
    server.post("/api/memory/init", {})
    send(page, "Remember `Ferns like shade` in `Ferns`.")
    proposal = page.get_by_test_id("proposal")
    expect(proposal).to_contain_text("Ferns like shade")
    page.reload()
    proposal.get_by_role("button", name="Accept").click()
    expect(proposal).to_have_attribute("data-status", "accepted")
    send(page, "Search your memory for shade.")
    page.reload()
    expect(call(page).last).to_contain_text("shade")
    expect(call(page).last).to_have_attribute("data-status", "done")


def test_a_person_works_with_tools_through_reloads_and_deaths(
    server: Server, browser: Browser, tmp_path: Path
) -> None:
    """Over 20 s: two starts of Fireside, two of a core, and eight turns of a real model."""
    home = prepared_home(tmp_path / "home", server.home)
    notes = home / "workspace" / "notes.txt"
    with opened(browser, offline_is_fine=True) as page:
        with serving(home) as first:
            first.wait_ready()
            notes.write_text(NOTES)
            session_id = chat_with_tools(first, page)
            reads_the_notes(page)
            first.kill_core()
            runs_a_command_after_a_yes(page)
            is_denied_another(page, home / "workspace" / "made")
            os.kill(first.process.pid, signal.SIGKILL)
        with serving(home) as second:
            page.goto(f"{second.url}/#/chat/{session_id}")
            edits_and_undoes(page, notes)
            second.kill_core()
            remembers(page, second)
            articles = [each["name"] for each in second.get("/api/memory/list")["articles"]]
    assert articles == ["Ferns"]
