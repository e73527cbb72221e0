"""The views and states of the page of which pictures are taken."""

from __future__ import annotations

from shots import plays
from shots.plays import Scene
from support.server import POCKET

READ = ".set:not(:has(.set__skeleton))"
"""A section of the settings that was read."""
MODEL = "[data-testid=model]"
OPEN = "lighthouse-lab/tide-tables-3b"
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
    "here": ("The models on this machine", MODEL),
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
    Scene("first-run", "The first start", plays.place("/#/chat", ".welcome__about"), first=True),
    Scene(
        "memory-consent",
        "Memory is off until you say yes",
        plays.place("/#/memory", ".memory h2"),
        first=True,
    ),
    Scene("welcome", "A new chat", plays.place("/#/chat", ".chat")),
    Scene(
        "chat",
        "An answer with thinking, tools and a table",
        plays.chat("When to cross to the island", top=True),
    ),
    Scene("chat-end", "A formula, code and a footnote", plays.chat("When to cross to the island")),
    Scene("opened", "Thinking and tools, unfolded", plays.opened),
    Scene("approval", "The model asks before it changes a file", plays.approval),
    Scene("streaming", "An answer on its way", plays.streaming),
    Scene("waiting", "An answer that waits for others", plays.waiting),
    Scene("queue", "Messages that wait for their turn", plays.queue),
    Scene("right-to-left", "Right to left, code left to right", plays.chat("حفظ الخبز طازجًا", top=True)),
    Scene("error", "An answer that failed", plays.error),
    Scene("temporary", "A chat that is not kept", plays.temporary),
    Scene("opening", "A chat that is being opened", plays.opening),
    Scene("chat-settings", "What is set for one chat", plays.panel("this-chat", ".choices")),
    Scene("sampling", "The model, thinking and sampling", plays.panel("engine-pill", ".pick")),
    Scene("context", "How full the context window is", plays.panel("context", ".button")),
    Scene("palette", "Everything by its name", plays.palette("")),
    Scene("palette-search", "One search over chats, files and memory", plays.palette("bed")),
    Scene("search", "Search as you type", plays.search),
    Scene("drawer", "The list of chats on a phone", plays.drawer),
    Scene("menu", "What can be done with a chat", plays.menu),
    Scene("memory-list", "The memory", plays.place("/#/memory", ".memory__row")),
    Scene("memory-article", "An article of the memory", plays.place(ARTICLE, ".article__body table")),
    Scene("memory-history", "Its history", plays.place(ARTICLE, ".article__body table", act=plays.history)),
    Scene("memory-editor", "Editing it", plays.place(ARTICLE, ".article__body table", act=plays.edit)),
    Scene("memory-search", "Search in the memory", plays.place("/#/memory", ".memory__row", act=plays.found)),
    Scene("memory-proposals", "What the model wants to remember", plays.proposals),
    *(
        Scene(f"settings-{tab}", words, plays.place(f"/#/settings/{tab}", READ))
        for tab, words in SETTINGS.items()
    ),
    *(
        Scene(f"models-{place}", words, plays.place(f"/#/models/{place}", wanted))
        for place, (words, wanted) in MODELS.items()
    ),
    Scene("models-unfit", "Why a model does not fit", plays.unfit),
    Scene(
        "models-get",
        "A model to fetch and convert",
        plays.place(f"/#/models/find/{OPEN}", ".get .button--go"),
    ),
    Scene("models-card", "A model of the hub", plays.place(f"/#/models/find/{CARD}", ".card__text table")),
    Scene("models-switching", "Another model is on its way", plays.switch(SWITCHING)),
    Scene("models-not-switched", "The new model failed, the old one is back", plays.engine(*NOT_SWITCHED)),
    Scene("status", "Status", plays.status()),
    Scene("engine-loading", "The model is being loaded", plays.engine(LOADING)),
    Scene("engine-restarting", "The engine is started again", plays.status(RESTARTING)),
    Scene("engine-failed", "The engine failed", plays.engine(FAILED)),
    Scene("unkept", "The disk is full", plays.unkept),
    Scene("offline", "Fireside is not running", plays.offline),
    Scene(
        "login",
        "Login from another device",
        plays.plain("/login", "input", "--api-key", "a-key-for-the-picture-only"),
    ),
    Scene("api", "The API with a form to try each route", plays.plain("/docs", "h2", "--model", str(POCKET))),
)
