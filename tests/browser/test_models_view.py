"""Models in the page: found on a hub, fetched, served in the middle of a chat, and cleaned up.

One server and one page for all of it. The tests are in the order in which they make and use what is there.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from browser.models_page import row, show
from browser.pages import answers, ask, expect_done, new_chat, pill, send
from support.chat import LONG
from support.hub import Cut, Hub, Refused, Repo, Slow, files_of, running_hub
from support.local_models import spoil
from support.server import POCKET, Server, prepared_home, serving

DRAFT = POCKET.with_name("pocket-draft")
README = b"""---
license: mit
---
# Gull

<script>globalThis.ran = true</script> It **calls**. See [the shore](https://example.org/shore).

| Word | Count |
| --- | --- |
| gull | 7 |
"""
WEIGHTS = "model.safetensors"
TAB = {"refusals_are_fine": True}
"""Of the hub."""


@dataclass
class Shore:
    """A server, and the hub that it asks until `cut_off`."""

    server: Server
    hub: Hub
    line: ExitStack

    def cut_off(self) -> None:
        self.line.close()


@pytest.fixture(scope="module")
def shore(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shore]:
    folder = tmp_path_factory.mktemp("models")
    spoil(shutil.copytree(DRAFT, folder / "broken") / WEIGHTS)
    home = prepared_home(tmp_path_factory.mktemp("home"), server.home)
    with ExitStack() as line:
        hub = line.enter_context(running_hub())
        hub.add("shore/gull", _files(), tags=["mlx", "license:mit"], downloads=1200)
        hub.add("shore/tern", {"config.json": b"{}", WEIGHTS: b"0" * 100}, gated="manual", downloads=7)
        _begin(home / "hub" / "models--shore--plover", hub.add("shore/plover", _files()))
        around = hub.environment(home)
        with serving(home, "--models-dir", str(folder), model=POCKET, command=None, **around) as running:
            yield Shore(running.wait_ready(), hub, line)


def _files() -> dict[str, bytes]:
    return {**files_of(DRAFT), "README.md": README}


def _begin(folder: Path, repo: Repo) -> None:
    """What a download that somebody broke off leaves."""
    commit = repo.branches["main"]
    snapshot = folder / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_bytes(repo.commits[commit]["config.json"])
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(commit)


def picker(page: Page) -> Locator:
    pill(page).click()
    field = page.get_by_role("combobox", name="Model to switch to")
    expect(field).to_be_focused()
    return field


def expect_served(page: Page, name: str) -> None:
    expect(pill(page)).to_have_accessible_name(re.compile(f"^Engine: {name}\\b"), timeout=30_000)
    expect(pill(page)).to_have_attribute("data-phase", "ready", timeout=30_000)


def test_a_model_is_found_read_about_and_fetched_through_a_pause_and_a_cut(shore: Shore, page: Page) -> None:
    show(page, shore.server, "find")
    expect(page.get_by_test_id("found")).to_have_count(1)
    page.get_by_text("All", exact=True).click()
    expect(page.get_by_test_id("found")).to_have_count(3)
    page.get_by_role("searchbox", name="Search on the hub").fill("gul")
    expect(page.get_by_test_id("found")).to_have_count(1)
    found = row(page, "found", "shore/gull")
    expect(found).to_contain_text("1.2K downloads")
    expect(found).to_contain_text("mit")
    found.get_by_role("link", name="gull").click()

    card = page.get_by_test_id("card")
    expect(card.get_by_role("heading", name="gull").first).to_be_focused()
    description = card.get_by_role("region", name="Description")
    expect(description.locator("strong")).to_have_text("calls")
    expect(description.get_by_role("cell", name="gull")).to_be_visible()
    assert page.evaluate("globalThis.ran") is None
    card.get_by_text("files,").click()
    expect(card.get_by_role("row", name=WEIGHTS)).to_contain_text("1.6 MB")

    shore.hub.faults[WEIGHTS] = [Slow(0.1), Cut(200_000)]
    card.get_by_role("button", name="Download").click()
    job = row(page, "download", "shore/gull")
    expect(job).to_have_attribute("data-state", "running")
    expect(job).to_contain_text(re.compile(r"MB · .*/s · .* left · file \d of \d: model.safetensors"))
    page.get_by_role("link", name="Downloads 1").click()
    job.get_by_role("button", name="Pause").click()
    expect(job).to_have_attribute("data-state", "paused")
    job.get_by_role("button", name="Resume").click()
    expect(job).to_have_attribute("data-state", "done", timeout=20_000)
    parts = shore.hub.ranges_of(WEIGHTS)
    assert parts[0] is None
    assert len(parts) == 3
    assert all(str(part).startswith("bytes=") for part in parts[1:])

    page.get_by_role("link", name="On this machine").click()
    here = row(page, "model", "shore/gull")
    expect(here).to_contain_text("16-bit")
    expect(here).to_contain_text("mit")
    expect(here.get_by_role("img", name="usable memory")).to_be_visible()
    expect(row(page, "model", "pocket")).to_contain_text("Answers now")
    here.get_by_text("Details").click()
    expect(here.get_by_role("cell", name="Apple M4, 16 GB")).to_be_visible()


def test_what_is_missing_of_a_model_is_fetched_from_where_it_is_told(shore: Shore, page: Page) -> None:
    show(page, shore.server, "here")
    model = row(page, "model", "shore/plover")
    expect(model).to_contain_text("Not complete: ")
    model.get_by_role("button", name="Resume").click()
    expect(model.get_by_role("button", name="Serve")).to_be_visible(timeout=20_000)
    expect(model).not_to_contain_text("Not complete")


def test_a_chat_goes_on_with_another_model_and_says_which_wrote_what(shore: Shore, page: Page) -> None:
    new_chat(page, shore.server)
    first = ask(page, "Repeat: the gulls are back")
    expect(first.get_by_test_id("writer")).to_have_count(0)
    send(page, LONG)
    expect(answers(page).nth(1)).to_contain_text(re.compile(r"\w"), timeout=20_000)
    field = picker(page)
    options = page.get_by_role("listbox", name="Models on this machine").get_by_role("option")
    expect(options.first).to_have_attribute("aria-selected", "true")
    expect(options.first).to_contain_text("pocket")
    field.press_sequentially("gul")
    expect(options).to_have_count(1)
    expect(options.first).to_contain_text("16-bit · 8k context")
    field.press("Enter")
    change = page.get_by_test_id("switch")
    expect(change).to_have_attribute("data-state", "draining")
    expect(change).to_contain_text("Waiting for the last answers")
    expect(pill(page)).to_contain_text("Switching to gull")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Stop", exact=True).click()
    send(page, "What is the sea?")
    expect(page.get_by_test_id("turn-progress")).to_contain_text("Another model is being started.")
    expect_served(page, "gull")
    pill(page).click()
    expect(change).to_have_attribute("data-state", "done")
    expect(change).to_contain_text("gull answers now")
    page.keyboard.press("Escape")

    third = answers(page).nth(2)
    expect_done(third)
    expect(third.get_by_test_id("writer")).to_have_text("Written by gull")
    page.reload()
    expect(answers(page).nth(2).get_by_test_id("writer")).to_have_text("Written by gull")
    expect(answers(page).first.get_by_test_id("writer")).to_have_count(0)

    send(page, "/models")
    field = page.get_by_role("combobox", name="Model to switch to")
    expect(field).to_be_focused()
    expect(options.first).to_contain_text("gull")
    for _ in range(options.count()):
        if (field.get_attribute("aria-activedescendant") or "").endswith("pocket"):
            break
        field.press("ArrowDown")
    field.press("Enter")
    expect_served(page, "pocket")
    page.keyboard.press("Escape")
    expect(ask(page, "Repeat: low water").get_by_test_id("writer")).to_have_text("Written by pocket")


def test_a_model_that_cannot_be_loaded_says_why_and_the_old_one_answers(shore: Shore, page: Page) -> None:
    show(page, shore.server, "here")
    page.get_by_role("button", name="Serve broken").click()
    banner = page.get_by_test_id("not-switched")
    expect(banner).to_contain_text("broken could not be loaded; pocket is back.", timeout=30_000)
    expect(banner).to_contain_text("no finite numbers")
    expect_served(page, "pocket")
    banner.get_by_role("button", name="Dismiss").click()
    expect(banner).to_have_count(0)
    new_chat(page, shore.server)
    expect(ask(page, "Repeat: still here")).to_contain_text("still here")


def test_what_a_newer_version_leaves_is_shown_and_removed(shore: Shore, page: Page) -> None:
    shore.hub.repos["shore/gull"].commit({**_files(), "README.md": b"# Gull, again\n"})
    show(page, shore.server, "find/shore/gull")
    page.get_by_test_id("card").get_by_role("button", name="Download").click()
    expect(page.get_by_role("status").filter(has_text="It is on this machine.")).to_be_visible()
    show(page, shore.server, "downloads")
    expect(row(page, "download", "shore/gull")).to_have_count(2)
    expect(row(page, "download", "shore/gull").first).to_have_attribute("data-state", "done")
    show(page, shore.server, "clean-up")
    gone = page.get_by_test_id("to-remove").filter(has_text="shore/gull")
    expect(gone).to_contain_text("1 version")
    # The conversations with the version that goes are of use to nobody then.
    expect(page.get_by_test_id("to-remove").filter(has_text="ssd-cache")).to_be_visible()
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Keep it").click()
    expect(gone).to_be_visible()
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_test_id("removed")).to_contain_text("freed.")
    expect(gone).to_have_count(0)
    expect(page.get_by_text("There is nothing to remove.")).to_be_visible()
    folder = shore.server.home / "hub" / "models--shore--gull" / "snapshots"
    assert [path.name for path in folder.iterdir()] == [shore.hub.repos["shore/gull"].branches["main"]]


def test_what_stands_in_the_way_is_said_in_words(shore: Shore, page: Page) -> None:
    show(page, shore.server, "find/shore/tern")
    card = page.get_by_test_id("card")
    expect(card.get_by_role("note")).to_contain_text("Its owners decide who may have it.")
    card.get_by_text("As it is", exact=True).click()
    card.get_by_role("button", name="Download").click()
    expect(card.get_by_role("alert")).to_contain_text("gated")
    shore.hub.sizes[WEIGHTS] = 10**15
    shore.hub.repos["shore/gull"].commit({**_files(), "README.md": b"# Full\n"})
    show(page, shore.server, "find/shore/gull")
    card.get_by_role("button", name="Download").click()
    card.get_by_role("alert").get_by_role("link", name="See what can be removed").click()
    expect(page.get_by_role("heading", name="Clean up")).to_be_visible()
    show(page, shore.server, "find/shore/none")
    expect(page.get_by_test_id("hub-trouble")).to_contain_text("The hub has no shore/none")

    # Connections that were kept open outlive the hub, so it takes leave of them first.
    shore.hub.down = Refused(503, {"Connection": "close"})
    show(page, shore.server, "find")
    trouble = page.get_by_test_id("hub-trouble")
    expect(trouble).to_contain_text("answered with the status 503")
    shore.cut_off()
    again = trouble.get_by_role("button", name="Try again")
    again.click()
    expect(again).to_be_enabled()
    expect(trouble).to_contain_text("cannot be reached")
    expect(trouble).to_contain_text("The models on this machine work without it.")
    trouble.get_by_role("link", name="Models on this machine").click()
    expect(row(page, "model", "shore/gull")).to_be_visible()
    new_chat(page, shore.server)
    expect_done(ask(page, "Repeat: no network"))
