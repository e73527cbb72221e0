"""Older messages make room: a summary stands for them in what the model is told. They stay in the chat."""

import time
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from fireside_agent.conversation import Conversation
from fireside_agent.errors import AgentError
from fireside_agent.messages import Message, SamplingChoice, Summary
from fireside_agent.prompts import CHARACTERS_PER_TOKEN, apply_summary, build_messages
from fireside_agent.protocol import Context
from fireside_agent.question import ChatMessage, Question
from fireside_agent.services import Services, new_id

FULL_PERCENT = 80.0
"""Of the context window; beyond it older messages are summarized before the next answer."""

KEPT_PROMPTS = 2
"""The newest prompts, with all that followed them, stay as they are."""

SUMMARY_TOKENS = 400
MESSAGE_CHARACTERS = 2_000
"""Of one message, at most, in what is to be summarized."""


class NothingToCompactError(AgentError):
    """The chat is too short for a summary to make room."""


def is_nearly_full(
    path: Sequence[Message], summaries: Sequence[Summary], texts: Mapping[str, str], window: int | None
) -> bool:
    """Whether little room is left for an answer to the end of a path, and a summary can change that.

    Args:
        texts: of attachments, by hash.
    """
    if window is None or _cut(path, summaries) is None:
        return False
    return _tokens(path, summaries, texts, window) > window * FULL_PERCENT / 100


def _tokens(
    path: Sequence[Message], summaries: Sequence[Summary], texts: Mapping[str, str], window: int
) -> float:
    """What the path takes: as the last receipt says, and a guess for what has come after it."""
    _, rest = apply_summary(path, summaries)
    known, since = 0, list(rest)
    for place, message in enumerate(rest):
        if message.receipt is not None and message.receipt.prompt_tokens:
            known = message.receipt.prompt_tokens + message.receipt.completion_tokens
            since = list(rest[place + 1 :])
            since += [replace(message, text="")] if message.tools else []
    told = build_messages(since, "", texts=texts, window=window)
    return known + sum(len(message["content"]) for message in told) / CHARACTERS_PER_TOKEN


async def compact(
    conversation: Conversation, services: Services, path: Sequence[Message], window: int | None
) -> None:
    """Summarize the older messages of a path, store that and tell it.

    Raises:
        NothingToCompactError: there are no older messages.
        ProviderError: the model gave no summary.
        StorageError: it could not be stored.
    """
    cut = _cut(path, conversation.facts.summaries)
    if cut is None:
        raise NothingToCompactError(
            f"There is nothing to summarize: the last {KEPT_PROMPTS} prompts always stay as they are."
        )
    older = path[: cut + 1]
    earlier, rest = apply_summary(older, conversation.facts.summaries)
    room = None if window is None else window * CHARACTERS_PER_TOKEN // 2
    text = await _summarize(services, _as_text(rest, earlier, room), conversation)
    summary = Summary(
        id=new_id(), upto_id=older[-1].id, text=text, created_at=time.time(), messages=len(older)
    )
    await services.store.add_summary(conversation.id, summary)
    conversation.facts.summaries = [*conversation.facts.summaries, summary]
    conversation.emit(
        lambda seq: Context(
            session_id=conversation.id, seq=seq, tokens=None, context_window=window, percent=None
        )
    )
    conversation.resync()


def _cut(path: Sequence[Message], summaries: Sequence[Summary]) -> int | None:
    """The place of the last message that a summary would stand for; None where there is none to gain."""
    prompts = [place for place, message in enumerate(path) if message.role == "user"]
    if len(prompts) <= KEPT_PROMPTS:
        return None
    cut = prompts[-KEPT_PROMPTS] - 1
    done = {summary.upto_id for summary in summaries}
    return None if any(message.id in done for message in path[cut:]) else cut


def _as_text(older: Sequence[Message], earlier: Summary | None, room: int | None) -> str:
    lines: list[str] = [] if earlier is None else [earlier.text]
    for message in older:
        who = "User" if message.role == "user" else "Assistant"
        if message.text.strip():
            lines.append(f"{who}: {message.text.strip()[:MESSAGE_CHARACTERS]}")
        lines += [f"Tool {call.name}: {call.result[:200]}" for call in message.tools]
    text = "\n\n".join(lines)
    return text if room is None else text[-room:]


async def _summarize(services: Services, text: str, conversation: Conversation) -> str:
    ask = f"Summarize: {text}"
    messages: list[ChatMessage] = [{"role": "user", "content": ask}]
    question = Question(
        messages,
        sampling=SamplingChoice(temperature=0, max_tokens=SUMMARY_TOKENS),
        thinking=False,
        in_memory=conversation.facts.temporary,
        chat=conversation.id,
    )
    return (await services.provider.text(question)).strip() or text[:MESSAGE_CHARACTERS]
