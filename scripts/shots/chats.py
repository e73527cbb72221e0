"""Chats as the import takes them, and the memory on the disk."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from fireside_agent.export.json_format import encode
from fireside_agent.export.records import MessageRecord, SessionRecord, WholeSession
from fireside_agent.messages import Receipt, SessionSettings, Settled, ToolCall
from shots import content

RECEIPT = Receipt(
    model=content.MODEL_ID,
    prompt_tokens=2412,
    completion_tokens=486,
    cached_tokens=2130,
    finish_reason="stop",
    lane="batched",
    queue_ms=2,
    ttft_ms=241,
    decode_tps=61.4,
)


def documents() -> list[bytes]:
    """All chats that there are before a picture is taken."""
    plain = [_short(*row) for row in content.TITLES]
    return [encode(whole, [], content.NOW) for whole in (*plain, _tides(), _arabic())]


def _short(title: str, age: float, pinned: bool) -> WholeSession:
    default = (f"About: {title}", "Let us look at that together.")
    asked, answered = content.SHORT_CHATS.get(title, default)
    return _whole(title, age, asked, {"text": answered, "receipt": RECEIPT}, pinned=pinned)


def _tides() -> WholeSession:
    calls = [
        ToolCall(
            call_id="call_1",
            name="read",
            arguments='{"path": "tides.csv"}',
            status="done",
            result=content.TIDES_CSV,
            ms=3,
        ),
        ToolCall(
            call_id="call_2",
            name="bash",
            arguments='{"command": "python tides.py --sill 1.4"}',
            status="done",
            result="dry from 10:27\ndry until 14:21\n",
            ms=212,
            settled=Settled("allow", "person"),
        ),
    ]
    looking = {
        "text": "I look at the file first, then I work it out:",
        "reasoning": content.TIDES_REASONING,
        "reasoning_ms": 4200,
        "tools": calls,
        "receipt": RECEIPT,
    }
    answer = {"text": content.TIDES_ANSWER, "receipt": RECEIPT}
    return _whole("When to cross to the island", content.HOUR, content.TIDES_PROMPT, looking, answer)


def _arabic() -> WholeSession:
    answer = {"text": content.ARABIC_ANSWER, "receipt": RECEIPT}
    return _whole("حفظ الخبز طازجًا", 2 * content.HOUR, content.ARABIC_PROMPT, answer)


def _whole(title: str, age: float, asked: str, *steps: dict[str, Any], pinned: bool = False) -> WholeSession:
    """A prompt and the steps of its answer."""
    then = content.NOW - age
    times: dict[str, Any] = {"created_at": then, "modified_at": then}
    messages = [MessageRecord(id="m0", parent_id=None, role="user", status="done", text=asked, **times)]
    for place, step in enumerate(steps):
        message = {"id": f"m{place + 1}", "parent_id": f"m{place}", "role": "assistant", "status": "done"}
        messages.append(MessageRecord(**{**message, **times, **step}))
    session = SessionRecord(
        id="s1",
        title=title,
        titled_by="person",
        pinned=pinned,
        leaf_id=messages[-1].id,
        settings=SessionSettings(),
        **times,
    )
    return WholeSession(session=session, messages=messages, summaries=[])


def write_articles(vault: Path) -> None:
    """Write the articles, each as a commit of its time; the vault is there already."""
    for name, text, age, subject in content.ARTICLES:
        path = vault / "articles" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        then = content.NOW - age
        os.utime(path, (then, then))
        person = {"NAME": "Fireside", "EMAIL": "fireside@localhost", "DATE": f"@{int(then)} +0000"}
        who = {
            f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in person.items()
        }
        for command in (["add", str(path)], ["commit", "-qm", subject]):
            subprocess.run(["git", *command], cwd=vault, env={**os.environ, **who}, check=True)
