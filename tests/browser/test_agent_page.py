"""Turns of the agent in the page: a real browser and Fireside, a scripted server for a model."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from agent.scripted import call_chunks, reasoning_chunk
from browser.pages import NOTES, Scripted, answers, approval, asked, bash, call, expect_done, new_chat, send
from support.server import Server


def test_a_turn_of_several_steps_is_one_answer_with_folded_thoughts_and_calls(
    agent: Server, scripted: Scripted, notes: Path, page: Page
) -> None:
    wait, go_on = scripted.gate()
    scripted.answer(
        [
            *(reasoning_chunk("I should read"), wait, reasoning_chunk(" first."), "I look."),
            *call_chunks("read", {"path": "notes.txt"}),
        ],
        ["High water is at **06:12**."],
    )
    new_chat(page, agent)
    send(page, "When is high water?")
    thought = page.get_by_test_id("reasoning")
    expect(thought).to_contain_text("Thinking…")
    thought.get_by_text("Thinking…").click()
    expect(thought.get_by_role("region", name="Reasoning")).to_have_text("I should read")
    go_on()
    expect_done(answers(page).first)
    expect(answers(page)).to_have_count(1)
    expect(thought.locator("summary")).to_have_text(re.compile("Thought for"))
    expect(thought.get_by_role("region", name="Reasoning")).to_have_text("I should read first.")
    expect(call(page)).to_have_attribute("data-status", "done")
    head = call(page).get_by_role("button", name=re.compile("Read a file"))
    expect(head).to_contain_text("notes.txt")
    expect(call(page).get_by_role("region", name="Output")).to_have_count(0)
    head.click()
    expect(call(page).get_by_role("region", name="Output")).to_contain_text("Low water is at 12:25.")
    page.reload()
    expect(call(page)).to_have_attribute("data-status", "done")
    expect(answers(page)).to_have_count(1)


def test_a_command_runs_only_after_the_yes_and_shows_its_output_as_it_comes(
    agent: Server, scripted: Scripted, notes: Path, page: Page
) -> None:
    go = notes.parent / "go"
    scripted.answer(bash(f"echo first; while [ ! -e {go} ]; do sleep 0.05; done; echo second"), ["Ran."])
    new_chat(page, agent)
    send(page, "Run it")
    expect(approval(page).get_by_role("region", name="Command")).to_contain_text("echo first")
    page.reload()
    expect(approval(page)).to_be_visible()
    expect(page.locator(".chat__asking")).to_have_count(1)
    approval(page).get_by_role("button", name="Allow once").click()
    output = call(page).get_by_role("region", name="Output")
    expect(output).to_have_text(re.compile("first"))
    go.write_text("")
    expect_done(answers(page).first)
    expect(call(page)).to_contain_text("Allowed once")
    expect(output).to_have_count(0)
    call(page).get_by_role("button", name="Run a command").click()
    expect(output).to_have_text(re.compile("first\nsecond"))
    expect(page.locator(".chat__asking")).to_have_count(0)
    go.unlink()


def test_a_denied_command_does_not_run_and_says_so(
    agent: Server, scripted: Scripted, notes: Path, page: Page
) -> None:
    scripted.answer(bash("rm notes.txt"), ["I leave it."])
    new_chat(page, agent)
    send(page, "Remove my notes")
    approval(page).get_by_role("button", name="Deny").click()
    expect_done(answers(page).first)
    expect(call(page)).to_have_attribute("data-status", "denied")
    expect(call(page)).to_contain_text("Denied")
    assert notes.read_text() == NOTES


def test_an_approval_by_keyboard_alone_takes_no_focus_by_itself(
    agent: Server, scripted: Scripted, notes: Path, page: Page
) -> None:
    wait, go_on = scripted.gate()
    scripted.answer([wait, *bash("echo one")], bash("echo two"), ["Done."])
    new_chat(page, agent)
    send(page, "Run two")
    page.keyboard.type("typing on")
    go_on()
    expect(approval(page)).to_contain_text("echo one")
    page.keyboard.type(" and on")
    expect(page.get_by_role("textbox", name="Message Fireside")).to_have_value("typing on and on")
    page.keyboard.press("Alt+Shift+A")
    expect(approval(page).get_by_role("button", name="Allow once")).to_be_focused()
    page.keyboard.press("Enter")
    expect(approval(page)).to_contain_text("echo two")
    page.keyboard.press("Alt+Shift+A")
    page.keyboard.press("Escape")
    expect_done(answers(page).first)
    expect(call(page).nth(0)).to_have_attribute("data-status", "done")
    expect(call(page).nth(1)).to_have_attribute("data-status", "denied")


def test_an_edited_command_is_the_one_that_runs(
    agent: Server, scripted: Scripted, notes: Path, page: Page
) -> None:
    scripted.answer(bash("echo wrong"), ["Done."])
    new_chat(page, agent)
    send(page, "Run it")
    approval(page).get_by_role("button", name="Edit").click()
    approval(page).get_by_role("textbox", name="Command").fill("echo ri''ght")
    approval(page).get_by_role("button", name="Allow once, as edited").click()
    expect_done(answers(page).first)
    call(page).get_by_role("button", name="Run a command").click()
    expect(call(page).get_by_role("region", name="Command")).to_contain_text("ri''ght")
    expect(call(page).get_by_role("region", name="Output")).to_have_text("right")


def test_always_allow_is_behind_a_disclosure_and_holds(
    agent: Server, scripted: Scripted, notes: Path, page: Page
) -> None:
    scripted.answer(bash("echo again-42"), bash("echo again-42"), ["Both."])
    new_chat(page, agent)
    send(page, "Run it twice")
    offers = approval(page).locator("[data-scope]")
    expect(offers.first).to_be_hidden()
    approval(page).get_by_text("Always allow…").click()
    expect(offers.first).to_contain_text("again-42")
    approval(page).locator("[data-scope=session]").click()
    expect_done(answers(page).first)
    expect(call(page).nth(1)).to_have_attribute("data-status", "done")
    expect(call(page).nth(1)).to_contain_text("Allowed by your rule")


def test_an_edit_is_shown_as_a_diff_and_undone_from_the_turn(
    agent: Server, scripted: Scripted, notes: Path, page: Page
) -> None:
    edit = {"path": "notes.txt", "old_text": "06:12", "new_text": "06:40"}
    scripted.answer([*call_chunks("edit", edit)], ["Changed."])
    new_chat(page, agent)
    send(page, "Correct it")
    diff = approval(page).get_by_role("region", name="What would change")
    expect(diff.locator("del")).to_have_text("-High water is at 06:12.")
    expect(diff.locator("ins")).to_have_text("+High water is at 06:40.")
    assert "06:12" in notes.read_text()
    approval(page).get_by_role("button", name="Allow once").click()
    expect_done(answers(page).first)
    assert "06:40" in notes.read_text()
    call(page).get_by_role("button", name="Edit a file").click()
    page.get_by_role("button", name=re.compile("Undo the change of")).click()
    expect(page.get_by_test_id("change")).to_have_attribute("data-undone", "true")
    assert notes.read_text() == NOTES
    page.reload()
    expect(call(page)).to_contain_text("Undone")


def test_waiting_prompts_can_be_edited_and_removed(agent: Server, scripted: Scripted, page: Page) -> None:
    wait, go_on = scripted.gate()
    scripted.answer(["Working", wait, "."], ["Second answer."])
    new_chat(page, agent)
    send(page, "First")
    expect(answers(page).first).to_contain_text("Working")
    send(page, "Second")
    send(page, "Third")
    waiting = page.get_by_role("list", name="Waiting messages").get_by_role("listitem")
    expect(waiting).to_have_count(2)
    waiting.nth(1).get_by_role("button", name="Remove waiting message").click()
    expect(waiting).to_have_count(1)
    waiting.first.get_by_role("button", name="Edit waiting message").click()
    page.get_by_role("textbox", name="Waiting message").fill("Second, said better")
    page.keyboard.press("Enter")
    expect(waiting.first).to_contain_text("said better")
    go_on()
    expect_done(answers(page).nth(1))
    expect(asked(page)).to_have_count(2)
    expect(asked(page).nth(1)).to_contain_text("Second, said better")
    assert scripted.upstream.requests[-1]["messages"][-1]["content"] == "Second, said better"


def test_a_steering_message_is_seen_at_the_next_step(
    agent: Server, scripted: Scripted, notes: Path, page: Page
) -> None:
    scripted.answer(bash("echo one"), ["Understood."])
    new_chat(page, agent)
    send(page, "Run it")
    expect(approval(page)).to_be_visible()
    page.get_by_text("Let it see now").click()
    send(page, "Be brief")
    expect(page.get_by_test_id("queued")).to_have_attribute("data-steering", "true")
    approval(page).get_by_role("button", name="Allow once").click()
    expect_done(answers(page).nth(1))
    expect(asked(page).nth(1)).to_contain_text("Be brief")
    assert scripted.upstream.requests[-1]["messages"][-1]["content"] == "Be brief"
