"""The settings in the page: a real browser and Fireside, rules made on real approval cards."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.pages import Scripted, answers, approval, bash, expect_done, new_chat, send
from support.browser import opened
from support.server import Server

RULES = "/api/settings/tool-approvals"
MCP_SERVER = Path(__file__).parents[1] / "agent" / "tools" / "mcp_server.py"
SECTIONS = (
    "approvals tools mcp instructions presets keys appearance shortcuts about".split()
)  # as the addresses name them


def show(page: Page, server: Server, section: str) -> Locator:
    page.goto(f"{server.url}/#/settings/{section}")
    view = page.get_by_role("region", name="Settings")
    expect(view.locator("h2")).to_be_visible()
    return view


def row(view: Locator, kind: str, text: str) -> Locator:
    return view.get_by_test_id(kind).filter(has_text=text)


@pytest.fixture
def cut(browser: Browser) -> Iterator[Page]:
    """A page whose requests a test may refuse to let through."""
    with opened(browser, offline_is_fine=True) as page:
        yield page


def test_a_granted_rule_is_in_words_tried_and_taken_back_in_place(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    for other in agent.get(RULES)["rules"]:
        httpx.request("DELETE", agent.url + RULES, json={"id": other["id"]}).raise_for_status()
    scripted.answer(bash("echo tide-7"), bash("echo ebb-8"), ["Both."])
    new_chat(page, agent)
    send(page, "Run it")
    approval(page).get_by_text("Always allow…").click()
    approval(page).locator("[data-scope=rule]").click()
    approval(page).get_by_role("button", name="Deny").click()
    expect_done(answers(page).first)

    view = show(page, agent, "approvals")
    rule = row(view, "rule", "tide-7")
    expect(rule).to_contain_text("Always allow")
    expect(rule.locator("code").first).to_contain_text("echo tide-7")

    view.get_by_label("First words of the command").press("Enter")
    expect(view.get_by_label("First words of the command")).to_be_focused()
    expect(view.get_by_label("First words of the command")).to_have_accessible_description(
        re.compile("Fill this in first")
    )
    view.get_by_label("What it allows").select_option("command")
    view.get_by_label("The whole command").fill("echo ebb-8")
    view.get_by_label("The whole command").press("Enter")
    trial = view.get_by_test_id("trial")
    expect(trial).to_contain_text("In the past 30 days it would have allowed 1 call")
    expect(trial).to_contain_text("you denied 1")
    expect(trial.get_by_role("listitem")).to_contain_text("echo ebb-8")
    view.get_by_label("The whole command").fill("echo never-asked")
    view.get_by_role("button", name="Try it").click()
    expect(trial).to_contain_text("it would have allowed nothing")

    rule.get_by_role("button", name="Take back").click()
    expect(rule.get_by_role("button", name="Keep it")).to_be_focused()
    page.keyboard.press("Escape")
    expect(rule.get_by_role("button", name="Take back")).to_be_focused()
    page.keyboard.press("Enter")
    rule.get_by_role("button", name="Take it back").click()
    expect(rule).to_have_count(0)
    expect(view).to_contain_text("There are no rules: every such call asks you.")
    assert agent.get(RULES)["rules"] == []


def test_tools_say_what_they_risk_and_whether_chats_have_them(server: Server, page: Page) -> None:
    view = show(page, server, "tools")
    tools = server.get("/api/tools")["tools"]
    expect(view.get_by_test_id("tool")).to_have_count(len(tools))
    expect(view.locator("[data-usual=true]")).to_have_count(sum(tool["usual"] for tool in tools))
    expect(row(view, "tool", "Run a shell command")).to_contain_text("Runs: runs programs; asks first")


def test_an_mcp_server_is_added_mended_and_removed_without_showing_its_secret(
    agent: Server, page: Page
) -> None:
    config = agent.home / "mcp.json"

    def stored() -> dict[str, Any]:
        return json.loads(config.read_text())["mcpServers"]

    view = show(page, agent, "mcp")
    view.get_by_role("button", name="Add a server").click()
    view.get_by_label("Name", exact=True).fill("tides")
    page.keyboard.press("Enter")
    expect(view.get_by_label("Command")).to_be_focused()
    expect(view.get_by_label("Command")).to_have_accessible_description(
        re.compile("Give the program to start")
    )
    view.get_by_label("Command").fill("no-such-program-7")
    view.get_by_role("button", name="Add variable").click()
    view.get_by_label("Variable 1: name").fill("TOKEN")
    view.get_by_label("Variable 1: value").fill("hush-7")
    page.keyboard.press("Enter")
    server = row(view, "mcp-server", "tides")
    expect(server).to_have_attribute("data-state", "failed")
    expect(server).to_contain_text("Does not run")
    expect(view.get_by_role("button", name="Add a server")).to_be_focused()

    server.get_by_role("button", name="Edit").click()
    assert "hush-7" not in page.content()
    view.get_by_label("Command").fill(sys.executable)
    view.get_by_role("button", name="Add argument").click()
    expect(view.get_by_label("Argument 1", exact=True)).to_be_focused()
    view.get_by_label("Argument 1", exact=True).fill(str(MCP_SERVER))
    view.get_by_role("button", name="Save server").click()
    expect(server).to_have_attribute("data-state", "ready")
    server.get_by_text(re.compile(r"\d+ tools")).click()
    expect(server.locator("details li").first).to_be_visible()
    assert stored()["tides"]["env"] == {"TOKEN": "hush-7"}
    assert stored()["tides"]["args"] == [str(MCP_SERVER)]

    server.get_by_role("button", name="Restart").click()
    expect(server).to_have_attribute("data-state", "ready")
    server.get_by_role("button", name="Remove").click()
    server.get_by_role("button", name="Remove", exact=True).click()
    expect(server).to_have_count(0)
    expect(view.locator("h2")).to_be_focused()
    assert stored() == {}


def test_instructions_stay_in_the_field_while_nothing_can_be_saved(server: Server, cut: Page) -> None:
    view = show(cut, server, "instructions")
    text = view.get_by_label("Instructions for all chats").last
    text.fill("Answer in rhymes.")
    cut.route("**/api/settings/instructions", lambda route: route.abort())
    text.press("Control+Enter")
    expect(view.get_by_role("alert")).to_contain_text("Fireside does not answer.")
    expect(text).to_have_value("Answer in rhymes.")
    show(cut, server, "about")
    cut.unroute("**/api/settings/instructions")
    show(cut, server, "instructions")
    expect(text).to_have_value("Answer in rhymes.")
    expect(view).to_contain_text("This was not saved yet.")
    view.get_by_role("button", name="Save").click()
    expect(view.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    assert server.get("/api/settings/instructions") == {"instructions": "Answer in rhymes."}
    text.fill("")
    expect(view).not_to_contain_text("Saved")
    text.press("Control+Enter")
    expect(view).to_contain_text("Saved")
    assert server.get("/api/settings/instructions") == {"instructions": ""}


def test_a_section_that_cannot_be_read_says_so_and_tries_again(server: Server, cut: Page) -> None:
    # A section is read again by itself when Fireside is reached, which must be over before the click.
    view = show(cut, server, "about")
    expect(cut.get_by_test_id("engine-pill")).to_have_attribute("data-phase", "ready")
    cut.route("**/api/presets", lambda route: route.abort())
    show(cut, server, "presets")
    expect(view.get_by_role("alert")).to_contain_text("The presets cannot be read. Fireside does not answer.")
    cut.unroute("**/api/presets")
    view.get_by_role("button", name="Try again").click()
    expect(view).to_contain_text("There are no presets yet.")
    expect(view.get_by_role("alert")).to_have_count(0)


def test_a_preset_is_made_changed_renamed_and_deleted(server: Server, page: Page) -> None:
    view = show(page, server, "presets")
    view.get_by_role("button", name="New preset").click()
    expect(view.get_by_label("Name", exact=True)).to_be_focused()
    view.get_by_label("Name", exact=True).fill("Careful / slow")
    view.get_by_label("Instructions", exact=True).fill("Think first.")
    view.get_by_text("These", exact=True).click()
    view.get_by_label("grep", exact=True).check()
    view.get_by_label("Temperature").fill("7")
    view.get_by_label("Temperature").press("Enter")
    expect(view.get_by_label("Temperature")).to_have_accessible_description(
        "Temperature is a number from 0 to 2, or empty."
    )
    view.get_by_label("Temperature").fill("0,5")
    page.keyboard.press("Enter")
    preset = row(view, "preset", "Careful / slow")
    expect(preset).to_contain_text("Instructions of 12 characters, 1 tool, temperature 0.5")

    preset.get_by_role("button", name="Edit").click()
    view.get_by_label("Name", exact=True).fill("Careful")
    view.get_by_text("Those that suit the model").click()
    page.get_by_role("button", name="Save preset").click()
    expect(view.get_by_test_id("preset")).to_have_count(1)
    expect(view.get_by_role("button", name="Edit: Careful")).to_be_focused()
    (kept,) = server.get("/api/presets")["presets"]
    assert kept["name"] == "Careful"
    assert kept["settings"] == {"instructions": "Think first.", "sampling": {"temperature": 0.5}}

    preset = row(view, "preset", "Careful")
    preset.get_by_role("button", name="Delete").click()
    preset.get_by_role("button", name="Delete", exact=True).click()
    expect(view).to_contain_text("There are no presets yet.")


def test_a_key_is_shown_once_and_deleted(server: Server, page: Page) -> None:
    for other in server.get("/api/keys")["keys"]:
        httpx.delete(f"{server.url}/api/keys/{other['id']}").raise_for_status()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    view = show(page, server, "keys")
    view.get_by_label("What it is for").press("Enter")
    purpose = view.get_by_label("What it is for")
    expect(purpose).to_have_accessible_description(re.compile("what the key is for"))
    purpose.fill("editor <b>")
    page.keyboard.press("Enter")
    made = view.get_by_test_id("made-key")
    expect(made).to_contain_text("The key for editor <b>")
    secret = made.locator("pre").inner_text()
    made.get_by_role("button", name="Copy the key").click()
    expect(made).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == secret
    key = row(view, "key", "editor <b>")
    expect(key).to_contain_text(secret[:12])

    page.reload()
    expect(key).to_contain_text("never used")
    assert secret not in page.content()
    key.get_by_role("button", name="Delete").click()
    key.get_by_role("button", name="Delete the key").click()
    expect(view).to_contain_text("There are no keys.")
    assert server.get("/api/keys")["keys"] == []


def test_what_to_paste_names_this_fireside_and_its_model(server: Server, page: Page) -> None:
    view = show(page, server, "keys")
    snippet = view.get_by_role("region", name="the text for OpenAI")
    expect(snippet).to_contain_text(f'base_url="{server.url}/v1"')
    expect(snippet).to_contain_text('model="pocket"')
    view.get_by_text("Anthropic · Python").click()
    snippet = view.get_by_role("region", name="the text for Anthropic").locator("code")
    expect(snippet).to_contain_text(f'base_url="{server.url}"')
    printed: list[str] = []

    class Client:
        """Stands for Anthropic's, so that the text is run as it is, without waiting for an answer."""

        def __init__(self, base_url: str, api_key: str) -> None:
            printed.extend((base_url, api_key))
            self.messages = self

        def create(self, **body: Any) -> Any:
            answer = httpx.post(f"{printed[0]}/v1/messages", json={**body, "max_tokens": 4})
            block = SimpleNamespace(text=answer.raise_for_status().json()["type"])
            return SimpleNamespace(content=[block])

    code = snippet.inner_text().replace("from anthropic import Anthropic", "")
    exec(code, {"Anthropic": Client, "print": printed.append})
    assert printed == [server.url, "YOUR_KEY", "message"]


def test_theme_and_text_size_are_kept_and_there_before_the_page_is(server: Server, fresh: Page) -> None:
    page = fresh
    view = show(page, server, "appearance")
    before = view.locator("h2").bounding_box()
    view.get_by_label("Larger").check(force=True)
    view.get_by_label("Dark").check(force=True)
    after = view.locator("h2").bounding_box()
    assert before
    assert after
    assert after["height"] > 1.2 * before["height"]
    page.route("**/js/main.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.goto(f"{server.url}/?without-script")
    root = page.locator("html")
    expect(root).to_have_class("text-larger")
    expect(root).to_have_attribute("data-theme", "dark")
    page.unroute("**/js/main.js")
    show(page, server, "appearance")
    expect(view.get_by_label("Larger")).to_be_checked()
    view.get_by_label("Normal").check(force=True)
    expect(root).to_have_class("")


def test_every_section_fits_a_small_phone_in_large_letters_and_has_no_inline_style(
    server: Server, browser: Browser
) -> None:
    with opened(browser, viewport={"width": 360, "height": 700}, has_touch=True) as page:
        page.add_init_script("localStorage.setItem('fireside.text_size', 'larger')")
        for section in SECTIONS:
            view = show(page, server, section)
            expect(page.locator("html")).to_have_class("text-larger")
            expect(page.locator(".sections [aria-current=page]")).to_be_in_viewport()
            expect(page.locator(".set__skeleton")).to_have_count(0)
            assert page.evaluate(
                "() => { const view = document.querySelector('.view');"
                " return view.scrollWidth <= view.clientWidth; }"
            ), section
            assert page.locator("[style]").count() == 0
            expect(view.locator("h2")).to_have_count(1)
            if section == "shortcuts":  # a phone can have a keyboard
                expect(view.locator("kbd").first).to_be_visible()


def test_shortcuts_and_about_tell_what_is_known(server: Server, page: Page) -> None:
    view = show(page, server, "shortcuts")
    expect(view.get_by_role("row").filter(has_text="Start a new chat")).to_contain_text("Alt ⇧ N")
    page.get_by_role("link", name="About").click()
    version = server.get("/api/status")["version"]
    expect(view).to_contain_text(f"Fireside {version}")
    for link in view.get_by_role("link").all():
        address = link.get_attribute("href")
        assert address
        if address.startswith("/"):
            assert httpx.get(server.url + address).status_code == 200
    expect(view.get_by_role("link", name="Fireside on a phone")).to_be_visible()
