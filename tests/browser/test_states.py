"""What the page says while it waits, and when something is missing: real servers that end, hang and break."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.sync_api import Browser, Locator, Page, Route, WebSocketRoute, expect

from browser.pages import (
    KEY,
    NAME,
    Scripted,
    answers,
    ask,
    asked,
    bash,
    call,
    expect_done,
    expect_true,
    new_chat,
    pill,
    send,
)
from support.browser import opened
from support.chat import LONG, chatting
from support.server import POCKET, Server, prepared_home, serving


@pytest.fixture(scope="module", autouse=True)
def starting(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It loads its model while the tests that do not need it run."""
    home = prepared_home(tmp_path_factory.mktemp("narrow"), server.home)
    with serving(home, "--batch", "1", "--allow-host", NAME) as running:
        yield running


@pytest.fixture(scope="module")
def narrow(starting: Server) -> Server:
    """A server that answers one at a time, and may be reached by a name as from elsewhere."""
    return starting.wait_ready()


@pytest.fixture
def cut(browser: Browser) -> Iterator[Page]:
    """A page that may be cut off."""
    with opened(browser, offline_is_fine=True) as page:
        yield page


class Line:
    """The page's sockets to the agent, as a test lets them through or breaks them."""

    def __init__(self, page: Page) -> None:
        self.through = True
        self.refuse: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda _: None
        self._held: list[WebSocketRoute] = []
        self._joined: list[WebSocketRoute] = []
        page.route_web_socket(re.compile("/ws$"), self._connect)

    def _connect(self, socket: WebSocketRoute) -> None:
        if self.through:
            self._join(socket)
        else:
            self._held.append(socket)

    def _join(self, socket: WebSocketRoute) -> None:
        upstream = socket.connect_to_server()
        self._joined.append(socket)

        def pass_on(message: str | bytes) -> None:
            refusal = self.refuse(json.loads(message))
            if refusal is None:
                upstream.send(message)
            else:
                socket.send(json.dumps(refusal))

        socket.on_message(pass_on)

    def join(self) -> None:
        """Let what was held back through."""
        self.through = True
        for socket in self._held[-1:]:
            self._join(socket)
        self._held = []

    def drop(self) -> None:
        self.through = False
        self._joined[-1].close()


def banner(page: Page) -> Locator:
    return page.locator(".banner")


def progress(page: Page) -> Locator:
    return page.get_by_test_id("turn-progress")


def listen(page: Page) -> None:
    """Let `heard` be a list of what the pill and the progress say from now on, however shortly."""
    page.evaluate("""() => {
        const heard = (window.heard = []);
        new MutationObserver(() => {
            for (const id of ["engine-pill", "turn-progress"]) {
                const element = document.querySelector(`[data-testid="${id}"]`);
                if (element) heard.push(`${element.dataset.phase}: ${element.textContent}`);
            }
        }).observe(document.body, { attributes: true, characterData: true, childList: true, subtree: true });
    }""")


def test_what_is_not_there_yet_is_hinted_at_until_it_comes(
    agent: Server, scripted: Scripted, cut: Page
) -> None:
    scripted.answer(["The tide turns."])
    new_chat(cut, agent)
    expect_done(ask(cut, "Tell me"))
    line = Line(cut)
    line.through = False
    cut.reload()
    expect(cut.get_by_test_id("chats-loading")).to_have_text("Loading the chats…")
    expect(cut.get_by_test_id("opening")).to_have_text("Opening the chat…")
    expect(cut.get_by_test_id("opening").locator(".opening__bones")).to_be_visible()
    expect(banner(cut)).to_have_text("Connecting to Fireside…")
    line.join()
    expect(answers(cut).first).to_contain_text("The tide turns.")
    for gone in (cut.get_by_test_id("chats-loading"), cut.get_by_test_id("opening"), banner(cut)):
        expect(gone).to_have_count(0)


def test_a_lost_connection_is_told_and_taken_up_where_it_was(
    agent: Server, scripted: Scripted, cut: Page
) -> None:
    wait, go_on = scripted.gate()
    scripted.answer(["High water ", wait, "is at six."])
    line = Line(cut)
    new_chat(cut, agent)
    send(cut, "When?")
    expect(answers(cut).first).to_contain_text("High water")
    line.drop()
    expect(banner(cut)).to_have_text("Connecting to Fireside…")
    expect(progress(cut)).to_contain_text("Waiting for Fireside to come back")
    expect(cut.get_by_role("button", name="Stop")).to_be_disabled()
    go_on()
    line.join()
    expect_done(answers(cut).first)
    expect(answers(cut).first).to_contain_text("High water is at six.")
    expect(banner(cut)).to_have_count(0)


def test_without_a_network_the_message_is_kept_and_goes_out_later(server: Server, cut: Page) -> None:
    new_chat(cut, server)
    expect(pill(cut)).to_have_attribute("data-phase", "ready")
    cut.context.set_offline(True)
    expect(banner(cut)).to_contain_text("Fireside is not running.", timeout=30_000)
    expect(banner(cut).locator("code").first).to_have_text("fireside serve")
    send(cut, "Repeat: the gulls are back")
    # The page takes five seconds to be sure that its socket is dead.
    expect(asked(cut).first).to_contain_text("Sent as soon as Fireside is back.", timeout=15_000)
    cut.context.set_offline(False)
    expect(answers(cut).first).to_contain_text("gulls", timeout=30_000)
    expect(banner(cut)).to_have_count(0)
    expect(asked(cut)).to_have_count(1)


def test_from_elsewhere_the_page_tells_a_missing_network_from_a_missing_fireside(
    narrow: Server, browser: Browser
) -> None:
    # Not `opened`: Chromium has much to say about plain http.
    page = browser.new_page()
    page.goto(narrow.url.replace("127.0.0.1", NAME))
    expect(pill(page)).to_have_attribute("data-phase", "ready")
    page.route("**/api/status*", lambda route: route.abort())
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(banner(page)).to_contain_text("Fireside does not answer.")
    expect(banner(page)).to_contain_text(f"It may not be running on {NAME}")
    page.context.set_offline(True)
    expect(banner(page)).to_contain_text("This device is offline.")
    expect(pill(page)).to_contain_text("Fireside does not answer")
    page.unroute("**/api/status*")
    page.context.set_offline(False)
    expect(banner(page)).to_have_count(0)
    page.context.close()


def test_a_question_that_waits_says_its_place_in_the_queue(narrow: Server, browser: Browser) -> None:
    with opened(browser) as page, chatting(narrow) as other, chatting(narrow) as third:
        new_chat(page, narrow)
        other.prompt(other.new_session(), LONG)
        other.until(lambda frame: frame["type"] == "text_delta")
        session = third.new_session()
        third.prompt(session, LONG)
        third.until(lambda frame: frame["type"] == "progress" and frame["phase"] == "queued")
        send(page, "Repeat: my turn")
        expect(progress(page)).to_have_attribute("data-phase", "queued")
        expect(progress(page)).to_contain_text("Number 2 in the queue")
        third.send("abort", session_id=session)
        expect(progress(page)).to_contain_text("Next in the queue")
        stop_others(narrow, page)
        expect(answers(page).first).to_contain_text("my turn", timeout=30_000)
        # A socket with much unread takes its time to close.
        other.turn_end()


def stop_others(server: Server, page: Page) -> None:
    kept = page.url.rpartition("/")[2]
    with chatting(server) as chat:
        chat.send("list_sessions")
        for row in chat.until(lambda frame: frame["type"] == "sessions")["sessions"]:
            if row["id"] != kept:
                chat.send("abort", session_id=row["id"])
        # What a socket was sent just before it is closed may be lost.
        chat.send("list_sessions")
        chat.until(lambda frame: frame["type"] == "sessions")


def test_an_engine_that_is_killed_is_said_to_restart_and_the_answer_goes_on(
    narrow: Server, browser: Browser
) -> None:
    with opened(browser) as page:
        new_chat(page, narrow)
        send(page, LONG)
        expect(answers(page).locator(".block").first).to_contain_text("1, 2, 3")
        listen(page)
        narrow.kill_core()
        # It may be there again before anybody looks.
        for words in ("Engine restarting", "restarting: ", "taking up the answer again"):
            expect_true(page, f"heard.some((text) => text.includes({words!r}))")
        expect(pill(page)).to_have_attribute("data-phase", "ready", timeout=60_000)
        expect(progress(page)).to_have_count(0, timeout=60_000)
        before = answers(page).first.inner_text()
        expect(answers(page).first).not_to_have_text(before, timeout=60_000)
        page.get_by_role("button", name="Stop").click()
        expect(answers(page).first).to_have_attribute("data-status", "aborted")
        answers(page).first.get_by_role("button", name="Details").click()


@contextmanager
def broken(home: Path) -> Iterator[Server]:
    """A server whose model cannot be loaded."""
    model = home / "broken-model"
    shutil.copytree(POCKET, model)
    for weights in model.glob("*.safetensors"):
        weights.write_bytes(weights.read_bytes()[:-1000])
    with serving(home, model=model) as running:
        yield running


def test_an_engine_that_cannot_run_says_why_and_what_to_do(tmp_path: Path, cut: Page) -> None:
    with broken(tmp_path / "home") as server:
        new_chat(cut, server)
        expect(pill(cut)).to_have_attribute("data-phase", "failed", timeout=60_000)
        expect(banner(cut)).to_contain_text("The engine failed.")
        expect(banner(cut)).to_contain_text(server.get("/api/status")["engine"]["error"])
        expect(banner(cut)).to_contain_text("Put that right, then stop Fireside")
        expect(pill(cut)).to_contain_text("Engine failed")
        expect(cut.locator(".welcome")).not_to_contain_text("as soon as the model is ready")
        cut.set_viewport_size({"width": 360, "height": 640})
        expect(cut.locator(".welcome h2")).to_be_in_viewport()  # what is too long begins at its start
        send(cut, "Hello?")
        expect(answers(cut).first).to_have_attribute("data-status", "error")
        expect(answers(cut).first.get_by_role("button", name="Ask again")).to_be_enabled()


def test_a_read_only_chat_is_marked_and_blocks_what_would_ask(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(bash("echo never"), ["As you wish."])
    new_chat(page, agent)
    page.get_by_test_id("this-chat").click()
    page.get_by_role("dialog", name="This chat").get_by_text("Nothing that asks").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("banner").get_by_text("Read-only", exact=True)).to_be_visible()
    expect_done(ask(page, "Run it"))
    expect(call(page)).to_have_attribute("data-status", "blocked")
    expect(call(page)).to_contain_text("This chat is read-only.")
    page.get_by_role("button", name="New chat").first.click()
    expect(page.get_by_text("Read-only", exact=True)).to_have_count(0)


def test_a_chat_that_is_not_there_and_one_that_cannot_be_read(
    agent: Server, scripted: Scripted, cut: Page
) -> None:
    scripted.answer(["Still here."])
    line = Line(cut)
    cut.goto(f"{agent.url}/#/chat/no-such-chat")
    expect(cut.get_by_role("heading", name="This chat is not here")).to_be_visible()
    expect(cut.get_by_role("textbox", name="Message Fireside")).to_have_count(0)
    cut.get_by_role("link", name="Start a new chat").click()
    ask(cut, "Are you there?")

    def refusal(frame: dict[str, Any]) -> dict[str, Any] | None:
        if frame["type"] != "open_session":
            return None
        words = "The database cannot be read."
        return {"type": "error", "code": "storage_failed", "message": words, "session_id": frame["id"]}

    line.refuse = refusal
    cut.reload()
    trouble = cut.get_by_role("alert").filter(has_text="This chat cannot be read just now")
    expect(trouble).to_contain_text("The database cannot be read.")
    line.refuse = lambda _: None
    trouble.get_by_role("button", name="Try again").click()
    expect(answers(cut).first).to_contain_text("Still here.")
    expect(trouble).to_have_count(0)


def test_a_message_that_cannot_be_kept_stays_and_is_sent_again(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(["First."], ["Second."])
    new_chat(page, agent)
    ask(page, "Begin")
    unkept = page.get_by_test_id("unkept")
    with unwritable(agent):
        send(page, "Keep this")
        failed = page.locator("[data-status=failed]")
        expect(unkept).to_contain_text("Chats cannot be kept just now. The database")
        page.goto(f"{agent.url}/#/settings/about")
        unkept.get_by_role("button", name="Dismiss").click()
        expect(unkept).to_have_count(0)
        page.go_back()
        expect(failed.get_by_role("alert")).to_contain_text("Not sent. The database")
        send(page, "And this")
        expect(failed).to_have_count(2)
        page.reload()
        expect(failed).to_have_count(2)
        expect(unkept).to_contain_text("check the disk and the free space")
        failed.first.get_by_role("button", name="Retry").click()
        expect(failed.first.get_by_role("alert")).to_contain_text("Not sent.")
        expect(unkept).to_be_visible()
    expect(unkept).to_have_count(0)
    failed.filter(has_text="And this").get_by_role("button", name="Edit").click()
    expect(page.get_by_role("textbox", name="Message Fireside")).to_have_value("And this")
    failed.get_by_role("button", name="Retry").click()
    expect_done(answers(page).nth(1))
    expect(answers(page).nth(1)).to_contain_text("Second.")
    expect(asked(page)).to_have_count(2)
    expect(asked(page).nth(1)).to_contain_text("Keep this")


@contextmanager
def unwritable(server: Server) -> Iterator[None]:
    """The disk is full, as far as the server can tell."""
    process = psutil.Process(server.process.pid)
    before = process.rlimit(psutil.RLIMIT_FSIZE)
    process.rlimit(psutil.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        process.rlimit(psutil.RLIMIT_FSIZE, before)


def answer_late(route: Route) -> None:
    """The page hears by its socket and its status that its session has ended before it is answered."""
    answer = route.fetch()
    time.sleep(1)
    route.fulfill(response=answer)


def test_a_browser_is_logged_out_from_the_page_and_forgets_what_was_typed(
    locked: Server, browser: Browser
) -> None:
    context = browser.new_context(service_workers="block")
    page = context.new_page()
    page.goto(f"{locked.url}/login")
    page.get_by_label("API key").fill(KEY)
    page.keyboard.press("Enter")
    page.get_by_role("textbox", name="Message Fireside").fill("half a secret")
    expect_true(page, "JSON.stringify(localStorage).includes('secret')")
    other = context.new_page()
    other.route("**/logout", answer_late)
    other.goto(f"{locked.url}/#/settings/keys")
    other.get_by_role("button", name="Log out").click()
    other.wait_for_url(re.compile("/login$"))
    expect(other.get_by_role("heading")).to_have_text("This Fireside needs a link or a key")
    assert "secret" not in other.evaluate("JSON.stringify(localStorage)")
    page.wait_for_url(re.compile("/login$"))
    assert other.evaluate("fetch('/api/status').then((answer) => answer.status)") == 401
    context.close()
