"""A browser without a session gets in with a key or a link, and hears why a page cannot be installed."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from browser.pages import KEY, NAME
from support.server import COMMAND, Server


@contextmanager
def visiting(browser: Browser) -> Iterator[Page]:
    """A page whose refused requests are no complaint, nor is what the browser says of plain http."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(15_000)
    problems: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if "Content Security" in said.text else None)
    yield page
    context.close()
    assert problems == []


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Page]:
    with visiting(browser) as page:
        yield page


def link_of(home: Path) -> str:
    env = {**os.environ, "FIRESIDE_HOME": str(home)}
    done = subprocess.run(
        [*COMMAND, "login"], env=env, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_a_key_logs_in_and_a_wrong_one_does_not(locked: Server, visitor: Page) -> None:
    visitor.goto(locked.url)
    visitor.wait_for_url(re.compile("/login$"))
    expect(visitor.get_by_role("heading")).to_have_text("This Fireside needs a link or a key")
    expect(visitor.get_by_text("This link has been used")).to_be_hidden()
    visitor.get_by_label("API key").fill("wrong")
    visitor.keyboard.press("Enter")
    expect(visitor.get_by_text("This is not one of the API keys")).to_be_visible()
    visitor.get_by_label("API key").fill(KEY)
    visitor.get_by_role("button", name="Log in").click()
    expect(visitor.get_by_role("textbox", name="Message Fireside")).to_be_visible()
    visitor.reload()
    expect(visitor.get_by_role("textbox", name="Message Fireside")).to_be_visible()
    assert "/login" not in visitor.url
    visitor.evaluate("void fetch('/logout', {method: 'POST'})")
    visitor.wait_for_url(re.compile("/login$"))


def test_a_link_logs_in_once(locked: Server, visitor: Page, browser: Browser) -> None:
    link = link_of(locked.home)
    visitor.goto(link)
    expect(visitor.get_by_role("textbox", name="Message Fireside")).to_be_visible()
    assert "code=" not in visitor.url
    expect(visitor.get_by_text("does not install it as an app")).to_have_count(0)
    other = browser.new_context()
    late = other.new_page()
    late.goto(link)
    expect(late.get_by_text("This link has been used")).to_be_visible()
    other.close()


def test_over_plain_http_from_elsewhere_the_page_says_why_it_cannot_be_installed(
    locked: Server, visitor: Page
) -> None:
    visitor.goto(link_of(locked.home).replace("127.0.0.1", NAME))
    expect(visitor.get_by_text("does not install it as an app")).to_be_visible()
    with visitor.expect_popup() as opening:
        visitor.get_by_role("link", name="How to get https").click()
    expect(opening.value.get_by_role("heading", level=1)).to_have_text(re.compile("phone"))
    expect(opening.value.get_by_text("tailscale serve --bg 8080")).to_be_visible()


def test_a_page_whose_session_ends_elsewhere_asks_for_a_login_at_once(locked: Server, visitor: Page) -> None:
    visitor.goto(link_of(locked.home))
    expect(visitor.get_by_role("textbox", name="Message Fireside")).to_be_visible()
    # Neither status nor its events may be what notices.
    visitor.route("**/api/status*", lambda route: route.abort())
    (cookie,) = visitor.context.cookies()
    headers = {"Cookie": f"{cookie.get('name')}={cookie.get('value')}"}
    assert httpx.post(f"{locked.url}/logout", headers=headers).status_code == 204
    visitor.wait_for_url(re.compile("/login$"))
    expect(visitor.get_by_label("API key")).to_be_visible()
