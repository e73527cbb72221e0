"""Deletes for good: at once what the person says, by itself what was deleted 30 days ago."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fireside_agent.approvals.book import RuleBook
from fireside_agent.attachments.store import AttachmentStore
from fireside_agent.errors import StorageError
from fireside_agent.memory.errors import VaultError
from fireside_agent.memory.proposals import Proposals
from fireside_agent.session import not_deleted, unknown_session
from fireside_agent.store.database import Database
from fireside_agent.tools.journal import Journal
from fireside_agent.trash.backups import erase_in_backups
from fireside_agent.trash.sessions import UNDO_SECONDS, DeletedSession, DeletedSessions, Leftovers
from fireside_agent.waiting import to_the_end

logger = logging.getLogger(__name__)

TIDY_SECONDS = 3600.0
"""Between two looks for what is due, and for files that nothing refers to any more."""


@dataclass(frozen=True, slots=True)
class Holders:
    """Where something of a chat can be beside its rows.

    Attributes:
        database: the file, beside which its copies are.
        copies_in_use: the hashes of the journal that sessions in memory refer to.
        forget_chat: lets the engine forget a session, if it has not when the session was deleted.
    """

    database: Path
    attachments: AttachmentStore
    journal: Journal
    proposals: Proposals
    book: RuleBook
    copies_in_use: Callable[[], set[str]]
    forget_chat: Callable[[str], None]


class Trash:
    """The deleted sessions in `database`, and the end of them."""

    def __init__(self, database: Database, holders: Holders, changed: Callable[[], None]) -> None:
        self._database = database
        self._deleted = DeletedSessions(database)
        self._holders = holders
        self._changed = changed
        self._left = Leftovers()
        self._emptying = asyncio.Lock()
        self._wake = asyncio.Event()

    async def list(self) -> "list[DeletedSession]":
        """Those that can be restored, the last deleted first. Raises StorageError."""
        return await self._deleted.list()

    async def count(self) -> int:
        """How many can be restored. Raises StorageError."""
        return await self._deleted.count()

    async def purge(self, ids: Sequence[str]) -> None:
        """Delete these for good; what they leave behind is cleaned up by `tidy_up` right after.

        Raises:
            FrameRefusedError: one of them is unknown or not deleted; nothing was done.
            StorageError: they can still be restored.
        """
        states = await self._deleted.states(ids)
        for session_id in ids:
            if session_id not in states:
                raise unknown_session(session_id)
            if not states[session_id]:
                raise not_deleted(session_id)
        await to_the_end(self._empty(ids))

    async def tidy_up(self) -> None:
        """Runs for good: purges what is due, and cleans up after that and what `purge` leaves."""
        while True:
            self._wake.clear()
            await _try("chats that were deleted long ago are not deleted for good", self._purge_due())
            await _try("chats that were deleted for good have left something behind", self._finish())
            await _try("files that nothing refers to are not removed", self._collect())
            with suppress(TimeoutError):
                async with asyncio.timeout(TIDY_SECONDS):
                    await self._wake.wait()

    async def _purge_due(self) -> None:
        if due := await self._deleted.due(time.time() - UNDO_SECONDS):
            await to_the_end(self._empty(due))

    async def _empty(self, ids: Sequence[str]) -> None:
        """First what cannot be found any more without the sessions, so that a failure loses none of it."""
        async with self._emptying:
            try:
                await self._holders.proposals.forget(ids)
            except VaultError as error:
                raise StorageError(str(error)) from error
            await asyncio.to_thread(erase_in_backups, self._holders.database, ids)
            self._left |= await self._deleted.empty(ids)
        self._changed()
        self._wake.set()

    async def _finish(self) -> None:
        async with self._emptying:
            ids, left = await self._deleted.emptied(), self._left
            self._left = Leftovers()
        try:
            if ids:
                await self._clean_up(ids, left)
        except BaseException:
            self._left |= left
            raise
        # Also where nothing was to do: the last time somebody may have been reading from the log.
        await self._database.empty_log()

    async def _clean_up(self, ids: Sequence[str], left: Leftovers) -> None:
        await self._holders.attachments.forget(left.attachments)
        await self._drop_copies(left.copies)
        for session_id in ids:
            await self._holders.book.forget_session(session_id)
            self._holders.forget_chat(session_id)
        await self._deleted.clean_index()
        await self._deleted.drop(ids)

    async def _collect(self) -> None:
        await self._holders.attachments.collect()
        before = time.time() - TIDY_SECONDS
        await self._drop_copies(await asyncio.to_thread(self._holders.journal.older_than, before))

    async def _drop_copies(self, names: "set[str] | frozenset[str]") -> None:
        if names:
            in_use = self._holders.copies_in_use() | await self._deleted.copies()
            await asyncio.to_thread(self._holders.journal.drop, names - in_use)


async def _try(what_fails: str, work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except StorageError as error:
        logger.warning("%s, which is tried again within the hour: %s", what_fails, error)
