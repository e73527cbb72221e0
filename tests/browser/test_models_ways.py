"""Ways through the models in the page that take more than one step, or end otherwise than was hoped.

One server and one page for all of it. The tests are in the order in which they make and use what is there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.models_page import row, show
from browser.pages import answers, ask, expect_done, new_chat, pill
from support.hub import Hub, files_of, running_hub
from support.server import POCKET, Server, prepared_home, serving

TAB = {"refusals_are_fine": True}
"""Of a model that does not fit."""
WEIGHTS = "model.safetensors"
PLAIN = "shore/heron"
PACKED = "shore--heron-4bit"
SHOWN = "shore heron 4bit"
IDLE_S = 2
"""Less than a model takes to load here while other tests run."""


@dataclass
class Shore:
    """A server that stops a model which nobody asks, its hub, and a folder with models."""

    server: Server
    hub: Hub
    folder: Path

    def look_anew(self) -> None:
        """Let it forget what it found on the disk, as it does after every clean-up."""
        token = self.server.get("/api/gc/plan")["token"]
        self.server.post("/api/gc/execute", {"token": token, "yes": True})


@pytest.fixture(scope="module")
def shore(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shore]:
    folder = tmp_path_factory.mktemp("models")
    for name in ("whale", "swell"):
        shutil.copytree(POCKET, folder / name)
    _swell(folder / "whale")
    home = prepared_home(tmp_path_factory.mktemp("home"), server.home)
    with running_hub() as hub:
        # Plain weights, which only a conversion makes fit for MLX: nothing says that they are.
        hub.add(PLAIN, POCKET, tags=["license:mit"], downloads=5)
        flags = ("--models-dir", str(folder), "--idle-unload", str(IDLE_S))
        around = hub.environment(home)
        with serving(home, *flags, model=POCKET, command=None, **around) as running:
            yield Shore(running.wait_ready(), hub, folder)


def _swell(model: Path) -> None:
    """Let its embeddings have 10^12 numbers more, none of which is on the disk."""
    weights = model / WEIGHTS
    with weights.open("r+b") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header: dict[str, Any] = json.loads(file.read(size))
        end = max(entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__")
        count = 10**12
        header["model.more"] = {"dtype": "F32", "shape": [count], "data_offsets": [end, end + 4 * count]}
        longer = json.dumps(header).encode()
        body = file.read()
        file.seek(0)
        file.write(struct.pack("<Q", len(longer)) + longer + body)
        file.truncate(8 + len(longer) + end + 4 * count)
    os.utime(weights)


def test_a_model_is_converted_and_then_answers(shore: Shore, page: Page) -> None:
    told: list[str] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda text: told.append(str(text))))
    show(page, shore.server, f"find/{PLAIN}")
    card = page.get_by_test_id("card")
    expect(card.get_by_role("radio", name="4-bit")).to_be_checked()
    card.get_by_role("button", name="Download and convert").click()
    page.get_by_role("link", name="Downloads").click()
    job = row(page, "download", PLAIN)
    expect(job).to_contain_text(f"{PLAIN}, converted to 4-bit")
    expect(job).to_have_attribute("data-state", "done", timeout=40_000)
    job.get_by_role("link", name=f"Show it: {PLAIN}").click()
    packed = row(page, "model", PACKED)
    expect(packed).to_contain_text("4-bit")
    packed.get_by_role("button", name="Serve").click()
    expect(pill(page)).to_have_accessible_name(re.compile(rf"^Engine: {SHOWN}"), timeout=30_000)
    # What the page knows of the model that answers comes with it, not with the agent's next look.
    deadline = time.monotonic() + 3
    while not any(json.loads(text)["type"] == "ready" and PACKED in text for text in told):
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)
    new_chat(page, shore.server)
    expect_done(ask(page, "Repeat: with four bits"))
    # Its card leads to what it has become.
    show(page, shore.server, f"find/{PLAIN}")
    card.get_by_role("link", name="Serve it from there").click()
    expect(packed).to_contain_text("Answers now")


def test_a_model_that_does_not_fit_says_by_how_much_and_what_to_do(shore: Shore, page: Page) -> None:
    show(page, shore.server, "here")
    whale = row(page, "model", "whale")
    # One that was too large when it was looked at is not offered.
    expect(whale).to_contain_text(
        re.compile(r"the weights of whale take 4000\.\d+ GB.* are needed; the .* GB that may be used")
    )
    expect(whale.get_by_role("button", name="Serve")).to_have_count(0)
    expect(whale.get_by_role("link", name="See what suits this machine")).to_be_visible()
    # One that has become so since then is refused, and whatever answered goes on.
    swell = row(page, "model", "swell")
    expect(swell.get_by_role("button", name="Serve")).to_be_visible()
    _swell(shore.folder / "swell")
    shore.look_anew()
    swell.get_by_role("button", name="Serve").click()
    refused = page.get_by_role("alert").and_(page.get_by_test_id("switch"))
    expect(refused).to_contain_text(re.compile(r"swell does not fit: .* 4000\.\d+ GB.* are needed"))
    refused.get_by_role("link", name="See what suits this machine").click()
    expect(page.get_by_role("heading", name="Recommended")).to_be_visible()
    show(page, shore.server, "here")
    refused.get_by_role("button", name="Dismiss").click()
    expect(refused).to_have_count(0)
    new_chat(page, shore.server)
    expect_done(ask(page, "Repeat: still afloat"))


def test_old_versions_with_files_of_their_own_go_only_when_asked_for(shore: Shore, page: Page) -> None:
    repo = shore.hub.repos[PLAIN]
    old = repo.branches["main"]
    snapshots = shore.server.home / "hub" / "models--shore--heron" / "snapshots"
    (snapshots / old / "NOTES.txt").write_text("mine")
    new = repo.commit({**files_of(POCKET), "README.md": b"# Heron, again\n"})
    show(page, shore.server, f"find/{PLAIN}")
    card = page.get_by_test_id("card")
    card.get_by_text("As it is", exact=True).click()
    card.get_by_role("button", name="Download").click()
    show(page, shore.server, "downloads")
    expect(row(page, "download", PLAIN)).to_have_count(2)
    expect(row(page, "download", PLAIN).first).to_have_attribute("data-state", "done", timeout=20_000)
    show(page, shore.server, "clean-up")
    too = page.get_by_role("checkbox", name="Also old versions with files that no newer one has")
    gone = page.get_by_test_id("to-remove").filter(has_text=PLAIN)
    expect(too).not_to_be_checked()
    expect(gone).to_have_count(0)
    too.check()
    expect(gone).to_contain_text("1 version")
    too.uncheck()
    expect(gone).to_have_count(0)
    assert (snapshots / old / "NOTES.txt").exists()
    too.check()
    page.get_by_role("button", name=re.compile("^Remove")).click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_test_id("removed")).to_contain_text("freed.")
    expect(gone).to_have_count(0)
    assert [path.name for path in snapshots.iterdir()] == [new]


def test_a_model_that_nobody_asks_leaves_the_memory_and_comes_with_the_next_message(
    shore: Shore, page: Page
) -> None:
    new_chat(page, shore.server)
    expect_done(ask(page, "Repeat: once"))
    expect(pill(page)).to_have_attribute("data-phase", "idle", timeout=20_000)
    expect(pill(page)).to_contain_text("not in memory")
    pill(page).click()
    panel = page.get_by_role("dialog", name="Model")
    expect(panel).to_contain_text("the next message loads it")
    expect(panel.get_by_role("option", selected=True)).to_contain_text("Answers with the next message")
    page.keyboard.press("Escape")
    show(page, shore.server, "here")
    expect(page.get_by_test_id("model").first).to_contain_text("Answers with the next message")
    page.go_back()
    expect_done(ask(page, "Repeat: twice"))
    expect(answers(page)).to_have_count(2)
    expect(pill(page)).to_have_attribute("data-phase", "ready")
