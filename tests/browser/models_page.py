"""The view of the models, in a browser."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from support.server import Server


def show(page: Page, server: Server, place: str) -> None:
    """Open a section of the view."""
    page.goto(f"{server.url}/#/models/{place}")
    expect(page.get_by_role("region", name="Models", exact=True)).to_be_visible()


def row(page: Page, kind: str, model: str) -> Locator:
    """A model in a list of that kind."""
    return page.locator(f"[data-testid={kind}][data-model='{model}']")
