"""Sixty hostile texts wherever the page shows what others wrote: nothing runs, loads or takes over."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Locator, Page, Request, ViewportSize, expect

from agent.scripted import Step, call_chunks, reasoning_chunk
from browser.hostile import RUN, TEXTS, WATCH
from browser.memory_pages import Memory, diff, editor
from browser.pages import Scripted, answers, asked, call, expect_done, new_chat, send
from fireside_agent.markdown_stream import StreamRenderer
from support.browser import PROFILE, WITHOUT_WORKER
from support.server import Server, prepared_home, serving

BATCHES = [TEXTS[start : start + 12] for start in range(0, len(TEXTS), 12)]
ALL = "\n\n".join(text for text in TEXTS if "```" not in text)
"""Those that can stand in one text without one swallowing the next."""

NAMES = [re.sub(r"[/\\\x00-\x1f]", "∕", text).strip() for text in TEXTS]
"""The same as names of files."""


TALL: ViewportSize = {"width": 1280, "height": 4000}
"""A window that shows much of a chat at once."""

HOME = re.compile(r"(http://127\.0\.0\.1:\d+/|data:image/|blob:)")
EXPECTED = ("Failed to load resource", "WebSocket connection", WITHOUT_WORKER)


@pytest.fixture(scope="module")
def complaints() -> list[str]:
    """Of the page that is watched, its policy and the watch; what it asked others for, and what it opened."""
    return []


@pytest.fixture(scope="module")
def tab(browser: Browser, complaints: list[str]) -> Iterator[Page]:
    context = browser.new_context(**PROFILE)
    context.set_default_timeout(10_000)
    page = context.new_page()
    page.add_init_script(WATCH)

    def on_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(word in message.text for word in EXPECTED):
            complaints.append(message.text)

    def on_dialog(dialog: Dialog) -> None:
        complaints.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def on_request(request: Request) -> None:
        if not HOME.match(request.url):
            complaints.append(f"a request: {request.url}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: complaints.append(error.stack or str(error)))
    page.on("dialog", on_dialog)
    page.on("request", on_request)
    context.on("page", lambda other: complaints.append(f"a window: {other.url}"))
    yield page
    context.close()


@pytest.fixture
def page(page: Page, complaints: list[str]) -> Iterator[Page]:
    yield page
    found = complaints.copy()
    complaints.clear()
    assert found == []


def shows(where: Locator, text: str) -> None:
    """Some of a hostile text is there as a text: it was neither dropped nor obeyed."""
    expect(where).to_contain_text(text)


def test_there_are_sixty() -> None:
    assert len(set(TEXTS)) == 60


def test_every_state_of_a_growing_answer_is_safe_to_insert(agent: Server, page: Page) -> None:
    states: set[str] = set()
    for text in TEXTS:
        renderer = StreamRenderer()
        for character in text:
            renderer.feed(character)
            states.update(renderer.blocks)
        states.add("".join(renderer.blocks))
    assert len(states) > 2_000
    new_chat(page, agent)
    assert page.evaluate("(states) => states.flatMap(faultsOf)", sorted(states)) == []


def test_the_watch_sees_what_gets_through(agent: Server, page: Page, complaints: list[str]) -> None:
    new_chat(page, agent)
    for obeyed in (
        f'<img src=x onerror="{RUN}">',
        f'<a href="javascript:{RUN}">x</a>',
        '<p style="color:red">x</p>',
        '<img src="http://elsewhere.example/x">',
        '<a href="http://elsewhere.example/x">x</a>',
        "<i id=body>x</i>",
        "<iframe></iframe>",
    ):
        assert page.evaluate("faultsOf", obeyed) != []
    assert page.evaluate("faultsOf", "<p>fine <b>too</b> <a href='#/chat'>x</a></p>") == []
    page.evaluate("document.querySelector('h1').insertAdjacentHTML('beforeend', '<i id=body onclick=x></i>')")
    page.evaluate("window.__x = 1")
    for complaint in ("script-src", "hostile: onclick in <i", "hostile: id=body", "hostile: a script ran"):
        assert [said for said in complaints if complaint in said] != [], complaint
    complaints.clear()


def pieces(text: str, length: int = 24) -> list[Step]:
    return [text[start : start + length] for start in range(0, len(text), length)]


def test_model_output_is_streamed_and_read_back_as_text(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    scripted.answer(
        *([reasoning_chunk("\n\n".join(batch)), *pieces("\n\n".join(batch))] for batch in BATCHES)
    )
    chats: list[str] = []
    for batch in BATCHES:
        new_chat(page, agent)
        send(page, "\n\n".join(batch))
        expect_done(answers(page).first)
        shows(answers(page).first, RUN)
        page.evaluate(_CLICK_DEAD_LINKS)
        chats.append(page.url)
    page.reload()
    page.set_viewport_size(TALL)
    for url in chats:
        page.goto(url)
        expect_done(answers(page).first)
        assert read_all(page) == 2
        shows(answers(page).first, RUN)


def read_all(page: Page) -> int:
    """Go through the chat from its end to its top and unfold all of it; returns how many messages it saw."""
    seen: int = page.evaluate(_READ_ALL)
    return seen


_READ_ALL = """
    async () => {
        const thread = document.querySelector(".thread__scroll");
        const folded = [
            "[data-testid=reasoning]:not([open]) > summary",
            "[data-testid=call] [aria-expanded=false]",
            ".message__foot [aria-expanded=false]",
        ];
        const seen = new Set();
        const look = async () => {
            for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
            const messages = thread.querySelectorAll("[data-message-id]");
            for (const { dataset } of messages) seen.add(dataset.messageId);
            for (const each of thread.querySelectorAll(folded.join())) each.click();
        };
        thread.scrollTop = thread.scrollHeight;
        await look();
        while (thread.scrollTop > 0) {
            thread.scrollTop -= thread.clientHeight / 2;
            await look();
        }
        await look();
        return seen.size;
    }
"""
_CLICK_DEAD_LINKS = """
    const dead = ".markdown a:not([href^=http i], [href^='#'])";
    for (const each of document.querySelectorAll(`${dead}, .markdown button[data-note]`)) each.click();
"""


def test_tools_that_do_not_exist_and_what_tools_read(agent: Server, scripted: Scripted, page: Page) -> None:
    path = agent.home / "workspace" / "hostile.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(TEXTS))
    names = [*TEXTS[:8], "constructor", "__proto__", "toString"]
    scripted.answer(
        [
            *call_chunks("read", {"path": "hostile.txt"}),
            *(
                chunk
                for number, name in enumerate(names, start=1)
                for chunk in call_chunks(name, {name: TEXTS[number]}, f"call_{number}", number)
            ),
        ],
        ["Read."],
    )
    new_chat(page, agent)
    send(page, "Read it")
    expect_done(answers(page).first)
    expect(call(page)).to_have_count(len(names) + 1)
    for button in call(page).get_by_role("button").all():
        button.click()
    shows(call(page).first.get_by_role("region", name="Output"), f"<script>{RUN}</script>")
    for number, name in enumerate(names, start=1):
        shows(call(page).nth(number), name[:20].strip())


def test_an_approval_card(agent: Server, scripted: Scripted, page: Page) -> None:
    scripted.answer([*call_chunks("bash", {"command": ALL})], ["No."])
    new_chat(page, agent)
    send(page, "Run it")
    card = page.get_by_test_id("approval")
    shows(card, f"<script>{RUN}</script>")
    card.get_by_role("button", name="Deny").click()
    expect_done(answers(page).first)


FILE = b"text"
SHA256 = hashlib.sha256(FILE).hexdigest()


def chat_with(texts: list[str], title: str) -> dict[str, Any]:
    """A chat as a file, hostile wherever the format has a text."""
    now = time.time()
    when = {"created_at": now, "modified_at": now}
    messages: list[dict[str, Any]] = []
    for number, text in enumerate(texts):
        shared = {**when, "status": "done", "text": text}
        file = {"sha256": SHA256, "name": text[:200], "media_type": "text/plain", "size": len(FILE)}
        tool = {
            "call_id": f"c{number}", "name": text, "arguments": json.dumps({text: text}), "source": text,
            "status": "done", "result": text, "ms": 3,
        }  # fmt: skip
        parent = f"a{number - 1}" if number else None
        messages += [
            {"id": f"u{number}", "parent_id": parent, "role": "user", "attachments": [file], **shared},
            {"id": f"a{number}", "parent_id": f"u{number}", "role": "assistant", "reasoning": text,
             "tools": [tool], "receipt": {"model": text, "finish_reason": text}, **shared},
        ]  # fmt: skip
    summaries: list[dict[str, Any]] = []
    files: list[dict[str, Any]] = []
    if messages:
        messages[-1] |= {"status": "error", "error": ALL}
        summaries += [{"id": "s", "upto_id": "a3", "text": ALL, "messages": 8, "created_at": now}]
        files += [
            {"sha256": SHA256, "name": ALL[:200], "media_type": "text/plain", "size": 4, "data": "dGV4dA=="}
        ]
    return {
        "format": "fireside-session", "version": 1, "exported_at": now,
        "session": {"id": "x", "title": title, **when},
        "messages": messages, "summaries": summaries, "attachments": files,
    }  # fmt: skip


def import_chats(server: Server, *chats: dict[str, Any]) -> list[dict[str, Any]]:
    found = httpx.post(f"{server.url}/api/sessions/import", content=json.dumps(list(chats)),
                       headers={"Content-Type": "application/json"}, timeout=60)  # fmt: skip
    assert found.status_code == 200, found.text
    imported: list[dict[str, Any]] = found.json()["imported"]
    return imported


def test_imported_chats_with_all_of_them(agent: Server, page: Page) -> None:
    imported = import_chats(agent, *(chat_with(batch, f"<img src=x onerror={RUN}>") for batch in BATCHES))
    new_chat(page, agent)
    page.set_viewport_size(TALL)
    for batch, whole in zip(BATCHES, imported, strict=True):
        page.goto(f"{agent.url}/#/chat/{whole['id']}")
        expect(answers(page).last).to_have_attribute("data-status", "error")
        assert read_all(page) == 2 * len(batch)
        shows(page.get_by_role("heading", level=1), f"<img src=x onerror={RUN}>")
        page.evaluate(_CLICK_DEAD_LINKS)


def test_titles_and_snippets_of_what_is_found(agent: Server, page: Page) -> None:
    import_chats(agent, *(chat_with([], f"findme {title}") for title in TEXTS))
    new_chat(page, agent)
    page.reload()
    rows = page.get_by_role("link", name=re.compile("findme"))
    expect(rows).to_have_count(len(TEXTS))
    page.get_by_role("searchbox", name="Search chats").fill("onerror")
    expect(page.get_by_test_id("hit").first).to_be_visible()
    page.get_by_role("searchbox", name="Search chats").fill("")
    page.keyboard.press("Control+k")
    page.keyboard.type("onerror")
    expect(page.get_by_role("listbox", name="Found").get_by_role("option").nth(5)).to_be_visible()


def test_files_with_such_names(agent: Server, scripted: Scripted, page: Page) -> None:
    scripted.answer(["Seen."])
    new_chat(page, agent)
    for start in range(0, len(NAMES), 20):
        page.get_by_label("Files to attach").set_input_files(
            [
                {"name": f"{name}.txt", "mimeType": "text/plain", "buffer": TEXTS[index].encode()}
                for index, name in enumerate(NAMES[start : start + 20], start)
            ]
        )
        expect(page.get_by_test_id("upload")).to_have_count(20)
        expect(page.get_by_test_id("upload").filter(has_text="Uploading…")).to_have_count(0)
        for refused in page.get_by_test_id("upload").filter(has_text="is neither text").all():
            refused.get_by_role("button").click()
        send(page, "Here")
        expect(page.get_by_test_id("upload")).to_have_count(0)
        expect_done(answers(page).last)
    shows(asked(page).first, f"<script>{RUN}<∕script>")


def test_memory_articles_their_names_history_and_proposals(agent: Server, page: Page) -> None:
    memory = Memory(agent)
    memory.begin(All=ALL, Start="See [[All]].\n")
    memory.write("All", f"{ALL}\n\nMore.\n")
    for index, name in enumerate(NAMES):
        if len(name.encode()) < 200 and not name.startswith("."):
            memory.by_hand(name, f"---\ntags: [{TEXTS[index]!r}]\n---\n# {TEXTS[index]}\n\n{TEXTS[index]}\n")
    memory.propose("Start", "c1", text=f"{ALL}\n")
    try:
        page.goto(memory.url)
        listed = page.get_by_role("navigation", name="Articles").get_by_role("listitem")
        expect(listed.first).to_be_visible()
        count = listed.count()
        page.goto(f"{memory.url}/All")
        shows(page.get_by_test_id("article"), f"<script>{RUN}</script>")
        page.get_by_test_id("article").get_by_role("button", name="History").click()
        shows(diff(page).first, "More.")
        page.goto(memory.url)
        page.goto(f"{memory.url}/All")
        page.get_by_test_id("article").get_by_role("button", name="Edit").click()
        expect(editor(page)).to_have_value(re.compile("onerror"))
        page.keyboard.press("Escape")
        for index in range(0, count, 6):
            page.goto(memory.url)
            listed.nth(index).get_by_role("link").click()
            expect(page.get_by_test_id("article")).to_contain_text("x")
        page.get_by_role("searchbox", name="Search the memory").fill("onerror")
        expect(page.get_by_role("navigation", name="Articles").locator("mark").first).to_be_visible()
    finally:
        memory.clear()


def test_instructions_presets_and_every_part_of_the_settings(agent: Server, page: Page) -> None:
    kept = agent.get("/api/settings/instructions")
    agent.put("/api/settings/instructions", {"instructions": ALL[:8000]})
    with httpx.Client(base_url=f"{agent.url}/api/presets/", timeout=30) as presets:
        for index, name in enumerate(NAMES):
            presets.put(quote(name[:60], safe=""), json={"instructions": TEXTS[index]})
    try:
        assert len(agent.get("/api/presets")["presets"]) > 40
        for section in ("instructions", "presets", "approvals", "tools", "mcp", "about"):
            page.goto(f"{agent.url}/#/settings/{section}")
            expect(page.get_by_role("region", name="Settings").locator("h2")).to_be_visible()
        new_chat(page, agent)
        page.get_by_test_id("this-chat").click()
        expect(page.get_by_role("dialog", name="This chat")).to_be_visible()
    finally:
        agent.put("/api/settings/instructions", kept)
        with httpx.Client(base_url=f"{agent.url}/api/presets/", timeout=30) as presets:
            for preset in agent.get("/api/presets")["presets"]:
                presets.delete(quote(preset["name"], safe=""))


def test_the_name_of_a_model_and_the_errors_of_its_server(
    server: Server, page: Page, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Scripted() as upstream:
        model = {"id": ALL, "context_window": 32_768, "gen_defaults": {"temperature": 0.3}}
        upstream.upstream.models = {"data": [model]}
        home = prepared_home(tmp_path_factory.mktemp("hostile"), server.home)
        with serving(home, "--upstream", upstream.upstream.base_url) as running:
            running.wait_ready()
            new_chat(page, running)
            upstream.upstream.failures = [
                (400, {"error": {"message": ALL, "type": TEXTS[0], "code": TEXTS[1]}})
            ]
            send(page, "Fail")
            expect(answers(page).first).to_have_attribute("data-status", "error")
            shows(answers(page).first, f"<script>{RUN}</script>")
            finish = {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "constructor"}]}
            upstream.answer([finish])
            send(page, "End")
            expect(answers(page).nth(1)).not_to_have_attribute("data-status", "running")
            page.get_by_test_id("engine-pill").click()
            page.keyboard.press("Escape")
            page.goto(f"{running.url}/#/status")
            expect(page.get_by_test_id("condition")).to_be_visible()
