"""How views and states of the page are brought about, as a person would."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page, WebSocketRoute, expect

from agent.scripted import call_chunks, progress_chunk, reasoning_chunk
from shots import content
from shots.camera import Camera
from shots.stage import Stage

Play = Callable[[Stage, Camera, str], None]
STATUS_READINGS = 150
"""One every two seconds: five minutes."""


@dataclass(frozen=True)
class Scene:
    """A state of the page.

    Attributes:
        words: the line above its pictures.
        first: it is of a Fireside in which nothing was done yet.
    """

    name: str
    words: str
    play: Play
    first: bool = False


def place(address: str, wanted: str, *, act: Callable[[Page], None] = lambda _: None) -> Play:
    """A view that is seen at its address, once what is `wanted` is there."""

    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page() as page:
            stage.show(page, address)
            page.locator(wanted).first.wait_for()
            act(page)
            coloured(page)
            for _ in camera.frames(page, name):
                for tab in page.locator(".sections [aria-current]").all():
                    tab.evaluate("(tab) => tab.scrollIntoView({ inline: 'center', block: 'nearest' })")

    return play


def send(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message Fireside").fill(text)
    page.keyboard.press("Enter")


def open_chat(page: Page, title: str) -> None:
    page.locator(".chat").get_by_role("link", name=title).first.click()
    expect(page.get_by_role("article", name="Fireside").first).to_have_attribute("data-status", "done")
    coloured(page)


def coloured(page: Page) -> None:
    """Wait until all code that is shown has its colours."""
    expect(page.locator("figure.code:not(:has([class^=hljs]))")).to_have_count(0)


def chat(title: str, *, top: bool = False) -> Play:
    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page() as page:
            stage.show(page)
            open_chat(page, title)
            for _ in camera.frames(page, name):
                if top:
                    page.locator(".thread__scroll").evaluate("(box) => box.scrollTo(0, 0)")

    return play


def approval(stage: Stage, camera: Camera, name: str) -> None:
    edit = {"path": "cli.py", "old_text": content.CLI_OLD, "new_text": content.CLI_NEW}
    stage.model.says(
        "Rename the export flag",
        [reasoning_chunk("It is read in one place."), content.APPROVAL_START, *call_chunks("edit", edit)],
    )
    with stage.page() as page:
        stage.show(page)
        send(page, content.APPROVAL_PROMPT)
        expect(page.get_by_test_id("approval")).to_be_visible()
        stage.rename(page, stage.model.title)
        camera.take(page, name)
        stage.forget(page)


def streaming(stage: Stage, camera: Camera, name: str) -> None:
    wait, go_on = stage.model.gate()
    stage.model.says("Why dough wants to rest", [content.STREAM_START, wait, "crust."])
    with stage.page() as page:
        stage.show(page)
        send(page, content.STREAM_PROMPT)
        expect(page.get_by_role("article", name="Fireside")).to_contain_text("later browns the")
        stage.rename(page, stage.model.title)
        camera.take(page, name)
        stage.forget(page)
        go_on()


def waiting(stage: Stage, camera: Camera, name: str) -> None:
    wait, go_on = stage.model.gate()
    stage.model.says(
        "Names of the winds", [progress_chunk("queued", queue_position=2, eta_s=9), wait, "Mistral."]
    )
    with stage.page() as page:
        stage.show(page)
        send(page, "Which winds of the Mediterranean have names?")
        expect(page.get_by_test_id("turn-progress")).to_be_visible()
        stage.rename(page, stage.model.title)
        camera.take(page, name)
        stage.forget(page)
        go_on()


def opened(stage: Stage, camera: Camera, name: str) -> None:
    """All that an answer folds away, unfolded."""
    with stage.page() as page:
        stage.show(page)
        open_chat(page, "When to cross to the island")
        page.get_by_test_id("reasoning").locator("summary").first.click()
        for card in page.get_by_test_id("call").all():
            card.get_by_role("button").first.click()
        for _ in camera.frames(page, name):
            page.locator(".thread__scroll").evaluate("(box) => box.scrollTo(0, 0)")


def temporary(stage: Stage, camera: Camera, name: str) -> None:
    with stage.page() as page:
        stage.show(page)
        page.get_by_role("button", name="Other kinds of chat").click()
        page.get_by_role("button", name="Temporary chat").click()
        expect(page.get_by_role("heading", name="Temporary chat", level=1)).to_be_visible()
        camera.take(page, name)


def queue(stage: Stage, camera: Camera, name: str) -> None:
    wait, go_on = stage.model.gate()
    reading = progress_chunk("prefill", prefill_done=1536, prefill_total=2412)
    stage.model.says("Why dough wants to rest", [reading, wait, "Because."])
    with stage.page() as page:
        stage.show(page)
        send(page, content.STREAM_PROMPT)
        expect(page.get_by_test_id("turn-progress")).to_be_visible()
        for text in ("And at 78 % water?", "Then write me a timetable for Saturday, starting at seven."):
            send(page, text)
        stage.rename(page, stage.model.title)
        expect(page.get_by_test_id("queued")).to_have_count(2)
        camera.take(page, name)
        stage.forget(page)
        go_on()


def error(stage: Stage, camera: Camera, name: str) -> None:
    refusal = {"error": {"message": "The prompt has 41,200 tokens; the context window has 32,768."}}
    stage.model.upstream.failures = [(400, refusal)]
    stage.model.says("The whole log", ["Nothing."])
    with stage.page() as page:
        stage.show(page)
        send(page, "Here is the whole log of last night. What went wrong?")
        expect(page.get_by_role("article", name="Fireside")).to_have_attribute("data-status", "error")
        camera.take(page, name)
        stage.forget(page)


def panel(test_id: str, wanted: str, title: str = "When to cross to the island") -> Play:
    """A panel of the top bar, opened at each width, once what is `wanted` is in it."""

    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page() as page:
            stage.show(page)
            open_chat(page, title)
            _opened_at_each_width(page, camera, name, test_id, f".panel:popover-open {wanted}")

    return play


def _opened_at_each_width(page: Page, camera: Camera, name: str, test_id: str, wanted: str) -> None:
    """A panel closes when the page gets another width."""
    for _ in camera.frames(page, name):
        page.get_by_role("heading", level=1).click()
        page.get_by_test_id(test_id).click()
        page.locator(wanted).first.wait_for()


def palette(typed: str) -> Play:
    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page() as page:
            stage.show(page)
            open_chat(page, "Bread, 78 % hydration")
            page.keyboard.press("Control+k")
            page.get_by_role("combobox", name="Search chats, memory and actions").fill(typed)
            options = page.get_by_role("listbox", name="Found").get_by_role("option")
            expect(options.first).to_be_visible()
            page.wait_for_timeout(700)
            camera.take(page, name)

    return play


def search(stage: Stage, camera: Camera, name: str) -> None:
    with stage.page() as page:
        stage.show(page)
        page.get_by_role("searchbox", name="Search chats").fill("bed")
        expect(page.get_by_test_id("hit").first).to_be_visible()
        for width in camera.frames(page, name):
            if width == 360:
                page.get_by_role("button", name="Open the list of chats").click()


def drawer(stage: Stage, camera: Camera, name: str) -> None:
    with stage.page() as page:
        stage.show(page)
        for _ in camera.frames(page, name, (360,)):
            page.get_by_role("button", name="Open the list of chats").click()


def menu(stage: Stage, camera: Camera, name: str) -> None:
    with stage.page() as page:
        stage.show(page)
        open_chat(page, "Bread, 78 % hydration")
        page.get_by_role("button", name="Options of chat: Bread, 78 % hydration").click()
        camera.take(page, name, (1440,))


def proposals(stage: Stage, camera: Camera, name: str) -> None:
    told = {"article": "Garden/Plan 2027", "text": content.PROPOSED.strip()}
    stage.model.says("The compost comes on Friday", [*call_chunks("memory_propose", told)], ["Noted."])
    with stage.page() as page:
        stage.show(page)
        send(page, "The compost is ordered, it comes on Friday.")
        if page.get_by_test_id("approval").is_visible():
            page.get_by_test_id("approval").get_by_role("button", name="Allow once").click()
        expect(page.get_by_test_id("proposal")).to_be_visible()
        camera.take(page, "proposal-in-chat")
        with stage.page() as review:
            stage.show(review, "/#/memory/.proposals")
            expect(review.get_by_test_id("proposal")).to_be_visible()
            camera.take(review, name)
        stage.forget(page)


def history(page: Page) -> None:
    page.get_by_role("button", name="History").click()
    page.locator(".memory .diff").first.wait_for()


def edit(page: Page) -> None:
    page.get_by_test_id("article").get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="as Markdown").wait_for()


def found(page: Page) -> None:
    page.get_by_role("searchbox", name="Search the memory").fill("beds")
    page.locator(".memory__rows mark").first.wait_for()


def status(changes: str = "{}") -> Play:
    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page(clock=True) as page:
            page.goto("about:blank")
            stage.show(page, "/#/status")
            for _ in range(STATUS_READINGS):
                page.clock.run_for(2000)
            page.evaluate(f"globalThis.__shots.engine({changes})")
            page.clock.run_for(100)
            camera.take(page, name)

    return play


def engine(*changes: str) -> Play:
    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page() as page:
            stage.show(page)
            for change in changes:
                page.evaluate(f"globalThis.__shots.engine({change})")
            camera.take(page, name)

    return play


def switch(changes: str) -> Play:
    """The panel of the model while another one is on its way, opened at each width."""

    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page() as page:
            stage.show(page)
            open_chat(page, "Bread, 78 % hydration")
            page.evaluate(f"globalThis.__shots.engine({changes})")
            _opened_at_each_width(page, camera, name, "engine-pill", ".pick")

    return play


def offline(stage: Stage, camera: Camera, name: str) -> None:
    with stage.page() as page:
        stage.show(page)
        open_chat(page, "Bread, 78 % hydration")
        page.evaluate("globalThis.__shots.vanish()")
        expect(page.locator(".banner")).to_be_visible()
        camera.take(page, name)


def opening(stage: Stage, camera: Camera, name: str) -> None:
    """A chat that takes its time."""
    with stage.page() as page:
        page.route_web_socket(
            re.compile("/ws$"),
            lambda socket: _through(socket, lambda message: "open_session" not in message),
        )
        stage.show(page)
        page.locator(".chat").get_by_role("link", name="Letter to the council").click()
        page.locator(".opening .bone").first.wait_for()
        page.wait_for_timeout(600)  # they come a little later, so that a quick chat does not flicker
        camera.take(page, name)


def unkept(stage: Stage, camera: Camera, name: str) -> None:
    """The disk is full, and the server says so."""
    sockets: list[WebSocketRoute] = []
    with stage.page() as page:
        page.route_web_socket(re.compile("/ws$"), lambda socket: sockets.append(_through(socket)))
        stage.show(page)
        open_chat(page, "Bread, 78 % hydration")
        words = "The database ~/.fireside/fireside.db: the disk is full; free some space and try again."
        sockets[-1].send(json.dumps({"type": "error", "code": "storage_failed", "message": words}))
        page.get_by_test_id("unkept").wait_for()
        camera.take(page, name)


def _through(socket: WebSocketRoute, wanted: Callable[[str], bool] = lambda _: True) -> WebSocketRoute:
    """Let the messages of the page that are `wanted` through, and all of the server's."""
    upstream = socket.connect_to_server()
    socket.on_message(lambda message: upstream.send(message) if wanted(str(message)) else None)
    return socket


def unfit(stage: Stage, camera: Camera, name: str) -> None:
    """Why a model does not fit, and where it would."""
    with stage.page() as page:
        stage.show(page, "/#/models/here")
        row = page.get_by_test_id("model").filter(has_text="It does not fit")
        row.locator("summary").click()
        row.locator("table").wait_for()
        for _ in camera.frames(page, name):
            row.evaluate("(row) => row.scrollIntoView({ block: 'start' })")
            page.locator(".view").evaluate("(view) => view.scrollBy(0, -56)")


def plain(place: str, wanted: str, *arguments: str) -> Play:
    """A page of its own, of a Fireside that was started with these arguments."""

    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.another(name, *arguments) as server, stage.page(canned=False) as page:
            page.goto(server.url + place)
            page.locator(wanted).first.wait_for()
            camera.take(page, name)

    return play
