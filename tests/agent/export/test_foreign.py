"""Exports of other programs, written by hand after what those programs write."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

from agent.export.place import Place
from fireside_agent.messages import Message

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def node(
    name: str, parent: str | None, children: list[str], message: dict[str, Any] | None
) -> dict[str, Any]:
    return {"id": name, "message": message, "parent": parent, "children": children}


def said(role: str, content: dict[str, Any], at: float | None = None, **more: Any) -> dict[str, Any]:
    author = {"role": role, "name": more.pop("name", None), "metadata": {}}
    return {
        "id": "x",
        "author": author,
        "create_time": at,
        "update_time": None,
        "content": content,
        "status": "finished_successfully",
        "end_turn": None,
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        "channel": None,
        **more,
    }


def text(*parts: Any) -> dict[str, Any]:
    return {"content_type": "text", "parts": list(parts)}


HIDDEN = {"is_visually_hidden_from_conversation": True}
THOUGHTS = {
    "content_type": "thoughts",
    "thoughts": [{"summary": "Counting", "content": "I need the sum.", "chunks": [], "finished": True}],
}
PICTURE = {
    "content_type": "image_asset_pointer",
    "asset_pointer": "file-service://file-9Xk",
    "size_bytes": 88123,
    "width": 640,
    "height": 480,
    "fovea": None,
    "metadata": None,
}

CHATGPT: dict[str, Any] = {
    "title": "Sum of a picture",
    "create_time": 1718000000.123456,
    "update_time": 1718000900.5,
    "mapping": {
        "client-created-root": node("client-created-root", None, ["sys"], None),
        "sys": node("sys", "client-created-root", ["ctx"], said("system", text(""), metadata=HIDDEN)),
        "ctx": node(
            "ctx",
            "sys",
            ["u1", "u2"],
            said(
                "user",
                {
                    "content_type": "user_editable_context",
                    "user_profile": "I live in Bonn.",
                    "user_instructions": "Be brief.",
                },
                metadata=HIDDEN,
            ),
        ),
        "u1": node("u1", "ctx", ["a0"], said("user", text("What is 2+2?"), 1718000001.0)),
        "a0": node(
            "a0", "u1", [], said("assistant", text("4"), 1718000002.0, metadata={"model_slug": "gpt-4o"})
        ),
        "u2": node(
            "u2",
            "ctx",
            ["t1"],
            said(
                "user",
                {"content_type": "multimodal_text", "parts": [PICTURE, "Add the numbers"]},
                1718000003.0,
                metadata={
                    "attachments": [{"id": "file-1", "name": "numbers.xlsx", "size": 5, "mime_type": "x/y"}]
                },
            ),
        ),
        "t1": node("t1", "u2", ["c1"], said("assistant", THOUGHTS, 1718000004.0)),
        "c1": node(
            "c1",
            "t1",
            ["o1"],
            said(
                "assistant",
                {"content_type": "code", "language": "python", "text": "print(1+2)"},
                1718000005.0,
                recipient="python",
                metadata={"model_slug": "o3"},
            ),
        ),
        "o1": node(
            "o1",
            "c1",
            ["r1"],
            said("tool", {"content_type": "execution_output", "text": "3\n"}, 1718000006.0, name="python"),
        ),
        "r1": node(
            "r1",
            "o1",
            ["a1"],
            said("assistant", {"content_type": "reasoning_recap", "content": "Thought 5s"}),
        ),
        "a1": node("a1", "r1", ["a2"], said("assistant", text(""), None)),
        "a2": node(
            "a2", "a1", [], said("assistant", text("The sum is **3**."), None, metadata={"model_slug": "o3"})
        ),
    },
    "moderation_results": [],
    "current_node": "a2",
    "plugin_ids": None,
    "conversation_id": "6667",
    "default_model_slug": "auto",
    "is_archived": True,
    "safe_urls": [],
}

LOOP = {"title": "Loop", "mapping": {"a": node("a", "b", ["b"], None), "b": node("b", "a", ["a"], None)}}
EMPTY = {"title": "Nothing", "mapping": {"root": node("root", None, [], None)}, "current_node": "root"}
BROKEN = {"title": "Broken", "mapping": {"root": {"message": {"author": 5}}}}
ODD: dict[str, Any] = {
    "title": None,
    "create_time": None,
    "mapping": {
        "u": node("u", "gone", ["no-such"], said("user", text("hi", 7, None, {"text": "dictated"}), 1e300)),
        "o": node("o", "u", [], said("tool", text("unasked"), name="browser")),
        "a": node(
            "a", "u", [], said("assistant", {"content_type": "thoughts", "thoughts": "?"}, metadata=None)
        ),
        "e": node(
            "e",
            "u",
            [],
            said("assistant", {"content_type": "system_error", "text": "Oh"}, status="in_progress"),
        ),
    },
}


async def opened(place: Place, session_id: str) -> tuple[Any, dict[str, Message]]:
    session = await place.sessions.load(session_id)
    assert session is not None
    return session, {message.text: message for message in session.messages}


async def test_chatgpt(place: Place) -> None:
    answer = await place.load(json.dumps([CHATGPT, LOOP, EMPTY, BROKEN, ODD]).encode())
    assert [(s["title"], s["why"][:24]) for s in answer["skipped"]] == [
        ("Loop", "its messages follow each"),
        ("Nothing", "it has no messages"),
        ("Broken", "it is not as ChatGPT wri"),
    ]
    assert [(chat["title"], chat["messages"]) for chat in answer["imported"]] == [
        ("Sum of a picture", 5),
        ("New chat", 3),
    ]
    session, by_text = await opened(place, answer["imported"][0]["id"])
    assert session.settings.instructions == "I live in Bonn.\n\nBe brief."
    assert session.titled_by == "person"

    prompts = [m for m in session.messages if m.role == "user"]
    assert [m.parent_id for m in prompts] == [None, None]
    assert prompts[0].text == "What is 2+2?"
    assert prompts[1].text.startswith(
        "*[image: not in ChatGPT's export]*\n\nAdd the numbers\n\n*[file: numbers.xlsx"
    )
    call, last = by_text[""], by_text["The sum is **3**."]
    assert (call.parent_id, last.parent_id, session.leaf_id) == (prompts[1].id, call.id, last.id)
    assert call.reasoning == "Counting\n\nI need the sum."
    (tool,) = call.tools
    assert (tool.name, json.loads(tool.arguments), tool.result) == ("python", {"code": "print(1+2)"}, "3\n")
    assert call.receipt is not None
    assert (call.receipt.model, call.created_at, last.created_at) == ("o3", 1718000005.0, 1718000005.0)
    (row,) = [row for row in await place.sessions.list(frozenset()) if row.id == session.id]
    assert (row.created_at, row.modified_at, row.archived) == (1718000000.123456, 1718000900.5, True)

    odd, _ = await opened(place, answer["imported"][1]["id"])
    note = "*[file: not in ChatGPT's export]*"
    assert odd.messages[0].text == f"hi\n\n{note}\n\n{note}\n\ndictated"
    assert [(m.text, m.status) for m in odd.messages if m.role == "assistant"] == [
        ("", "done"),
        ("Oh", "aborted"),
    ]


REASONING = (
    '<details type="reasoning" done="true" duration="5">\n<summary>Thought for 5 seconds</summary>\n'
    "&gt; First &lt;this&gt;\n> then that\n</details>\n"
)
TOOL = (
    '<details type="tool_calls" done="true" id="call_7" name="get_weather" '
    'arguments="&quot;{\\&quot;city\\&quot;: \\&quot;Bonn\\&quot;}&quot;" '
    'result="&quot;12 \\u00b0C&quot;" files="" embeds="">\n<summary>Tool Executed</summary>\n</details>\n'
)
OWN_DETAILS = "It is 12 \u00b0C.\n\n<details>\n<summary>mine</summary>\n</details>"
DATA_URL = "data:image/png;base64," + base64.b64encode(PNG).decode()

WEBUI: dict[str, Any] = {
    "id": "0b1e",
    "user_id": "u",
    "title": "Weather",
    "folder_id": None,
    "meta": {"tags": ["general"]},
    "created_at": 1719000000,
    "updated_at": 1719000500,
    "pinned": True,
    "archived": False,
    "share_id": None,
    "chat": {
        "id": "",
        "title": "Weather",
        "models": ["llama3.2:latest"],
        "params": {"system": "Answer in German."},
        "history": {
            "currentId": "m4",
            "messages": {
                "m1": {
                    "id": "m1",
                    "parentId": None,
                    "childrenIds": ["m2", "m4"],
                    "role": "user",
                    "content": "How warm is it?",
                    "timestamp": 1719000001,
                    "models": ["llama3.2:latest"],
                    "files": [
                        {"type": "image", "url": DATA_URL},
                        {"type": "file", "name": "plan.pdf", "file": {"id": "f", "filename": "plan.pdf"}},
                        {"type": "image", "url": "data:image/png;base64,%%%"},
                    ],
                },
                "m2": {
                    "id": "m2",
                    "parentId": "m1",
                    "childrenIds": [],
                    "role": "assistant",
                    "content": "An error came",
                    "model": "llama3.2:latest",
                    "timestamp": 1719000002,
                    "done": True,
                    "error": {"content": "Ollama: no route"},
                },
                "m4": {
                    "id": "m4",
                    "parentId": "m1",
                    "childrenIds": [],
                    "role": "assistant",
                    "modelName": "llama",
                    "content": REASONING + TOOL + OWN_DETAILS,
                    "model": "llama3.2:latest",
                    "timestamp": 1719000003000,
                    "done": True,
                    "usage": {"prompt_tokens": 31, "completion_tokens": 9, "total_duration": 12345},
                },
            },
        },
        "messages": [],
        "tags": [],
        "timestamp": 1719000000000,
        "files": [],
    },
}


async def test_open_webui(place: Place) -> None:
    no_chat = {"title": "Bare", "chat": {"title": "Bare", "history": {"messages": {}, "currentId": None}}}
    answer = await place.load(json.dumps([WEBUI, no_chat, {"title": "Half", "chat": 3}]).encode())
    assert [(s["title"], s["why"][:12]) for s in answer["skipped"]] == [
        ("Bare", "it has no me"),
        ("Half", "it is not as"),
    ]
    (imported,) = answer["imported"]
    session, _ = await opened(place, imported["id"])
    prompt, failed, shown = session.messages
    assert (session.title, session.settings.instructions, session.leaf_id) == (
        "Weather",
        "Answer in German.",
        shown.id,
    )
    assert (failed.status, failed.error, failed.parent_id) == ("error", "Ollama: no route", prompt.id)
    assert shown.text == OWN_DETAILS
    assert shown.reasoning == "First <this>\nthen that"
    (tool,) = shown.tools
    assert (tool.call_id, tool.name, tool.arguments, tool.result) == (
        "call_7",
        "get_weather",
        '{"city": "Bonn"}',
        "12 \u00b0C",
    )
    assert (shown.created_at, shown.receipt.model, shown.receipt.completion_tokens) == (
        1719000003.0,
        "llama3.2:latest",
        9,
    )
    (attachment,) = prompt.attachments
    assert (attachment.media_type, attachment.size) == ("image/png", len(PNG))
    assert await place.attachments.read(attachment.sha256) == PNG
    assert prompt.text.count("not in Open WebUI's export") == 2
    (row,) = await place.sessions.list(frozenset())
    assert (row.pinned, row.created_at, row.modified_at) == (True, 1719000000, 1719000500)


async def test_one_chat_that_is_not_in_a_list(place: Place) -> None:
    for chat in (CHATGPT, WEBUI):
        assert len((await place.load(json.dumps(chat).encode()))["imported"]) == 1


async def test_many_unclosed_details_are_read_in_linear_time(place: Place) -> None:
    chat = json.loads(json.dumps(WEBUI))
    content = '<details type="reasoning" a="">\n' * 50_000
    chat["chat"]["history"]["messages"]["m4"]["content"] = content
    answer = await place.load(json.dumps([chat]).encode())
    _, by_text = await opened(place, answer["imported"][0]["id"])
    assert by_text[content].reasoning == ""


async def test_a_long_chat_is_no_deeper_than_a_short_one(place: Place) -> None:
    """ChatGPT's trees are as deep as the chat is long."""
    count = 3000
    mapping = {
        f"n{n}": node(f"n{n}", f"n{n - 1}" if n else None, [f"n{n + 1}"], said("user", text(str(n)), 1.0 + n))
        for n in range(count)
    }
    answer = await place.load(json.dumps([{"title": "Long", "mapping": mapping}]).encode())
    assert answer["imported"][0]["messages"] == count


async def test_images_of_another_program_are_checked_as_uploads_are(place: Place) -> None:
    chat = json.loads(json.dumps(WEBUI))
    huge = PNG[:16] + struct.pack(">II", 100_000, 100_000) + PNG[24:]
    url = "data:image/png;base64," + base64.b64encode(huge).decode()
    chat["chat"]["history"]["messages"]["m1"]["files"] = [{"type": "image", "url": url}]
    answer = await place.load(json.dumps([chat]).encode())
    session, _ = await opened(place, answer["imported"][0]["id"])
    assert session.messages[0].attachments == []
    assert "not in Open WebUI's export" in session.messages[0].text
