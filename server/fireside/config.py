"""What `fireside serve` was asked for."""

from __future__ import annotations

import ipaddress
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fireside.paths import Home

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8080
MAX_ROWS = 8
MAX_STEPS = 25
MAX_QUEUE = 256
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

_SIZE = re.compile(r"(?P<number>\d+(\.\d*)?|\.\d+)\s*(?P<unit>[a-z]*)", re.IGNORECASE)
_POWERS = {prefix: power for power, prefix in enumerate(("", "k", "m", "g", "t"))}


def parse_size(text: str) -> int:
    """Bytes in a size as all flags take it: `4` and `4GB` are decimal gigabytes, `4GiB` binary ones.

    Raises:
        ValueError: it is not a size.
    """
    found = _SIZE.fullmatch(text.strip())
    unit = found["unit"].lower() if found else ""
    base = 1024 if unit.endswith(("i", "ib")) else 1000
    prefix = unit.removesuffix("b").removesuffix("i") if unit else "g"
    if found is None or prefix not in _POWERS or unit in ("i", "ib"):
        raise ValueError(f"{text!r} is not a size. Write gigabytes such as 4 or 1.5, or a unit: 500MB, 4GiB.")
    return round(float(found["number"]) * base ** _POWERS[prefix])


@dataclass(frozen=True)
class SsdCache:
    """The SSD tier below the prompt cache.

    Attributes:
        folder: None for the one in `home`.
        max_bytes: of its files; None for the smaller of 10 GB and 5 % of the free disk.
        queue_bytes: of what may wait to be written.
        demote_idle_s: seconds without use after which an entry is left on the disk alone; 0: never.
        verify: check strong digests too when something is read.
        write_behind: write soon what is new; else only what leaves the memory.
    """

    folder: Path | None = None
    max_bytes: int | None = None
    queue_bytes: int = 2 * 10**9
    demote_idle_s: float = 300.0
    verify: bool = False
    write_behind: bool = True


@dataclass(frozen=True)
class ServeConfig:
    """One app.

    Attributes:
        model: a folder or hub id; None is the embedded default model.
        models_dirs: folders with models, beside the Hugging Face cache and the one in `home`.
        model_pool: models that may run at the same time.
        pinned: names of those that are never stopped to make room, nor for want of use.
        model_aliases: from names, or patterns of names, that requests have, to models.
        idle_unload: seconds without a request after which a model is stopped; None: never.
        unix_socket: listen there instead of on TCP.
        api_only: `/v1` without the page and the agent.
        open_browser: where there is a terminal, and so a person.
        upstream: an OpenAI-compatible server to use instead of a core of our own.
        allow_hosts: further names that a `Host` header may have.
        api_keys: that open `/v1` and all else; with one, or with `require_key`, everybody needs one.
        allow_origins: of pages that may use `/v1` beside our own.
        tls_cert, tls_key: PEM files of the public address; both or none.
        memory_budget, kv_budget, prompt_cache: bytes; None: what the machine has. A cache of 0 is off.
        ssd_cache: None is off.
        temperature, top_p, top_k, min_p, max_tokens, thinking: where a request says nothing; None: the
            model.
        chat_template: in Jinja, instead of the model's own.
        chat_template_args: values for the template, where a request does not set them.
        log_level: of what is told on standard error, one of `LOG_LEVELS`.
        log_prompts: whether the request log has the texts of prompts and answers.
        lane_debug: tell on standard error which lane each request takes, and why.
        agent_debug: tell on standard error what the agent's turns do.
        workspace: folders that the agent's tools may use beside the one in `home`.
        max_steps: of one turn of the agent.
        core_command: starts a core; the number of its socket is appended. `-P`: nothing is imported from
            the folder that Fireside was started in.
    """

    home: Home
    model: str | None = None
    models_dirs: tuple[Path, ...] = ()
    model_pool: int = 1
    pinned: tuple[str, ...] = ()
    model_aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    idle_unload: float | None = None
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    unix_socket: Path | None = None
    api_only: bool = False
    open_browser: bool = True
    upstream: str | None = None
    allow_hosts: tuple[str, ...] = ()
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    require_key: bool = False
    allow_origins: tuple[str, ...] = ()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    memory_budget: int | None = None
    kv_budget: int | None = None
    prompt_cache: int | None = None
    ssd_cache: SsdCache | None = SsdCache()
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    max_tokens: int | None = None
    thinking: bool | None = None
    chat_template: str | None = None
    chat_template_args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    max_rows: int = MAX_ROWS
    max_queue: int = MAX_QUEUE
    log_level: str = "WARNING"
    log_prompts: bool = False
    lane_debug: bool = False
    agent_debug: bool = False
    workspace: tuple[Path, ...] = ()
    max_steps: int = MAX_STEPS
    core_command: tuple[str, ...] = (sys.executable, "-P", "-m", "fireside.core")

    @property
    def ssd_folder(self) -> Path:
        """Where the SSD cache lies, or would if it were on."""
        return (self.ssd_cache and self.ssd_cache.folder) or self.home.ssd_cache

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the public address."""
        if self.unix_socket is not None or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def needs_keys(self) -> bool:
        """Whether a request must come with a key."""
        return bool(self.api_keys) or self.require_key or not self.is_local
