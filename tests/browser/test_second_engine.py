"""What a person does most, in the engine of Safari: WebKit, as Debian builds it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.scripted import reasoning_chunk
from browser.memory_pages import Memory
from browser.pages import Scripted, bash
from browser.webkit import Element, WebKit, installed, webkit
from support.server import Server

pytestmark = pytest.mark.skipif(not installed(), reason="needs webkit2gtk-driver and xvfb")

BOX = "textarea[aria-label='Message Fireside']"
ANSWER = "article[aria-label=Fireside]"
ASKED = "article[aria-label=You]"
RICH = "At **six**, `UTC`.\n\n```python\nprint(6)\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n$x^2$\n"
TOO_WIDE = "return document.documentElement.scrollWidth > innerWidth"


@pytest.fixture(scope="module")
def window(agent: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebKit]:
    with webkit(tmp_path_factory.mktemp("webkit")) as opened:
        opened.go(f"{agent.url}/#/chat")
        opened.resize(1280, 800)
        yield opened


@pytest.fixture
def page(window: WebKit, agent: Server) -> Iterator[WebKit]:
    """A new chat in the window that the tests share; scripts that fail fail the test."""
    window.go(f"{agent.url}/#/chat")
    window.none("article")
    yield window
    assert window.complaints == []


def send(page: WebKit, text: str) -> None:
    page.one(BOX).type(f"{text}\ue007")


def answer(page: WebKit, status: str, number: int = 1) -> Element:
    """The last of so many answers, once it has come to this."""
    page.until(f"document.querySelectorAll('{ANSWER}[data-status={status}]').length === {number}")
    return page.all(ANSWER)[-1]


def test_an_answer_streams_in_with_its_thoughts_and_is_shown_as_markdown(
    page: WebKit, scripted: Scripted
) -> None:
    wait, go_on = scripted.gate()
    scripted.answer([reasoning_chunk("Of the moon."), "High water ", wait, RICH])
    assert (page.one(BOX).role, page.one(BOX).name) == ("textbox", "Message Fireside")
    page.until("document.activeElement?.matches('textarea')")
    send(page, "When is it?")
    page.one(f"{ANSWER}[data-status=running]", "High water")
    page.one("button[aria-label=Stop]")
    go_on()
    said = answer(page, "done")
    assert "High water At six, UTC." in said.text.replace("\n", " ")
    for part in ("strong", "pre code", "table", "math"):
        page.one(f"{ANSWER} {part}")
    page.one("[data-testid=reasoning] > summary").click()
    page.one("[data-testid=reasoning] [role=region]", "Of the moon.")
    page.until(f"{_AT_END}")


_AT_END = "(e => e.scrollHeight - e.clientHeight - e.scrollTop < 2)(document.querySelector('[role=log]'))"


def test_stop_keeps_what_was_said_and_a_reload_brings_it_back(page: WebKit, scripted: Scripted) -> None:
    wait, go_on = scripted.gate()
    scripted.answer(["One, two, three", wait])
    send(page, "Count")
    page.one(ANSWER, "One, two, three")
    page.one("button[aria-label=Stop]").click()
    answer(page, "aborted")
    go_on()
    page.reload()
    page.one(f"{ANSWER}[data-status=aborted]", "One, two, three")


def test_a_question_is_edited_and_its_versions_walked(page: WebKit, scripted: Scripted) -> None:
    scripted.answer(["Blue."], ["Green."])
    send(page, "The sky?")
    answer(page, "done")
    page.one("button[aria-label='Edit and send again']").click()
    page.one("textarea[aria-label='Edit message']").fill("The grass?")
    page.one("button", "Send again").click()
    page.one(f"{ANSWER}[data-status=done]", "Green.")
    page.one(ASKED, "The grass?")
    versions = page.one("[data-testid=siblings]")
    assert "2 / 2" in versions.text
    page.one("[data-testid=siblings] button", "Previous").click()
    page.one(ANSWER, "Blue.")


def test_a_command_runs_after_the_yes(page: WebKit, scripted: Scripted) -> None:
    scripted.answer(bash("echo tide-$((3 + 4))"), ["Ran."])
    send(page, "Run it")
    page.one("[data-testid=approval] [role=region]", "echo tide-")
    page.one("[data-testid=approval] button", "Allow once").click()
    answer(page, "done")
    page.one("[data-testid=call] button", "Run a command").click()
    page.one("[data-testid=call] [role=region]", "tide-7")


def test_a_chat_is_found_by_the_list_and_by_the_palette(page: WebKit, scripted: Scripted) -> None:
    scripted.answer(["A bittern stands still."])
    send(page, "Birds of the shore")
    answer(page, "done")
    page.one("button", "New chat").click()
    page.none("article")
    field = page.one("input[aria-label='Search chats']")
    field.type("bittern")
    page.one("[data-testid=hit] a", "bittern").click()
    page.one(ANSWER, "A bittern stands still.")
    field.fill("x\ue003")
    page.press("Control", "k")
    page.one("[role=combobox]").type("bittern")
    page.one("[role=option]", "stands still")
    page.press("Escape")
    page.none("[role=combobox]")


def test_the_memory_is_read_and_written(page: WebKit, agent: Server) -> None:
    memory = Memory(agent)
    memory.begin(Tomatoes="Red. See [[Garden]].\n", Garden="# Garden\n\nTwo beds.\n")
    try:
        page.go(memory.url)
        page.one("nav[aria-label=Articles] a", "Tomatoes").click()
        page.one("[data-testid=article] .markdown a", "Garden").click()
        page.one("[data-testid=article] h2, [data-testid=article] h1", "Garden")
        page.one("[data-testid=article] [data-act=edit]").click()
        page.one("textarea[aria-label*='as Markdown'], .memory textarea").type(" And a third.")
        page.one("button", "Save").click()
        page.one("[data-testid=article] .markdown", "And a third.")
        assert "And a third." in memory.read("Garden")
    finally:
        memory.clear()


def test_every_part_of_the_settings_and_a_theme(page: WebKit, agent: Server) -> None:
    for section in "approvals tools mcp instructions presets keys shortcuts about appearance".split():
        page.go(f"{agent.url}/#/settings/{section}")
        page.one(".sections [aria-current=page]")
        page.one("[aria-label=Settings] h2, [aria-labelledby] h2")
        page.none(".set__skeleton")
    light = page.run(_GROUND)
    page.one(".theme label", "Dark").click()
    page.until("document.documentElement.dataset.theme === 'dark'")
    assert page.run(_GROUND) != light
    page.one(".theme label", "Auto").click()


_GROUND = "return getComputedStyle(document.body).backgroundColor"


def test_a_narrow_window(page: WebKit, scripted: Scripted, tmp_path: Path) -> None:
    scripted.answer([f"{RICH}\n\n{'a-long-word-' * 20}"])
    page.resize(360, 740)  # or what is the least that the window can be
    try:
        assert page.run("return innerWidth") < 500
        send(page, "As narrow as it gets")
        answer(page, "done")
        assert page.run(TOO_WIDE) is False
        page.one("button[aria-label='Open the list of chats']").click()
        page.one("nav[aria-label=Chats] a", "Status")
        assert page.run(TOO_WIDE) is False
        page.press("Escape")
        page.until("document.querySelector('nav[aria-label=Chats]').inert")
        boxes: Any = page.run(_BOX)
        assert boxes["right"] <= boxes["width"]
        assert boxes["bottom"] <= boxes["height"]
    finally:
        page.resize(1280, 800)


_BOX = """
    const { right, bottom } = document.querySelector("form[aria-label=Message]").getBoundingClientRect();
    return { right, bottom, width: innerWidth, height: innerHeight };
"""
