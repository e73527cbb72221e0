"""Every view of the page against axe-core's rules, in light and in dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, ViewportSize, expect

from agent.scripted import call_chunks, reasoning_chunk
from browser.memory_pages import Memory, reading
from browser.pages import NOTES, Scripted, answers, approval, bash, call, expect_done, new_chat, send
from support.server import Server, prepared_home, serving

AXE = Path(__file__).parents[1] / "clients" / "node" / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLORS = ["color-contrast", "link-in-text-block"]
"""The rules that a theme can break."""
NARROW: ViewportSize = {"width": 360, "height": 740}
ANSWER = """## Tides

Text with **weight**, `code`, a [link](https://tides.example/), a note[^1] and $e^{i\\pi} = -1$.

- one
- [x] done

```python
def tide(hour: int) -> str:
    return "high"  # at six
```

| where | when |
| --- | ---: |
| Here | 06:12 |

$$\\sum_{n=1}^{\\infty} \\frac{1}{n^2} = \\frac{\\pi^2}{6}$$

> As it was said.

[^1]: Of the moon.
"""


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    # A colour on its way to another is neither.
    with reading(browser, reduced_motion="reduce", color_scheme="light") as shared:
        yield shared


def check(page: Page) -> None:
    """The whole of what is shown, in light; in dark what a theme can break."""
    found = _run(page, {"runOnly": {"type": "tag", "values": TAGS}})
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    found += [f"in dark, {each}" for each in _run(page, {"runOnly": {"type": "rule", "values": COLORS}})]
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    assert found == []


def _run(page: Page, options: dict[str, Any]) -> list[str]:
    if not page.evaluate("'axe' in window"):
        page.context.new_cdp_session(page).send("Runtime.evaluate", {"expression": AXE.read_text()})
    found: list[dict[str, Any]] = page.evaluate(_AXE_RUN, options)
    return [
        f"{rule['id']}: {' '.join(node['failureSummary'].split())} {node['html'][:160]}"
        for rule in found
        for node in rule["nodes"]
    ]


_AXE_RUN = """
    async (options) => {
        const { violations } = await axe.run(document, { ...options, resultTypes: ["violations"] });
        return violations.map(({ id, nodes }) => ({
            id, nodes: nodes.map(({ failureSummary, html }) => ({ failureSummary, html })),
        }));
    }
"""


def narrow(page: Page) -> None:
    page.set_viewport_size(NARROW)


def wide(page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})


def test_an_empty_page(agent: Server, page: Page) -> None:
    new_chat(page, agent)
    wide(page)
    expect(page.get_by_test_id("engine-pill")).to_have_attribute("data-phase", "ready")
    check(page)
    narrow(page)
    check(page)


def test_a_login_and_the_documentation(server: Server, page: Page) -> None:
    page.goto(f"{server.url}/login?stale")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    check(page)
    page.goto(f"{server.url}/docs")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Fireside API")
    page.locator("#post_v1_messages > summary").click()
    expect(page.get_by_role("heading", name="Try it").first).to_be_visible()
    check(page)
    page.route("**/openapi.json", lambda route: route.fulfill(status=500))
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("cannot be read")
    check(page)
    page.unroute_all()
    page.goto(f"{server.url}/help/phone")
    check(page)


def test_a_chat_with_a_model_of_its_own(server: Server, page: Page) -> None:
    new_chat(page, server)
    wide(page)
    send(page, "Repeat: one fine day")
    expect_done(answers(page).first)
    check(page)
    page.get_by_test_id("engine-pill").click()
    expect(page.get_by_role("dialog", name="Model", exact=True)).to_be_visible()
    check(page)
    page.keyboard.press("Escape")
    narrow(page)
    check(page)


def test_a_chat_with_all_that_an_answer_can_hold(
    agent: Server, scripted: Scripted, notes: Path, page: Page
) -> None:
    scripted.answer(
        [reasoning_chunk("I look first."), *call_chunks("read", {"path": "notes.txt"})],
        [reasoning_chunk("Then I answer."), ANSWER],
        ["Said again."],
        ["More."],
    )
    new_chat(page, agent)
    wide(page)
    page.get_by_label("Files to attach").set_input_files(str(notes))
    expect(page.get_by_test_id("upload").filter(has_text="Uploading…")).to_have_count(0)
    check(page)
    send(page, "Tell me about the tides")
    expect_done(answers(page).first)
    check(page)
    page.get_by_test_id("reasoning").locator("summary").first.click()
    call(page).get_by_role("button").first.click()
    page.get_by_role("button", name="Details").click()
    check(page)
    page.get_by_role("button", name="Regenerate").click()
    expect(page.get_by_test_id("siblings")).to_be_visible()
    expect_done(answers(page).first)
    page.get_by_role("button", name="Edit and send again").click()
    check(page)
    page.keyboard.press("Escape")
    narrow(page)
    page.get_by_test_id("siblings").get_by_role("button", name="Previous").click()
    expect(answers(page).first).to_contain_text("Tides")
    check(page)


def test_what_waits_for_a_decision_and_what_waits_its_turn(
    agent: Server, scripted: Scripted, notes: Path, page: Page
) -> None:
    edit = {"path": "notes.txt", "old_text": "06:12", "new_text": "06:40"}
    scripted.answer(bash("echo one"), [*call_chunks("edit", edit)], ["Done."])
    new_chat(page, agent)
    wide(page)
    send(page, "Run it")
    approval(page).get_by_text("Always allow…").click()
    send(page, "And this next")
    expect(page.get_by_test_id("queued")).to_be_visible()
    check(page)
    approval(page).get_by_role("button", name="Edit").click()
    check(page)
    narrow(page)
    check(page)
    page.get_by_role("button", name="Deny").click()
    expect(approval(page)).to_contain_text("notes.txt")
    check(page)
    wide(page)
    approval(page).get_by_role("button", name="Allow once").click()
    expect_done(answers(page).first)
    call(page).get_by_role("button", name="Edit a file").click()
    check(page)
    notes.write_text(NOTES)


def test_panels_and_menus(agent: Server, scripted: Scripted, page: Page) -> None:
    scripted.answer(["One."])
    new_chat(page, agent)
    wide(page)
    send(page, "One")
    expect_done(answers(page).first)
    for width in (wide, narrow):
        width(page)
        for name in ("engine-pill", "this-chat", "context"):
            if not page.get_by_test_id(name).is_visible():
                continue
            page.get_by_test_id(name).click()
            expect(page.locator(":popover-open")).to_be_visible()
            check(page)
            page.keyboard.press("Escape")
    page.get_by_role("button", name="Open the list of chats").click()
    check(page)
    wide(page)
    page.get_by_test_id("engine-pill").click()
    page.get_by_role("group", name="Thinking").get_by_text("On", exact=True).click()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("engine-pill")).to_contain_text("thinking on")
    check(page)
    page.get_by_role("button", name="Other kinds of chat").click()
    check(page)
    page.keyboard.press("Escape")
    page.locator(".chat--current").hover()
    page.locator(".chat--current").get_by_role("button", name="Options of chat").click()
    check(page)
    page.get_by_role("button", name="Rename chat").click()
    check(page)
    page.keyboard.press("Escape")
    page.locator(".chat--current").hover()
    page.locator(".chat--current").get_by_role("button", name="Options of chat").click()
    page.get_by_role("button", name="Delete chat").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    check(page)


def test_search_and_the_palette(agent: Server, scripted: Scripted, page: Page) -> None:
    scripted.answer(["A heron stands still."])
    new_chat(page, agent)
    wide(page)
    send(page, "Birds")
    expect_done(answers(page).first)
    page.get_by_role("searchbox", name="Search chats").fill("heron")
    expect(page.get_by_test_id("hit").first).to_be_visible()
    check(page)
    page.get_by_role("searchbox", name="Search chats").fill("")
    page.keyboard.press("Control+k")
    check(page)
    page.keyboard.type("heron")
    expect(page.get_by_role("listbox", name="Found").get_by_text("stands still").first).to_be_visible()
    check(page)
    page.keyboard.press("Escape")


def test_memory(agent: Server, page: Page) -> None:
    memory = Memory(agent)
    memory.clear()
    wide(page)
    try:
        new_chat(page, agent)
        page.goto(memory.url)
        expect(page.get_by_role("button", name="Turn memory on")).to_be_visible()
        check(page)
        memory.begin(Tomatoes="Red. See [[Garden]] and [[Nothing]].\n", Garden=f"# Garden\n\n{ANSWER}")
        memory.write("Garden", "# Garden\n\nTwo beds. See [[Tomatoes]].\n")
        memory.propose("Garden", "c1", added="A third bed.\n")
        new_chat(page, agent)
        page.reload()
        for place in ("", "/Tomatoes", "/Nothing"):
            page.goto(memory.url + place)
            expect(page.get_by_role("navigation", name="Articles")).to_be_visible()
            check(page)
        page.goto(f"{memory.url}/Garden")
        article = page.get_by_test_id("article")
        expect(article.get_by_role("heading", name="Garden").first).to_be_visible()
        article.locator("[data-act=edit]").click()
        expect(page.get_by_role("textbox", name="as Markdown")).to_be_visible()
        check(page)
        page.keyboard.press("Escape")
        page.goto(memory.url)
        page.goto(f"{memory.url}/Garden")
        article.get_by_role("button", name="History").click()
        expect(page.locator(".memory .diff").first).to_be_visible()
        check(page)
        narrow(page)
        check(page)
        page.goto(f"{memory.url}/.proposals")
        expect(page.get_by_test_id("proposal").first).to_be_visible()
        check(page)
    finally:
        memory.clear()


def test_settings(agent: Server, page: Page) -> None:
    agent.put("/api/settings/instructions", {"instructions": "Be brief."})
    httpx.put(f"{agent.url}/api/presets/Brief", json={"instructions": "Be brief."}).raise_for_status()
    for width in (wide, narrow):
        width(page)
        for section in "approvals tools mcp instructions presets keys appearance shortcuts about".split():
            page.goto(f"{agent.url}/#/settings/{section}")
            expect(page.get_by_role("region", name="Settings").locator("h2")).to_be_visible()
            check(page)
    httpx.delete(f"{agent.url}/api/presets/Brief").raise_for_status()
    agent.put("/api/settings/instructions", {"instructions": ""})


def test_models(server: Server, page: Page) -> None:
    model = {
        **{"repo_id": "shore/gull", "mlx": False, "gated": "auto", "downloads": 9, "likes": 2},
        **{"size": 10**9, "parameters": 5 * 10**8, "task": "chat", "license": "mit", "updated_at": None},
    }
    files = [{"name": "README.md", "size": 5}, {"name": "model.safetensors", "size": 10**9}]
    card = {
        **{"model": model, "commit": "c", "files": files, "size": 10**9},
        **{"card_html": "<p>It calls.</p>", "endpoint": "https://hub.test"},
    }
    (served, *_) = server.get("/api/library")["models"]
    other = {**served, "repo_id": "shore/gull", "path": "/gull", "serving": False}
    large = {**other, "repo_id": "shore/whale", "path": "/whale"}
    large["assessment"] = {**served["assessment"], "fits": False, "reason": "It does not fit."}
    page.route("**/api/library", lambda route: route.fulfill(json={"models": [served, other, large]}))
    page.route("**/api/hub/search?*", lambda route: route.fulfill(json={"models": [model]}))
    page.route("**/api/hub/model?*", lambda route: route.fulfill(json=card))
    new_chat(page, server)
    for width in (wide, narrow):
        width(page)
        for section in "here find find/shore/gull downloads recommended clean-up".split():
            page.goto(f"{server.url}/#/models/{section}")
            view = page.get_by_role("region", name="Models", exact=True)
            expect(view.locator("h2").first).to_be_visible()
            expect(view.locator(".set__skeleton")).to_have_count(0)
            # What was found before is dim while it is looked for anew.
            expect(view.locator("[aria-busy=true]")).to_have_count(0)
            for details in view.locator("details").all():
                details.locator("summary").click()
            check(page)
        page.get_by_test_id("engine-pill").click()
        picks = page.get_by_role("listbox", name="Models on this machine")
        expect(picks.get_by_role("option")).to_have_count(3)
        check(page)
        page.keyboard.press("Escape")


def test_status(server: Server, page: Page) -> None:
    body = {"prompt": "Once", "max_tokens": 3}
    httpx.post(f"{server.url}/v1/completions", json=body, timeout=60).raise_for_status()
    new_chat(page, server)
    for width in (wide, narrow):
        width(page)
        page.goto(f"{server.url}/#/status")
        expect(page.get_by_test_id("recent").first).to_be_visible()
        check(page)


def test_what_failed_and_what_is_away(server: Server, scripted: Scripted, page: Page, tmp_path: Path) -> None:
    home = prepared_home(tmp_path / "home", server.home)
    with serving(home, "--upstream", scripted.upstream.base_url) as running:
        running.wait_ready()
        wide(page)
        new_chat(page, running)
        expect(page.get_by_test_id("about-fireside")).to_be_visible()
        check(page)
        scripted.upstream.failures = [(400, {"error": {"message": "That is too long."}})]
        send(page, "Fail")
        expect(answers(page).first).to_have_attribute("data-status", "error")
        check(page)

        status = running.get("/api/status")

        def answer(route: Route) -> None:
            route.fulfill(json=status)

        page.route("**/api/status", answer)
        page.route("**/api/status/events", lambda route: route.abort())
        status["engine"] |= {
            "phase": "loading",
            "bytes_done": 10**9,
            "bytes_total": 4 * 10**9,
            "seconds": 3.0,
        }
        page.reload()
        expect(page.get_by_test_id("engine-pill")).to_have_attribute("data-phase", "loading")
        check(page)
        status["engine"] |= {"phase": "failed", "error": "The model has no weights."}
        page.reload()
        expect(page.get_by_text("The engine failed.")).to_be_visible()
        check(page)
        page.unroute_all()
    expect(page.get_by_text("Fireside is not running.")).to_be_visible()
    send(page, "Kept for later")
    check(page)
    narrow(page)
    check(page)
