"""The status in the page: a real browser and a Fireside whose engine works, dies and is not there."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.pages import new_chat
from support.browser import opened
from support.server import Server


def show(page: Page, server: Server) -> Locator:
    new_chat(page, server)  # so that the view is drawn anew
    page.goto(f"{server.url}/#/status")
    view = page.get_by_role("region", name="Status")
    expect(view.get_by_test_id("condition")).to_be_visible()
    return view


def figure(view: Locator, name: str) -> Locator:
    return view.locator(f"[data-series={name}]")


def complete(server: Server, prompt: str, max_tokens: int) -> httpx.Response:
    body = {"prompt": prompt, "max_tokens": max_tokens, "ignore_eos": True}
    return httpx.post(f"{server.url}/v1/completions", json=body, timeout=120)


@contextmanager
def answering(server: Server) -> Iterator[None]:
    """An answer of thousands of tokens is on its way; whoever uses this ends it."""
    thread = threading.Thread(target=complete, args=(server, "Once upon a time", 6000))
    thread.start()
    try:
        yield
    finally:
        for request in server.get("/api/requests")["requests"]:
            httpx.delete(f"{server.url}/api/requests/{request['id']}")
        thread.join()


@pytest.fixture
def offline(browser: Browser) -> Iterator[Page]:
    with opened(browser, offline_is_fine=True) as page:
        yield page


def test_an_answer_is_seen_live_and_cancelled_in_place(server: Server, page: Page) -> None:
    view = show(page, server)
    expect(view.get_by_test_id("condition")).to_contain_text("pocket is ready")
    expect(view).to_contain_text("Nothing is being answered.")
    with answering(server):
        request = view.get_by_test_id("in-flight")
        expect(request).to_contain_text(re.compile(r"Writing: [\d,]+ of at most 6,000 tokens"))
        expect(request).to_contain_text("completions")
        expect(figure(view, "rows")).to_contain_text(re.compile("1.*of 8 rows"))
        expect(figure(view, "speed")).to_contain_text(re.compile(r"[1-9][\d,]*(\.\d)? tok/s"))
        expect(figure(view, "first")).to_contain_text(re.compile(r"\d+ ms"))
        line = figure(view, "speed").get_by_role("img")
        expect(line).to_have_accessible_name(re.compile(r"Writing: last .* between .* and .* tok/s"))
        expect(line.locator(".chart__line")).to_have_attribute("d", re.compile(r"^M[\d.]+ [\d.]+L"))
        request.get_by_role("button", name="Cancel").click()
        expect(request.get_by_role("button", name="Let it run")).to_be_focused()
        request.get_by_role("button", name="Cancel it").click()
        expect(request).to_have_count(0)
    expect(view.get_by_test_id("recent").first).to_contain_text("Cancelled")
    view.get_by_text("The same as a table").click()
    table = view.get_by_role("region", name="Figures of the last five minutes")
    expect(table.get_by_role("row", name=re.compile("^Answers at once"))).to_contain_text("1")
    facts = view.get_by_test_id("facts")
    expect(facts).to_contain_text("OpenBLAS")
    expect(facts).to_contain_text(server.get("/stats")["engine"]["versions"]["mlx"])
    assert page.locator("[style]").count() == 0


def test_recent_requests_are_newest_first_and_more_are_loaded(server: Server, page: Page) -> None:
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda number: complete(server, f"Number {number}", 1), range(23)))
    assert [answer.status_code for answer in done] == [200] * 23
    view = show(page, server)
    recent = view.get_by_test_id("recent")
    expect(recent).to_have_count(20)
    logged = [line["id"] for line in server.get("/api/logs")["lines"]][::-1]
    shown = [each.get_attribute("data-id") for each in recent.all()]
    assert shown == logged[:20]
    view.get_by_role("button", name="Load more").click()
    expect(recent.nth(20)).to_have_attribute("data-id", logged[20])
    complete(server, "One more", 1)
    expect(recent.nth(1)).to_have_attribute("data-id", logged[0])
    expect(recent.first).to_contain_text("Cut at its limit")


def test_nothing_is_read_while_the_page_is_hidden(server: Server, offline: Page) -> None:
    # Under the hurried clock, sockets look too slow to the page; that is all that it may complain of.
    asked: list[str] = []
    offline.on(
        "request", lambda request: asked.append(request.url) if request.url.endswith("/stats") else None
    )
    offline.clock.install()
    view = show(offline, server)
    expect(figure(view, "rows")).to_contain_text("of 8 rows")

    def hide(hidden: bool) -> None:
        offline.evaluate(
            "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});"
            " document.dispatchEvent(new Event('visibilitychange')); }",
            hidden,
        )

    with offline.expect_request("**/stats"):
        offline.clock.run_for(2_500)
    offline.wait_for_load_state("networkidle")
    hide(True)
    before = len(asked)
    offline.clock.run_for(9_000)
    offline.wait_for_timeout(50)
    assert len(asked) == before
    with offline.expect_request("**/stats"):
        hide(False)
    offline.evaluate("location.hash = '#/chat'")
    expect(view).to_have_count(0)
    offline.wait_for_load_state("networkidle")
    before = len(asked)
    offline.clock.run_for(9_000)
    offline.wait_for_timeout(50)
    assert len(asked) == before


def test_a_fireside_that_is_gone_leaves_what_was_known_and_comes_back(server: Server, offline: Page) -> None:
    view = show(offline, server)
    condition = view.get_by_test_id("condition")
    expect(condition).to_contain_text("pocket is ready")
    expect(view.get_by_test_id("facts")).to_contain_text("pocket")
    offline.context.set_offline(True)
    expect(condition).to_contain_text("Fireside does not answer")
    expect(condition).to_contain_text(re.compile(r"What is below is as of \d\d:\d\d:\d\d"))
    expect(view.locator("[data-stale=true]")).to_be_visible()
    expect(view.get_by_test_id("facts")).to_contain_text("pocket")
    offline.context.set_offline(False)
    expect(condition).to_contain_text("pocket is ready", timeout=10_000)
    expect(view.locator("[data-stale=true]")).to_have_count(0)


def test_each_phase_of_the_engine_is_told_with_what_it_means(server: Server, offline: Page) -> None:
    status: dict[str, Any] = server.get("/api/status")

    def become(**engine: Any) -> None:
        status["engine"] = {**status["engine"], **engine}
        offline.evaluate("dispatchEvent(new Event('online'))")  # upon which the page asks at once

    offline.route("**/api/status", lambda route: route.fulfill(json=status))
    offline.route("**/api/status/events", lambda route: route.abort())
    condition = show(offline, server).get_by_test_id("condition")
    become(phase="loading", bytes_done=120_000_000, bytes_total=270_000_000, seconds=4)
    expect(condition).to_contain_text("Requests are refused until the model is in memory.")
    expect(condition).to_contain_text("120 of 270 MB")
    expect(condition.get_by_role("progressbar")).to_have_attribute("value", "120000000")
    become(phase="restarting", restarts=1)
    expect(condition).to_contain_text("Engine restarting")
    expect(condition).to_contain_text("go on where they were")
    become(phase="ready")
    expect(condition).to_contain_text("It had to be started again once")
    become(phase="failed", error="No room for the weights.")
    expect(condition).to_contain_text("No room for the weights.")


def test_figures_of_another_server_are_not_made_up(agent: Server, page: Page) -> None:
    view = show(page, agent)
    expect(view.get_by_test_id("condition")).to_contain_text("answers, on another server")
    expect(view.get_by_test_id("facts")).to_contain_text("another server")
    expect(view.locator(".chart")).to_have_count(0)
    expect(view).not_to_contain_text("Requests in flight")


def test_the_status_fits_a_small_phone(server: Server, browser: Browser) -> None:
    with opened(browser, viewport={"width": 360, "height": 700}, color_scheme="dark") as page:
        complete(server, "Fits", 2)
        view = show(page, server)
        expect(view.get_by_test_id("recent").first).to_be_visible()
        # The table of what others have asked scrolls within the view, where it must.
        assert page.evaluate("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('.view'))")
