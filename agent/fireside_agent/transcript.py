"""A session's messages in memory, in reading order."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from fireside_agent.protocol import Message


class Transcript:
    """The messages, every one after its parent. What is in it is what clients have been told."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = {message.id: message for message in messages}

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages.values())

    def __getitem__(self, message_id: str) -> Message:
        return self._messages[message_id]

    @property
    def last_id(self) -> str | None:
        """Where the next prompt hangs."""
        return next(reversed(self._messages), None)

    def by_client_id(self, client_id: str) -> Message | None:
        return next((m for m in self._messages.values() if m.client_id == client_id), None)

    def set(self, message: Message) -> None:
        """Replace the message with this id, or add it at the end."""
        self._messages[message.id] = message

    def begin_answer(self, answer: Message) -> None:
        """Put an answer behind its prompt, which is asked now; what hung on that hangs on the answer."""
        messages: list[Message] = []
        for message in self._messages.values():
            if message.id == answer.parent_id:
                messages += [replace(message, status="done"), answer]
            elif message.parent_id == answer.parent_id and message.status == "queued":
                messages.append(replace(message, parent_id=answer.id))
            else:
                messages.append(message)
        self._messages = {message.id: message for message in messages}

    def path_to(self, message_id: str) -> list[Message]:
        """The messages from the first one to this one, along the parents."""
        path: list[Message] = []
        cursor: str | None = message_id
        while cursor is not None:
            path.append(self._messages[cursor])
            cursor = path[-1].parent_id
        return path[::-1]
