"""Chats as files: one as it is, several in a zip."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fireside_agent.attachments.store import AttachmentStore
from fireside_agent.export import json_format
from fireside_agent.export.archive import UniqueNames, ZipStream
from fireside_agent.export.markdown import Options, to_markdown
from fireside_agent.export.records import WholeSession, list_ids, read_session, unknown_ids
from fireside_agent.store.database import Database

Format = Literal["markdown", "json"]
SUFFIXES: dict[Format, str] = {"markdown": ".md", "json": ".json"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """How chats are to be written. `options` are for Markdown only."""

    format: Format
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A chat as a file. `modified_at` in seconds since the epoch."""

    title: str
    data: bytes
    modified_at: float


class Exporter:
    """Writes the sessions in `database` with the files in `attachments`.

    Every method raises StorageError when they cannot be read.
    """

    def __init__(self, database: Database, attachments: AttachmentStore) -> None:
        self._database = database
        self._attachments = attachments

    async def all_ids(self) -> list[str]:
        """The ids of all chats, archived ones included."""
        return await self._database.read(list_ids)

    async def unknown(self, ids: Sequence[str]) -> list[str]:
        """Those of `ids` that no chat has."""
        return await self._database.read(lambda connection: unknown_ids(connection, ids))

    async def one(self, session_id: str, wanted: Wanted) -> ExportedFile | None:
        """The chat as a file, or None when it is not there."""
        whole = await self._database.read(lambda connection: read_session(connection, session_id))
        if whole is None:
            return None
        if wanted.format == "json":
            files = await self._files(whole)
            data = await asyncio.to_thread(json_format.encode, whole, files, time.time())
        else:
            data = await asyncio.to_thread(lambda: to_markdown(whole, wanted.options).encode())
        return ExportedFile(whole.session.title, data, whole.session.modified_at)

    async def zip(self, ids: Sequence[str], wanted: Wanted) -> AsyncIterator[bytes]:
        """The chats as a zip, one in memory at a time. What is deleted meanwhile is left out."""
        stream, names = ZipStream(), UniqueNames()
        for session_id in ids:
            file = await self.one(session_id, wanted)
            if file is not None:
                name = names.name(file.title, SUFFIXES[wanted.format])
                yield await asyncio.to_thread(stream.add, name, file.data, file.modified_at)
        yield stream.finish()

    async def _files(self, whole: WholeSession) -> list[json_format.AttachedFile]:
        referred_to = json_format.referred_to(whole.messages)
        stored = {a.sha256: a for a in await self._attachments.describe(a.sha256 for a in referred_to)}
        return [
            json_format.AttachedFile(
                sha256=attachment.sha256,
                name=attachment.name,
                media_type=stored.get(attachment.sha256, attachment).media_type,
                size=attachment.size,
                data=await self._attachments.read(attachment.sha256),
            )
            for attachment in referred_to
        ]
