"""What attached texts take of a model's window."""

from __future__ import annotations

from fireside_agent.compaction import is_nearly_full
from fireside_agent.messages import Attachment, CutText, Message, Receipt, Role
from fireside_agent.prompts import build_messages, cut_texts

WINDOW = 1_000
ROOM = 1_800
"""Characters: three a token, of which attached texts may take three fifths."""


def said(name: str, role: Role, files: str = "", prompt_tokens: int = 0) -> Message:
    return Message(
        id=name,
        role=role,
        text=f"text of {name}",
        html=[],
        status="done",
        created_at=1.0,
        attachments=[Attachment(sha256=f, name=f"{f}.txt", media_type="text/plain", size=1) for f in files],
        receipt=Receipt(model="m", prompt_tokens=prompt_tokens) if prompt_tokens else None,
    )


def told(texts: dict[str, str], window: int | None = WINDOW) -> str:
    """What a model is told of a prompt with these files."""
    return build_messages([said("p", "user", "".join(texts))], texts=texts, window=window)[-1]["content"]


def test_texts_that_fit_are_whole() -> None:
    texts = {"a": "a" * 900, "b": "b" * 900}
    assert "cut here" not in told(texts)


def test_the_longest_are_cut_so_that_all_fit() -> None:
    content = told({"a": "a" * 5_000, "b": "b" * 100, "c": "c" * 9_000})
    assert content.count("b" * 100) == 1
    assert "a" * 850 + "\n[cut here: 5,000 characters in all]" in content
    assert "c" * 850 + "\n[cut here: 9,000 characters in all]" in content
    assert len(content) < ROOM + 300


def test_what_is_cut_is_told_of_the_prompt_that_is_asked() -> None:
    texts = {"a": "a" * 5_000, "b": "b" * 100, "c": "c" * 9_000}
    path = [said("1", "user", "a"), said("2", "assistant"), said("3", "user", "bc")]
    [cut] = cut_texts(path, [], texts, WINDOW)
    assert cut == CutText(name="c.txt", given=850, characters=9_000)
    assert cut_texts(path, [], texts, None) == cut_texts(path[:1], [], {"a": "a"}, WINDOW) == []


def test_nothing_is_cut_where_the_window_is_not_known() -> None:
    assert "a" * 5_000 in told({"a": "a" * 5_000}, window=None)


def test_a_text_that_has_just_been_attached_counts_when_older_messages_must_make_room() -> None:
    path = [
        *(said("1", "user"), said("2", "assistant", prompt_tokens=100)),
        *(said("3", "user"), said("4", "assistant", prompt_tokens=300)),
        said("5", "user", "a"),
    ]
    assert is_nearly_full(path, [], {"a": "a" * 5_000}, WINDOW)
    assert not is_nearly_full(path, [], {"a": "a" * 500}, WINDOW)
