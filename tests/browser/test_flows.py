"""What a person does in the page from end to end, where no other file has it yet."""

from __future__ import annotations

import re
import sqlite3
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from agent.scripted import CUT, Step, call_chunks, end_chunks, reasoning_chunk
from browser.memory_pages import reading
from browser.pages import (
    MODEL,
    TITLE,
    Scripted,
    answers,
    ask,
    asked,
    call,
    drop,
    expect_done,
    expect_true,
    new_chat,
    send,
)
from support.chat import stop_all
from support.server import Server

DAY_S = 24 * 3600


def ended(**fireside: Any) -> list[Step]:
    """The end of an answer that tells how it was made."""
    return [*end_chunks(**fireside), CUT]


def test_the_receipt_is_of_the_whole_turn(agent: Server, scripted: Scripted, notes: Path, page: Page) -> None:
    scripted.answer(
        [*call_chunks("read", {"path": "notes.txt"}), *ended(ttft_ms=400, decode_tps=10, queue_ms=50)],
        ["At six.", *ended(ttft_ms=100, decode_tps=40, queue_ms=0)],
    )
    new_chat(page, agent)
    answer = ask(page, "When?")
    answer.get_by_role("button", name="Details").click()
    receipt = answer.get_by_test_id("receipt")
    # Each step: 7 tokens read, 2 of them known, 3 written; the 2 after the first at 10 or 40 a second.
    assert lines_of(receipt) == {
        "Model": "scripted-1",
        "Prompt": "14 tokens",
        "From cache": "4 tokens",
        "Answer": "6 tokens",
        "Steps": "2",
        "Calls": lines_of(receipt)["Calls"],
        "Model’s time": "750 ms",
        "Speed": "16.0 tok/s",
        "First token": "400 ms",
        "Queued": "50 ms",
        "Lane": "batched",
        "Ended by": "the model",
        **{term: value for term, value in lines_of(receipt).items() if term in ("Instructions", "Sampling")},
    }
    expect(receipt).to_contain_text(re.compile(r"Calls1, which took \d+ ms"))
    page.reload()
    answers(page).first.get_by_role("button", name="Details").click()
    assert lines_of(receipt)["Answer"] == "6 tokens"


def lines_of(receipt: Locator) -> dict[str, str]:
    expect(receipt).to_be_visible()
    terms, values = receipt.locator("dt").all_inner_texts(), receipt.locator("dd").all_inner_texts()
    return dict(zip(terms, values, strict=True))


def test_the_reader_is_followed_only_at_the_end(agent: Server, scripted: Scripted, page: Page) -> None:
    wait, go_on = scripted.gate()
    wait_more, finish = scripted.gate()
    lines = "\n\n".join(f"Line {number}" for number in range(60))
    scripted.answer([lines, wait, f"\n\n{lines}", wait_more, "\n\nThe last line"])
    new_chat(page, agent)
    send(page, "Tell me")
    thread = page.get_by_role("log", name="Conversation")
    expect(answers(page).first).to_contain_text("Line 59")
    expect_true(page, AT_END)
    thread.evaluate("e => e.scrollTo(0, 100)")
    latest = page.get_by_role("button", name="Jump to latest")
    expect(latest).to_be_visible()
    go_on()
    expect(answers(page).locator("p", has_text="Line 59")).to_have_count(2)
    assert thread.evaluate("e => e.scrollTop") == 100
    latest.click()
    expect_true(page, AT_END)
    expect(latest).to_have_count(0)
    finish()
    expect_done(answers(page).first)
    expect_true(page, AT_END)


AT_END = "(e => e.scrollHeight - e.clientHeight - e.scrollTop < 2)(document.querySelector('[role=log]'))"


def test_a_dropped_file_goes_with_the_message_and_what_is_no_text_is_refused(
    agent: Server, scripted: Scripted, browser: Browser
) -> None:
    scripted.answer(["A heron."])
    # Not `opened`: the browser has its own words for a refused upload.
    with reading(browser) as page:
        new_chat(page, agent)
        drop(page, "heron.txt", b"The heron stands.", "text/plain")
        expect(page.get_by_test_id("upload")).to_contain_text("17 B")
        drop(page, "noise.bin", b"\0\0\1\2", "application/octet-stream")
        bad = page.get_by_test_id("upload").filter(has_text="noise.bin")
        expect(bad).to_have_class(re.compile("file--bad"))
        expect(bad.get_by_role("status")).to_contain_text("text")
        bad.get_by_role("button", name="Remove file: noise.bin").click()
        expect(bad).to_have_count(0)
        page.get_by_role("textbox", name="Message Fireside").press("Enter")
        expect_done(answers(page).first)
        expect(asked(page).first.get_by_role("link", name=re.compile("heron.txt"))).to_be_visible()
    assert "The heron stands." in str(scripted.upstream.requests[-1]["messages"])


def test_chats_are_grouped_by_time_with_the_pinned_ones_first(
    agent: Server, scripted: Scripted, page: Page
) -> None:
    stop_all(agent)
    new_chat(page, agent)
    for word in ("new", "yesterday", "week", "month", "old"):
        page.get_by_role("button", name="New chat").first.click()
        ask(page, f"A {word} thing")
        rename(page, f"A {word} thing")
    now = time.time()
    with sqlite3.connect(agent.home / "fireside.db") as database:
        for word, days in {"yesterday": 1, "week": 3, "month": 20, "old": 400}.items():
            then = (now - days * DAY_S, f"A {word} thing")
            database.execute("UPDATE sessions SET modified_at = ? WHERE title = ?", then)
        database.execute("UPDATE sessions SET pinned = 1 WHERE title = 'A month thing'")
    database.close()
    page.reload()
    chats = page.get_by_role("navigation", name="Chats")
    expect(chats.get_by_role("link", name="A old thing")).to_be_visible()
    headings = chats.get_by_role("heading", level=2).all_inner_texts()
    year = time.strftime("%Y", time.localtime(now - 400 * DAY_S))
    assert headings[:4] == ["Pinned", "Today", "Yesterday", "Last week"]
    assert headings[4].endswith(year)
    pinned = page.get_by_role("region", name="Pinned").get_by_role("link")
    expect(pinned).to_have_text(["A month thing"])


def rename(page: Page, title: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    send(page, "/rename")
    page.get_by_label("New title").fill(title)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(title)


def test_one_search_finds_files_and_the_memory_too(agent: Server, scripted: Scripted, page: Page) -> None:
    agent.post("/api/memory/init", {})
    agent.put("/api/memory/article?name=Coast/Pipit", {"text": "A bird on rocks.\n", "before_hash": ""})
    scripted.answer([reasoning_chunk("Hm."), "Noted."])
    new_chat(page, agent)
    drop(page, "dunlin.txt", b"The dunlin probes.", "text/plain")
    expect(page.get_by_test_id("upload")).to_contain_text("18 B")
    ask(page, "Keep this")
    page.get_by_role("button", name="New chat").first.click()
    for word, kind in (("dunlin", "Attachment"), ("pipit", "Memory")):
        page.keyboard.press("Control+k")
        page.get_by_role("combobox").fill(word)
        hit = page.get_by_role("option").filter(has_text=re.compile(word, re.IGNORECASE)).first
        expect(hit).to_contain_text(re.compile(kind, re.IGNORECASE))
        page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("dunlin")
    page.get_by_role("option").filter(has_text="dunlin").first.click()
    expect(asked(page).first.get_by_role("link", name=re.compile("dunlin.txt"))).to_be_visible()


def test_an_empty_field_shows_what_the_model_does_by_itself(
    server: Server, agent: Server, page: Page
) -> None:
    (model,) = server.get("/v1/models")["data"]
    assert model["gen_defaults"].keys() == {"temperature", "top_p", "top_k", "min_p", "repetition_penalty"}
    new_chat(page, server)
    page.get_by_test_id("engine-pill").click()
    panel = page.get_by_role("dialog", name="Model", exact=True)
    for label, name in (
        ("Temperature", "temperature"),
        ("Top p", "top_p"),
        ("Top k", "top_k"),
        ("Min p", "min_p"),
        ("Repetition penalty", "repetition_penalty"),
    ):
        value = model["gen_defaults"][name]
        words = "auto (off)" if value is None else f"auto ({value:g})"
        expect(panel.get_by_role("textbox", name=label)).to_have_attribute("placeholder", words)
    expect(panel.get_by_role("textbox", name="Most tokens")).to_have_attribute(
        "placeholder", "auto (no limit)"
    )
    assert MODEL["gen_defaults"]["temperature"] == 0.3  # of the scripted one, which another file looks at


def test_about_says_where_the_data_is_and_nobody_is_asked_to_log_out_who_did_not_log_in(
    server: Server, page: Page
) -> None:
    page.goto(f"{server.url}/#/settings/about")
    expect(page.get_by_text(str(server.home), exact=True)).to_be_visible()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copy = page.get_by_role("button", name="Copy the folder’s path")
    copy.click()
    expect(copy).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == str(server.home)
    page.goto(f"{server.url}/#/settings/keys")
    expect(page.get_by_role("heading", name="New key")).to_be_visible()
    expect(page.get_by_role("button", name="Log out")).to_have_count(0)


def test_the_prompts_of_an_empty_chat_work_on_the_model_that_users_get(
    default_server: Server, page: Page
) -> None:
    examples = {
        "What is the capital of France?": "Paris",
        "What does a gardener do?": "plant|garden",
        "Write one sentence about the sea": "sea|ocean|wave",
        "What is photosynthesis?": "light|sun",
    }
    new_chat(page, default_server)
    expect(page.locator(".welcome__note")).to_contain_text("answers here.")
    offered = page.get_by_role("list", name="Examples").get_by_role("button")
    expect(offered).to_have_text(list(examples))
    for example, word in examples.items():
        page.get_by_role("button", name="New chat").first.click()
        page.get_by_role("button", name=example).click()
        expect(answers(page).first).to_contain_text(re.compile(word, re.IGNORECASE), timeout=30_000)
        expect(call(page)).to_have_count(0)
        if word == "Paris":
            expect(page.get_by_role("link", name=example).first).to_be_visible()
            page.reload()
            expect(answers(page).first).to_contain_text(word)
            expect(asked(page)).to_have_count(1)
        # What else it would say takes its time from the next one.
        stop_all(default_server)
        expect(answers(page)).to_have_count(0)
