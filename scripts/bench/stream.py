"""A lean HTTP client for measurements: it notes when bytes come in, and reads them afterwards.

A client that parses every event while it measures takes the time from the server beside it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from bench.serve import Target

_BLOCK = 1 << 16
_CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Event:
    """One JSON event of a stream; `at` is on the clock of `time.perf_counter`."""

    at: float
    body: dict[str, Any]


@dataclass
class Answer:
    """What came back for one request; read it once the request is over.

    It is filled while bytes come, so that a request that was cancelled leaves what it had received.

    Attributes:
        sent_at: when the client began to connect.
        failure: what went wrong with the connection, if anything.
    """

    sent_at: float = 0.0
    blocks: list[tuple[float, bytes]] = field(default_factory=list[tuple[float, bytes]])
    failure: str | None = None

    @property
    def status(self) -> int:
        """The HTTP status; 0 if none came."""
        line = self._head.partition("\r\n")[0].split(" ")
        return int(line[1]) if len(line) > 1 else 0

    @property
    def complete(self) -> bool:
        """Whether the whole answer came: a stream with its end mark, or JSON."""
        if self.failure is not None or self.status == 0:
            return False
        body = b"".join(data for _, data in self._payload)
        return b"data: [DONE]" in body if self._streams else bool(self.events)

    def header(self, name: str) -> str | None:
        for line in self._head.split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name.lower():
                return value.strip()
        return None

    @cached_property
    def events(self) -> list[Event]:
        """The JSON events of a stream, or the one JSON body."""
        if not self._streams:
            return self._whole()
        found: list[Event] = []
        rest = b""
        for at, data in self._payload:
            *lines, rest = (rest + data).split(b"\n")
            found += [
                Event(at, json.loads(line.removeprefix(b"data: ")))
                for line in lines
                if line.startswith(b"data: {")
            ]
        return found

    @cached_property
    def token_times(self) -> list[float]:
        """When each event with text came: content, reasoning, or a piece of a call."""
        return [event.at for event in self.events if any(_pieces(event.body))]

    @property
    def first_byte_s(self) -> float:
        return self.blocks[0][0] - self.sent_at

    @property
    def ttft_s(self) -> float:
        """Seconds until the first text.

        Raises:
            SystemExit: there was none.
        """
        if not self.token_times:
            raise SystemExit(f"an answer has no text, so no first token: {self.usage}, {self.error}")
        return self.token_times[0] - self.sent_at

    @property
    def text(self) -> str:
        """The content."""
        return "".join(content for content, _, _ in map(_parts, self.events))

    @property
    def said(self) -> dict[str, Any]:
        """All that the model said, to compare: reasoning, content, calls without their ids, the end."""
        parts = [_parts(event.body) for event in self.events]
        return {
            "content": "".join(content for content, _, _ in parts),
            "reasoning": "".join(reasoning for _, reasoning, _ in parts),
            "calls": _joined([call for _, _, calls in parts for call in calls]),
            "finish_reason": self.finish_reason,
        }

    @property
    def finish_reason(self) -> str | None:
        return next(
            (r for e in self.events for c in e.body.get("choices", []) if (r := c.get("finish_reason"))), None
        )

    @property
    def usage(self) -> dict[str, Any]:
        """The usage that the server reports, empty if it did not."""
        return next((u for event in reversed(self.events) if (u := event.body.get("usage"))), {})

    @property
    def fireside(self) -> dict[str, Any]:
        """`usage.fireside`, which `return_progress` asks for."""
        return self.usage.get("fireside") or {}

    @property
    def error(self) -> str | None:
        """The connection's failure or the server's error."""
        if self.failure is not None:
            return self.failure
        return next((str(e) for event in self.events if (e := event.body.get("error"))), None)

    @cached_property
    def _raw(self) -> tuple[str, int]:
        data = b"".join(data for _, data in self.blocks)
        head, mark, _ = data.partition(b"\r\n\r\n")
        return (head.decode("latin-1"), len(head) + len(mark)) if mark else ("", len(data))

    @property
    def _head(self) -> str:
        return self._raw[0]

    @property
    def _streams(self) -> bool:
        return "text/event-stream" in (self.header("content-type") or "")

    @cached_property
    def _payload(self) -> list[tuple[float, bytes]]:
        """The body's bytes with the time at which they came, transfer coding taken off."""
        skip, parts = self._raw[1], list[tuple[float, bytes]]()
        for at, data in self.blocks:
            parts.append((at, data[skip:]))
            skip = max(0, skip - len(data))
        if "chunked" not in (self.header("transfer-encoding") or ""):
            return parts
        found: list[tuple[float, bytes]] = []
        buffer = b""
        for at, data in parts:
            buffer += data
            while (chunk := _take_chunk(buffer)) is not None:
                found.append((at, chunk[0]))
                buffer = chunk[1]
        return found

    def _whole(self) -> list[Event]:
        try:
            body = json.loads(b"".join(data for _, data in self._payload))
        except ValueError:
            return []
        return [Event(self.blocks[-1][0], body)] if isinstance(body, dict) else []


async def send(
    target: Target,
    body: Mapping[str, Any] | None = None,
    answer: Answer | None = None,
    *,
    path: str = _CHAT,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """One request on a connection of its own, POST if there is a body.

    A connection that is refused or breaks is noted in the answer. Cancelling closes the connection at once.

    Args:
        answer: is filled and returned, for callers that cancel.
    """
    answer = answer or Answer()
    place = urlsplit(target.url)
    payload = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{'GET' if body is None else 'POST'} {path} HTTP/1.1",
        f"Host: {place.netloc}",
        "Connection: close",
    ]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(payload)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    answer.sent_at = time.perf_counter()
    writer = None
    try:
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write("\r\n".join([*lines, "", ""]).encode() + payload)
        while data := await reader.read(_BLOCK):
            answer.blocks.append((time.perf_counter(), data))
    except OSError as error:
        answer.failure = f"{type(error).__name__}: {error}"
    finally:
        if writer is not None:
            writer.transport.abort()
    return answer


def chat_body(
    target: Target, prompt: str | Sequence[Mapping[str, Any]], max_tokens: int, **fields: Any
) -> dict[str, Any]:
    """A greedy streamed chat completion; `fields` are added or replaced, None takes one away.

    Args:
        prompt: the user's text, or all messages.
    """
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    body: dict[str, Any] = {
        "model": target.model,
        "messages": messages,
        "max_tokens": max_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "chat_template_kwargs": {"enable_thinking": False},
        **fields,
    }
    return {name: value for name, value in body.items() if value is not None}


async def ask_all(target: Target, bodies: Sequence[Mapping[str, Any]]) -> list[Answer]:
    """All requests at once.

    Raises:
        SystemExit: one was not answered in full.
    """
    return whole(await asyncio.gather(*(send(target, body) for body in bodies)))


async def ask(target: Target, body: Mapping[str, Any]) -> Answer:
    """One request; see `ask_all`."""
    return (await ask_all(target, [body]))[0]


def whole(answers: Sequence[Answer]) -> list[Answer]:
    """The same answers, once it is sure that each is complete."""
    for answer in answers:
        if not answer.complete or answer.status != 200 or answer.error:
            raise SystemExit(f"an answer broke off: status {answer.status}, {answer.error or 'no end mark'}")
    return list(answers)


class Running:
    """Requests under way, closed at the end of the `async with` if they have not ended by then."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self._tasks: list[asyncio.Task[Answer]] = []

    async def __aenter__(self) -> Running:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def start(
        self, target: Target, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> Answer:
        answer = Answer()
        self.answers.append(answer)
        self._tasks.append(asyncio.create_task(send(target, body, answer, headers=headers)))
        return answer

    async def all_speak(self, within_s: float = 300) -> None:
        """Wait until each has received text."""
        await _until(lambda: all(_speaks(answer) for answer in self.answers), within_s)

    def finished(self) -> Awaitable[list[Answer]]:
        """All the answers, once they have ended."""
        return asyncio.gather(*self._tasks)


async def _until(true: Any, within_s: float) -> None:
    deadline = time.perf_counter() + within_s
    while not true():
        if time.perf_counter() > deadline:
            raise SystemExit(f"what was waited for did not happen within {within_s:.0f} s")
        await asyncio.sleep(0.01)


def _speaks(answer: Answer) -> bool:
    """Whether text has come, told from the bytes: parsing would keep the half-read answer."""
    if answer.failure:
        raise SystemExit(f"a request failed: {answer.failure}")
    return sum(data.count(b'"content":"') - data.count(b'"content":""') for _, data in answer.blocks) > 0


def _take_chunk(buffer: bytes) -> tuple[bytes, bytes] | None:
    """The first chunk of a chunked body and what follows it, None if it has not come in full."""
    line, mark, rest = buffer.partition(b"\r\n")
    if not mark:
        return None
    size = int(line.split(b";")[0], 16)
    return (rest[:size], rest[size + 2 :]) if size and len(rest) >= size + 2 else None


def _pieces(body: Mapping[str, Any]) -> list[Any]:
    return [part for part in _parts(body) if part]


def _parts(body: Any) -> tuple[str, str, list[dict[str, Any]]]:
    """Content, reasoning and calls of an event or of a whole answer."""
    body = body.body if isinstance(body, Event) else body
    content, reasoning, calls = "", "", list[dict[str, Any]]()
    for choice in body.get("choices") or []:
        message = choice.get("delta") or choice.get("message") or {}
        content += message.get("content") or ""
        reasoning += message.get("reasoning") or message.get("reasoning_content") or ""
        calls += message.get("tool_calls") or []
    return content, reasoning, calls


def _joined(pieces: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Calls as name and arguments, put together from their deltas."""
    calls: dict[Any, list[str]] = {}
    for number, piece in enumerate(pieces):
        call = calls.setdefault(piece.get("index", f"whole {number}"), ["", ""])
        function = piece.get("function") or {}
        call[0] += function.get("name") or ""
        call[1] += function.get("arguments") or ""
    return [(name, arguments) for name, arguments in calls.values()]
