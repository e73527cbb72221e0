"""A session's messages in memory: a tree, of which one branch is the current one."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from fireside_agent.messages import Message


class Transcript:
    """The messages, every one after its parent. What is in it is what clients have been told.

    Args:
        leaf_id: where the current branch ends; None: with the last message.
    """

    def __init__(self, messages: Iterable[Message] = (), leaf_id: str | None = None) -> None:
        self._messages = {message.id: message for message in messages}
        known = leaf_id if leaf_id in self._messages else None
        self.leaf_id: str | None = known or next(reversed(self._messages), None)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages.values())

    def __getitem__(self, message_id: str) -> Message:
        return self._messages[message_id]

    def get(self, message_id: str) -> Message | None:
        return self._messages.get(message_id)

    def by_client_id(self, client_id: str) -> Message | None:
        return next((m for m in self._messages.values() if m.client_id == client_id), None)

    def with_call(self, call_id: str) -> Message | None:
        """The newest message that has this call."""
        found = (m for m in reversed(self._messages.values()) if any(c.call_id == call_id for c in m.tools))
        return next(found, None)

    def set(self, message: Message) -> None:
        """Replace the message with this id, or add it at the end."""
        self._messages[message.id] = message

    def add_prompt(self, prompt: Message) -> None:
        """Add a prompt, with which the current branch ends now."""
        self.set(prompt)
        self.leaf_id = prompt.id

    def remove(self, message_id: str) -> None:
        del self._messages[message_id]

    def leaf_after(self, answer: Message) -> str:
        """Where the current branch ends once an answer has begun: prompts that wait stay behind it."""
        leaf = self._messages[self.leaf_id] if self.leaf_id else None
        waits = leaf is not None and leaf.status == "queued" and leaf.id != answer.parent_id
        return leaf.id if leaf is not None and waits else answer.id

    def begin_answer(self, answer: Message) -> None:
        """Put an answer behind what it follows, which is asked now; prompts that wait hang on the answer."""
        leaf_id = self.leaf_after(answer)
        messages: list[Message] = []
        for message in self._messages.values():
            if message.id == answer.parent_id:
                asked = replace(message, status="done") if message.role == "user" else message
                messages += [asked, answer]
            elif message.parent_id == answer.parent_id and message.status == "queued":
                messages.append(replace(message, parent_id=answer.id))
            else:
                messages.append(message)
        self._messages = {message.id: message for message in messages}
        self.leaf_id = leaf_id

    def path_to(self, message_id: str | None) -> list[Message]:
        """The messages from the first one to this one, along the parents."""
        path: list[Message] = []
        cursor = message_id
        while cursor is not None:
            path.append(self._messages[cursor])
            cursor = path[-1].parent_id
        return path[::-1]

    def newest_end(self, message_id: str) -> str:
        """Where the branch through this message ends, at each fork taking the newest child."""
        children: dict[str | None, Message] = {}
        for message in self._messages.values():
            known = children.get(message.parent_id)
            if known is None or message.created_at >= known.created_at:
                children[message.parent_id] = message
        while message_id in children:
            message_id = children[message_id].id
        return message_id
