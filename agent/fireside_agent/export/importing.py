"""Chats out of files: our own format, ChatGPT's and Open WebUI's exports, told apart by their structure."""

import asyncio
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import msgspec

from fireside_agent.attachments.store import AttachmentStore, CheckedFile, check_file
from fireside_agent.attachments.text import UnsupportedFileError
from fireside_agent.export import chatgpt, open_webui
from fireside_agent.export.foreign import ForeignChat, SkippedError
from fireside_agent.export.json_format import Document, UnreadableFileError, as_new, decode
from fireside_agent.export.records import WholeSession, write_sessions

MAX_BYTES = 200_000_000
"""For what is uploaded, and for what comes out of it when it is a zip."""

MAX_ZIP_MEMBERS = 100_000

UNTITLED = "(untitled)"

_ABSENT = msgspec.Raw()


class Imported(msgspec.Struct, frozen=True):
    """A chat that is there now."""

    id: str
    title: str
    messages: int


class Skipped(msgspec.Struct, frozen=True):
    """A chat or file that was left out."""

    title: str
    why: str


class Outcome(msgspec.Struct, frozen=True):
    """What came of an import."""

    imported: list[Imported]
    skipped: list[Skipped]


class _Shape(msgspec.Struct):
    """The fields by which formats are told apart."""

    format: msgspec.Raw = _ABSENT
    mapping: msgspec.Raw = _ABSENT
    chat: msgspec.Raw = _ABSENT
    title: object = None


@dataclass(slots=True)
class _Found:
    sessions: list[WholeSession] = field(default_factory=list[WholeSession])
    files: dict[str, CheckedFile] = field(default_factory=dict[str, CheckedFile])
    skipped: list[Skipped] = field(default_factory=list[Skipped])

    def add(self, document: Document, files: Sequence[CheckedFile]) -> None:
        self.sessions.append(as_new(document))
        self.files.update((file.attachment.sha256, file) for file in files)


class Importer:
    """Puts chats into the database of `attachments`, each as a new one."""

    def __init__(self, attachments: AttachmentStore) -> None:
        self._attachments = attachments

    async def load(self, files: Sequence[bytes]) -> Outcome:
        """Import all of it, or, when anything is wrong with it, nothing.

        Chats of other programs that hold nothing or cannot be understood are left out, and said.

        Raises:
            UnreadableFileError: a file is cut, of no known format, or contradicts itself.
            StorageError: it could not be stored.
        """
        found = await asyncio.to_thread(_read_all, files)
        sessions = found.sessions
        if not sessions and not found.skipped:
            raise UnreadableFileError("There is no chat in the file.")
        await self._attachments.keep(
            list(found.files.values()), lambda connection: write_sessions(connection, sessions)
        )
        imported = [
            Imported(whole.session.id, whole.session.title, len(whole.messages)) for whole in sessions
        ]
        return Outcome(imported, found.skipped)


def _read_all(files: Sequence[bytes]) -> _Found:
    found = _Found()
    for data in files:
        if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            for name, member in _unzipped(data, found.skipped):
                try:
                    _read_json(member, found)
                except UnreadableFileError as error:
                    raise UnreadableFileError(f"{name} in the zip: {error}") from error
        else:
            _read_json(data, found)
    return found


def _read_json(data: bytes, found: _Found) -> None:
    try:
        content = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=list[msgspec.Raw] | _Shape)
    except msgspec.ValidationError as error:
        raise _unknown_format() from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UnreadableFileError(f"This is not JSON, or only a part of it: {error}.") from error
    if isinstance(content, _Shape):
        _read_chat(msgspec.Raw(data.removeprefix(b"\xef\xbb\xbf")), content, found)
        return
    for chat in content:
        _read_chat(chat, _shape(chat), found)


def _read_chat(chat: msgspec.Raw, shape: _Shape, found: _Found) -> None:
    if shape.format is not _ABSENT:
        document = decode(chat)
        found.add(document, _checked_files(document))
    elif shape.mapping is not _ABSENT:
        _read_foreign(chatgpt.read, chat, shape, found)
    elif shape.chat is not _ABSENT:
        _read_foreign(open_webui.read, chat, shape, found)
    else:
        raise _unknown_format()


def _read_foreign(
    read: Callable[[msgspec.Raw], ForeignChat], chat: msgspec.Raw, shape: _Shape, found: _Found
) -> None:
    try:
        foreign = read(chat)
    except SkippedError as error:
        title = shape.title if isinstance(shape.title, str) else ""
        found.skipped.append(Skipped(title or UNTITLED, str(error)))
    else:
        found.add(foreign.document, foreign.files)


def _shape(chat: msgspec.Raw) -> _Shape:
    try:
        return msgspec.json.decode(chat, type=_Shape)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise _unknown_format() from error


def _checked_files(document: Document) -> list[CheckedFile]:
    """The files of a chat of ours: what could not be uploaded cannot be imported either."""
    checked: list[CheckedFile] = []
    for file in document.attachments:
        if file.data is None:
            continue
        try:
            checked.append(check_file(file.data, file.name, file.media_type))
        except UnsupportedFileError as error:
            raise UnreadableFileError(f"An attachment cannot be imported: {error}") from error
    return checked


def _unzipped(data: bytes, skipped: list[Skipped]) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file to read: `conversations.json` where there is one, else all JSON."""
    left = MAX_BYTES
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) > MAX_ZIP_MEMBERS:
                raise UnreadableFileError(f"The zip holds more than {MAX_ZIP_MEMBERS} files.")
            chats = [m for m in members if PurePosixPath(m.filename).match("conversations*.json")]
            for member in chats or members:
                if not member.filename.lower().endswith(".json"):
                    skipped.append(Skipped(member.filename, "only JSON can be imported"))
                    continue
                with archive.open(member) as file:
                    content = file.read(left + 1)
                left -= len(content)
                if left < 0:
                    raise UnreadableFileError(
                        f"The zip holds more than {MAX_BYTES // 1_000_000} MB; import its files in parts."
                    )
                yield member.filename, content
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        # RuntimeError: it is encrypted.
        raise UnreadableFileError(f"The zip is damaged or of an unknown kind: {error}.") from error


def _unknown_format() -> UnreadableFileError:
    return UnreadableFileError(
        "This is none of the formats that can be imported: Fireside's JSON, ChatGPT's conversations.json, "
        "or Open WebUI's export of chats as JSON; also several of them in a zip."
    )
