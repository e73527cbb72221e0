"""`/docs` in a real browser."""

from __future__ import annotations

import json
from typing import Literal

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from support.server import Server

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.fixture
def docs(page: Page, server: Server) -> Page:
    page.goto(f"{server.url}/docs")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Fireside API")
    return page


def operation(page: Page, method: str, path: str) -> Locator:
    """An operation, opened from the keyboard."""
    fold = page.locator(f"#{method.lower()}_" + "_".join(path.strip("/").replace("/", " ").split()))
    summary = fold.locator("> summary")
    expect(summary).to_contain_text(method)
    summary.focus()
    page.keyboard.press("Enter")
    expect(fold.get_by_role("heading", name="Try it")).to_be_visible()
    return fold


def test_all_routes_are_listed_and_found(docs: Page, server: Server) -> None:
    paths = server.get("/openapi.json")["paths"]
    folds = docs.locator(".fold--operation")
    expect(folds).to_have_count(sum(len(item) for item in paths.values()))
    docs.get_by_role("searchbox", name="Find a route").fill("post chat comp")
    expect(folds).to_have_count(1)
    expect(folds).to_contain_text("/v1/chat/completions")
    docs.get_by_role("searchbox", name="Find a route").fill("no such thing")
    expect(docs.get_by_role("main")).to_contain_text("No route has")


def test_schemas_unfold_even_inside_themselves(docs: Page) -> None:
    fold = operation(docs, "POST", "/v1/messages")
    body = fold.locator(".fold--object", has_text="MessagesBody").first
    body.locator("> summary").click()
    expect(body).to_contain_text("max_tokens")
    expect(body).to_contain_text("required")
    inner = body
    for name in ("MessagesIncomingMessage", "Block", "Block", "Block"):
        inner = inner.locator(".fold--object", has=docs.locator("> summary", has_text=name)).first
        inner.locator("> summary").click()
    expect(inner.locator("> .fold__inside")).to_contain_text("tool_use_id")
    answer = fold.locator(".fold--answer", has_text="200")
    answer.locator("> summary").click()
    expect(answer).to_contain_text("The data of each event")
    expect(answer).to_contain_text("MessageStart")
    errors = fold.locator(".fold--answer", has_text="400")
    errors.locator("> summary").click()
    expect(errors).to_contain_text("AnthropicErrorBody")


def test_a_request_is_sent_and_its_answer_shown(docs: Page, server: Server) -> None:
    fold = operation(docs, "GET", "/v1/models")
    expect(fold.get_by_role("region", name="curl")).to_have_text(f"curl '{server.url}/v1/models'")
    fold.get_by_role("button", name="Send").click()
    expect(fold.locator(".outcome__status")).to_contain_text("200")
    shown = json.loads(fold.get_by_role("region", name="Answer").inner_text())
    assert shown == server.get("/v1/models")
    fold.locator("summary", has_text="Headers").click()
    expect(fold.get_by_role("region", name="Headers")).to_contain_text("content-type: application/json")


def test_a_stream_is_shown_as_it_comes_and_can_be_stopped(docs: Page, server: Server) -> None:
    fold = operation(docs, "POST", "/v1/chat/completions")
    body = fold.get_by_role("textbox", name="Body, as JSON")
    expect(body).to_have_value(json.dumps(json.loads(body.input_value()), indent=2))
    asked = {"messages": [{"role": "user", "content": "Count to 5000."}], "stream": True, "max_tokens": 3000}
    body.fill(json.dumps(asked))
    expect(fold.get_by_role("region", name="curl")).to_contain_text("Count to 5000")
    fold.get_by_role("button", name="Send").click()
    expect(fold.get_by_role("region", name="Answer")).to_contain_text('data: {"id":"chatcmpl-')
    expect(fold.get_by_role("button", name="Send")).to_be_disabled()
    fold.get_by_role("button", name="Stop").click()
    expect(fold.locator(".outcome__status")).to_contain_text("stopped")
    expect(fold.get_by_role("button", name="Send")).to_be_enabled()


def test_parameters_go_into_path_and_query(docs: Page, server: Server) -> None:
    fold = operation(docs, "GET", "/api/logs")
    fold.get_by_role("textbox", name="limit").fill("1")
    expect(fold.get_by_role("region", name="curl")).to_contain_text("/api/logs?limit=1'")
    fold.get_by_role("button", name="Send").click()
    expect(fold.get_by_role("region", name="Answer")).to_contain_text('"next"')
    one = docs.locator("#get_v1_models_model_id")
    one.locator("> summary").click()
    one.get_by_role("textbox", name="model_id").fill("a/b c")
    expect(one.get_by_role("region", name="curl")).to_contain_text("/v1/models/a%2Fb%20c'")


def test_it_fits_a_phone_in_the_colours_of_the_page(fresh: Page, server: Server) -> None:
    def colours() -> list[str]:
        found: list[str] = []
        for scheme in SCHEMES:
            fresh.emulate_media(color_scheme=scheme)
            found.append(fresh.evaluate("getComputedStyle(document.body).backgroundColor"))
        return found

    fresh.set_viewport_size({"width": 360, "height": 800})
    fresh.goto(server.url)
    usual = colours()
    fresh.goto(f"{server.url}/docs")
    operation(fresh, "POST", "/v1/chat/completions")
    assert fresh.evaluate("document.documentElement.scrollWidth") == 360
    assert colours() == usual
    assert len(set(usual)) == 2


def test_the_page_may_run_nothing_but_our_files(server: Server) -> None:
    answer = httpx.get(f"{server.url}/docs")
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "<style" not in answer.text
    assert "style=" not in answer.text
    assert "http" not in answer.text
