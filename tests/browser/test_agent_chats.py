"""Branches, chats, files, memory and search in the page, with a scripted server in place of the model."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Browser, Page, Route, expect

from agent.scripted import call_chunks, reasoning_chunk
from browser.pages import (
    TITLE,
    Scripted,
    answers,
    approval,
    ask,
    asked,
    bash,
    call,
    expect_done,
    new_chat,
    send,
)
from support.browser import opened
from support.server import Server


def test_edited_and_regenerated_messages_keep_every_version(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["One."], ["Two."], ["Three."], ["Four."])
    new_chat(page, agent)
    ask(page, "First")
    ask(page, "Second")
    answers(page).nth(1).get_by_role("button", name="Regenerate").click()
    expect(answers(page).nth(1)).to_contain_text("Three.")
    versions = answers(page).nth(1).get_by_test_id("siblings")
    expect(versions).to_contain_text("2 / 2")
    answers(page).nth(1).get_by_role("button", name="Previous answer").click()
    expect(answers(page).nth(1)).to_contain_text("Two.")
    asked(page).first.hover()
    asked(page).first.get_by_role("button", name="Edit and send again").click()
    page.get_by_role("textbox", name="Edit message").fill("First, differently")
    page.keyboard.press("Enter")
    expect(answers(page).first).to_contain_text("Four.")
    expect(answers(page)).to_have_count(1)
    expect(asked(page).first.get_by_test_id("siblings")).to_contain_text("2 / 2")
    page.reload()
    asked(page).first.get_by_role("button", name="Previous message").click()
    expect(answers(page)).to_have_count(2)


def test_a_branch_goes_on_in_a_chat_of_its_own(agent: Server, scripted: Scripted, page: Page) -> None:
    scripted.answer(["One."], ["Two."])
    new_chat(page, agent)
    ask(page, "First")
    ask(page, "Second")
    before = page.url
    answers(page).first.get_by_role("button", name="Branch from here").click()
    expect(answers(page)).to_have_count(1)
    assert page.url != before
    page.reload()
    expect(answers(page).first).to_contain_text("One.")


def test_a_chat_is_renamed_pinned_archived_deleted_and_had_back(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    new_chat(page, agent)
    ask(page, "A chat to be marked")
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)

    def act(name: str, title: str) -> None:
        page.get_by_role("link", name=title, exact=True).first.hover()
        page.get_by_role("button", name=f"Options of chat: {title}").first.click()
        page.get_by_role("button", name=f"{name} chat: {title}").click()

    act("Rename", TITLE)
    page.get_by_role("textbox", name="Title of the chat").fill("Garden plan")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Garden plan")
    act("Pin", "Garden plan")
    pinned = page.get_by_role("region", name="Pinned")
    expect(pinned.get_by_role("link", name="Garden plan")).to_be_visible()
    act("Unpin", "Garden plan")
    expect(pinned).to_have_count(0)
    act("Archive", "Garden plan")
    page.get_by_text(re.compile("Archived")).click()
    act("Take back", "Garden plan")
    act("Delete", "Garden plan")
    expect(page.get_by_role("link", name="Garden plan")).to_have_count(0)
    expect(answers(page)).to_have_count(0)
    page.get_by_role("alert").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="Garden plan")).to_be_visible()
    expect(answers(page)).to_have_count(1)


def test_a_temporary_chat_is_marked_and_in_no_list(agent: Server, scripted: Scripted, page: Page) -> None:
    new_chat(page, agent)
    page.get_by_role("button", name="Other kinds of chat").click()
    page.get_by_role("button", name=re.compile("Temporary chat")).click()
    page.get_by_role("textbox", name="Message Fireside").fill("half a secret")
    assert "secret" not in page.evaluate("JSON.stringify(localStorage)")
    ask(page, "a whole secret")
    expect(page.get_by_text("Temporary", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("secret"))).to_have_count(0)
    assert b"secret" not in (agent.home / "fireside.db").read_bytes()


def test_a_temporary_chat_offers_nothing_that_needs_the_disk(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    new_chat(page, agent)
    attach, branch = (
        page.get_by_role("button", name=name, exact=True) for name in ("Attach files", "Branch from here")
    )
    expect(attach).to_be_visible()
    page.get_by_role("button", name="Other kinds of chat").click()
    page.get_by_role("button", name=re.compile("Temporary chat")).click()
    expect(attach).to_have_count(0)
    uploads: list[str] = []
    page.on("request", lambda request: uploads.append(request.url) if "attachments" in request.url else None)
    page.get_by_role("textbox", name="Message Fireside").evaluate(
        """area => {
            const data = new DataTransfer();
            data.items.add(new File(["a secret"], "secret.txt"));
            area.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
        }"""
    )
    expect(page.get_by_text("A temporary chat takes no files")).to_be_visible()
    assert uploads == []
    scripted.answer(["Here you are."])
    ask(page, "Hello")
    expect(page.get_by_role("button", name="Regenerate")).to_be_visible()
    expect(branch).to_have_count(0)
    new_chat(page, agent)
    ask(page, "Hello")
    expect(branch).to_be_visible()


def test_older_messages_are_summarized_and_the_summary_undone(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["One."], ["Two."], ["Three."], ["They counted to three."])
    new_chat(page, agent)
    for text in ("First", "Second", "Third"):
        ask(page, text)
    page.get_by_test_id("context").click()
    page.get_by_role("button", name="Summarize older messages").click()
    summary = page.get_by_test_id("summary")
    expect(summary).to_contain_text("older messages are summarized for the model")
    expect(page.get_by_test_id("context")).to_contain_text("summarized")
    page.keyboard.press("Escape")
    summary.locator("summary").click()
    expect(summary.get_by_role("region", name="Summary")).to_contain_text("They counted to three.")
    expect(answers(page)).to_have_count(3)
    summary.get_by_role("button", name="Undo the summary").click()
    expect(summary).to_have_count(0)


def test_what_the_model_proposes_for_the_memory_waits_for_a_yes(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    agent.post("/api/memory/init", {})
    article = {"article": "Sea/Tides", "text": "High at six."}
    scripted.answer([*call_chunks("memory_propose", article)], ["Proposed."])
    new_chat(page, agent)
    ask(page, "Remember that")
    proposal = page.get_by_test_id("proposal")
    expect(proposal).to_contain_text("New article Sea/Tides")
    expect(proposal.locator("ins", has_text="High at six")).to_have_text("+High at six.")
    assert agent.get("/api/memory/list")["articles"] == []
    proposal.get_by_role("button", name="Accept").click()
    expect(proposal).to_have_attribute("data-status", "accepted")
    assert [each["name"] for each in agent.get("/api/memory/list")["articles"]] == ["Sea/Tides"]
    page.reload()
    expect(proposal).to_have_attribute("data-status", "accepted")
    proposal.get_by_role("button", name="Undo").click()
    expect(proposal).to_have_attribute("data-status", "undone")
    assert agent.get("/api/memory/list")["articles"] == []


def test_a_proposal_is_accepted_as_the_person_edits_it(agent: Server, scripted: Scripted, page: Page) -> None:
    agent.post("/api/memory/init", {})
    article = {"article": "Sea/Boats", "text": "Red."}
    scripted.answer([*call_chunks("memory_propose", article)], ["Proposed."])
    new_chat(page, agent)
    ask(page, "Remember that")
    proposal = page.get_by_test_id("proposal")
    proposal.get_by_role("button", name="Edit").click()
    proposal.get_by_role("textbox", name="Text of the article").fill("# Boats\n\nBlue.\n")
    proposal.get_by_role("button", name="Accept as edited").click()
    expect(proposal).to_have_attribute("data-status", "edited")
    assert "Blue." in agent.get("/api/memory/article?name=Sea/Boats")["text"]


def test_files_are_attached_by_button_and_paste_and_stay_with_the_message(
    agent: Server, scripted: Scripted, tmp_path: Path, page: Page
) -> None:
    file = tmp_path / "fox.txt"
    file.write_text("The quick brown fox.")
    new_chat(page, agent)
    page.locator("input[type=file]").set_input_files(str(file))
    expect(page.get_by_test_id("upload")).to_contain_text("20 B")
    page.get_by_role("textbox", name="Message Fireside").evaluate(_PASTE)
    expect(page.get_by_test_id("upload")).to_have_count(2)
    page.get_by_role("button", name="Remove file: pasted.txt").click()
    ask(page, "What is this?")
    expect(page.get_by_test_id("upload")).to_have_count(0)
    expect(asked(page).first.get_by_role("link", name=re.compile("fox.txt"))).to_be_visible()
    assert "The quick brown fox." in json.dumps(scripted.upstream.requests[-1]["messages"])
    page.reload()
    expect(asked(page).first.get_by_role("link", name=re.compile("fox.txt"))).to_be_visible()


_PASTE = """
    (element) => {
        const data = new DataTransfer();
        data.items.add(new File(["pasted"], "pasted.txt", { type: "text/plain" }));
        const paste = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
        element.dispatchEvent(paste);
    }
"""


def test_a_hit_jumps_to_its_message_and_can_carry_no_markup(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    new_chat(page, agent)
    ask(page, "Badgers live in setts")
    message = asked(page).first.get_attribute("data-message-id")
    session = page.url.rpartition("/")[2]
    hit = {
        "kind": "message",
        "session_id": session,
        "session_title": "Badgers",
        "message_id": message,
        "name": None,
        "archived": False,
        "snippet": "&lt;b&gt; <mark>setts</mark> <img src=x><i>live</i>",
    }
    queries: list[str] = []

    def answer(route: Route) -> None:
        queries.append(route.request.url)
        route.fulfill(json={"hits": [hit], "cursor": None, "note": None})

    page.route("**/api/search?*", answer)
    page.get_by_role("button", name="New chat").first.click()
    page.get_by_role("searchbox", name="Search chats").press_sequentially("setts", delay=20)
    row = page.get_by_test_id("hit")
    expect(row.locator("mark")).to_have_text("setts")
    expect(row).to_contain_text("<b>")
    expect(row.locator("img, i")).to_have_count(0)
    assert len(queries) == 1
    row.get_by_role("link").click()
    expect(asked(page).first).to_have_class(re.compile("found"))
    expect(asked(page).first).to_be_focused()


def test_a_hit_on_another_branch_brings_that_branch_back(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["A heliotrope turns."], ["Something else."])
    new_chat(page, agent)
    ask(page, "Flowers")
    answers(page).first.get_by_role("button", name="Regenerate").click()
    expect(answers(page).first).to_contain_text("Something else.")
    page.get_by_role("searchbox", name="Search chats").fill("heliotr")
    page.get_by_test_id("hit").filter(has_text="A heliotrope").get_by_role("link").click()
    expect(page.locator(".found")).to_contain_text("A heliotrope turns.")
    expect(answers(page).first.get_by_test_id("siblings")).to_contain_text("1 / 2")


def test_calls_and_questions_fit_a_phone(
    agent: Server, scripted: Scripted, notes: Path, browser: Browser
) -> None:
    word = "x" * 400
    scripted.answer(
        [reasoning_chunk(word), f"{word} ", *call_chunks("grep", {"pattern": word})],
        bash(f"echo {word}"),
        [*call_chunks("edit", {"path": "notes.txt", "old_text": "06:12", "new_text": word})],
        ["Done."],
    )
    with opened(browser, viewport={"width": 360, "height": 720}) as page:

        def expect_fit() -> None:
            sizes = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert sizes[0] <= sizes[1]
            overflowing = page.locator(".thread__scroll").evaluate("e => e.scrollWidth - e.clientWidth")
            assert overflowing <= 0

        new_chat(page, agent)
        send(page, word)
        expect(approval(page)).to_contain_text("echo")
        expect_fit()
        approval(page).get_by_text("Always allow…").click()
        approval(page).get_by_role("button", name="Edit").click()
        expect_fit()
        approval(page).get_by_role("button", name="Allow once").click()
        expect(approval(page)).to_contain_text("06:12")
        expect_fit()
        approval(page).get_by_role("button", name="Deny").click()
        expect_done(answers(page).first)
        for head in call(page).get_by_role("button").all():
            head.click()
        expect_fit()


def test_commands_are_not_sent_to_the_model(agent: Server, scripted: Scripted, page: Page) -> None:
    new_chat(page, agent)
    ask(page, "Keep this chat.")
    expect_done(answers(page).last)
    before = len(scripted.upstream.requests)
    send(page, "/new")
    expect(answers(page)).to_have_count(0)
    assert len(scripted.upstream.requests) == before
