"""What the model is told: a short system prompt and the conversation so far."""

from collections.abc import Iterable

from fireside_agent.protocol import Message
from fireside_agent.provider import ChatMessage

SYSTEM_PROMPT = "You are a helpful assistant. Answer clearly and to the point, in Markdown."
"""Short and plain, because the default model is a very small one."""


def build_messages(path: Iterable[Message]) -> list[ChatMessage]:
    """The messages to send for the path from the first message to the prompt that is asked now.

    Prompts that were never asked and answers without text are left out. Prompts that then follow one
    another become one, a repeated one once, so that user and assistant alternate as templates demand.
    """
    messages: list[ChatMessage] = [{"role": "system", "content": SYSTEM_PROMPT}]
    latest = ""
    for message in filter(_counts, path):
        if message.role == messages[-1]["role"]:
            if message.text != latest:
                messages[-1] = {
                    "role": message.role,
                    "content": f"{messages[-1]['content']}\n\n{message.text}",
                }
        else:
            messages.append({"role": message.role, "content": message.text})
        latest = message.text
    return messages


def _counts(message: Message) -> bool:
    if message.role == "user":
        return message.status == "done"
    return bool(message.text.strip())
