"""The memory in the page: a real browser, a real Fireside, a vault that other programs write to as well."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from browser.memory_pages import GARDEN, Memory, diff, editor, reading, rows, shown
from browser.pages import Scripted, answers, ask, new_chat
from support.server import Server


@pytest.fixture(scope="module")
def kept(agent: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Memory(agent)
    made.begin(**{"Tomatoes": "Red. See [[Garden/Plan#To buy]].\n", "Garden/Plan": GARDEN})
    made.write("Plum tree", "---\naliases: [Old plum]\n---\n# The plum tree\n\nIn the [[Garden plan]].\n")
    return made.keep(tmp_path_factory.mktemp("memory") / "kept")


@pytest.fixture
def memory(agent: Server, kept: Path) -> Iterator[Memory]:
    made = Memory(agent)
    made.put_back(kept)
    yield made
    made.clear()


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    with reading(browser) as shared:
        yield shared


@pytest.fixture
def page(page: Page, agent: Server) -> Page:
    """The page of this file with a memory that was not shown yet, and nothing that was typed."""
    new_chat(page, agent)
    page.evaluate("localStorage.clear()")
    return page


def act(page: Page, name: str) -> None:
    shown(page).get_by_role("button", name=name).click()


def test_memory_is_off_until_the_person_says_yes(memory: Memory, page: Page) -> None:
    memory.clear()
    page.goto(f"{memory.url}/Garden/Plan")
    view = page.get_by_role("region", name="Memory")
    expect(view.get_by_role("heading")).to_have_text("Let Fireside remember?")
    expect(view).to_contain_text(str(memory.root))
    for word in ("Markdown", "git", "Obsidian"):
        expect(view).to_contain_text(word)
    assert not memory.root.exists()
    view.get_by_role("link", name="Not now").click()
    expect(page.get_by_role("textbox", name="Message Fireside")).to_be_visible()
    assert not memory.root.exists()
    page.go_back()
    view.get_by_role("button", name="Turn memory on").click()
    expect(page.get_by_test_id("missing")).to_contain_text("Garden/Plan")
    assert memory.subjects() == ["Begin this memory"]
    page.goto(memory.url)
    expect(view.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()


def test_it_begins_with_how_the_newest_articles_begin(memory: Memory, page: Page) -> None:
    memory.write(
        "Tides", "---\ntags: [sea]\n---\n# Tides\n\n- **High** at [[Harbour|the pier]]\n\n## Later\n\nNo.\n"
    )
    page.goto(memory.url)
    lately = page.get_by_role("region", name="Changed lately").get_by_role("listitem")
    expect(lately.first).to_contain_text("Tides")
    expect(lately.first.locator(".lately__words")).to_have_text("High at the pier")
    lately.first.get_by_role("link").click()
    expect(shown(page).get_by_role("heading", name="Tides")).to_be_visible()


def test_articles_are_read_and_their_links_followed_both_ways(memory: Memory, page: Page) -> None:
    page.goto(memory.url)
    expect(rows(page)).to_have_count(3)
    expect(rows(page).first).to_contain_text("The plum tree")
    rows(page).filter(has_text="Garden plan").get_by_role("link").click()
    expect(shown(page).get_by_role("heading", name="Garden plan")).to_have_count(1)
    expect(rows(page).locator("[aria-current=page]")).to_contain_text("Garden plan")
    expect(shown(page)).to_contain_text("plan")
    expect(shown(page).locator(".markdown code")).to_have_text("[[no link]]")
    broken = shown(page).locator(".markdown a.wikilink--broken")
    expect(broken).to_have_text("Leek trial")
    aside = page.get_by_role("complementary", name="About this article")
    expect(aside.get_by_role("listitem")).to_have_text(["The plum tree", "Tomatoes", "Leek trial"])
    shown(page).get_by_role("link", name="old tree").click()
    expect(shown(page).get_by_role("heading", name="The plum tree")).to_be_focused()
    shown(page).locator(".markdown").get_by_role("link", name="Garden plan").click()
    aside.get_by_role("link", name="Tomatoes").click()
    expect(shown(page).get_by_role("heading", name="Tomatoes")).to_be_visible()
    shown(page).locator(".markdown").get_by_role("link").click()
    expect(shown(page).get_by_role("heading", name="To buy")).to_be_focused()
    page.go_back()
    expect(shown(page).get_by_role("heading", name="Tomatoes")).to_be_visible()
    page.goto(f"{memory.url}/old%20plum")
    expect(shown(page).get_by_role("heading", name="The plum tree")).to_be_visible()


def test_what_others_write_is_there_when_the_reader_comes_back(memory: Memory, page: Page) -> None:
    page.goto(f"{memory.url}/Tomatoes")
    expect(shown(page)).to_contain_text("Red.")
    memory.by_hand("Tomatoes", "Yellow.\n")
    memory.by_hand("New one", "Fresh.\n")
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(shown(page)).to_contain_text("Yellow.")
    expect(rows(page)).to_have_count(4)


def test_search_finds_text_and_opens_its_place(memory: Memory, page: Page) -> None:
    page.goto(memory.url)
    field = page.get_by_role("searchbox", name="Search the memory")
    field.fill("compost")
    expect(rows(page)).to_have_count(1)
    expect(rows(page).locator("mark")).to_have_text("Compost")
    field.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(shown(page).get_by_role("heading", name="Garden plan")).to_be_visible()
    assert page.url.endswith("/Garden/Plan//To%20buy")
    field.fill("nowhere at all (")
    expect(page.get_by_role("navigation", name="Articles")).to_contain_text(
        "No article has any of these words."
    )
    field.press("Escape")
    expect(rows(page)).to_have_count(3)


def test_an_article_that_is_not_there_can_be_meant_or_written(memory: Memory, page: Page) -> None:
    page.goto(f"{memory.url}/Tomatos")
    missing = page.get_by_test_id("missing")
    expect(missing.get_by_role("listitem")).to_have_text("Tomatoes")
    missing.get_by_role("link", name="Write it").click()
    expect(page.get_by_role("textbox", name="Name")).to_have_value("Tomatos")
    expect(editor(page)).to_be_focused()
    editor(page).fill("# With a slip\n")
    page.keyboard.press("Control+s")
    expect(shown(page).get_by_role("heading", name="With a slip")).to_be_visible()
    assert memory.read("Tomatos") == "# With a slip\n"
    assert memory.subjects()[0] == "Add Tomatos"
    page.goto(f"{memory.url}/..%2Fsecret")
    expect(missing).to_contain_text("../secret")


def test_what_is_typed_is_kept_until_it_is_saved(memory: Memory, page: Page) -> None:
    page.goto(f"{memory.url}/Tomatoes")
    act(page, "Edit")
    editor(page).press_sequentially("Green. ")
    page.reload()
    expect(shown(page)).to_contain_text("not saved")
    page.get_by_role("button", name="Go on editing").click()
    expect(editor(page)).to_have_value(re.compile(r"^Green\. Red\."))
    page.keyboard.press("Escape")
    expect(shown(page)).to_contain_text("Red.")
    assert memory.read("Tomatoes").startswith("Red.")
    page.get_by_role("button", name="Go on editing").click()
    page.get_by_role("button", name="Save").click()
    expect(shown(page)).to_contain_text("Green. Red.")
    expect(shown(page)).not_to_contain_text("not saved")
    assert (memory.read("Tomatoes")[:11], memory.subjects()[0]) == ("Green. Red.", "Edit Tomatoes")


def test_two_tabs_that_edit_the_same_article_are_told_and_decide(memory: Memory, page: Page) -> None:
    other = page.context.new_page()
    for tab in (page, other):
        tab.goto(f"{memory.url}/Tomatoes")
        act(tab, "Edit")
    editor(page).fill("First.\n")
    editor(other).fill("Second.\n")
    page.keyboard.press("Control+s")
    expect(shown(page)).to_contain_text("First.")
    other.get_by_role("button", name="Save").click()
    conflict = other.get_by_role("alert", name="Conflict")
    expect(conflict).to_contain_text("Tomatoes has changed since you opened it. Nothing was written.")
    expect(diff(other).locator("del")).to_have_text("-First.")
    expect(diff(other).locator("ins")).to_have_text("+Second.")
    expect(editor(other)).to_have_value("Second.\n")
    assert memory.read("Tomatoes") == "First.\n"
    memory.by_hand("Tomatoes", "Third.\n")
    conflict.get_by_role("button", name="Save mine over it").click()
    expect(diff(other).locator("del")).to_have_text("-Third.")
    conflict.get_by_role("button", name="Save mine over it").click()
    expect(shown(other)).to_contain_text("Second.")
    assert memory.read("Tomatoes") == "Second.\n"
    assert memory.subjects()[:3] == [
        "Edit Tomatoes",
        "Keep changes made by hand to Tomatoes",
        "Edit Tomatoes",
    ]
    act(other, "Edit")
    editor(other).fill("Fourth.\n")
    memory.file("Tomatoes").unlink()
    other.keyboard.press("Control+s")
    expect(conflict).to_contain_text("was deleted")
    conflict.get_by_role("button", name="Write it anew").click()
    expect(shown(other)).to_contain_text("Fourth.")
    other.close()


def test_versions_are_compared_and_brought_back(memory: Memory, page: Page) -> None:
    memory.write("Tomatoes", "Yellow.\n")
    memory.write("Tomatoes", "Black.\n")
    page.goto(f"{memory.url}/Tomatoes")
    act(page, "History")
    versions = page.get_by_role("region", name="Versions").get_by_role("button")
    expect(versions).to_have_count(3)
    expect(diff(page).locator("ins")).to_have_text("+Black.")
    versions.nth(1).click()
    expect(diff(page).locator("ins")).to_have_text("+Yellow.")
    page.get_by_label("Compare").select_option(index=3)
    page.get_by_label("with", exact=True).select_option("now")
    expect(diff(page).locator("del")).to_contain_text("-Red.")
    expect(diff(page).locator("ins")).to_have_text("+Black.")
    versions.nth(2).click()
    page.get_by_role("button", name="Edit from this version").click()
    expect(editor(page)).to_have_value(re.compile(r"^Red\."))
    page.get_by_role("button", name="Save").click()
    expect(shown(page)).to_contain_text("Red.")
    assert memory.read("Tomatoes").startswith("Red.")
    memory.by_hand("Tomatoes", "By hand.\n")
    act(page, "History")
    expect(versions.first).to_contain_text("not committed")
    expect(diff(page).locator("ins")).to_have_text("+By hand.")
    page.keyboard.press("Escape")
    expect(shown(page)).to_be_visible()


def test_a_deleted_article_comes_back_with_one_click(memory: Memory, page: Page) -> None:
    page.goto(f"{memory.url}/Tomatoes")
    act(page, "Delete")
    expect(rows(page)).to_have_count(2)
    assert not memory.file("Tomatoes").exists()
    page.get_by_role("button", name="Undo").click()
    expect(rows(page)).to_have_count(3)
    assert memory.read("Tomatoes").startswith("Red.")
    rows(page).filter(has_text="Tomatoes").get_by_role("link").click()
    act(page, "Delete")
    expect(rows(page)).to_have_count(2)
    page.goto(f"{memory.url}/Tomatoes")
    page.get_by_role("button", name="See its history").click()
    expect(page.get_by_role("region", name="Versions").get_by_role("button").first).to_contain_text("Deleted")


def test_proposals_are_accepted_edited_refused_and_undone(memory: Memory, page: Page) -> None:
    memory.propose("Tomatoes", "1", old="Red.", new="Dark red.")
    memory.propose("Ana", "2", text="# Ana\n")
    memory.propose("Plum tree", "3", added="Cut in March.")
    page.goto(memory.url)
    page.get_by_test_id("to-review").click()
    cards = page.get_by_test_id("proposal")
    expect(cards).to_have_count(3)
    red, ana, plum = (cards.filter(has_text=each) for each in ("Dark red.", "Ana", "Cut in March."))
    red.get_by_role("button", name="Accept").click()
    expect(red).to_have_attribute("data-status", "accepted")
    expect(page.get_by_test_id("to-review")).to_contain_text("2")
    ana.get_by_role("button", name="Edit").click()
    ana.get_by_role("textbox").fill("# Ana\n\nBorn in May.\n")
    ana.get_by_role("button", name="Accept as edited").click()
    expect(ana).to_have_attribute("data-status", "edited")
    expect(rows(page)).to_have_count(4)
    red.get_by_role("button", name="Undo").click()
    expect(red).to_have_attribute("data-status", "undone")
    assert memory.read("Tomatoes").startswith("Red.")
    assert memory.read("Ana") == "# Ana\n\nBorn in May.\n"
    plum.get_by_role("link", name="Plum tree").click()
    expect(shown(page).get_by_test_id("proposal")).to_contain_text("Cut in March.")
    shown(page).get_by_role("button", name="Drop").click()
    expect(page.get_by_test_id("to-review")).to_have_count(0)
    assert "March" not in memory.read("Plum tree")


def test_two_thousand_articles_stay_quick(memory: Memory, page: Page) -> None:
    for n in range(2000):
        after = (n + 1) % 2000
        memory.by_hand(f"Many/N{n:04}", f"# Article {n}\n\nText with [[N{after:04}]] and water {n}.\n")
    begin = time.monotonic()
    page.goto(memory.url)
    expect(rows(page).first).to_be_visible()
    opened = time.monotonic() - begin
    drawn = rows(page).count()
    assert drawn <= 200
    page.locator(".memory__rows").evaluate("e => e.scrollTo(0, e.scrollHeight)")
    expect(rows(page).nth(drawn)).to_be_attached()
    begin = time.monotonic()
    page.get_by_role("searchbox", name="Search the memory").fill("water 1234")
    expect(rows(page).first).to_contain_text("Article 1234")
    found = time.monotonic() - begin
    begin = time.monotonic()
    rows(page).first.get_by_role("link").click()
    expect(shown(page)).to_contain_text("water 1234")
    assert (opened < 5, found < 2, time.monotonic() - begin < 2) == (True, True, True)


def test_on_a_phone_list_and_article_are_two_steps(memory: Memory, browser: Browser) -> None:
    with reading(browser, viewport={"width": 360, "height": 720}) as page:
        page.goto(memory.url)
        rows(page).filter(has_text="Garden plan").get_by_role("link").click()
        expect(shown(page).get_by_role("heading", name="Garden plan")).to_be_focused()
        expect(page.get_by_role("navigation", name="Articles")).to_be_hidden()
        wide = "(e => e.scrollWidth > e.clientWidth)(document.querySelector('.memory__page'))"
        assert page.evaluate(wide) is False
        page.get_by_role("link", name="All articles").click()
        expect(rows(page)).to_have_count(3)
        expect(rows(page).filter(has_text="Garden plan").get_by_role("link")).to_be_focused()


def test_the_keyboard_alone_reads_and_writes(memory: Memory, page: Page) -> None:
    page.goto(memory.url)
    expect(rows(page)).to_have_count(3)
    page.get_by_role("searchbox", name="Search the memory").focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    expect(rows(page).nth(1).get_by_role("link")).to_be_focused()
    page.keyboard.press("Enter")
    expect(shown(page).get_by_role("heading", name="Garden plan")).to_be_visible()
    expect(rows(page).nth(1).get_by_role("link")).to_be_focused()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.act") == "edit":
            break
    page.keyboard.press("Enter")
    expect(editor(page)).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.type("Peas.")
    page.keyboard.press("Control+s")
    expect(shown(page).get_by_role("heading", level=2, name="Garden plan")).to_be_focused()
    assert memory.read("Garden/Plan") == f"{GARDEN}Peas."


def test_without_fireside_nothing_that_was_typed_is_lost(memory: Memory, page: Page) -> None:
    def down(route: Route) -> None:
        route.abort()

    # The memory is read again by itself when Fireside is reached, which must be over before the click.
    expect(page.get_by_test_id("engine-pill")).to_have_attribute("data-phase", "ready")
    page.route("**/api/memory/**", down)
    page.goto(memory.url)
    trouble = page.get_by_role("alert").filter(has_text="The memory cannot be shown")
    expect(trouble).to_contain_text("Fireside does not answer.")
    page.unroute("**/api/memory/**", down)
    trouble.get_by_role("button", name="Try again").click()
    rows(page).filter(has_text="Tomatoes").get_by_role("link").click()
    act(page, "Edit")
    editor(page).fill("Typed.\n")
    page.route("**/api/memory/**", down)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("form")).to_contain_text("Your text is kept in this browser")
    page.unroute("**/api/memory/**", down)
    page.get_by_role("button", name="Save").click()
    expect(shown(page)).to_contain_text("Typed.")
    assert memory.read("Tomatoes") == "Typed.\n"


def test_without_git_the_memory_is_read_and_says_why_it_is_not_written(memory: Memory, page: Page) -> None:
    def without_git(route: Route) -> None:
        body = route.fetch().json() | {"git_program": False}
        route.fulfill(body=json.dumps(body), content_type="application/json")

    page.route("**/api/memory/status*", without_git)
    page.goto(f"{memory.url}/Tomatoes")
    expect(shown(page)).to_contain_text("git program is not installed")
    expect(shown(page)).to_contain_text("Red.")
    for name in ("Edit", "Delete"):
        expect(shown(page).get_by_role("button", name=name)).to_have_count(0)
    expect(page.get_by_role("link", name="New article")).to_have_count(0)


def test_links_in_a_chat_open_the_article(memory: Memory, scripted: Scripted, page: Page) -> None:
    scripted.answer(
        ["See [[Garden/Plan#Beds|your beds]] and [[Tomatoes]], not `[[code]]`, [[ -f x ]] or [[1, 2]]."]
    )
    links = ask(page, "Where?").locator("a.wikilink")
    expect(links).to_have_text(["your beds", "Tomatoes"])
    links.first.click()
    expect(shown(page).get_by_role("heading", name="Beds")).to_be_visible()
    page.go_back()
    expect(answers(page).locator("code")).to_have_text("[[code]]")


def test_hostile_articles_run_nothing(memory: Memory, page: Page) -> None:
    bad = '<img src=x onerror="document.title=1">'
    memory.by_hand(
        f"Bad/{bad.replace('/', '')}", f"# {bad}\n\n[[{bad}]] [[Tomatoes|{bad}]] {bad} <b onclick=x>b</b>\n"
    )
    page.goto(memory.url)
    rows(page).filter(has_text="onerror").get_by_role("link").click()
    expect(shown(page).locator(".markdown a")).to_have_text([bad, bad])
    page.get_by_role("searchbox", name="Search the memory").fill("onerror")
    expect(rows(page).first).to_contain_text("<img")
    assert page.locator(".memory img, .memory [onclick], .memory [style], .memory script").count() == 0
