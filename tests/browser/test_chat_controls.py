"""What a person can set for one chat, and bring in and take out of the list of chats, in a real browser."""

from __future__ import annotations

import io
import re
import time
import zipfile
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.pages import Scripted, answers, ask, expect_done, expect_inside, new_chat, send
from support.browser import opened
from support.chat import chatting, stop_all
from support.server import Server


@pytest.fixture(autouse=True)
def no_presets_left(agent: Server) -> Iterator[None]:
    yield
    for preset in agent.get("/api/presets")["presets"]:
        remove_preset(agent, preset["name"])


def remove_preset(server: Server, name: str) -> None:
    httpx.delete(f"{server.url}/api/presets/{name}").raise_for_status()


def this_chat(page: Page) -> Locator:
    page.get_by_test_id("this-chat").click()
    return page.get_by_role("dialog", name="This chat")


def model_panel(page: Page) -> Locator:
    page.get_by_test_id("engine-pill").click()
    return page.get_by_role("dialog", name="Model", exact=True)


def last_request(scripted: Scripted) -> dict[str, Any]:
    return next(
        body for body in reversed(scripted.upstream.requests) if len(body["messages"]) > 1 or "tools" in body
    )


def settings_of(server: Server, page: Page) -> dict[str, Any]:
    with chatting(server) as chat:
        settings: dict[str, Any] = chat.history(page.url.rpartition("/")[2])["settings"]
        return settings


def test_sampling_is_of_the_chat_shows_the_models_own_and_goes_back_to_it(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["One."], ["Two."], ["Three."])
    new_chat(page, agent)
    panel = model_panel(page)
    temperature = panel.get_by_role("textbox", name="Temperature")
    expect(temperature).to_have_attribute("placeholder", "auto (0.3)")
    expect(panel.get_by_role("textbox", name="Top p")).to_have_attribute("placeholder", "auto (off)")
    temperature.fill("3")
    temperature.blur()
    expect(panel.get_by_role("alert")).to_have_text("Temperature is a number from 0 to 2, or empty.")
    temperature.fill("0,5")
    panel.get_by_role("textbox", name="Repetition penalty").fill("1.1")
    panel.get_by_role("textbox", name="Seed").fill("7")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    ask(page, "Ask")
    asked = last_request(scripted)
    assert (asked["temperature"], asked["repetition_penalty"], asked["seed"]) == (0.5, 1.1, 7)
    assert "top_p" not in asked
    page.reload()
    expect_done(answers(page).first)
    panel = model_panel(page)
    expect(panel.get_by_role("textbox", name="Temperature")).to_have_value("0.5")
    panel.get_by_role("button", name="Temperature: back to auto").click()
    expect(panel.get_by_role("textbox", name="Temperature")).to_be_focused()
    page.keyboard.press("Escape")
    ask(page, "Again")
    assert "temperature" not in last_request(scripted)
    panel = model_panel(page)
    panel.get_by_role("button", name="All auto").click()
    expect(panel.get_by_role("textbox", name="Seed")).to_have_value("")
    deadline = time.monotonic() + 15
    while settings_of(agent, page).get("sampling"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_thinking_is_asked_for_only_of_a_model_that_can(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["One."], ["Two."])
    new_chat(page, agent)
    panel = model_panel(page)
    thinking = panel.get_by_role("group", name="Thinking")
    expect(thinking.get_by_role("radio", name="Auto (off)")).to_be_checked(timeout=20_000)
    thinking.get_by_text("On", exact=True).click()
    expect(page.get_by_test_id("engine-pill")).to_contain_text("thinking on")
    page.keyboard.press("Escape")
    ask(page, "Ask")
    assert last_request(scripted)["chat_template_kwargs"] == {"enable_thinking": True}
    model_panel(page).get_by_text("Off", exact=True).click()
    page.keyboard.press("Escape")
    ask(page, "Ask more")
    assert last_request(scripted)["chat_template_kwargs"] == {"enable_thinking": False}


def test_instructions_and_tools_of_a_new_chat_go_with_its_first_message(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["One."], ["Two."])
    new_chat(page, agent)
    panel = this_chat(page)
    panel.get_by_role("textbox", name="Instructions of this chat").fill("Answer in Latin.")
    panel.get_by_text("Only these").click()
    tools = panel.get_by_role("list", name="Tools that the model may call")
    expect(tools.get_by_role("checkbox", name=re.compile("^bash"))).to_be_checked()
    expect(tools.get_by_role("listitem").filter(has_text="bash")).to_contain_text("runs programs; asks first")
    for box in tools.get_by_role("checkbox").all():
        if box.is_checked() and not (box.locator("xpath=..").text_content() or "").startswith("read"):
            box.uncheck()
    page.keyboard.press("Escape")
    ask(page, "Ask")
    asked = last_request(scripted)
    assert [tool["function"]["name"] for tool in asked["tools"]] == ["read"]
    assert "Answer in Latin." in asked["messages"][0]["content"]
    expect(page.get_by_test_id("this-chat")).to_have_accessible_name("This chat: instructions, 1 tool")
    this_chat(page).get_by_text("The usual", exact=True).click()
    page.keyboard.press("Escape")
    ask(page, "More")
    assert len(last_request(scripted)["tools"]) > 1
    page.get_by_role("button", name="New chat").first.click()
    expect(page.get_by_test_id("this-chat")).to_have_accessible_name("This chat")


def test_presets_are_saved_applied_updated_and_deleted(agent: Server, scripted: Scripted, page: Page) -> None:
    scripted.answer(["One."])
    new_chat(page, agent)
    panel = this_chat(page)
    instructions = panel.get_by_role("textbox", name="Instructions of this chat")
    expect(panel.get_by_role("button", name="Save as a preset…")).to_be_disabled()
    instructions.fill("Be brief.")
    instructions.blur()
    panel.get_by_role("button", name="Save as a preset…").click()
    panel.get_by_role("button", name="Save", exact=True).click()
    expect(panel.get_by_role("textbox", name="Name")).to_be_focused()
    expect(panel).to_contain_text("Give the preset a name.")
    panel.get_by_role("textbox", name="Name").fill("Brief")
    page.keyboard.press("Enter")
    choice = panel.get_by_role("combobox", name="Preset")
    expect(choice).to_have_value("Brief")
    instructions.fill("Be very brief.")
    instructions.blur()
    expect(panel).to_contain_text("other settings by now")
    panel.get_by_role("button", name="Update the preset").click()
    expect(panel).to_contain_text("Instructions of 14 characters.")
    (kept,) = agent.get("/api/presets")["presets"]
    assert kept["settings"] == {"instructions": "Be very brief."}

    choice.select_option("")
    expect(instructions).to_have_value("")
    instructions.fill("My own.")
    instructions.blur()
    choice.select_option("Brief")
    expect(instructions).to_have_value("Be very brief.")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo").click()
    panel = this_chat(page)
    expect(instructions).to_have_value("My own.")
    choice.select_option("Brief")
    page.keyboard.press("Escape")
    ask(page, "Ask")
    assert "Be very brief." in last_request(scripted)["messages"][0]["content"]
    assert settings_of(agent, page)["preset"] == "Brief"
    panel = this_chat(page)
    panel.get_by_role("button", name="Delete: preset Brief").click()
    panel.get_by_role("button", name="Delete", exact=True).click()
    expect(choice).to_have_value("")
    expect(instructions).to_have_value("Be very brief.")
    assert agent.get("/api/presets")["presets"] == []


def test_the_receipt_and_the_panel_tell_how_an_answer_was_made(server: Server, page: Page) -> None:
    new_chat(page, server)
    panel = model_panel(page)
    panel.get_by_role("textbox", name="Seed").fill("11")
    panel.get_by_role("textbox", name="Min p").fill("0.1")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    answer = ask(page, "Say high tide three times")
    answer.get_by_role("button", name="Details").click()
    receipt = answer.get_by_test_id("receipt")
    for term in ("Model", "Prompt", "Answer", "First token", "Lane"):
        expect(receipt.get_by_text(term, exact=True)).to_be_visible()
    expect(receipt).to_contain_text("Seed11")
    expect(receipt).to_contain_text("Samplingmin p 0.1")
    expect(model_panel(page)).to_contain_text(re.compile("Last answer.*lane.*first token after"))


def test_a_chat_is_exported_and_imported_and_what_cannot_be_is_told(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["The lapwing calls."])
    new_chat(page, agent)
    ask(page, "Birds")
    with page.expect_download() as markdown:
        this_chat(page).get_by_role("button", name="As Markdown").click()
    assert "The lapwing calls." in markdown.value.path().read_text()
    assert markdown.value.suggested_filename.endswith(".md")
    page.keyboard.press("Escape")
    more = page.get_by_role("button", name="Other kinds of chat")
    more.click()
    with page.expect_download() as everything:
        page.get_by_role("button", name=re.compile("^Export all chats")).click()
    with zipfile.ZipFile(io.BytesIO(everything.value.path().read_bytes())) as archive:
        whole = [archive.read(name) for name in archive.namelist() if name.endswith(".json")]
    (exported,) = [data for data in whole if b"lapwing" in data]

    before = len(page.locator(".chat a").all())
    more.click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=re.compile("^Import chats")).click()
    chooser.value.set_files([{"name": "a.json", "mimeType": "application/json", "buffer": exported}])
    expect(page.get_by_text(re.compile("” is imported."))).to_be_visible()
    expect(page.locator(".chat a")).to_have_count(before + 1)
    expect(answers(page).first).to_contain_text("The lapwing calls.")

    more.click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=re.compile("^Import chats")).click()
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("notes.txt", "Not a chat")
    chooser.value.set_files([{"name": "b.zip", "mimeType": "application/zip", "buffer": other.getvalue()}])
    expect(page.get_by_role("alert")).to_contain_text("“notes.txt”: only JSON can be imported")


def test_an_archived_chat_can_be_had_back_at_once(agent: Server, scripted: Scripted, page: Page) -> None:
    stop_all(agent)
    scripted.answer(["One."])
    new_chat(page, agent)
    ask(page, "Shelve me")
    row = page.get_by_role("listitem").filter(has=page.locator(".chat--current"))
    row.hover()
    row.get_by_role("button", name=re.compile("^Options of chat")).click()
    row.get_by_role("button", name=re.compile("^Archive chat")).click()
    expect(page.get_by_text(re.compile("Archived \\(1\\)"))).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text(re.compile("Archived \\("))).to_have_count(0)


def test_typed_commands_are_done_and_never_sent(agent: Server, scripted: Scripted, page: Page) -> None:
    new_chat(page, agent)
    send(page, "/chat")
    expect(page.get_by_role("dialog", name="This chat")).to_be_visible()
    page.keyboard.press("Escape")
    send(page, "/temporary")
    expect(page.get_by_role("heading", name="Temporary chat")).to_be_visible()
    send(page, "/new")
    expect(page.get_by_role("heading", name="New chat")).to_be_visible()
    expect(answers(page)).to_have_count(0)


def test_the_panels_fit_a_phone(agent: Server, browser: Browser) -> None:
    agent.put("/api/presets/" + "x" * 60, {"instructions": "y" * 200, "tools": ["z" * 80]})
    with opened(browser, viewport={"width": 320, "height": 640}) as page:
        new_chat(page, agent)
        panel = this_chat(page)
        panel.get_by_role("combobox", name="Preset").select_option("x" * 60)
        expect(panel.get_by_text("z" * 80)).to_be_attached()
        assert panel.evaluate("e => e.scrollWidth <= e.clientWidth")
        expect_inside(panel, 320, 640)
        page.keyboard.press("Escape")
        panel = model_panel(page)
        assert panel.evaluate("e => e.scrollWidth <= e.clientWidth")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_before_the_first_chat_the_page_says_what_fireside_is(agent: Server, page: Page) -> None:
    stop_all(agent)
    new_chat(page, agent)
    expect(page.get_by_role("heading", name="Welcome to Fireside")).to_be_visible()
    expect(page.get_by_test_id("about-fireside").get_by_role("listitem")).to_have_count(3)
    expect(page.get_by_role("list", name="Examples").get_by_role("button")).to_have_count(4)
