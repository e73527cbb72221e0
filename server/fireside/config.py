"""What `fireside serve` was asked for."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from fireside.paths import Home

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8080
MAX_ROWS = 8
MAX_QUEUE = 256


@dataclass(frozen=True)
class ServeConfig:
    """One app.

    Attributes:
        model: a folder or hub id; None is the embedded default model.
        unix_socket: listen there instead of on TCP.
        api_only: `/v1` without the page and the agent.
        open_browser: where there is a terminal, and so a person.
        upstream: an OpenAI-compatible server to use instead of a core of our own.
        allow_hosts: further names that a `Host` header may have.
        temperature, top_p, top_k, max_tokens, thinking: where a request says nothing; None: the model.
        core_command: starts a core; the number of its socket is appended. `-P`: nothing is imported from
            the folder that Fireside was started in.
    """

    home: Home
    model: str | None = None
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    unix_socket: Path | None = None
    api_only: bool = False
    open_browser: bool = True
    upstream: str | None = None
    allow_hosts: tuple[str, ...] = ()
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    thinking: bool | None = None
    max_rows: int = MAX_ROWS
    max_queue: int = MAX_QUEUE
    core_command: tuple[str, ...] = (sys.executable, "-P", "-m", "fireside.core")
