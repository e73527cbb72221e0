"""Puts an SSD tier together for a model that has been loaded."""

import logging
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import mlx.nn as nn
from mlx_lm.models.cache import make_prompt_cache

from fireside.core.cache.ssd_folder import Folder, NoRoomError
from fireside.core.cache.ssd_index import Index
from fireside.core.cache.ssd_key import model_key
from fireside.core.cache.ssd_state import UnknownStateError
from fireside.core.cache.ssd_tier import Identity, SsdTier
from fireside.wire import SsdSettings

log = logging.getLogger(__name__)

_WAIT_S = 0.5
"""For a look at all files; of thousands the rest is looked at while the model is served already."""


def open_tier(settings: SsdSettings, model: nn.Module, folder: Path) -> SsdTier | None:
    """The tier with what earlier runs have left; None, and a warning, where there can be none.

    Args:
        folder: of the model.
    """
    began = time.monotonic()
    try:
        key = model_key(model, folder)
        index = Index(Folder(Path(settings.dir), settings.max_bytes), key)
        # The tier may be allowed less than it was in its last run, and the disk be fuller.
        with suppress(NoRoomError):
            index.folder.make_room(0, time.time(), index.remove)
    except (OSError, UnknownStateError) as error:
        log.warning("there is no SSD cache: %s: %s", type(error).__name__, error)
        return None
    scan = threading.Thread(target=_scan, args=(index, began), name="ssd-scan", daemon=True)
    scan.start()
    scan.join(_WAIT_S)
    return SsdTier(index, Identity(key, str(folder)), settings, partial(make_prompt_cache, model))


def _scan(index: Index, began: float) -> None:
    try:
        index.scan()
        used = index.folder.used_bytes()
    except OSError as error:
        log.warning("the SSD cache cannot be looked at: %s: %s", type(error).__name__, error)
        return
    if len(index):
        log.info(
            "SSD cache: %d entries of this model, %.2f of %.2f GB used, opened in %.0f ms",
            len(index),
            used / 1e9,
            index.folder.max_bytes / 1e9,
            1000 * (time.monotonic() - began),
        )
