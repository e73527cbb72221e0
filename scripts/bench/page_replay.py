"""What the page is measured with: a server that replays one answer, and a chat of many messages."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "replay-1"
TITLE = "Replayed"
_CHUNK = 5
"""Characters a token, about what English has."""
_PACES = ("sentence", "code", "table", "list", "formula", "quote")


def recorded(characters: int) -> str:
    """An answer of this length with all that answers are made of, the same each time."""
    pieces: list[str] = []
    length = 0
    for number in range(characters):
        if length >= characters:
            break
        piece = _piece(_PACES[number % len(_PACES)], number)
        pieces.append(piece)
        length += len(piece)
    return "".join(pieces)[:characters]


def _piece(kind: str, number: int) -> str:
    words = (
        f"The tide of day {number} turns **slowly** past the [harbour](https://example.org/{number}), and "
    )
    prose = words + "the boats that lie on the sand in the morning float again before noon, `one` by *one*. "
    match kind:
        case "code":
            calls = "\n".join(
                f"    level_{i} = tide(day={number}, hour={i})  # metres above the chart" for i in range(18)
            )
            return f"```python\ndef levels(day: int) -> list[float]:\n{calls}\n    return level_0\n```\n\n"
        case "table":
            rows = "\n".join(f"| {i}:12 | {i * 0.3:.1f} m | turns at `{number + i}` |" for i in range(8))
            return f"| time | level | note |\n| --- | ---: | --- |\n{rows}\n\n"
        case "list":
            items = (f"{i + 1}. {words}so on.\n   - a point below **it**\n" for i in range(5))
            return "".join(items) + "\n"
        case "formula":
            display = f"$$\\int_0^{{{number}}} h\\,dt = \\frac{{a}}{{2}}$$"
            return f"It rises by $h_{{{number}}} = a \\sin(\\omega t)$:\n\n{display}\n\n"
        case "quote":
            return f"## Day {number}\n\n> {prose}\n\n"
        case _:
            return f"{prose * 4}\n\n"


def long_chat(messages: int, title: str) -> dict[str, Any]:
    """A chat of so many messages in Fireside's own format: short questions, answers of every kind."""
    at = 1_700_000_000.0
    records = [
        {
            "id": f"m{number}",
            "parent_id": f"m{number - 1}" if number else None,
            "role": "assistant" if number % 2 else "user",
            "status": "done",
            "text": _said(number),
            "created_at": at + number,
            "modified_at": at + number,
        }
        for number in range(messages)
    ]
    session = {"id": "long", "title": title, "created_at": at, "modified_at": at + messages}
    head = {"format": "fireside-session", "version": 1, "exported_at": at}
    return {**head, "session": session, "messages": records, "summaries": [], "attachments": []}


def _said(number: int) -> str:
    if number % 2 == 0:
        return f"Question {number}: when is high water on day {number // 2}, and what should I bring along?"
    kinds = [_PACES[(number // 2 + step) % len(_PACES)] for step in range(1 + number // 2 % 3)]
    return f"Answer {number}.\n\n" + "".join(_piece(kind, number) for kind in kinds)


@contextmanager
def replaying(text: str, characters_per_second: float) -> Iterator[str]:
    """An OpenAI-compatible server that answers everything with `text` at this pace; yields its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._json({"data": [{"id": MODEL, "context_window": 1_000_000}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            titling = str(body["messages"][-1]["content"]).startswith("Write a title")
            with suppress(ConnectionError):  # whoever asked has gone
                self._stream(TITLE if titling else text)

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def _stream(self, said: str) -> None:
            begin = time.monotonic()
            for at in range(0, len(said), _CHUNK):
                time.sleep(max(0.0, begin + at / characters_per_second - time.monotonic()))
                self._event({"delta": {"content": said[at : at + _CHUNK]}, "finish_reason": None})
            self._event({"delta": {}, "finish_reason": "stop"})
            self.wfile.write(b"data: [DONE]\n\n")

        def _event(self, choice: dict[str, Any]) -> None:
            chunk = {"model": MODEL, "choices": [{"index": 0, **choice}]}
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

        def _json(self, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
