"""Puts an SSD tier together for a model that has been loaded."""

import logging
import time
from functools import partial
from pathlib import Path

import mlx.nn as nn
from mlx_lm.models.cache import make_prompt_cache

from fireside.core.cache.ssd_folder import Folder
from fireside.core.cache.ssd_index import Index
from fireside.core.cache.ssd_key import model_key
from fireside.core.cache.ssd_state import UnknownStateError
from fireside.core.cache.ssd_tier import Identity, SsdTier
from fireside.wire import SsdSettings

log = logging.getLogger(__name__)


def open_tier(settings: SsdSettings, model: nn.Module, folder: Path) -> SsdTier | None:
    """The tier with what earlier runs have left; None, and a warning, where there can be none.

    Args:
        folder: of the model.
    """
    began = time.monotonic()
    try:
        key = model_key(model, folder)
        index = Index(Folder(Path(settings.dir), settings.max_bytes), key)
        index.scan()
    except (OSError, UnknownStateError) as error:
        log.warning("there is no SSD cache: %s: %s", type(error).__name__, error)
        return None
    if len(index):
        log.info(
            "SSD cache: %d entries of this model, %.2f of %.2f GB used, opened in %.0f ms",
            len(index),
            index.folder.used_bytes() / 1e9,
            settings.max_bytes / 1e9,
            1000 * (time.monotonic() - began),
        )
    return SsdTier(index, Identity(key, str(folder)), settings, partial(make_prompt_cache, model))
