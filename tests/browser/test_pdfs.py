"""A PDF in the page: dropped, read, asked about, looked at; and what is refused."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from agent.pdf.documents import document, endless, locked
from browser.pages import (
    Scripted,
    answers,
    ask,
    asked,
    drop,
    expect_done,
    expect_inside,
    expect_true,
    new_chat,
    send,
)
from support.server import Server

PDF = "application/pdf"
TAB = {"refusals_are_fine": True}


def test_a_dropped_pdf_is_read_and_the_model_gets_its_text(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["Terns do."])
    new_chat(page, agent)
    drop(page, "birds.pdf", document("Herons wade", "Terns dive"), PDF)
    expect(page.get_by_test_id("upload")).to_contain_text("PDF, 2 pages")
    ask(page, "What dives?")
    told = json.dumps(scripted.upstream.requests[-1]["messages"])
    assert "[page 1]\\nHerons wade\\n\\n[page 2]\\nTerns dive" in told
    page.reload()
    chip = asked(page).first.get_by_role("link", name=re.compile("birds.pdf PDF, 2 pages"))
    with page.context.expect_page() as opened:
        chip.click()
    expect(opened.value.get_by_text("Terns dive")).to_be_visible()
    opened.value.close()
    with page.expect_download() as saved:
        asked(page).first.get_by_role("link", name="Download birds.pdf").click()
    assert saved.value.suggested_filename == "birds.pdf"


def test_progress_is_shown_and_nothing_is_sent_before_the_end(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    new_chat(page, agent)
    drop(page, "slow.pdf", endless(1), PDF)
    chip = page.get_by_test_id("upload")
    expect(chip.get_by_role("status")).to_have_text("PDF, reading page 2 of 2…")
    send(page, "And?")
    waits = page.get_by_text("Your message is sent as soon as its files have been read.")
    expect(waits).to_be_visible()
    expect(asked(page)).to_have_count(0)
    chip.get_by_role("button", name="Remove file: slow.pdf").click()
    expect(chip).to_have_count(0)
    expect(waits).to_have_count(0)
    expect(asked(page)).to_have_count(0)
    page.get_by_role("textbox", name="Message Fireside").fill("")


def test_a_message_waits_for_its_files_and_is_sent_by_itself(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["Terns do."])
    new_chat(page, agent)
    read = False
    going_on = {"state": "reading", "read": 0, "pages": 1, "error": ""}
    page.route("**/reading", lambda route: route.continue_() if read else route.fulfill(json=going_on))
    drop(page, "birds.pdf", document("Terns dive"), PDF)
    send(page, "What swims?")
    waits = page.get_by_text("Your message is sent as soon as its files have been read.")
    expect(waits).to_be_visible()
    page.get_by_role("textbox", name="Message Fireside").fill("What dives?")  # not ready to be sent any more
    expect(waits).to_have_count(0)
    page.keyboard.press("Enter")
    expect(waits).to_be_visible()
    expect(asked(page)).to_have_count(0)
    read = True
    expect_done(answers(page).first)
    expect(asked(page)).to_have_count(1)
    expect(asked(page).get_by_role("link", name=re.compile("birds.pdf PDF, 1 page"))).to_be_visible()
    expect(waits).to_have_count(0)
    assert "Terns dive" in json.dumps(scripted.upstream.requests[-1]["messages"])


def test_a_file_that_cannot_be_read_holds_the_message_up_until_it_is_removed(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["Terns do."])
    new_chat(page, agent)
    drop(page, "locked.pdf", locked(document("Herons"), "secret"), PDF)
    chips = page.get_by_test_id("upload")
    expect(chips.get_by_role("status")).to_contain_text("locked with a password")
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    drop(page, "birds.pdf", document("Terns dive"), PDF)
    expect(chips.nth(1)).to_contain_text("1 page")
    send(page, "What dives?")
    alert = page.get_by_role("form", name="Message").get_by_role("alert")
    expect(alert).to_have_text("locked.pdf cannot be sent, so nothing was. Remove it, then send again.")
    expect(page.get_by_role("textbox", name="Message Fireside")).to_have_value("What dives?")
    expect(chips).to_have_count(2)
    expect(asked(page)).to_have_count(0)
    page.get_by_role("button", name="Remove file: locked.pdf").click()
    expect(alert).to_have_count(0)
    page.get_by_role("button", name="Send").click()
    expect_done(answers(page).first)
    expect(asked(page).get_by_role("link", name=re.compile("birds.pdf PDF"))).to_be_visible()


def test_files_of_a_new_chat_wait_while_that_is_a_temporary_one(agent: Server, page: Page) -> None:
    new_chat(page, agent)
    drop(page, "birds.pdf", document("Terns dive"), PDF)
    chip = page.get_by_test_id("upload")
    expect(chip).to_contain_text("1 page")
    page.get_by_role("button", name="Other kinds of chat").click()
    page.get_by_role("button", name=re.compile("Temporary chat")).click()
    expect(chip).to_have_count(0)
    page.get_by_role("button", name="New chat", exact=True).click()
    page.get_by_role("button", name="Remove file: birds.pdf").click()


def test_what_cannot_be_read_is_shown_on_its_chip_and_not_sent(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["Nothing there."])
    new_chat(page, agent)
    refused = {
        "locked.pdf": (locked(document("Herons"), "secret"), "locked with a password"),
        "scan.pdf": (document("", ""), "no text in it; it may be a scan"),
        "cut.pdf": (document("Herons")[:150], "damaged"),
    }
    for name, (content, why) in refused.items():
        drop(page, name, content, PDF)
        chip = page.get_by_test_id("upload").filter(has_text=name)
        expect(chip.get_by_role("status")).to_contain_text(why)
        expect(chip).to_have_class(re.compile("file--bad"))
    send(page, "What is in them?")
    alert = page.get_by_role("form", name="Message").get_by_role("alert")
    expect(alert).to_have_text("3 files cannot be sent, so nothing was. Remove them, then send again.")
    expect(asked(page)).to_have_count(0)
    for name in refused:
        page.get_by_role("button", name=f"Remove file: {name}").click()
    ask(page, "What is in them?")
    assert scripted.upstream.requests[-1]["messages"][-1]["content"] == "What is in them?"


@pytest.mark.parametrize("width", [360, 1440])
def test_long_names_stay_inside_with_their_ending_and_their_buttons(
    agent: Server, page: Page, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 760})
    new_chat(page, agent)
    names = ["Invoice_2026-11-30_CityWaterworks_final_v2.pdf", f"{'x' * 200}.pdf", "locked.pdf"]
    for name in names[:2]:
        drop(page, name, document("Terns dive"), PDF)
    drop(page, names[2], locked(document("Herons"), "secret"), PDF)
    expect(page.get_by_text("PDF, 1 page")).to_have_count(2)
    expect(page.get_by_text("locked with a password")).to_be_visible()
    expect_true(page, f"document.documentElement.scrollWidth <= {width}")
    for name in names:
        expect_inside(page.get_by_role("button", name=f"Remove file: {name}"), width, 760)
    expect_inside(page.get_by_text("nal_v2.pdf", exact=True), width, 760)
    cut = page.get_by_text("locked.pdf", exact=True).evaluate("name => name.scrollWidth > name.clientWidth")
    assert not cut
    for name in names:
        page.get_by_role("button", name=f"Remove file: {name}").click()


def test_files_of_a_draft_outlast_a_reload_as_far_as_they_are_still_there(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["Terns do."])
    new_chat(page, agent)
    drop(page, "birds.pdf", document("Terns dive", "Herons wade"), PDF)
    drop(page, "notes.txt", b"Gulls scream", "text/plain")
    chips = page.get_by_test_id("upload")
    expect(chips.filter(has_text="PDF, 2 pages")).to_be_visible()
    expect(chips.filter(has_text="12 B")).to_be_visible()
    page.get_by_role("textbox", name="Message Fireside").fill("What dives?")
    page.reload()
    expect(chips.filter(has_text="PDF, 2 pages")).to_be_visible()
    expect(chips.filter(has_text="12 B")).to_be_visible()
    page.get_by_role("button", name="Send", exact=True).click()
    expect_done(answers(page).first)
    expect(asked(page).get_by_role("link", name="birds.pdf PDF, 2 pages", exact=True)).to_be_visible()
    new_chat(page, agent)
    expect(chips).to_have_count(0)
    drop(page, "gone.txt", b"Soon removed", "text/plain")
    expect(chips).to_contain_text("12 B")
    page.route("**/reading", lambda route: route.fulfill(status=404, json={"error": {"message": "None."}}))
    page.reload()
    expect(chips).to_contain_text("Fireside no longer has this file; attach it again.")
    chips.get_by_role("button", name="Remove file: gone.txt").click()
    page.reload()
    expect(page.get_by_role("textbox", name="Message Fireside")).to_be_visible()
    expect(chips).to_have_count(0)
