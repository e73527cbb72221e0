"""A second engine: Debian's WebKitGTK on a display that nobody sees, driven by WebDriver."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

DRIVER, DISPLAY = "WebKitWebDriver", "Xvfb"
WITHIN_S = 15.0
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Control": "\ue009"}
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_FIND = """
    const [selector, words] = arguments;
    const name = (each) => `${each.getAttribute("aria-label") ?? ""} ${each.textContent}`;
    return [...document.querySelectorAll(selector)]
        .filter((each) => each.checkVisibility({ visibilityProperty: true }))
        .filter((each) => name(each).replace(/\\s+/g, " ").includes(words));
"""
_LISTEN = """
    if (globalThis.complaints) return;
    globalThis.complaints = [];
    const note = (what) => globalThis.complaints.push(String(what));
    addEventListener("error", ({ message }) => note(message));
    addEventListener("unhandledrejection", ({ reason }) => note(reason));
    addEventListener("securitypolicyviolation", ({ violatedDirective }) => note(violatedDirective));
"""


class Element:
    """Something in the page, as a user touches it."""

    def __init__(self, browser: WebKit, reference: dict[str, str]) -> None:
        self.reference = reference
        self._browser = browser
        self._path = f"/element/{reference[_ELEMENT]}"

    def click(self) -> None:
        self._browser.post(f"{self._path}/click")

    def type(self, text: str) -> None:
        """Focus it and type; characters of `KEYS` are keys."""
        self._browser.post(f"{self._path}/value", text=text)

    def fill(self, text: str) -> None:
        self._browser.post(f"{self._path}/clear")
        self.type(text)

    @property
    def text(self) -> str:
        return str(self._browser.run("return arguments[0].textContent", self))

    @property
    def name(self) -> str:
        """As a screen reader would say it."""
        return str(self._browser.get(f"{self._path}/computedlabel"))

    @property
    def role(self) -> str:
        return str(self._browser.get(f"{self._path}/computedrole"))


class WebKit:
    """A browser with one window."""

    def __init__(self, driver: httpx.Client, session: str) -> None:
        self._driver = driver
        self._path = f"/session/{session}"

    def get(self, path: str) -> Any:
        return _value(self._driver.get(self._path + path))

    def post(self, path: str, **body: Any) -> Any:
        return _value(self._driver.post(self._path + path, json=body))

    def go(self, url: str) -> None:
        self.post("/url", url=url)
        self.run(_LISTEN)

    def reload(self) -> None:
        self.post("/refresh")
        self.run(_LISTEN)

    @property
    def complaints(self) -> list[str]:
        """Scripts that failed and what the policy refused, since the page was loaded."""
        return self.run("return globalThis.complaints")

    def resize(self, width: int, height: int) -> None:
        """Make the page, not its window, this large."""
        frame_w, frame_h = self.run("return [outerWidth - innerWidth, outerHeight - innerHeight]")
        self.post("/window/rect", width=width + frame_w, height=height + frame_h)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript, the body of a function; elements go in and come out."""
        given = [each.reference if isinstance(each, Element) else each for each in arguments]
        found = self.post("/execute/sync", script=script, args=given)
        if isinstance(found, list):
            return [self._element(each) for each in found]
        return self._element(found)

    def _element(self, value: Any) -> Any:
        return Element(self, value) if isinstance(value, dict) and _ELEMENT in value else value

    def all(self, selector: str, words: str = "") -> list[Element]:
        """What is shown, matches, and has these words in its text or label."""
        return self.run(_FIND, selector, words)

    def one(self, selector: str, words: str = "") -> Element:
        """The first of those, waiting for it."""
        deadline = time.monotonic() + WITHIN_S
        while not (found := self.all(selector, words)):
            assert time.monotonic() < deadline, f"no {selector} with {words!r} in\n{self.shown()}"
            time.sleep(0.02)
        return found[0]

    def none(self, selector: str, words: str = "") -> None:
        """Wait until there is none of those."""
        deadline = time.monotonic() + WITHIN_S
        while self.all(selector, words):
            assert time.monotonic() < deadline, f"still a {selector} with {words!r} in\n{self.shown()}"
            time.sleep(0.02)

    def until(self, script: str) -> None:
        """Wait until this expression is true."""
        deadline = time.monotonic() + WITHIN_S
        while not self.run(f"return {script}"):
            assert time.monotonic() < deadline, f"not {script} in\n{self.shown()}"
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        """Press keys together, wherever the focus is."""
        codes = [KEYS.get(key, key) for key in keys]
        actions = [{"type": "keyDown", "value": code} for code in codes]
        actions += [{"type": "keyUp", "value": code} for code in reversed(codes)]
        self.post("/actions", actions=[{"type": "key", "id": "keyboard", "actions": actions}])

    def shown(self) -> str:
        return str(self.run("return document.body.innerText"))


def installed() -> bool:
    return all(shutil.which(program) for program in (DRIVER, DISPLAY))


@contextmanager
def webkit(home: Path) -> Iterator[WebKit]:
    """A WebKitGTK that keeps what it keeps in `home`."""
    with _display() as display, _driver({**os.environ, **_quiet(home), "DISPLAY": display}) as driver:
        wanted = {"capabilities": {"alwaysMatch": {"pageLoadStrategy": "normal"}}}
        session = _value(driver.post("/session", json=wanted))["sessionId"]
        try:
            yield WebKit(driver, session)
        finally:
            driver.delete(f"/session/{session}")


def _quiet(home: Path) -> dict[str, str]:
    home.mkdir(parents=True, exist_ok=True)
    private = {f"XDG_{name}_HOME": str(home) for name in ("DATA", "CACHE", "CONFIG")}
    # There is neither a GPU nor a session of a desktop.
    return {
        **private,
        "HOME": str(home),
        "GDK_BACKEND": "x11",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        "WEBKIT_DISABLE_DMABUF_RENDERER": "1",
        "WEBKIT_DISABLE_COMPOSITING_MODE": "1",
        "NO_AT_BRIDGE": "1",
        "GSETTINGS_BACKEND": "memory",
    }


@contextmanager
def _display() -> Iterator[str]:
    readable, writable = os.pipe()
    command = [DISPLAY, "-displayfd", str(writable), "-screen", "0", "1440x1000x24", "-nolisten", "tcp"]
    process = subprocess.Popen(command, pass_fds=[writable], stderr=subprocess.DEVNULL)
    os.close(writable)
    try:
        with os.fdopen(readable) as numbers:
            yield f":{numbers.readline().strip()}"
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _driver(environment: dict[str, str]) -> Iterator[httpx.Client]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [DRIVER, f"--port={port}"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    transport = httpx.HTTPTransport(retries=8)  # until it listens
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", transport=transport, timeout=60) as client:
            yield client
    finally:
        process.terminate()
        process.wait()


def _value(answer: httpx.Response) -> Any:
    value = answer.json()["value"]
    assert answer.is_success, value
    return value
