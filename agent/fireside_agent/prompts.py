"""What the model is told: a short system prompt and the conversation so far."""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from fireside_agent.messages import CutText, Message, Summary, ToolCall
from fireside_agent.question import ChatMessage, MadeCall
from fireside_agent.tools.tool import ChatFacts

SYSTEM_PROMPT = "You are a helpful assistant. Answer clearly and to the point, in Markdown."
"""Short and plain, because the default model is a very small one."""

WHO = " You are the model {model}, run by Fireside on the person's own machine."

PROMPT_VERSION = 1
"""Of what we say to models by ourselves; it is in the trace, beside the whole prompt's fingerprint."""

SUMMARY_HEADING = "What was said before, in short:"

NO_RESULT = "Error: this call was not finished."

NOTHING_ATTACHED: Mapping[str, str] = MappingProxyType({})

CHARACTERS_PER_TOKEN = 3
"""A cautious guess."""

NEWEST_SHARE, OLDER_SHARE = 0.4, 0.06
"""Of the window, for the results of one answer."""

ATTACHED_SHARE = 0.6
"""Of the window, for the texts of all attached files."""

FEWEST_CHARACTERS = 500

TOUCHED = ("running", "done", "failed", "aborted")
"""States of a call whose result may hold what its tool has seen."""

_URL = re.compile(r"https?://[^\s<>\"'`\])}]+")
_TRAILING = ".,;:!?"


def system_prompt(instructions: str, hints: Iterable[str] = (), model: str | None = None) -> str:
    """The system prompt of a chat.

    Args:
        instructions: of the person, in place of ours; empty for ours.
        hints: sentences about tools.
        model: its name, where it is known and runs here.
    """
    ours = SYSTEM_PROMPT + (WHO.format(model=model) if model else "")
    return "\n\n".join([instructions or ours, *hints])


def in_force(everywhere: str, here: str) -> str:
    """The person's instructions for all chats and for this one, together."""
    return "\n\n".join(text.strip() for text in (everywhere, here) if text.strip())


def build_messages(
    path: Sequence[Message],
    system: str = SYSTEM_PROMPT,
    summaries: Sequence[Summary] = (),
    texts: Mapping[str, str] = NOTHING_ATTACHED,
    window: int | None = None,
) -> list[ChatMessage]:
    """The messages to send for a path from the first message to the prompt or answer that is asked now.

    Prompts that were never asked and answers that say and call nothing are left out. Prompts that then follow
    one another become one, a repeated one once, so that user and assistant alternate as templates demand.
    Every call has a result. What a summary stands for is replaced by it.

    Args:
        texts: of attachments, by hash.
        window: tokens that the model holds; attached texts and results that would fill it are cut, older
            results shorter.
    """
    newest = path[-1].id if path else ""
    summary, rest = apply_summary(path, summaries)
    texts = _fitted(rest, texts, window)
    if summary is not None:
        system = f"{system}\n\n{SUMMARY_HEADING}\n\n{summary.text}"
    messages: list[ChatMessage] = [{"role": "system", "content": system}]
    latest = ""
    for message in filter(_counts, rest):
        if message.role == "user":
            _add_prompt(messages, message, latest, texts)
        else:
            _add_answer(messages, message, _room(window, newest=message.id == newest))
        latest = message.text
    return messages


def cut_texts(
    path: Sequence[Message], summaries: Sequence[Summary], texts: Mapping[str, str], window: int | None
) -> list[CutText]:
    """The files of the last prompt on a path that `build_messages` cuts."""
    prompt = next((message for message in reversed(path) if message.role == "user"), None)
    if prompt is None or window is None:
        return []
    rooms = _rooms(apply_summary(path, summaries)[1], texts, window)
    return [
        CutText(name=attachment.name, given=room, characters=length)
        for attachment in prompt.attachments
        if (length := len(texts.get(attachment.sha256, ""))) > (room := rooms.get(attachment.sha256, length))
    ]


def _fitted(path: Iterable[Message], texts: Mapping[str, str], window: int | None) -> Mapping[str, str]:
    """The texts of the files on a path, the longest cut so that they fit together."""
    if window is None:
        return texts
    rooms = _rooms(path, texts, window)
    return {sha256: _shortened(texts.get(sha256, ""), room) for sha256, room in rooms.items()}


def _rooms(path: Iterable[Message], texts: Mapping[str, str], window: int) -> dict[str, int]:
    """How many characters the text of each file on a path may have."""
    hashes = {attachment.sha256 for message in path for attachment in message.attachments}
    left = int(window * CHARACTERS_PER_TOKEN * ATTACHED_SHARE)
    rooms: dict[str, int] = {}
    found = sorted(((texts.get(sha256, ""), sha256) for sha256 in hashes), key=lambda pair: len(pair[0]))
    for place, (text, sha256) in enumerate(found):
        room = max(FEWEST_CHARACTERS, left // (len(found) - place))
        rooms[sha256] = room
        left -= min(len(text), room)
    return rooms


def prompt_text(message: Message, texts: Mapping[str, str]) -> str:
    """A prompt as the model reads it: what was attached comes first, each file in a fence of its own."""
    files = [
        _attached(attachment.name, texts.get(attachment.sha256, "")) for attachment in message.attachments
    ]
    return "\n\n".join([*files, message.text])


def _attached(name: str, text: str) -> str:
    if not text.strip():
        return f"Attached file {name} (its content cannot be read as text)."
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"Attached file {name}:\n\n{fence}\n{text}\n{fence}"


def facts_of(path: Iterable[Message], foreign: frozenset[str]) -> ChatFacts:
    """What decides about outgoing calls.

    Args:
        foreign: names of the tools whose results are not content of this machine. Any other result is, also
            one that was cut short or whose tool is gone.
    """
    urls: set[str] = set()
    local = False
    for message in path:
        if message.role == "user":
            urls |= _urls(message.text)
            local = local or bool(message.attachments)
        for call in message.tools:
            urls |= set(call.urls)
            local = local or (call.status in TOUCHED and bool(call.result) and call.name not in foreign)
    return ChatFacts(frozenset(urls), local)


def _urls(text: str) -> set[str]:
    return {url.rstrip(_TRAILING) for url in _URL.findall(text)}


def apply_summary(
    path: Sequence[Message], summaries: Sequence[Summary]
) -> tuple[Summary | None, Sequence[Message]]:
    """The summary that stands for the beginning of a path, if there is one, and the messages after it."""
    places = {message.id: place for place, message in enumerate(path)}
    known = [summary for summary in summaries if summary.upto_id in places]
    if not known:
        return None, path
    latest = max(known, key=lambda summary: places[summary.upto_id])
    return latest, path[places[latest.upto_id] + 1 :]


def _add_prompt(messages: list[ChatMessage], message: Message, latest: str, texts: Mapping[str, str]) -> None:
    text = prompt_text(message, texts)
    if messages[-1]["role"] != "user":
        messages.append({"role": "user", "content": text})
    elif message.text != latest:
        messages[-1] = {"role": "user", "content": f"{messages[-1]['content']}\n\n{text}"}


def _room(window: int | None, *, newest: bool) -> int | None:
    """Characters that the results of one answer may have together; None for no limit."""
    if window is None:
        return None
    share = NEWEST_SHARE if newest else OLDER_SHARE
    return max(FEWEST_CHARACTERS, int(window * CHARACTERS_PER_TOKEN * share))


def _add_answer(messages: list[ChatMessage], message: Message, room: int | None) -> None:
    if not message.tools:
        if messages[-1]["role"] == "assistant":
            messages[-1]["content"] += f"\n\n{message.text}"
        else:
            messages.append({"role": "assistant", "content": message.text})
        return
    made = [_made(call) for call in message.tools]
    messages.append({"role": "assistant", "content": message.text, "tool_calls": made})
    each = None if room is None else room // len(message.tools)
    results: list[ChatMessage] = [
        {"role": "tool", "tool_call_id": call.call_id, "content": _shortened(call.result, each) or NO_RESULT}
        for call in message.tools
    ]
    messages += results


def _shortened(result: str, room: int | None) -> str:
    if room is None or len(result) <= room:
        return result
    return f"{result[:room]}\n[cut here: {len(result):,} characters in all]"


def _made(call: ToolCall) -> MadeCall:
    return {
        "id": call.call_id,
        "type": "function",
        "function": {
            "name": _plain_name(call.name),
            "arguments": call.arguments if _is_object(call.arguments) else "{}",
        },
    }


def _plain_name(name: str) -> str:
    """A name that every server takes, whatever a model has called."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unknown"


def _is_object(text: str) -> bool:
    """What was no JSON object is not sent again: servers refuse it. The call's result says so."""
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False


def _counts(message: Message) -> bool:
    if message.role == "user":
        return message.status == "done"
    return bool(message.text.strip() or message.tools)
