"""How fast the page is: a real Chromium, a real Fireside, and no model.

    cd scripts; ../.venv/bin/python -m bench.page [--rounds 5] [--json FILE] [--only stream|open|scroll|load]

* The stream: a recorded answer of 20,000 characters is replayed at 1,000 a second, some 250 tokens,
  by a server that speaks OpenAI's protocol, while somebody types. Work a frame is all that the main thread
  does from one frame to the next, by the browser's own trace: its CPU time, and in brackets by the clock,
  which is more where another process had the core.
* Opening: chats of 2,000 messages, none of which the server has had in memory, from the click to the frame in
  which the last message is there.
* Scrolling through one: a gesture of the browser's own, so that its compositor scrolls as under a finger.
* First load: what comes over the wire in a new profile until the page can be used, as the browser counts it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, expect, sync_playwright

import chromium
from bench.page_replay import long_chat, recorded, replaying
from bench.page_trace import CATEGORIES, MainThread
from bench.report import Table, percentile, publish
from bench.servers import Setting, fireside

CHARACTERS = 20_000
PACE = 1_000.0
MESSAGES = 2_000
FRAME_MS = 1000 / 60
SHORTEST_EVENT_MS = 16
"""Event timing does not report less."""
PROFILE: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "service_workers": "block"}

WATCH_KEYS = """() => {
  window.keys = [];
  new PerformanceObserver((list) => {
    for (const { name, duration } of list.getEntries()) if (name === "keydown") window.keys.push(duration);
  }).observe({ type: "event", durationThreshold: 16 });
}"""
OPEN = """([id, last]) => new Promise((resolve) => {
  const begin = performance.now();
  document.querySelector(`a[href$="${id}"]`).click();
  const look = () => {
    const found = [...document.querySelectorAll("[data-message-id]")].at(-1);
    const box = found?.textContent.includes(last) && found.getBoundingClientRect();
    const seen = box && box.bottom > 0 && box.top < innerHeight && found.querySelector(".markdown > .block");
    if (seen) requestAnimationFrame(() => resolve(performance.now() - begin));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""
WATCH_FRAMES = """() => {
  window.frames_ = [];
  window.blank = 0;
  const box = document.querySelector(".thread__scroll").getBoundingClientRect();
  const look = (at) => {
    window.frames_.push(at);
    const there = [0.25, 0.5, 0.75].some((share) =>
      document.elementFromPoint(box.x + box.width / 2, box.y + box.height * share)?.closest("article"));
    if (!there) window.blank += 1;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""


@contextmanager
def opened(browser: Browser, url: str) -> Iterator[Page]:
    """The page in a new profile, ready for a message."""
    context = browser.new_context(**PROFILE)
    page = context.new_page()
    try:
        page.goto(f"{url}/#/chat")
        expect(_composer(page)).to_be_visible()
        yield page
    finally:
        context.close()


def measure_stream(browser: Browser, url: str, table: Table) -> None:
    """A whole answer, and typing while it comes."""
    with opened(browser, url) as page:
        page.evaluate(WATCH_KEYS)
        browser.start_tracing(page=page, categories=CATEGORIES)
        _composer(page).fill("Tell me about the tides.")
        page.keyboard.press("Enter")
        answer = page.get_by_role("article", name="Fireside")
        expect(answer).to_be_visible()
        presses = 0
        while answer.get_attribute("data-status") == "running":
            page.keyboard.type("and ", delay=60)
            presses += 4
        trace = MainThread(browser.stop_tracing())
        late: list[float] = page.evaluate("window.keys")
    _add_work(table, "stream", trace)
    wall, cpu = (percentile([work[i] for work in trace.key_work()], 0.95) for i in (0, 1))
    table.add("stream: key press to its frame, main thread, p95", "", f"{cpu:.1f} ms ({wall:.1f} ms)")
    keys = late + [SHORTEST_EVENT_MS] * (presses - len(late))
    table.add("stream: key press painted, p95", "50 ms", f"{percentile(keys, 0.95):.0f} ms")
    table.add("stream: frames; key presses", "", f"{len(trace.frames)}; {presses}")


def measure_open(browser: Browser, url: str, table: Table, rounds: int) -> None:
    """Chats that are only on disk, and the last of them again."""
    ids = [_import(url, f"Long {number}") for number in range(rounds)]
    with opened(browser, url) as page:
        cold = [_open(page, chat) for chat in ids]
        warm = [_open(page, chat) for chat in ids[1:]]
        count = page.locator("[data-message-id]").count()
    for name, found in (("first time", cold), ("again", warm)):
        shown = f"{percentile(found, 0.5):.0f} ms ({min(found):.0f} to {max(found):.0f})"
        table.add(f"chat of {MESSAGES:,} messages opens, {name}", "300 ms", shown)
    table.add("messages in the document", "", count)


def measure_scroll(browser: Browser, url: str, table: Table) -> None:
    """From the end of a long chat towards its beginning, fast and then faster."""
    chat = _import(url, "Scrolled")
    with opened(browser, url) as page:
        _open(page, chat)
        cdp = page.context.new_cdp_session(page)
        for speed, distance in ((2_000, 10_000), (8_000, 60_000)):
            page.evaluate(WATCH_FRAMES)
            browser.start_tracing(page=page, categories=CATEGORIES)
            gesture = {
                "x": 700,
                "y": 400,
                "yDistance": distance,
                "speed": speed,
                "gestureSourceType": "mouse",
            }
            cdp.send("Input.synthesizeScrollGesture", gesture)
            trace = MainThread(browser.stop_tracing())
            at: list[float] = page.evaluate("window.frames_")
            gaps = [b - a for a, b in pairwise(at)]
            dropped = sum(max(0, round(gap / FRAME_MS) - 1) for gap in gaps)
            share = f"{dropped} of {len(gaps) + dropped}; {page.evaluate('window.blank')}"
            table.add(f"scrolling {speed:,} px/s: frames dropped; without a message", "", share)
            _add_work(table, f"scrolling {speed:,} px/s", trace)
            page.reload()
            expect(page.locator("[data-message-id]").last).to_be_visible()


def measure_load(browser: Browser, url: str, table: Table, rounds: int) -> None:
    """New profiles, one after the other."""
    seconds: list[float] = []
    sizes: list[int] = []
    for _ in range(rounds):
        context = browser.new_context(**PROFILE)
        page = context.new_page()
        cdp = context.new_cdp_session(page)
        cdp.send("Network.enable")
        sizes.clear()
        cdp.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
        begin = time.perf_counter()
        page.goto(f"{url}/#/chat", wait_until="commit")
        _composer(page).wait_for()
        seconds.append(time.perf_counter() - begin)
        page.wait_for_timeout(1_000)
        context.close()
    table.add("first load, over the wire", "250 kB", f"{sum(sizes) / 1000:.0f} kB")
    table.add("first load, requests", "", len(sizes))
    table.add("first load, until it can be used", "", f"{percentile(seconds, 0.5) * 1000:.0f} ms")


def _add_work(table: Table, what: str, trace: MainThread) -> None:
    for name, share, bar in (("median", 0.5, 8), ("p95", 0.95, 16)):
        wall, cpu = (percentile([work[i] for work in trace.work()], share) for i in (0, 1))
        table.add(f"{what}: work a frame, {name}", f"{bar} ms", f"{cpu:.1f} ms ({wall:.1f} ms)")
    longest = max(trace.tasks, key=lambda task: task.cpu)
    slowest = max(task.wall for task in trace.tasks)
    table.add(f"{what}: longest task", "50 ms", f"{longest.cpu:.0f} ms ({slowest:.0f} ms)")
    print(f"{what}, longest task: { ({name: round(ms) for name, ms in longest.parts.items()}) }")


def _composer(page: Page) -> Any:
    return page.get_by_role("textbox", name="Message Fireside")


def _import(url: str, title: str) -> str:
    answer = httpx.post(
        f"{url}/api/sessions/import", json=long_chat(MESSAGES, title), timeout=60, trust_env=False
    )
    return answer.raise_for_status().json()["imported"][0]["id"]


def _open(page: Page, chat: str) -> float:
    page.goto(f"{page.url.split('#')[0]}#/chat")
    page.locator(f'a[href$="{chat}"]').wait_for()
    page.wait_for_timeout(300)
    return page.evaluate(OPEN, [chat, f"Answer {MESSAGES - 1}."])


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast the page is.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=("stream", "open", "scroll", "load"))
    args = parser.parse_args()
    table = Table("The page", ["measure", "bar", "measured"])
    with (
        tempfile.TemporaryDirectory() as scratch,
        replaying(recorded(CHARACTERS), PACE) as upstream,
        fireside(Setting(None, Path(scratch), Path(scratch), 1, False, ["--upstream", upstream])) as target,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=["--disable-gpu"])
        steps = {
            "stream": lambda: measure_stream(browser, target.url, table),
            "open": lambda: measure_open(browser, target.url, table, args.rounds),
            "scroll": lambda: measure_scroll(browser, target.url, table),
            "load": lambda: measure_load(browser, target.url, table, args.rounds),
        }
        for name, step in steps.items():
            if args.only in (None, name):
                step()
        browser.close()
    publish([table], args.json)


if __name__ == "__main__":
    main()
