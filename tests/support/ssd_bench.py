"""A core's scheduler with an SSD tier, without the process around it."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import mlx.nn as nn
from mlx_lm.models.cache import make_prompt_cache

from fireside import wire
from fireside.core.cache.prompt_cache import PromptCache
from fireside.core.cache.ssd_folder import Folder
from fireside.core.cache.ssd_index import Index
from fireside.core.cache.ssd_tier import Identity, SsdTier
from fireside.core.cache.ssd_upkeep import Upkeep
from fireside.core.scheduler import Scheduler
from support import random_models as models

PLENTY = 1 << 34
KEY = "0123456789abcdef" * 2
DEBOUNCE_S = 0.2
"""With the fixture `soon`."""


class Bench:
    """Everything anew on a folder, as after a restart."""

    def __init__(
        self,
        model: nn.Module,
        folder: Path,
        *,
        max_bytes: int = PLENTY,
        queue_bytes: int = PLENTY,
        demote_idle_s: float = 0,
        verify: bool = False,
        write_behind: bool = True,
        cache_bytes: int = PLENTY,
        kv_budget: int = PLENTY,
        key: str = KEY,
    ) -> None:
        self.settings = wire.SsdSettings(
            str(folder), max_bytes, queue_bytes, demote_idle_s, verify, write_behind
        )
        self.index = Index(Folder(folder, max_bytes), key)
        self.index.scan()
        self.tier = SsdTier(self.index, Identity(key, "/m"), self.settings, partial(make_prompt_cache, model))
        self.cache = PromptCache(cache_bytes)
        self.cache.below = self.tier
        self.sent: list[wire.Up] = []
        self.upkeep = Upkeep(self.tier, self.cache, demote_idle_s, self.sent.append)
        self.scheduler = Scheduler(model, models.VOCAB, self.cache, kv_budget, 64)
        self.answers: dict[int, list[int]] = {}
        self.prefill: list[wire.RowPrefill] = []

    def step(self) -> None:
        step = self.scheduler.step()
        self.prefill += step.prefill
        for token in step.tokens:
            self.answers.setdefault(token.id, []).append(token.token)
        self.upkeep.between_steps()

    def finish(self, *rows: wire.Submit) -> Bench:
        for row in rows:
            self.scheduler.apply(row)
        while self.scheduler.busy:
            self.step()
        return self

    def idle(self, seconds: float = 10.0) -> None:
        """What the core does while nothing comes, until nothing is left to do or the time is over."""
        until = time.monotonic() + seconds
        while (pause := self.upkeep.wait_s()) is not None and time.monotonic() < until:
            time.sleep(min(pause, 0.01))
            if not pause:
                self.upkeep.idle()

    def drain(self, within_s: float = 10.0, *, demote: bool = False) -> wire.Drained:
        """Write everything now."""
        self.upkeep.drain(wire.Drain(7, within_s, demote))
        while not (found := [message for message in self.sent if isinstance(message, wire.Drained)]):
            if self.upkeep.wait_s() == 0.0:
                self.upkeep.idle()
            else:
                time.sleep(0.001)
                self.upkeep.idle()
        self.sent.clear()
        return found[0]

    def progress(self, row: int) -> wire.RowPrefill:
        """The last that was said of how a row's prompt was read."""
        return [report for report in self.prefill if report.id == row][-1]


def row(number: int, ids: list[int]) -> wire.Submit:
    """A request for eight tokens."""
    return wire.Submit(number, ids, [], 8, [], wire.Sampling())


def files(folder: Path) -> list[Path]:
    """The finished files of the tier."""
    return sorted(folder.glob("*.safetensors"))
