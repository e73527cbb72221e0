"""A PDF in the page: dropped, read, asked about, looked at; and what is refused."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, expect

from agent.pdf.documents import document, endless, locked
from browser.pages import Scripted, ask, asked, drop, new_chat
from support.server import Server

PDF = "application/pdf"


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
    page.get_by_role("textbox", name="Message Fireside").fill("And?")
    page.get_by_role("textbox", name="Message Fireside").press("Enter")
    expect(page.get_by_text("or being read. Send again in a moment.")).to_be_visible()
    expect(asked(page)).to_have_count(0)
    chip.get_by_role("button", name="Remove file: slow.pdf").click()
    expect(chip).to_have_count(0)
    page.get_by_role("textbox", name="Message Fireside").fill("")


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
    ask(page, "What is in them?")
    assert scripted.upstream.requests[-1]["messages"][-1]["content"] == "What is in them?"
