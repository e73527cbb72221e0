"""What is measured: a Fireside, and a stock `mlx_lm.server` beside it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from bench.serve import Prompts, Target, free_port, in_float32, running
from bench.stream import ask, chat_body

_BUILT_IN = "SmolLM2-135M-Instruct"
_WORDS_TRIED = (100, 300)


@dataclass(frozen=True)
class Setting:
    """What all measurements need to know.

    Attributes:
        model: a folder; None is the model that Fireside serves by default.
        home: FIRESIDE_HOME of the servers, so that a BLAS is proven and a model converted only once.
        scratch: for this run alone.
        rounds: that count; one more comes first.
        with_peer: whether mlx_lm.server is measured too.
        flags: further ones of `fireside serve`.
    """

    model: Path | None
    home: Path
    scratch: Path
    rounds: int
    with_peer: bool
    flags: Sequence[str] = ()

    @property
    def folder(self) -> Path:
        """The served model's files, there once a server has started."""
        return self.model or self.home / "models" / _BUILT_IN

    @property
    def name(self) -> str:
        return self.folder.name


@contextmanager
def fireside(setting: Setting, *flags: str, module: str = "fireside.cli") -> Iterator[Target]:
    """A Fireside of its own, ready to answer, started as `python -m MODULE serve`."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", module, "serve", "--no-open", "--port", str(port)]
    if setting.model is not None:
        command += ["--model", str(setting.model.resolve())]
    setting.home.mkdir(parents=True, exist_ok=True)
    log = setting.scratch / f"fireside-{port}.log"
    with running(
        [*command, *setting.flags, *flags], {"FIRESIDE_HOME": str(setting.home)}, f"{url}/health", log
    ):
        yield Target("Fireside", url, "any")


@contextmanager
def peer(setting: Setting, *flags: str) -> Iterator[Target]:
    """A stock mlx_lm.server on a float32 copy of the folder; call it while a Fireside has made the folder."""
    port = free_port()
    copy = setting.scratch / "float32"
    folder = copy if copy.exists() else in_float32(setting.folder, copy)
    command = [sys.executable, "-m", "mlx_lm", "server", "--model", str(folder), "--port", str(port)]
    url = f"http://127.0.0.1:{port}"
    log = setting.scratch / f"peer-{port}.log"
    with running([*command, *flags], {"HF_HUB_OFFLINE": "1"}, f"{url}/health", log):
        yield Target("mlx_lm.server", url, str(folder))


@contextmanager
def contestants(setting: Setting, *flags: str) -> Iterator[list[Target]]:
    """Fireside, and the peer where it is wanted."""
    with ExitStack() as stack:
        targets = [stack.enter_context(fireside(setting, *flags))]
        if setting.with_peer:
            targets.append(stack.enter_context(peer(setting)))
        yield targets


def stats(target: Target) -> dict[str, Any]:
    """`/stats` of a Fireside."""
    return httpx.get(f"{target.url}/stats", trust_env=False, timeout=30).raise_for_status().json()


def processes(target: Target) -> dict[str, psutil.Process]:
    """The app and the core of a Fireside."""
    core = psutil.Process(int(stats(target)["engine"]["pid"]))
    app = core.parent()
    if app is None:
        raise SystemExit("the core has no parent: the app is gone")
    return {"app": app, "core": core}


async def idle(target: Target, within_s: float = 60) -> dict[str, Any]:
    """Wait until no row runs or waits; returns the last `/stats`, whether or not it came to that."""
    for _ in range(int(within_s / 0.1)):
        found = await asyncio.to_thread(stats, target)
        if not any(found["batch"][key] for key in ("active_rows", "pending_rows", "kv_bytes")):
            return found
        await asyncio.sleep(0.1)
    return await asyncio.to_thread(stats, target)


class Work:
    """Things to ask a model.

    Args:
        model: its name; the tests' model counts, others tell stories.
    """

    def __init__(self, model: str) -> None:
        self._counts = model.startswith("pocket")
        self._model = model

    def endless(self, number: int) -> str:
        """A request whose answer does not end by itself for a long time; another one for each number."""
        if self._counts:
            return f"Count to {900 + number % 100}."
        return Prompts(number, "Write a very long story with many details about these.").story()

    async def long(self, target: Target, tokens: int, seed: int) -> str:
        """A text whose prompt has about so many tokens, no two beginning alike."""
        few, many = [
            (await ask(target, chat_body(target, _text(0, count), 1))).usage["prompt_tokens"]
            for count in _WORDS_TRIED
        ]
        each = (many - few) / (_WORDS_TRIED[1] - _WORDS_TRIED[0])
        return _text(seed + 1, round(_WORDS_TRIED[0] + (tokens - few) / each))


def _text(seed: int, words: int) -> str:
    return f"{seed} " + Prompts(seed, "").long(words + 40)
