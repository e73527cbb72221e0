"""A Fireside with invented content, a model that says what it is told, and a browser that shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, expect

import fireside
from agent.scripted import Step
from browser.pages import Scripted
from shots import content
from shots.chats import documents, write_articles
from support.chat import chatting
from support.server import Server, serving

ROUTES = tuple(Path(__file__).with_name(name) for name in ("models.js", "routes.js"))
ORIGIN = "http://localhost:8080"
"""What the pages believe to be Fireside's address."""


class Model(Scripted):
    """A model server that answers, and names chats, as it was told to."""

    def __init__(self) -> None:
        facts = {"id": content.MODEL_ID, "context_window": 32_768, "reasoning": True, "thinking": True}
        defaults = {"temperature": 0.6, "top_p": 0.95, "top_k": 20}
        super().__init__({**facts, "gen_defaults": defaults}, title="")

    def says(self, title: str, *scripts: list[Step]) -> None:
        """What the next chat is called, and what the next requests get."""
        self.title = title
        self.answer(*scripts)


@dataclass
class Stage:
    """What the scenes work with."""

    browser: Browser
    server: Server
    model: Model

    def fill(self) -> None:
        """Bring the chats and the memory in."""
        for document in documents():
            address, kind = f"{self.server.url}/api/sessions/import", {"Content-Type": "application/json"}
            httpx.post(address, content=document, headers=kind).raise_for_status()
        self.server.post("/api/memory/init", {})
        write_articles(self.server.home / "wiki")
        notes = self.server.home / "workspace" / "cli.py"
        notes.parent.mkdir(exist_ok=True)
        notes.write_text(content.CLI_PY)

    def rename(self, page: Page, title: str) -> None:
        """Give the chat its title at once, which its first turn would do at its end."""
        page.wait_for_url("**/#/chat/*")
        with chatting(self.server) as socket:
            socket.send("rename_session", id=page.url.rsplit("/", 1)[-1], title=title)
            socket.until(lambda frame: title in [row["title"] for row in frame.get("sessions", [])])
        expect(page.get_by_role("heading", level=1)).to_have_text(title)

    def forget(self, page: Page) -> None:
        """Delete the chat that a scene has made."""
        chat = page.url.rsplit("/", 1)[-1]
        with chatting(self.server) as socket:
            socket.send("delete_session", id=chat)
            socket.until(lambda frame: frame["type"] == "deleted")

    @contextmanager
    def page(self, *, canned: bool = True, clock: bool = False) -> Iterator[Page]:
        """A page whose time stands still.

        Args:
            canned: the engine, rules, servers and keys are invented.
            clock: the page's timers wait too, until its clock is moved.
        """
        context = self.browser.new_context(
            viewport={"width": 1440, "height": 900},
            locale="en-GB",
            timezone_id="Europe/London",
            reduced_motion="reduce",
            service_workers="block",
        )
        context.set_default_timeout(15_000)
        page = context.new_page()
        if clock:
            page.clock.install(time=content.NOW)
        else:
            page.clock.set_fixed_time(content.NOW)
        if canned:
            page.add_init_script(script=self._routes())
        try:
            yield page
        finally:
            context.close()

    def show(self, page: Page, place: str = "/#/chat") -> None:
        page.goto(ORIGIN + place)
        if place.startswith("/#/"):
            expect(page.locator(".app")).to_be_visible()
            expect(page.get_by_test_id("engine-pill")).to_have_attribute("data-phase", "ready")

    @contextmanager
    def another(self, name: str, *arguments: str) -> Iterator[Server]:
        """A Fireside beside this one, in a home of its own."""
        upstream = () if "--model" in arguments else ("--upstream", self.model.upstream.base_url)
        with serving(self.server.home.parent / name, *upstream, *arguments) as server:
            if not upstream:
                server.wait_ready()  # the page is slow while a model is being made ready
            yield server

    def _routes(self) -> str:
        facts = {
            "now": content.NOW,
            "version": fireside.__version__,
            "home": str(self.server.home),
            "model": {"id": content.MODEL_ID, "name": content.MODEL_NAME},
        }
        scripts = "\n".join(path.read_text() for path in ROUTES)
        return f"globalThis.__shots = {json.dumps(facts)};\n{scripts}"
