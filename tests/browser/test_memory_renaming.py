"""An article of the memory is renamed in the page."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from browser.memory_pages import GARDEN, Memory, editor, reading, shown
from support.server import Server


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    with reading(browser) as shared:
        yield shared


def test_an_article_gets_another_name_and_links_to_it_follow(agent: Server, page: Page) -> None:
    memory = Memory(agent)
    memory.begin(**{"Tomatoes": "Red.\n", "Garden/Plan": GARDEN, "Plum tree": "Old.\n"})
    page.goto(f"{memory.url}/Tomatoes")
    shown(page).get_by_role("button", name="Edit").click()
    editor(page).fill("Half an edit")
    page.keyboard.press("Escape")
    name = page.get_by_role("dialog").filter(has_text="saves").get_by_label("New name of this article")
    for wanted in ("plum TREE", "Garden/Red tomatoes"):
        shown(page).get_by_role("button", name="Rename").click()
        expect(name).to_have_value("Tomatoes")
        name.fill(wanted)
        name.press("Enter")
    expect(page.get_by_text("There is an article Plum tree already")).to_be_visible()
    expect(page.get_by_text("The links to it in 1 other article follow.")).to_be_visible()
    expect(page).to_have_url(re.compile("Garden/Red%20tomatoes$"))
    expect(shown(page)).to_contain_text("You have changes to this article that are not saved")
    assert memory.subjects()[0] == "Rename Tomatoes to Garden/Red tomatoes"
    assert "[[Red tomatoes]]" in memory.read("Garden/Plan")
    shown(page).get_by_role("button", name="History").click()
    versions = page.get_by_role("region", name="Versions").get_by_role("button")
    expect(versions).to_have_text([re.compile("^Renamed"), re.compile("^Edit Tomatoes")])
    memory.clear()
