"""What a model's chat template and card tell of it: read as text, never run."""

import re
from pathlib import Path
from typing import Any, cast

import msgspec

from fireside.catalog.json_file import UnreadableError, read_json

_LONGEST_CARD = 1 << 18
"""Bytes of a model card that are looked at; its header comes first."""

_TOOLS = re.compile(r"\btools\b|\bavailable_tools\b")
_THINKING = re.compile(
    r"enable_thinking|reasoning_effort|<think(?:ing)?>|\[THINK\]|<\|channel\|>analysis|<seed:think>"
    r"|<\|START_THINKING\|>|<\|begin_of_thought\|>"
)
_KEY = re.compile(r"(?P<key>[A-Za-z_]+):[ \t]*(?P<value>[^\s#].*)?")


class _TokenizerConfig(msgspec.Struct):
    chat_template: Any = None


def read_template(folder: Path) -> str:
    """All of a model's chat templates in one text, empty where it has none."""
    texts = [_text(path) for path in (folder / "chat_template.jinja", *_additional(folder))]
    for name in ("chat_template.json", "tokenizer_config.json"):
        path = folder / name
        if path.is_file():
            try:
                texts += _templates(read_json(path, _TokenizerConfig))
            except UnreadableError:
                continue
    return "\n".join(filter(None, texts))


def knows_tools(template: str) -> bool:
    """Whether a template writes tools into the prompt."""
    return _TOOLS.search(template) is not None


def knows_thinking(template: str) -> bool:
    """Whether a template has words for reasoning before an answer."""
    return _THINKING.search(template) is not None


def read_card(folder: Path) -> dict[str, str]:
    """The simple values in the header of a model card, by key.

    Not by a YAML parser: the headers of embedders hold thousands of lines of results, which would take it
    seconds, and the keys that matter are one line each.
    """
    path = folder / "README.md"
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST_CARD).decode("utf-8", errors="replace")
    except OSError:
        return {}
    if not text.startswith("---"):
        return {}
    values: dict[str, str] = {}
    for line in text.split("\n---", 1)[0].splitlines()[1:]:
        found = _KEY.fullmatch(line)
        if found and found["value"]:
            values.setdefault(found["key"], found["value"].split(" #")[0].strip().strip("\"'"))
    return values


def licence_of(card: dict[str, str]) -> str | None:
    """The licence that a card names; where it is none of the usual ones, by its own name."""
    licence = card.get("license", "").strip("[] ")
    if licence.lower() in ("", "other"):
        return card.get("license_name") or licence or None
    return licence


def _additional(folder: Path) -> list[Path]:
    return sorted((folder / "additional_chat_templates").glob("*.jinja"))


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace") if path.is_file() else ""
    except OSError:
        return ""


def _templates(config: _TokenizerConfig) -> list[str]:
    """A template, or the templates of a list of named ones."""
    value = config.chat_template
    if isinstance(value, str):
        return [value]
    named = cast("list[Any]", value) if isinstance(value, list) else []
    found = (cast("dict[str, Any]", item).get("template") for item in named if isinstance(item, dict))
    return [text for text in found if isinstance(text, str)]
