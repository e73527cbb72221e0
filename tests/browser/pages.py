"""What tests of the agent in the page share: a scripted model server, and words for what is on the page."""

from __future__ import annotations

import asyncio
import base64
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, Self

from playwright.sync_api import Locator, Page, expect
from quart import Response, request

from agent.scripted import Step, Upstream, call_chunks, create_app
from agent.scripted import serving as serving_app
from support.server import Server

TITLE = "Tides"
NAME = "hearth.test"
"""A name that leads the browser to this machine as if it were another one."""
KEY = "first-key-0123456789abcdef"
MODEL = {
    "id": "scripted-1",
    "context_window": 32_768,
    "reasoning": True,
    "thinking": False,
    "gen_defaults": {"temperature": 0.3, "top_p": None, "top_k": 7},
}
NOTES = "# Tides\n\nHigh water is at 06:12.\nLow water is at 12:25.\n"


class Scripted:
    """A scripted upstream on an event loop of its own: Playwright keeps the main thread's."""

    def __init__(self, model: dict[str, Any] = MODEL, title: str = TITLE) -> None:
        self.upstream = Upstream(models={"data": [model]})
        self.title = title
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    def answer(self, *scripts: list[Step]) -> None:
        """What the next requests get, and an empty greeting after that."""
        self.upstream.scripts = [*scripts, ["Nothing more."]]

    def gate(self) -> tuple[Callable[[], Awaitable[None]], Callable[[], None]]:
        """A step at which an answer waits, and what lets it go on."""
        event = asyncio.Event()

        async def wait() -> None:
            await event.wait()

        return wait, lambda: self._loop.call_soon_threadsafe(event.set) and None

    async def _serve(self) -> None:
        app = create_app(self.upstream)

        @app.before_request
        async def give_title() -> Response | None:  # pyright: ignore[reportUnusedFunction]
            body: Any = await request.get_json() if request.method == "POST" else {}
            if not str(body.get("messages", [{}])[-1].get("content")).startswith("Write a title"):
                return None
            return Response(self.upstream.stream([self.title]), content_type="text/event-stream")

        async with serving_app(app) as self.upstream.port:
            self._ready.set()
            await self._stop.wait()


def new_chat(page: Page, server: Server) -> None:
    """A new chat; a page that is already one of this server's is not loaded again."""
    page.goto(f"{server.url}/#/chat")
    expect(page.get_by_role("textbox", name="Message Fireside")).to_be_visible()
    expect(page.get_by_role("article")).to_have_count(0)


def send(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message Fireside").fill(text)
    page.keyboard.press("Enter")


def answers(page: Page) -> Locator:
    return page.get_by_role("article", name="Fireside")


def asked(page: Page) -> Locator:
    return page.get_by_role("article", name="You")


def expect_done(answer: Locator) -> None:
    expect(answer).to_have_attribute("data-status", "done")


def ask(page: Page, text: str) -> Locator:
    before = answers(page).count()
    send(page, text)
    expect_done(answers(page).nth(before))
    return answers(page).nth(before)


def drop(page: Page, name: str, content: bytes, media_type: str) -> None:
    """Drop a file on the form of the message."""
    form = page.get_by_role("form", name="Message")
    form.evaluate(_DROP, [name, base64.b64encode(content).decode(), media_type])


_DROP = """
    (form, [name, content, type]) => {
        const dataTransfer = new DataTransfer();
        const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
        dataTransfer.items.add(new File([bytes], name, { type }));
        const over = new DragEvent("dragover", { dataTransfer, bubbles: true, cancelable: true });
        form.dispatchEvent(over);
        if (!over.defaultPrevented) throw new Error("nothing may be dropped here");
        form.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    }
"""


def bash(command: str) -> list[Step]:
    return [*call_chunks("bash", {"command": command})]


def approval(page: Page) -> Locator:
    return page.get_by_test_id("approval")


def call(page: Page) -> Locator:
    return page.get_by_test_id("call")


def expect_true(page: Page, script: str) -> None:
    """That this JavaScript becomes true. Playwright waits for it with `eval`, which the page forbids."""
    deadline = time.monotonic() + 5
    while not page.evaluate(script):
        assert time.monotonic() < deadline, script
        page.wait_for_timeout(20)


def expect_inside(element: Locator, width: int, height: int) -> None:
    """All of it is within a window of this size."""
    box = element.bounding_box()
    assert box is not None
    assert min(box["x"], box["y"]) >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] + box["height"] <= height


def pill(page: Page) -> Locator:
    """What tells of the engine in the top bar."""
    return page.get_by_test_id("engine-pill")
