"""Any ASGI app, served in this process as Fireside is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hypercorn.config import Config

from fireside.http.connections import serve
from fireside.http.listening import hypercorn_config, listen_tcp

IDLE_S = 0.3


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[int]:
    """Serve an app in this process, at a port that is returned, with little patience for idle clients."""
    listener = listen_tcp("127.0.0.1", 0)
    port = int(listener.sock.getsockname()[1])
    config: Config = hypercorn_config([listener])
    config.keep_alive_timeout = IDLE_S
    stop = asyncio.Event()

    async def until_stopped() -> None:
        await stop.wait()

    served = asyncio.create_task(serve(app, config, until_stopped))
    try:
        yield port
    finally:
        stop.set()
        await served


def connections_served() -> int:
    """How many connections the server of this process has a task for."""
    return sum("_server_callback" in repr(task.get_coro()) for task in asyncio.all_tasks())
