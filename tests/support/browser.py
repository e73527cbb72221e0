"""Pages that may not complain."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize

WINDOW: ViewportSize = {"width": 1280, "height": 800}
PROFILE: dict[str, Any] = {"viewport": WINDOW, "service_workers": "block"}
WITHOUT_WORKER = "Service Worker registration blocked by Playwright"


@contextmanager
def opened(
    browser: Browser, *, offline_is_fine: bool = False, refusals_are_fine: bool = False, **options: Any
) -> Iterator[Page]:
    """A page in a profile of its own; complaints of the page or its policy fail the test.

    Unless `options` allow it there is no service worker: it would read each file of the page once more.

    Args:
        offline_is_fine: the browser's own words about a server that is not there do not count.
        refusals_are_fine: nor do those about an answer with an error status.
    """
    complaints: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        gone = "net::ERR_" in message.text or "WebSocket connection" in message.text
        refused = "responded with a status of" in message.text
        fine = (offline_is_fine and gone) or (refusals_are_fine and refused) or message.text == WITHOUT_WORKER
        if message.type in ("error", "warning") and not fine:
            complaints.append(message.text)

    context = browser.new_context(**{**PROFILE, **options})
    context.set_default_timeout(15_000)
    page = context.new_page()
    page.on("console", on_console)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        yield page
    finally:
        context.close()
    assert complaints == []
