"""The sessions that are in memory: those somebody follows and those in which something happens."""

import asyncio
import dataclasses
import logging

from msgspec.structs import replace

from fireside_agent.conversation import Conversation, Facts
from fireside_agent.errors import AgentError, DatabaseClosedError, FrameRefusedError, StorageError
from fireside_agent.messages import Message, SessionSettings
from fireside_agent.services import Services, new_id
from fireside_agent.session import LiveSession, check_session_settings, not_deleted, unknown_session
from fireside_agent.settling import goes_on, settled
from fireside_agent.store.sessions import FALLBACK_TITLE, StoredSession
from fireside_agent.store.unstored import unstored_sessions
from fireside_agent.transcript import Transcript

logger = logging.getLogger(__name__)

IDLE_SECONDS = 60.0
"""A session stays in memory at least this long after its last follower left and its last turn ended."""


class Hub:
    """Finds, makes, deletes and forgets live sessions."""

    def __init__(self, services: Services, epoch: str, idle_seconds: float = IDLE_SECONDS) -> None:
        self._services = services
        self._epoch = epoch
        self._idle_seconds = idle_seconds
        self._live: dict[str, LiveSession] = {}
        self._deleted: set[str] = set()
        self._closing = False
        # A session that comes back into memory numbers its frames on from here, above all it had.
        self._highest_seq = 0

    @property
    def running(self) -> frozenset[str]:
        """The ids of the sessions with a running turn."""
        return frozenset(session_id for session_id, session in self._live.items() if session.running)

    @property
    def live(self) -> frozenset[str]:
        """The ids of the sessions in memory."""
        return frozenset(self._live)

    def new(self, settings: SessionSettings | None = None, *, temporary: bool = False) -> LiveSession:
        """An empty session; it is stored with its first prompt, or never if it is temporary.

        Raises FrameRefusedError: a setting is out of its range.
        """
        settings = settings or SessionSettings()
        check_session_settings(settings)
        facts = Facts(FALLBACK_TITLE, settings=settings, temporary=temporary)
        return self._admit(new_id(), Transcript(), facts)

    @property
    def copies_in_use(self) -> set[str]:
        """Hashes of the journal that messages in memory refer to; a temporary chat's are nowhere else."""
        changes = (
            change
            for session in self._live.values()
            for message in session.conversation.transcript
            for call in message.tools
            for change in call.changes
        )
        return {name for change in changes for name in (change.before, change.after) if name is not None}

    async def get(self, session_id: str) -> LiveSession:
        """The session, loaded if need be. Raises FrameRefusedError `unknown_session` or StorageError."""
        if session_id in self._live:
            return self._live[session_id]
        stored = await self._services.store.load(session_id)
        if stored is None:
            raise unknown_session(session_id)
        waits = any(goes_on(message) for message in stored.messages)
        known = stored.messages if waits else [settled(message) for message in stored.messages]
        messages = await self._services.rendering.messages(known, stored.leaf_id)
        if session_id in self._deleted:
            raise unknown_session(session_id)
        if session_id in self._live:
            return self._live[session_id]
        facts = Facts(stored.title, stored.titled_by, stored.settings, stored.summaries)
        session = self._admit(session_id, Transcript(messages, stored.leaf_id), facts)
        session.resume()
        return session

    async def resume_asking(self) -> None:
        """Take up the sessions in which a call waits for the person. Raises StorageError."""
        for session_id in await self._services.store.asking():
            try:
                await self.get(session_id)
            except FrameRefusedError as error:
                logger.info("%s is not taken up: %s", session_id, error)

    async def fork(self, session_id: str, message_id: str) -> LiveSession:
        """Copy the branch up to a message into a session of its own.

        Raises FrameRefusedError or StorageError.
        """
        source = await self.get(session_id)
        transcript, facts = source.conversation.transcript, source.conversation.facts
        if transcript.get(message_id) is None:
            raise FrameRefusedError("unknown_message", f"There is no message {message_id!r} in this chat.")
        if facts.temporary:
            raise FrameRefusedError("not_possible", "A temporary chat has no copies: they would be stored.")
        path = [settled(message) for message in transcript.path_to(message_id)]
        copies = _copied(path)
        copy = StoredSession(
            new_id(), facts.title, copies, copies[-1].id, facts.settings, [], facts.titled_by
        )
        await self._services.store.copy(copy)
        self._services.sessions_changed()
        return await self.get(copy.id)

    async def rename(self, session_id: str, title: str) -> None:
        """Raises FrameRefusedError or StorageError."""
        await (await self.get(session_id)).rename(title)

    async def mark(self, session_id: str, pinned: bool | None, archived: bool | None) -> None:
        """Pin or archive. Raises FrameRefusedError or StorageError."""
        if not await self._services.store.mark(session_id, pinned, archived):
            raise self._not_stored(session_id)
        self._services.sessions_changed()

    async def restore(self, session_id: str) -> None:
        """Take a deletion back. Raises FrameRefusedError or StorageError."""
        if not await self._services.store.restore(session_id):
            known = session_id in self._live or await self._services.store.load(session_id) is not None
            raise not_deleted(session_id) if known else unknown_session(session_id)
        self._deleted.discard(session_id)
        self._services.sessions_changed()

    async def delete(self, session_id: str) -> None:
        """Stop the session's turn, then delete it. Raises FrameRefusedError or StorageError.

        When the database fails the session is still there, its running answer aborted.
        """
        session = self._live.get(session_id)
        if session is None:
            if not await self._services.store.delete(session_id):
                raise unknown_session(session_id)
        else:
            async with session.halted("aborted"):
                await self._services.store.delete(session_id)
                session.close(unknown_session(session_id))
        self._deleted.add(session_id)
        self._forget(session_id)
        self._services.forget_chat(session_id)

    async def forget_idle(self) -> None:
        """Runs for good: drops sessions that were idle the last two times it looked."""
        before: set[str] = set()
        while True:
            await asyncio.sleep(self._idle_seconds)
            idle = {session_id for session_id, session in self._live.items() if session.idle}
            for session_id in idle & before:
                if self._live[session_id].conversation.facts.temporary:
                    self._services.forget_chat(session_id)
                self._forget(session_id)
            before = idle - before

    async def close(self) -> None:
        """Stop all turns and mark what was not finished."""
        self._closing = True
        await asyncio.gather(*(_interrupt(session) for session in self._live.values()))
        self._live.clear()
        try:
            await self._services.store.interrupt_unfinished()
        except StorageError as error:
            logger.warning("unfinished messages are marked with the next start only: %s", error)

    def _admit(self, session_id: str, transcript: Transcript, facts: Facts) -> LiveSession:
        conversation = Conversation(session_id, self._epoch, transcript, facts, self._highest_seq)
        services = self._services
        if facts.temporary:
            services = dataclasses.replace(services, store=unstored_sessions())
        session = LiveSession(conversation, services)
        if self._closing:
            session.close(_stopping())
        self._live[session_id] = session
        return session

    def _not_stored(self, session_id: str) -> FrameRefusedError:
        session = self._live.get(session_id)
        if session is None:
            return unknown_session(session_id)
        if session.conversation.facts.temporary:
            return FrameRefusedError(
                "not_possible", "A temporary chat is not kept, so it can be neither pinned nor archived."
            )
        return FrameRefusedError(
            "not_possible", "A chat is kept from its first message on; it can be pinned or archived then."
        )

    def _forget(self, session_id: str) -> None:
        session = self._live.pop(session_id, None)
        if session is not None:
            self._highest_seq = max(self._highest_seq, session.conversation.seq)


async def _interrupt(session: LiveSession) -> None:
    async with session.halted("interrupted"):
        session.close(_stopping())


def _stopping() -> AgentError:
    return DatabaseClosedError("Fireside is stopping. Send the message again when it is back.")


def _copied(path: list[Message]) -> list[Message]:
    """The messages of a branch with ids of their own."""
    copies: list[Message] = []
    for message in path:
        parent_id = copies[-1].id if copies else None
        copies.append(replace(message, id=new_id(), parent_id=parent_id, client_id=None))
    return copies
