"""The page as an app: what it needs to be installed, and what its installed form can be started with."""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from browser.pages import Scripted, answers, expect_done, send
from support.browser import opened
from support.server import Server, prepared_home, serving

READY = "navigator.serviceWorker.ready.then(() => true)"
NEWER = (
    sys.executable,
    "-c",
    "import fireside; fireside.__version__ = '99'; import fireside.cli as c; c.main()",
)
CONTROLLED = """
    async () => {
        const { serviceWorker } = navigator;
        if (serviceWorker.controller) return;
        await new Promise((done) => serviceWorker.addEventListener("controllerchange", done, { once: true }));
    }
"""
"""Waits for the worker: it controls the page once it has kept all of it."""


@pytest.fixture(scope="module")
def manifest(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = server.get("/manifest.webmanifest")
    return found


def composer(page: Page) -> Any:
    return page.get_by_role("textbox", name="Message Fireside")


def test_chromium_finds_nothing_that_stops_it_from_being_installed(
    server: Server, playwright: Playwright, chromium_options: dict[str, Any], tmp_path: Path
) -> None:
    # A context of Playwright's is incognito, where nothing can be installed; so a profile on disk.
    context = playwright.chromium.launch_persistent_context(str(tmp_path), **chromium_options)
    page = context.pages[0]
    page.goto(server.url)
    assert server.url.startswith("http://127.0.0.1:")
    page.evaluate(READY)
    session = context.new_cdp_session(page)
    assert session.send("Page.getInstallabilityErrors") == {"installabilityErrors": []}
    found = session.send("Page.getAppManifest")
    context.close()
    assert found["errors"] == []
    read = found["manifest"]
    assert [shortcut["name"] for shortcut in read["shortcuts"]] == [
        "New chat",
        "Search everything",
        "Memory",
        "Settings",
    ]
    assert read["shareTarget"]["action"] == f"{server.url}/"


def test_every_icon_is_what_the_manifest_says(server: Server, manifest: dict[str, Any]) -> None:
    assert {icon["purpose"] for icon in manifest["icons"]} == {"any", "maskable"}
    icons = [(icon["src"], icon["type"], icon["sizes"]) for icon in manifest["icons"]]
    page = httpx.get(server.url).text
    apple = re.search(r'rel="apple-touch-icon" href="([^"]+)"', page)
    assert apple is not None
    for path, kind, sizes in [*icons, (apple[1], "image/png", "180x180")]:
        answer = httpx.get(server.url + path).raise_for_status()
        assert answer.headers["content-type"].split(";")[0] == kind
        if kind == "image/png":
            width, height = struct.unpack(">II", answer.content[16:24])
            assert f"{width}x{height}" == sizes


def shared(server: Server, manifest: dict[str, Any], **fields: str) -> str:
    """The address that a system opens for what another app shares, as the manifest asks for it."""
    target = manifest["share_target"]
    return (
        server.url + target["action"] + "?" + urlencode({target["params"][k]: v for k, v in fields.items()})
    )


def test_shared_text_waits_in_the_composer_of_a_new_chat(
    agent: Server, manifest: dict[str, Any], scripted: Scripted, fresh: Page
) -> None:
    scripted.answer(["Hello."])
    fresh.goto(agent.url)
    send(fresh, "An older chat")
    expect_done(answers(fresh).first)
    text = "Tides & <b>moons</b>\nשלום 100 %"
    fresh.goto(shared(agent, manifest, title="Tides", text=text, url="https://tides.example/?a=1"))
    expect(composer(fresh)).to_have_value(f"{text}\nhttps://tides.example/?a=1")
    expect(fresh.get_by_role("article")).to_have_count(0)
    assert fresh.evaluate("location.search") == ""
    fresh.reload()
    expect(composer(fresh)).to_have_value(f"{text}\nhttps://tides.example/?a=1")
    fresh.goto(shared(agent, manifest, url="https://second.example/", text="https://second.example/"))
    expect(composer(fresh)).to_have_value(f"{text}\nhttps://tides.example/?a=1\n\nhttps://second.example/")
    expect(fresh.get_by_role("article")).to_have_count(0)
    before = len(scripted.upstream.requests)
    scripted.answer(["Noted."])
    composer(fresh).press("Enter")
    expect_done(answers(fresh).first)
    assert scripted.upstream.requests[before]["messages"][-1]["content"].startswith(text)


def test_each_shortcut_opens_what_it_names(agent: Server, manifest: dict[str, Any], fresh: Page) -> None:
    urls = {shortcut["name"]: agent.url + shortcut["url"] for shortcut in manifest["shortcuts"]}
    fresh.goto(urls["Search everything"])
    palette = fresh.get_by_role("dialog", name=re.compile("Search|palette", re.IGNORECASE))
    expect(palette).to_be_visible()
    fresh.keyboard.press("Escape")
    fresh.reload()
    expect(composer(fresh)).to_be_visible()
    expect(palette).to_have_count(0)
    heading = fresh.get_by_role("heading", level=1)
    for name in ("Memory", "Settings", "New chat"):
        fresh.goto(urls[name])
        expect(heading).to_have_text(name)


@contextmanager
def upstream_server(home: Path, scripted: Scripted, port: int, **more: Any) -> Iterator[Server]:
    with serving(home, "--upstream", scripted.upstream.base_url, "--port", str(port), **more) as running:
        yield running.wait_ready()


def test_without_a_server_the_page_opens_and_says_so_and_a_newer_server_asks_for_a_reload(
    server: Server, scripted: Scripted, browser: Browser, tmp_path: Path
) -> None:
    home = prepared_home(tmp_path / "home", server.home)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    update = "Fireside was updated. Reload the page"
    with opened(browser, offline_is_fine=True, service_workers="allow") as page:
        with upstream_server(home, scripted, port) as old:
            page.goto(old.url)
            page.evaluate(CONTROLLED)
            expect(page.get_by_test_id("engine-pill")).to_have_attribute("data-phase", "ready")
        expect(page.get_by_role("alert").filter(has_text="Fireside is not running")).to_be_visible()
        # No file was read a second time: all comes from what the worker kept when it was installed.
        page.goto("about:blank")
        page.goto(old.url)
        missing = page.get_by_role("alert").filter(has_text="Fireside is not running")
        expect(missing).to_contain_text("fireside serve")
        composer(page).fill("Written while it was away")
        expect(page.get_by_text(update)).to_have_count(0)
        with upstream_server(home, scripted, port, command=NEWER) as new:
            assert new.get("/api/status")["version"] == "99"
            expect(page.get_by_text(update)).to_be_visible()
            expect(missing).to_have_count(0)
            expect(composer(page)).to_have_value("Written while it was away")
            page.get_by_role("button", name="Reload").click()
            expect(composer(page)).to_have_value("Written while it was away")
            expect(page.get_by_test_id("engine-pill")).to_have_attribute("data-phase", "ready")
            expect(page.get_by_text(update)).to_have_count(0)


def test_the_worker_keeps_all_of_the_page_and_nothing_of_the_person(server: Server, browser: Browser) -> None:
    with opened(browser, service_workers="allow") as page:
        page.goto(f"{server.url}/?text=private")
        page.evaluate(CONTROLLED)
        page.reload()
        expect(composer(page)).to_have_value("private")
        kept = json.loads(page.evaluate(_KEPT))
    assert {"/", "/manifest.webmanifest", "/assets/js/main.js", "/assets/icon.svg"} <= set(kept)
    assert not [path for path in kept if not re.match(r"/($|assets/|manifest)", path) or "private" in path]


_KEPT = """
    (async () => {
        const names = await caches.keys();
        const found = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
        return JSON.stringify(found.flat().map(({ url }) => url.slice(location.origin.length)));
    })()
"""
