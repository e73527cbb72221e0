"""A session as Markdown that reads well elsewhere: on GitHub, in Obsidian, in an editor."""

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from fireside_agent.export.fences import close_blocks, fence, longest_run
from fireside_agent.export.records import MessageRecord, WholeSession
from fireside_agent.messages import Attachment, ToolCall

MAX_SUMMARY_CHARACTERS = 80

_NOT_IN_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&$!])")


@dataclass(frozen=True, slots=True)
class Options:
    """What goes into the file.

    Attributes:
        reasoning: what the model thought, too.
        all_branches: every version of every message; otherwise the branch that is shown.
    """

    reasoning: bool = False
    all_branches: bool = False


def to_markdown(whole: WholeSession, options: Options) -> str:
    """The session as Markdown, UTF-8 in mind, lines ending in `\\n`."""
    if options.all_branches:
        bodies = list(_all_branches(whole, options))
    else:
        bodies = [_message(message, _who(message), options) for message in branch(whole)]
    parts = [_front_matter(whole, branch(whole)), f"# {_escape(whole.session.title)}", *bodies]
    return "\n\n".join(parts) + "\n"


def branch(whole: WholeSession) -> list[MessageRecord]:
    """The messages of the branch that is shown, in reading order."""
    by_id = {message.id: message for message in whole.messages}
    path: list[MessageRecord] = []
    message = by_id.get(whole.session.leaf_id or "")
    while message is not None:
        path.append(message)
        message = by_id.get(message.parent_id or "")
    return path[::-1]


def _all_branches(whole: WholeSession, options: Options) -> Iterator[str]:
    """Every message, numbered; versions of one message say so, and jumps back say where to."""
    children: dict[str | None, list[MessageRecord]] = {}
    for message in whole.messages:
        children.setdefault(message.parent_id, []).append(message)
    shown = {message.id for message in branch(whole)}
    numbers: dict[str, int] = {}
    previous: str | None = None
    waiting = children.get(None, [])[::-1]
    while waiting:
        message = waiting.pop()
        number = numbers[message.id] = len(numbers) + 1
        siblings = children[message.parent_id]
        heading = f"{number}. {_who(message)}"
        if len(siblings) > 1:
            heading += f" · version {siblings.index(message) + 1} of {len(siblings)}"
            heading += ", shown" if message.id in shown else ""
        place = ""
        if message.parent_id != previous:
            after = f"follows message {numbers[message.parent_id]}" if message.parent_id else "begins anew"
            place = f"---\n\n*Another branch: {after}.*\n\n"
        yield place + _message(message, heading, options)
        previous = message.id
        waiting.extend(reversed(children.get(message.id, [])))


def _front_matter(whole: WholeSession, messages: list[MessageRecord]) -> str:
    models = dict.fromkeys(m.receipt.model for m in messages if m.receipt and m.receipt.model)
    fields: dict[str, Any] = {
        "title": _one_line(whole.session.title),
        "created": _date(whole.session.created_at),
        "modified": _date(whole.session.modified_at),
        "model": ", ".join(_one_line(model) for model in models),
        "messages": len(messages),
    }
    # A JSON string is a YAML string.
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---"])


def _message(message: MessageRecord, heading: str, options: Options) -> str:
    parts = [f"## {heading}"]
    if message.reasoning and options.reasoning:
        parts.append(_details(_thinking(message), [_quote(message.reasoning)]))
    if message.text.strip():
        parts.append(close_blocks(message.text))
    if message.attachments:
        parts.append("\n".join(_attachment(attachment) for attachment in message.attachments))
    parts.extend(_call(call) for call in message.tools)
    if message.status != "done":
        note = message.status.capitalize() + (f": {message.error}" if message.error else ".")
        parts.append(f"> *{_escape(note)}*")
    if len(parts) == 1:
        parts.append("*(empty)*")
    return "\n\n".join(parts)


def _who(message: MessageRecord) -> str:
    if message.role == "user":
        return "You"
    model = message.receipt.model if message.receipt else ""
    return f"Assistant · {_escape(model)}" if model else "Assistant"


def _thinking(message: MessageRecord) -> str:
    took = f" · {_duration(message.reasoning_ms)}" if message.reasoning_ms is not None else ""
    return f"Thinking{took}"


def _attachment(attachment: Attachment) -> str:
    size = f"{attachment.size:,} bytes"
    return f"- Attached: {_code(attachment.name)} ({_escape(attachment.media_type)}, {size})"


def _call(call: ToolCall) -> str:
    summary = f"<code>{_html(call.name)}</code>"
    first = _first_line(call.arguments)
    if first:
        summary += f" · <code>{_html(first)}</code>"
    if call.ms is not None:
        summary += f" · {_duration(call.ms)}"
    if call.status != "done":
        summary += f" · {call.status}"
    parts: list[str] = []
    if call.arguments:
        parts += ["Arguments:", fence(*_arguments(call.arguments))]
    if call.settled is not None:
        why = f": {call.settled.why}" if call.settled.why else "."
        decision = "Allowed" if call.settled.decision == "allow" else "Denied"
        parts.append(f"{decision} by {call.settled.who}{_escape(why)}")
    for change in call.changes:
        undone = " (undone)" if change.undone else ""
        parts += [f"Changed {_code(change.path)}{undone}:", fence(change.diff, "diff")]
    parts += ["Result:", fence(call.result)] if call.result else ["No result."]
    return _details(summary, parts)


def _details(summary: str, parts: list[str]) -> str:
    return "\n\n".join([f"<details>\n<summary>{summary}</summary>", *parts, "</details>"])


def _arguments(arguments: str) -> tuple[str, str]:
    """Arguments as they are read best, and the language that they are in."""
    try:
        pretty = msgspec.json.format(arguments.encode(), indent=2).decode()
    except (msgspec.DecodeError, RecursionError):
        return arguments, ""
    return pretty, "json"


def _first_line(arguments: str) -> str:
    """What tells a call from others: the first text among its arguments, or how they begin."""
    try:
        decoded = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        decoded = None
    values = cast("dict[str, object]", decoded).values() if isinstance(decoded, dict) else ()
    texts = [value for value in values if isinstance(value, str)]
    lines = (texts or [arguments])[0].strip().splitlines() or [""]
    line = _one_line(lines[0])
    more = len(line) > MAX_SUMMARY_CHARACTERS or len(lines) > 1
    return line[:MAX_SUMMARY_CHARACTERS] + ("…" if more else "")


def _quote(text: str) -> str:
    """`text` as a quotation, which holds whatever markup is left open inside it."""
    return "\n".join(f"> {line}" if line else ">" for line in re.split(r"\r\n|\n|\r", text))


def _code(text: str) -> str:
    text = _one_line(text)
    marks = "`" * (longest_run(text) + 1)
    pad = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{marks}{pad}{text}{pad}{marks}"


def _html(text: str) -> str:
    return html.escape(_one_line(text), quote=False)


def _escape(text: str) -> str:
    return _MARKUP.sub(r"\\\1", _one_line(text))


def _one_line(text: str) -> str:
    """Joined emoji and right-to-left text keep their invisible characters; line breaks and controls go."""
    return " ".join(_NOT_IN_A_LINE.sub(" ", text).split())


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _duration(ms: int) -> str:
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s"
