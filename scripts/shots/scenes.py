"""The views and states of the page, each brought about as a person would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page, expect

from agent.scripted import call_chunks, progress_chunk, reasoning_chunk
from shots import content
from shots.camera import Camera
from shots.stage import Stage
from support.server import POCKET

Play = Callable[[Stage, Camera, str], None]
STATUS_READINGS = 150
"""One every two seconds: five minutes."""


@dataclass(frozen=True)
class Scene:
    """A state of the page.

    Attributes:
        words: the line above its pictures.
        first: it is of a Fireside in which nothing was done yet.
    """

    name: str
    words: str
    play: Play
    first: bool = False


def _place(place: str, wanted: str, *, act: Callable[[Page], None] = lambda _: None) -> Play:
    """A view that is seen at its address, once what is `wanted` is there."""

    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page() as page:
            stage.show(page, place)
            page.locator(wanted).first.wait_for()
            act(page)
            for _ in camera.frames(page, name):
                for tab in page.locator(".sections [aria-current]").all():
                    tab.evaluate("(tab) => tab.scrollIntoView({ inline: 'center', block: 'nearest' })")

    return play


def _send(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message Fireside").fill(text)
    page.keyboard.press("Enter")


def _open_chat(page: Page, title: str) -> None:
    page.locator(".chat").get_by_role("link", name=title).first.click()
    expect(page.get_by_role("article", name="Fireside").first).to_have_attribute("data-status", "done")


def _chat(title: str, *, top: bool = False) -> Play:
    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page() as page:
            stage.show(page)
            _open_chat(page, title)
            for _ in camera.frames(page, name):
                if top:
                    page.locator(".thread__scroll").evaluate("(box) => box.scrollTo(0, 0)")

    return play


def _approval(stage: Stage, camera: Camera, name: str) -> None:
    edit = {"path": "cli.py", "old_text": content.CLI_OLD, "new_text": content.CLI_NEW}
    stage.model.says(
        "Rename the export flag",
        [reasoning_chunk("It is read in one place."), content.APPROVAL_START, *call_chunks("edit", edit)],
    )
    with stage.page() as page:
        stage.show(page)
        _send(page, content.APPROVAL_PROMPT)
        expect(page.get_by_test_id("approval")).to_be_visible()
        stage.rename(page, stage.model.title)
        camera.take(page, name)
        stage.forget(page)


def _streaming(stage: Stage, camera: Camera, name: str) -> None:
    wait, go_on = stage.model.gate()
    stage.model.says("Why dough wants to rest", [content.STREAM_START, wait, "crust."])
    with stage.page() as page:
        stage.show(page)
        _send(page, content.STREAM_PROMPT)
        expect(page.get_by_role("article", name="Fireside")).to_contain_text("later browns the")
        stage.rename(page, stage.model.title)
        camera.take(page, name)
        stage.forget(page)
        go_on()


def _queue(stage: Stage, camera: Camera, name: str) -> None:
    wait, go_on = stage.model.gate()
    reading = progress_chunk("prefill", prefill_done=1536, prefill_total=2412)
    stage.model.says("Why dough wants to rest", [reading, wait, "Because."])
    with stage.page() as page:
        stage.show(page)
        _send(page, content.STREAM_PROMPT)
        expect(page.get_by_test_id("turn-progress")).to_be_visible()
        for text in ("And at 78 % water?", "Then write me a timetable for Saturday, starting at seven."):
            _send(page, text)
        stage.rename(page, stage.model.title)
        expect(page.get_by_test_id("queued")).to_have_count(2)
        camera.take(page, name)
        stage.forget(page)
        go_on()


def _error(stage: Stage, camera: Camera, name: str) -> None:
    refusal = {"error": {"message": "The prompt has 41,200 tokens; the context window has 32,768."}}
    stage.model.upstream.failures = [(400, refusal)]
    stage.model.says("The whole log", ["Nothing."])
    with stage.page() as page:
        stage.show(page)
        _send(page, "Here is the whole log of last night. What went wrong?")
        expect(page.get_by_role("article", name="Fireside")).to_have_attribute("data-status", "error")
        camera.take(page, name)
        stage.forget(page)


def _panel(test_id: str, title: str = "When to cross to the island") -> Play:
    """A panel of the top bar, opened at each width."""

    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page() as page:
            stage.show(page)
            _open_chat(page, title)
            for _ in camera.frames(page, name):
                page.get_by_role("heading", level=1).click()
                page.get_by_test_id(test_id).click()

    return play


def _palette(typed: str) -> Play:
    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page() as page:
            stage.show(page)
            _open_chat(page, "Bread, 78 % hydration")
            page.keyboard.press("Control+k")
            page.get_by_role("combobox", name="Search chats, memory and actions").fill(typed)
            options = page.get_by_role("listbox", name="Found").get_by_role("option")
            expect(options.first).to_be_visible()
            page.wait_for_timeout(700)
            camera.take(page, name)

    return play


def _search(stage: Stage, camera: Camera, name: str) -> None:
    with stage.page() as page:
        stage.show(page)
        page.get_by_role("searchbox", name="Search chats").fill("bed")
        expect(page.get_by_test_id("hit").first).to_be_visible()
        for width in camera.frames(page, name):
            if width == 360:
                page.get_by_role("button", name="Open the list of chats").click()


def _drawer(stage: Stage, camera: Camera, name: str) -> None:
    with stage.page() as page:
        stage.show(page)
        for _ in camera.frames(page, name, (360,)):
            page.get_by_role("button", name="Open the list of chats").click()


def _menu(stage: Stage, camera: Camera, name: str) -> None:
    with stage.page() as page:
        stage.show(page)
        _open_chat(page, "Bread, 78 % hydration")
        page.get_by_role("button", name="Options of chat: Bread, 78 % hydration").click()
        camera.take(page, name, (1440,))


def _proposals(stage: Stage, camera: Camera, name: str) -> None:
    told = {"article": "Garden/Plan 2027", "text": content.PROPOSED.strip()}
    stage.model.says("The compost comes on Friday", [*call_chunks("memory_propose", told)], ["Noted."])
    with stage.page() as page:
        stage.show(page)
        _send(page, "The compost is ordered, it comes on Friday.")
        if page.get_by_test_id("approval").is_visible():
            page.get_by_test_id("approval").get_by_role("button", name="Allow once").click()
        expect(page.get_by_test_id("proposal")).to_be_visible()
        camera.take(page, "proposal-in-chat")
        chat = page.url
        page.goto(page.url.split("#")[0] + "#/memory/.proposals")
        expect(page.get_by_test_id("proposal")).to_be_visible()
        camera.take(page, name)
        page.goto(chat)
        stage.forget(page)


def _history(page: Page) -> None:
    page.get_by_role("button", name="History").click()
    page.locator(".memory .diff").first.wait_for()


def _edit(page: Page) -> None:
    page.get_by_test_id("article").get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="as Markdown").wait_for()


def _found(page: Page) -> None:
    page.get_by_role("searchbox", name="Search the memory").fill("beds")
    page.locator(".memory__rows mark").first.wait_for()


def _status(changes: str = "{}") -> Play:
    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page(clock=True) as page:
            page.goto("about:blank")
            stage.show(page, "/#/status")
            for _ in range(STATUS_READINGS):
                page.clock.run_for(2000)
            page.evaluate(f"globalThis.__shots.engine({changes})")
            page.clock.run_for(100)
            camera.take(page, name)

    return play


def _engine(*changes: str) -> Play:
    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page() as page:
            stage.show(page)
            for change in changes:
                page.evaluate(f"globalThis.__shots.engine({change})")
            camera.take(page, name)

    return play


def _switch(changes: str) -> Play:
    """The panel of the model while another one is on its way, opened at each width."""

    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.page() as page:
            stage.show(page)
            _open_chat(page, "Bread, 78 % hydration")
            page.evaluate(f"globalThis.__shots.engine({changes})")
            for _ in camera.frames(page, name):
                page.get_by_role("heading", level=1).click()
                page.get_by_test_id("engine-pill").click()
                page.locator(".pick").first.wait_for()

    return play


def _offline(stage: Stage, camera: Camera, name: str) -> None:
    with stage.page() as page:
        stage.show(page)
        _open_chat(page, "Bread, 78 % hydration")
        page.evaluate("globalThis.__shots.vanish()")
        expect(page.locator(".banner")).to_be_visible()
        camera.take(page, name)


def _plain(place: str, wanted: str, *arguments: str) -> Play:
    """A page of its own, of a Fireside that was started with these arguments."""

    def play(stage: Stage, camera: Camera, name: str) -> None:
        with stage.another(name, *arguments) as server, stage.page(canned=False) as page:
            page.goto(server.url + place)
            page.locator(wanted).first.wait_for()
            camera.take(page, name)

    return play


READ = ".set:not(:has(.set__skeleton))"
"""A section of the settings that was read."""
CARD = "lighthouse-lab/tide-tables-3b-with-a-long-name"
ARTICLE = "/#/memory/Garden/Plan%202027"
LOADING = (
    '{phase: "loading", detail: "Reading the weights.", bytes_done: 1.4e9, bytes_total: 2.3e9, seconds: 7}'
)
ANOTHER = '{to: "mlx-community/gemma-3-12b-it-4bit", name: "gemma-3-12b-it", state: "%s", error: %s}'
SWITCHING = (
    '{phase: "switching", detail: "Reading the weights.", bytes_done: 3.1e9, bytes_total: 8.1e9, seconds: 4, '
    f"switch: {ANOTHER % ('loading', 'null')}}}"
)
CUT_SHORT = '"model-00002-of-00002.safetensors ends early. Download it again."'
NOT_SWITCHED = tuple(f"{{switch: {ANOTHER % end}}}" for end in (("loading", "null"), ("failed", CUT_SHORT)))
MODELS = {
    "here": ("The models on this machine", "[data-testid=model]"),
    "find": ("Models on the hub", "[data-testid=found]"),
    "downloads": ("Downloads", "[data-testid=download]"),
    "recommended": ("What suits this machine", "[data-testid=recommended]"),
    "clean-up": ("What can be removed", "[data-testid=to-remove]"),
}
RESTARTING = '{phase: "restarting", detail: "The engine is started again.", seconds: 2, restarts: 1}'
FAILED = (
    '{phase: "failed", error: "The model needs 9.1 GB and this machine has 6.2 GB to give. '
    'Choose a smaller one, or close what else runs.", model: null}'
)
SETTINGS = {
    "approvals": "Rules that were granted, each in words",
    "tools": "What the model may call",
    "mcp": "MCP servers, one of which does not answer",
    "instructions": "Instructions for all chats",
    "presets": "Presets",
    "keys": "API keys and what to paste into other programs",
    "appearance": "Theme and text size",
    "shortcuts": "Shortcuts",
    "about": "Where the data lives",
}
SCENES = (
    Scene("first-run", "The first start", _place("/#/chat", ".welcome__about"), first=True),
    Scene("memory-consent", "Memory is off until you say yes", _place("/#/memory", ".memory h2"), first=True),
    Scene("welcome", "A new chat", _place("/#/chat", ".chat")),
    Scene(
        "chat", "An answer with thinking, tools and a table", _chat("When to cross to the island", top=True)
    ),
    Scene("chat-end", "A formula, code and a footnote", _chat("When to cross to the island")),
    Scene("approval", "The model asks before it changes a file", _approval),
    Scene("streaming", "An answer on its way", _streaming),
    Scene("queue", "Messages that wait for their turn", _queue),
    Scene("right-to-left", "Right to left, code left to right", _chat("حفظ الخبز طازجًا", top=True)),
    Scene("error", "An answer that failed", _error),
    Scene("chat-settings", "What is set for one chat", _panel("this-chat")),
    Scene("sampling", "The model, thinking and sampling", _panel("engine-pill")),
    Scene("context", "How full the context window is", _panel("context")),
    Scene("palette", "Everything by its name", _palette("")),
    Scene("palette-search", "One search over chats, files and memory", _palette("bed")),
    Scene("search", "Search as you type", _search),
    Scene("drawer", "The list of chats on a phone", _drawer),
    Scene("menu", "What can be done with a chat", _menu),
    Scene("memory-list", "The memory", _place("/#/memory", ".memory__row")),
    Scene("memory-article", "An article of the memory", _place(ARTICLE, ".article__body table")),
    Scene("memory-history", "Its history", _place(ARTICLE, ".article__body table", act=_history)),
    Scene("memory-editor", "Editing it", _place(ARTICLE, ".article__body table", act=_edit)),
    Scene("memory-search", "Search in the memory", _place("/#/memory", ".memory__row", act=_found)),
    Scene("memory-proposals", "What the model wants to remember", _proposals),
    *(Scene(f"settings-{tab}", words, _place(f"/#/settings/{tab}", READ)) for tab, words in SETTINGS.items()),
    *(
        Scene(f"models-{place}", words, _place(f"/#/models/{place}", wanted))
        for place, (words, wanted) in MODELS.items()
    ),
    Scene("models-card", "A model of the hub", _place(f"/#/models/find/{CARD}", ".card__text table")),
    Scene("models-switching", "Another model is on its way", _switch(SWITCHING)),
    Scene("models-not-switched", "The new model failed, the old one is back", _engine(*NOT_SWITCHED)),
    Scene("status", "Status", _status()),
    Scene("engine-loading", "The model is being loaded", _engine(LOADING)),
    Scene("engine-restarting", "The engine is started again", _status(RESTARTING)),
    Scene("engine-failed", "The engine failed", _engine(FAILED)),
    Scene("offline", "Fireside is not running", _offline),
    Scene(
        "login",
        "Login from another device",
        _plain("/login", "input", "--api-key", "a-key-for-the-picture-only"),
    ),
    Scene("api", "The API with a form to try each route", _plain("/docs", "h2", "--model", str(POCKET))),
)
