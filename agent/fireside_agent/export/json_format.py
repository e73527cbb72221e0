"""Our own format: one session as JSON with everything that belongs to it, attached files included."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Literal

import msgspec

from fireside_agent.errors import AgentError
from fireside_agent.export.records import MessageRecord, SessionRecord, Time, WholeSession
from fireside_agent.messages import Attachment, Summary, ToolCall
from fireside_agent.services import new_id
from fireside_agent.settling import OPEN

FORMAT = "fireside-session"
VERSION = 1

LEFT_OPEN = "Fireside had not finished this when the chat was exported."


class UnreadableFileError(AgentError):
    """A file that cannot be imported, and why."""


class AttachedFile(msgspec.Struct, frozen=True, kw_only=True):
    """An attached file; `data` is null when it was no longer there."""

    sha256: str
    name: str
    media_type: str
    size: int
    data: bytes | None
    """Base64 in JSON."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One session as a file. Ids are those of the exporting Fireside and mean nothing outside the file."""

    format: Literal["fireside-session"]
    version: Literal[1]
    exported_at: Time
    session: SessionRecord
    messages: list[MessageRecord]
    summaries: list[Summary]
    attachments: list[AttachedFile]


class _Head(msgspec.Struct):
    format: str
    version: int


def encode(whole: WholeSession, files: list[AttachedFile], exported_at: float) -> bytes:
    """The session as a file."""
    document = Document(
        format=FORMAT,
        version=VERSION,
        exported_at=exported_at,
        session=whole.session,
        messages=whole.messages,
        summaries=whole.summaries,
        attachments=files,
    )
    return msgspec.json.encode(document)


def decode(data: bytes | msgspec.Raw) -> Document:
    """Read a file of ours and check that it holds together.

    Raises:
        UnreadableFileError: it is cut, of another version, or contradicts itself.
    """
    try:
        head = msgspec.json.decode(data, type=_Head)
        if head.format == FORMAT and head.version != VERSION:
            raise UnreadableFileError(
                f"The chat has version {head.version} of Fireside's format; this Fireside reads version "
                f"{VERSION}. Import it with the Fireside that wrote it, or a newer one."
            )
        document = msgspec.json.decode(data, type=Document)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise UnreadableFileError(f"This is not a chat that Fireside exported: {error}.") from error
    _check_numbers(document)
    _check_tree(document)
    _check_files(document)
    return document


def referred_to(messages: Iterable[MessageRecord]) -> list[Attachment]:
    """The attachments of `messages`, each hash once, with the first name that it has."""
    first: dict[str, Attachment] = {}
    for message in messages:
        for attachment in message.attachments:
            first.setdefault(attachment.sha256, attachment)
    return list(first.values())


def as_new(document: Document) -> WholeSession:
    """The session under new ids, nothing in it open: nobody works on what was running elsewhere."""
    ids = {message.id: new_id() for message in document.messages}
    leaf = document.session.leaf_id or (document.messages[-1].id if document.messages else None)
    session = msgspec.structs.replace(document.session, id=new_id(), leaf_id=ids[leaf] if leaf else None)
    return WholeSession(
        session=session,
        messages=[
            msgspec.structs.replace(
                _settled(message),
                id=ids[message.id],
                parent_id=ids[message.parent_id] if message.parent_id else None,
            )
            for message in document.messages
        ],
        summaries=[
            msgspec.structs.replace(summary, id=new_id(), upto_id=ids[summary.upto_id])
            for summary in document.summaries
        ],
    )


def _settled(message: MessageRecord) -> MessageRecord:
    tools = [_closed(call) for call in message.tools]
    if message.status not in ("queued", "running"):
        return msgspec.structs.replace(message, tools=tools)
    error = message.error or LEFT_OPEN
    return msgspec.structs.replace(message, status="interrupted", error=error, tools=tools)


def _closed(call: ToolCall) -> ToolCall:
    if call.status not in OPEN:
        return call
    result = "\n".join(part for part in (call.result, LEFT_OPEN) if part)
    return msgspec.structs.replace(call, status="aborted", result=result, question=None, offers=[])


def _check_numbers(document: Document) -> None:
    """A database column takes 64 bits, JSON any number."""
    counts = [summary.messages for summary in document.summaries]
    counts += [message.reasoning_ms or 0 for message in document.messages]
    for count in counts:
        if not 0 <= count < 2**63:
            raise _contradiction(f"{count} is no count of messages or milliseconds")


def _check_tree(document: Document) -> None:
    parents = {message.id: message.parent_id for message in document.messages}
    _check_unique("message id", [message.id for message in document.messages])
    _check_unique("client id", [m.client_id for m in document.messages if m.client_id is not None])
    _check_unique("summary id", [summary.id for summary in document.summaries])
    for message_id, parent_id in parents.items():
        if parent_id is not None and parent_id not in parents:
            raise _contradiction(f"message {message_id!r} follows {parent_id!r}, which is not in the file")
    leaf = document.session.leaf_id
    if leaf is not None and leaf not in parents:
        raise _contradiction(f"the message that is shown last, {leaf!r}, is not in the file")
    for summary in document.summaries:
        if summary.upto_id not in parents:
            raise _contradiction(f"a summary ends at {summary.upto_id!r}, which is not in the file")
    circle = find_circle(parents)
    if circle is not None:
        raise _contradiction(f"message {circle!r} follows itself")


def find_circle(parents: dict[str, str | None]) -> str | None:
    """A node that is its own ancestor, if there is one. Parents that are not nodes count as none."""
    sound: set[str] = set()
    for start in parents:
        trail: dict[str, None] = {}
        node: str | None = start
        while node is not None and node in parents and node not in sound:
            if node in trail:
                return node
            trail[node] = None
            node = parents[node]
        sound.update(trail)
    return None


def _check_unique(what: str, values: list[str]) -> None:
    for value, count in Counter(values).items():
        if count > 1:
            raise _contradiction(f"the {what} {value!r} occurs {count} times")


def _check_files(document: Document) -> None:
    _check_unique("attachment", [file.sha256 for file in document.attachments])
    known = {file.sha256: file for file in document.attachments}
    for file in document.attachments:
        if file.data is not None and hashlib.sha256(file.data).hexdigest() != file.sha256:
            raise _contradiction(f"the attachment {file.name!r} is damaged: its content has another hash")
    for message in document.messages:
        for attachment in message.attachments:
            file = known.get(attachment.sha256)
            if file is None:
                raise _contradiction(f"the attachment {attachment.name!r} is not in the file")
            if file.data is not None and len(file.data) != attachment.size:
                raise _contradiction(f"the attachment {attachment.name!r} has another size than it says")


def _contradiction(what: str) -> UnreadableFileError:
    return UnreadableFileError(f"The chat does not hold together: {what}.")
