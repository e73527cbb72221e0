"""What a model is told where no grammar can hold it to the form of its answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

_ONLY = "Write nothing before or after it, no explanation and no code fence."


def json_object() -> str:
    """Any JSON object."""
    return f"Answer with a single valid JSON object. {_ONLY}"


def json_schema(schema: Any, name: str = "", description: str = "") -> str:
    """JSON that is right by a schema, which may have a name and a description."""
    called = f' named "{name}"' if name else ""
    about = f"\nWhat it is for: {description}" if description else ""
    text = json.dumps(schema, ensure_ascii=False, indent=2)
    return (
        f"Answer with JSON that is valid by the JSON Schema{called} below.{about}\n\n```json\n{text}\n```\n\n"
        f"The answer is the JSON alone. {_ONLY}"
    )


def regex(pattern: str) -> str:
    """A text that fits a regular expression from beginning to end."""
    return (
        "Answer with a text that as a whole matches this regular expression:"
        f"\n\n```\n{pattern}\n```\n\n{_ONLY}"
    )


def choice(choices: Sequence[str]) -> str:
    """One of some texts."""
    listed = "\n".join(f"- {json.dumps(text, ensure_ascii=False)}" for text in choices)
    return f"Answer with exactly one of these texts, without the quotes:\n\n{listed}\n\n{_ONLY}"


def grammar(text: str) -> str:
    """A text that follows a grammar."""
    return (
        "Answer with a text that follows this grammar (EBNF), from its rule `root` on:"
        f"\n\n```\n{text}\n```\n\n{_ONLY}"
    )


def structural_tag(text: str) -> str:
    """A text in the form that a structural tag describes."""
    return f"Answer with a text in the form that this structural tag describes:\n\n```json\n{text}\n```"
