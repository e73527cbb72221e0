"""Open WebUI's export: a list of chats, the messages of each as a tree in `history`.

What a model thought and the tools it called are in the text there, as `<details>` of a type.
"""

import base64
import binascii
import html
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from fireside_agent.attachments.store import CheckedFile, check_file
from fireside_agent.attachments.text import UnsupportedFileError
from fireside_agent.export.foreign import (
    ForeignChat,
    as_list,
    as_object,
    as_time,
    decode_as,
    new_document,
    parents_first,
)
from fireside_agent.export.records import MessageRecord
from fireside_agent.messages import MessageStatus, Receipt, ToolCall

PROGRAM = "Open WebUI"

_OPENING = re.compile(r'<details type="(reasoning|tool_calls)"([^>]*)>\s*(?:<summary>[^<]*</summary>)?')
_CLOSING = "</details>"
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_QUOTED = re.compile(r"^> ?", re.MULTILINE)
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,")


class WebuiMessage(msgspec.Struct, frozen=True, rename="camel"):
    role: str
    content: Any = ""
    parent_id: str | None = None
    children_ids: list[str] = []
    timestamp: Any = None
    model: str | None = None
    files: Any = None
    error: Any = None
    done: bool | None = None
    info: Any = None
    usage: Any = None


class History(msgspec.Struct, frozen=True, rename="camel"):
    messages: dict[str, WebuiMessage] = {}
    current_id: str | None = None


class Chat(msgspec.Struct, frozen=True):
    history: History
    title: str | None = None
    system: str | None = None
    params: Any = None


class Record(msgspec.Struct, frozen=True):
    chat: Chat
    title: str | None = None
    created_at: Any = None
    updated_at: Any = None
    pinned: bool | None = None
    archived: bool | None = None


def read(data: "bytes | msgspec.Raw") -> ForeignChat:
    """One chat of the list.

    Raises:
        SkippedError: it holds nothing, or is not as Open WebUI writes it.
    """
    record: Record = decode_as(data, Record, PROGRAM)
    chat, found = record.chat, record.chat.history.messages
    created_at = as_time(record.created_at, 0.0)
    messages: dict[str, MessageRecord] = {}
    places: dict[str, str | None] = {}
    files: list[CheckedFile] = []
    instructions = chat.system or str(as_object(chat.params).get("system") or "")
    parents = {name: message.parent_id for name, message in found.items()}
    for name in parents_first(parents, {name: message.children_ids for name, message in found.items()}):
        message = found[name]
        parent = places.get(message.parent_id or "")
        places[name] = parent
        if message.role == "system":
            instructions = instructions or _written(message.content)
        elif message.role in ("user", "assistant"):
            before = messages[parent].created_at if parent else created_at
            messages[name] = _message(name, parent, message, before, files)
            places[name] = name
    document = new_document(
        record.title or chat.title or "",
        created_at,
        as_time(record.updated_at, created_at),
        list(messages.values()),
        places.get(chat.history.current_id or ""),
        instructions,
        {"pinned": bool(record.pinned), "archived": bool(record.archived)},
    )
    return ForeignChat(document, files)


def _message(
    name: str, parent: str | None, message: WebuiMessage, before: float, files: list[CheckedFile]
) -> MessageRecord:
    """The message in our terms; images inside it are put into `files`."""
    created_at = as_time(message.timestamp, before)
    own, notes = _files(message)
    files += own
    error = _error(message.error)
    status: MessageStatus = "error" if error else "interrupted" if message.done is False else "done"
    text = _written(message.content)
    is_answer = message.role == "assistant"
    reasoning, tools = "", list[ToolCall]()
    if is_answer:
        text, reasoning, tools = _taken_apart(name, text)
    return MessageRecord(
        id=name,
        parent_id=parent,
        role="assistant" if is_answer else "user",
        status=status,
        text="\n\n".join(part for part in (text, *notes) if part),
        created_at=created_at,
        modified_at=created_at,
        error=error,
        reasoning=reasoning,
        tools=tools,
        attachments=list({file.attachment.sha256: file.attachment for file in own}.values()),
        receipt=_receipt(message) if is_answer else None,
    )


def _written(content: Any) -> str:
    """Text, also of content in OpenAI's parts."""
    if isinstance(content, str):
        return content
    texts = (as_object(part).get("text") for part in as_list(content))
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _files(message: WebuiMessage) -> tuple[list[CheckedFile], list[str]]:
    """The images that are inside the export, and a note for every other file."""
    own: list[CheckedFile] = []
    notes: list[str] = []
    images = [as_object(as_object(part).get("image_url")) for part in as_list(message.content)]
    for file in (*map(as_object, as_list(message.files)), *(image for image in images if image)):
        name = str(file.get("name") or as_object(file.get("file")).get("filename") or "image")
        checked = _image(str(file.get("url") or ""), name)
        if checked is not None:
            own.append(checked)
        else:
            notes.append(f"*[file: {name}, not in Open WebUI's export]*")
    return own, notes


def _image(url: str, name: str) -> CheckedFile | None:
    """What a data URL holds, if it can be attached."""
    start = _DATA_URL.match(url)
    if start is None:
        return None
    try:
        return check_file(base64.b64decode(url[start.end() :], validate=True), name, start[1])
    except (binascii.Error, ValueError, UnsupportedFileError):
        return None


def _error(error: Any) -> str | None:
    if not error:
        return None
    return str(as_object(error).get("content") or "") or "The answer failed in Open WebUI."


def _receipt(message: WebuiMessage) -> Receipt | None:
    usage = (
        as_object(message.usage) or as_object(as_object(message.info).get("usage")) or as_object(message.info)
    )

    def count(*names: str) -> int:
        found = (usage.get(name) for name in names)
        return next((n for n in found if isinstance(n, int) and not isinstance(n, bool) and n >= 0), 0)

    if not message.model and not usage:
        return None
    return Receipt(
        model=message.model or "",
        prompt_tokens=count("prompt_tokens", "input_tokens", "prompt_eval_count"),
        completion_tokens=count("completion_tokens", "output_tokens", "eval_count"),
    )


def _taken_apart(name: str, text: str) -> tuple[str, str, list[ToolCall]]:
    """The text without its `<details>`, what was thought, and the calls."""
    rest: list[str] = []
    reasoning: list[str] = []
    tools: list[ToolCall] = []
    for kind, attributes, content in _pieces(text):
        if kind == "reasoning":
            reasoning.append(_QUOTED.sub("", html.unescape(content.strip("\n"))))
        elif kind == "tool_calls":
            tools.append(_call(f"{name}-{len(tools) + 1}", attributes))
        else:
            rest.append(content)
    whole = "".join(rest)
    return (whole.strip("\n") if reasoning or tools else whole), "\n\n".join(reasoning), tools


def _pieces(text: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """Kind, attributes and content of every `<details>`; kind "" for the text between them."""
    at = 0
    while opening := _OPENING.search(text, at):
        end = text.find(_CLOSING, opening.end())
        if end < 0:
            break
        yield "", {}, text[at : opening.start()]
        attributes = {key: html.unescape(value) for key, value in _ATTRIBUTE.findall(opening[2])}
        yield opening[1], attributes, text[opening.end() : end]
        at = end + len(_CLOSING)
    yield "", {}, text[at:]


def _call(fallback_id: str, attributes: dict[str, str]) -> ToolCall:
    done = attributes.get("done") == "true"
    return ToolCall(
        call_id=attributes.get("id") or fallback_id,
        name=attributes.get("name") or "tool",
        arguments=_unpacked(attributes.get("arguments", "")) or "{}",
        status="done" if done else "aborted",
        source=PROGRAM,
        result=_unpacked(attributes.get("result", "")),
    )


def _unpacked(text: str) -> str:
    """What stands in the attribute as a JSON string is that string; other JSON is itself."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return text
    return value if isinstance(value, str) else text
