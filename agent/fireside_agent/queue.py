"""The prompts of a session that wait: one behind the other at the end of the current branch."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from fireside_agent.conversation import Conversation
from fireside_agent.messages import Message
from fireside_agent.store.sessions import SessionStore


class PromptQueue:
    """Ids of prompts in the order in which they are asked. Changes are stored and in the transcript.

    All but looking happens while `Conversation.adding` is held.
    """

    def __init__(self, conversation: Conversation, store: SessionStore) -> None:
        self._conversation = conversation
        self._store = store
        self._ids: list[str] = []

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def add(self, message_id: str) -> None:
        self._ids.append(message_id)

    def pop(self) -> str:
        """The next one."""
        return self._ids.pop(0)

    def clear(self) -> None:
        self._ids.clear()

    async def edit(self, message_id: str, text: str, html: Sequence[str]) -> None:
        """Say something else. Raises StorageError."""
        transcript = self._conversation.transcript
        edited = replace(transcript[message_id], text=text, html=list(html))
        await self._store.change_queue(self._conversation.id, [edited], [], transcript.leaf_id)
        transcript.set(edited)

    async def remove(self, message_id: str) -> None:
        """Do not ask it; those behind it move up. Raises StorageError."""
        base = self._base()
        rest = [other for other in self._ids if other != message_id]
        await self._chain(rest, base, [message_id])
        self._ids.remove(message_id)

    async def take_steering(self, answer_id: str) -> str | None:
        """The first prompt that the running turn is to see; it follows the answer now.

        Raises StorageError.
        """
        transcript = self._conversation.transcript
        wanted = next((other for other in self._ids if transcript[other].steering), None)
        if wanted is None:
            return None
        rest = [other for other in self._ids if other != wanted]
        await self._chain([wanted, *rest], answer_id, [])
        self._ids.remove(wanted)
        return wanted

    def _base(self) -> str | None:
        return self._conversation.transcript[self._ids[0]].parent_id

    async def _chain(self, order: list[str], base: str | None, removed: list[str]) -> None:
        """Let the prompts follow one another, the first of them `base`."""
        transcript = self._conversation.transcript
        parents = [base, *order]
        moved = [
            replace(transcript[message_id], parent_id=parent)
            for message_id, parent in zip(order, parents, strict=False)
            if transcript[message_id].parent_id != parent
        ]
        leaf_id = order[-1] if order else base
        await self._store.change_queue(self._conversation.id, moved, removed, leaf_id)
        for message in moved:
            transcript.set(message)
        for message_id in removed:
            transcript.remove(message_id)
        transcript.leaf_id = leaf_id
        self._reorder()

    def _reorder(self) -> None:
        """Every message after its parent again."""
        transcript = self._conversation.transcript
        waiting: list[Message] = [message for message in transcript if message.status == "queued"]
        by_parent = {message.parent_id: message for message in waiting}
        cursor = next((m.parent_id for m in waiting if m.parent_id not in {w.id for w in waiting}), None)
        while (message := by_parent.get(cursor)) is not None:
            transcript.remove(message.id)
            transcript.set(message)
            cursor = message.id
