"""When a model counts as one that nobody asks."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from fireside.catalog.resolve import ModelSource
from fireside.hosting.hosted import HostedModel


async def test_the_time_that_loading_takes_is_not_time_without_a_request() -> None:
    metrics = SimpleNamespace(another=lambda: None)
    model = HostedModel(
        ModelSource("slow", "slow", Path("slow"), "folder"), cast(Any, SimpleNamespace(metrics=metrics))
    )
    model.used_at -= 1000
    waiting = asyncio.create_task(model.settled())
    await asyncio.sleep(0)
    model.board.update(phase="ready", detail="Ready")
    assert (await waiting).phase == "ready"
    assert time.monotonic() - model.used_at < 10
