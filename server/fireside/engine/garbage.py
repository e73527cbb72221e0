"""Spares the garbage collector what stays anyway.

A full collection looks through every object there is, and most are what imports have left: that takes a tenth
of a second and more, in which no chat opens and no answer goes on.
"""

from __future__ import annotations

import asyncio
import gc
import sys

from fireside.engine.status import StatusBoard


async def spare_what_stays(board: StatusBoard, every_s: float = 1.0) -> None:
    """Set aside all objects once a model is ready, and whenever something was imported since. Runs for good.

    When a model becomes ready again, or another one, all is looked through once: the one that left may be
    among what was set aside.

    Args:
        every_s: seconds between two looks.
    """
    ready = had_model = False
    modules = len(sys.modules)
    while True:
        await asyncio.sleep(every_s)
        before, ready = ready, board.current.phase == "ready"
        if ready and not before:
            if had_model:
                gc.unfreeze()
                gc.collect()
            had_model = True
        elif len(sys.modules) == modules:
            continue
        modules = len(sys.modules)
        gc.freeze()
