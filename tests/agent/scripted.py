"""A scripted OpenAI-compatible server on a real socket, for what a real model does not do on demand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from hypercorn.asyncio import serve
from hypercorn.config import Config, Sockets
from quart import Quart, Response, request

Step = str | dict[str, Any] | Callable[[], Awaitable[None]]
"""Text becomes a chunk, a dict is sent as it is, a function is awaited; `CUT` ends the stream there."""

CUT: dict[str, Any] = {"cut": True}


def text_chunk(text: str) -> dict[str, Any]:
    return {
        "model": "scripted-1",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}],
    }


def progress_chunk(phase: str, **details: Any) -> dict[str, Any]:
    return {
        "choices": [{"index": 0, "delta": {}, "finish_reason": None}],
        "fireside": {"phase": phase, **details},
    }


def reasoning_chunk(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"reasoning_content": text}, "finish_reason": None}]}


def call_chunks(name: str, arguments: Any, call_id: str = "call_1", index: int = 0) -> list[dict[str, Any]]:
    """A call as servers stream it: id and name once, the arguments in two pieces."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    half = len(text) // 2

    def chunk(call: dict[str, Any]) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}

    head = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
    pieces = [{"index": index, "function": {"arguments": piece}} for piece in (text[:half], text[half:])]
    return [chunk(call) for call in (head, *pieces)]


def end_chunks(**fireside: Any) -> list[dict[str, Any]]:
    usage = {
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "total_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 2},
        "lane": "batched",
        **({"fireside": fireside} if fireside else {}),
    }
    return [
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
    ]


@dataclass
class Upstream:
    """What the server was asked, and what it will answer: one script for each request, the last for good."""

    port: int = 0
    scripts: list[list[Step]] = field(default_factory=lambda: [["Hello", " there", "."]])
    loading: int = 0
    """How many requests get 503 first."""
    failures: list[tuple[int, Any]] = field(default_factory=list)
    """Statuses and bodies that the next chat requests get instead of a stream."""
    requests: list[dict[str, Any]] = field(default_factory=list)
    open_streams: int = 0
    models: Any = field(default_factory=lambda: {"data": [{"id": "scripted-1", "context_window": 4096}]})

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def still_loading(self) -> Response | None:
        if self.loading == 0:
            return None
        self.loading -= 1
        error = {
            "error": {"message": "the model is loading", "type": "not_ready", "code": None, "param": None}
        }
        return Response(json.dumps(error), 503, {"Retry-After": "0.2"}, content_type="application/json")

    async def stream(self, script: list[Step]) -> AsyncIterator[bytes]:
        self.open_streams += 1
        try:
            for step in script:
                if step is CUT:
                    return
                if callable(step):
                    await step()
                    continue
                yield _line(text_chunk(step) if isinstance(step, str) else step)
            for chunk in end_chunks():
                yield _line(chunk)
            yield b"data: [DONE]\n\n"
        finally:
            self.open_streams -= 1


def create_app(upstream: Upstream) -> Quart:
    app = Quart(__name__)
    app.config["RESPONSE_TIMEOUT"] = None

    @app.get("/v1/models")
    async def models() -> Any:
        return upstream.still_loading() or upstream.models

    @app.post("/v1/chat/completions")
    async def chat() -> Any:
        if response := upstream.still_loading():
            return response
        upstream.requests.append(await request.get_json())
        if upstream.failures:
            status, body = upstream.failures.pop(0)
            return body, status
        script = upstream.scripts.pop(0) if len(upstream.scripts) > 1 else upstream.scripts[0]
        return Response(upstream.stream(script), content_type="text/event-stream")

    return app


@asynccontextmanager
async def serving(app: Quart) -> AsyncIterator[int]:
    """Serve `app` on a free loopback port, on the running event loop; yields the port."""
    config = Config()
    config.bind = ["127.0.0.1:0"]
    config.errorlog = None
    config.graceful_timeout = 1
    sockets = config.create_sockets()
    config.create_sockets = lambda: Sockets([], sockets.insecure_sockets, [])  # type: ignore[method-assign]
    for sock in sockets.insecure_sockets:
        sock.listen()
    port = sockets.insecure_sockets[0].getsockname()[1]
    stop = asyncio.Event()
    server = asyncio.create_task(serve(app, config, shutdown_trigger=stop.wait))
    try:
        yield port
    finally:
        stop.set()
        await server


@asynccontextmanager
async def scripted_upstream() -> AsyncIterator[Upstream]:
    upstream = Upstream()
    async with serving(create_app(upstream)) as upstream.port:
        yield upstream


def _line(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
