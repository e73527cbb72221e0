"""One streamed answer while its core is killed."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import httpx

from support.server import Server


def read(server: Server, body: dict[str, Any], kill_after: tuple[int, ...] = ()) -> tuple[str, int]:
    """Thoughts and text of an answer, and how often it was resumed.

    Args:
        kill_after: pieces after which the core is killed, which works slowly until then.
    """
    pieces: list[str] = []
    resumed = 0
    body = {**body, "stream": True, "return_progress": True}
    url = f"{server.url}/v1/chat/completions"
    with ExitStack() as slowly, httpx.stream("POST", url, json=body, timeout=180) as reply:
        if kill_after:
            slowly.enter_context(server.slowed())
        for line in reply.iter_lines():
            if not line.startswith("data: {"):
                continue
            chunk = json.loads(line.removeprefix("data: "))
            assert "error" not in chunk, chunk
            resumed = (chunk.get("usage") or {}).get("fireside", {}).get("resumed", resumed)
            for choice in chunk["choices"]:
                if piece := choice["delta"].get("reasoning") or choice["delta"].get("content"):
                    pieces.append(piece)
                    if len(pieces) in kill_after:
                        server.kill_core()
                    if len(pieces) == max(kill_after, default=0):
                        slowly.close()
    return "".join(pieces), resumed
