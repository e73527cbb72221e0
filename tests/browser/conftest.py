"""A real Chromium, and a page in it that may not complain."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from browser.pages import KEY, NAME, NOTES, Scripted
from support.browser import WINDOW, opened
from support.chat import stop_all
from support.server import Server, prepared_home, serving

# Another process of the tests may have both cores for some seconds.
expect.set_options(timeout=15_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, and run them last.

    Playwright's event loop keeps running on the main thread until the session ends, and no other can
    run there meanwhile.
    """
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: item.path.is_relative_to(here))


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def browser(playwright: Playwright, chromium_options: dict[str, Any]) -> Iterator[Browser]:
    mapped = f"--host-resolver-rules=MAP {NAME} 127.0.0.1"
    options = {**chromium_options, "args": [*chromium_options["args"], mapped]}
    chromium = playwright.chromium.launch(**options)
    yield chromium
    chromium.close()


@pytest.fixture(autouse=True)
def no_chats_left(server: Server) -> Iterator[None]:
    """A turn goes on when its page is closed, and would take its share of the next test's model."""
    yield
    stop_all(server)


@pytest.fixture(scope="module")
def tab(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page that the tests of a file share, so that they need not load it anew each.

    `TAB` of that file, where there is one, has arguments for `opened`.
    """
    with opened(browser, **getattr(request.module, "TAB", {})) as shared:
        yield shared


@pytest.fixture
def page(tab: Page, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page of this file, which may show what the last test left; `new_chat` begins anew in it."""
    failed = request.session.testsfailed
    yield tab
    if request.session.testsfailed > failed:
        tab.goto("about:blank")
    tab.keyboard.press("Escape")  # whatever is open over the page
    tab.unroute_all()
    tab.context.clear_permissions()
    tab.set_viewport_size(WINDOW)


@pytest.fixture
def fresh(browser: Browser) -> Iterator[Page]:
    """A page in a profile of its own."""
    with opened(browser) as alone:
        yield alone


@pytest.fixture(scope="session")
def scripted() -> Iterator[Scripted]:
    with Scripted() as running:
        yield running


@pytest.fixture(scope="session")
def agent(server: Server, scripted: Scripted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = prepared_home(tmp_path_factory.mktemp("agent"), server.home)
    with serving(home, "--upstream", scripted.upstream.base_url) as running:
        yield running.wait_ready()


@pytest.fixture(scope="session")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that wants a key, and may be reached by a name as from elsewhere."""
    home = tmp_path_factory.mktemp("locked")
    with serving(home, "--upstream", "http://127.0.0.1:9", "--api-key", KEY, "--allow-host", NAME) as running:
        yield running


@pytest.fixture
def notes(agent: Server) -> Path:
    path = agent.home / "workspace" / "notes.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text(NOTES)
    return path
