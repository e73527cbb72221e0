"""What tests of the memory in the page share: a vault on disk, and words for what is on the page."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

from agent.memory.vaults import git
from fireside_agent.memory.proposal import Proposal
from fireside_agent.memory.proposals import Proposals
from fireside_agent.memory.vault import Vault
from support.browser import PROFILE, WITHOUT_WORKER
from support.server import Server

T = TypeVar("T")

GARDEN = """---
tags: [plan]
---
# Garden plan

The east bed gets [[Tomatoes]], the shade is from the [[Plum tree|old tree]]; not the [[Leek trial]].

## Beds

Two. `[[no link]]`

## To buy

Compost.
"""
"""An article that links, and is linked to by its heading."""


class Memory:
    """The memory of a running Fireside, as other programs see it on the disk."""

    def __init__(self, server: Server) -> None:
        self.url = f"{server.url}/#/memory"
        self.root = server.home / "wiki"
        self._vault = Vault(self.root)
        self._proposals = Proposals(self._vault, server.home / "proposals")

    def clear(self) -> None:
        """No memory, as on a first start."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.rmtree(self.root.parent / "proposals", ignore_errors=True)

    def begin(self, **articles: str) -> None:
        """A memory with these articles, each in a commit of its own."""
        self.clear()
        done(self._vault.init())
        for name, text in articles.items():
            self.write(name, text)

    def keep(self, folder: Path) -> Path:
        """A copy of the memory in `folder`, for `put_back`: quicker than to write it again."""
        return shutil.copytree(self.root, folder)

    def put_back(self, kept: Path) -> None:
        self.clear()
        shutil.copytree(kept, self.root)

    def write(self, name: str, text: str) -> None:
        done(self._vault.write(name, text, f"Edit {name}"))

    def by_hand(self, name: str, text: str) -> None:
        """As an editor would write it."""
        path = self.file(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def file(self, name: str) -> Path:
        return self.root / "articles" / f"{name}.md"

    def read(self, name: str) -> str:
        return self.file(name).read_text()

    def subjects(self) -> list[str]:
        """Of all commits, newest first."""
        return git(self.root, "log", "--format=%s").splitlines()

    def propose(self, article: str, call_id: str, **what: Any) -> Proposal:
        made = self._proposals.create(article, reason="You said so.", session_id="s", call_id=call_id, **what)
        return done(made)


def done(work: Awaitable[T]) -> T:
    """The outcome of `work`, on a loop of its own: Playwright keeps the main thread's."""
    found: list[T] = []

    async def wait() -> None:
        found.append(await work)

    thread = threading.Thread(target=lambda: asyncio.run(wait()))
    thread.start()
    thread.join()
    return found[0]


@contextmanager
def reading(browser: Browser, **options: Any) -> Iterator[Page]:
    """A page in a profile of its own that may ask for what is not there, or not to be had just now."""
    complaints: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        expected = "Failed to load resource" in message.text or "WebSocket connection" in message.text
        expected = expected or message.text == WITHOUT_WORKER
        if message.type in ("error", "warning") and not expected:
            complaints.append(message.text)

    context = browser.new_context(**{**PROFILE, **options})
    context.set_default_timeout(10_000)
    context.on("console", on_console)
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        yield page
    finally:
        context.close()
    assert complaints == []


def rows(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Articles").get_by_role("listitem")


def shown(page: Page) -> Locator:
    return page.get_by_test_id("article")


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="as Markdown")


def diff(page: Page) -> Locator:
    return page.locator(".memory .diff")
