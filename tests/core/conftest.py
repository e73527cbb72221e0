from __future__ import annotations

from pathlib import Path

import mlx.nn as nn
import pytest

from fireside.catalog.embedded import ensure_embedded_model
from fireside.core.cache import ssd_tier
from support import random_models
from support.ssd_bench import DEBOUNCE_S


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model, converted once. Tests only read it."""
    return ensure_embedded_model(tmp_path_factory.mktemp("models"), lambda _done, _total: None)


@pytest.fixture(scope="module")
def full() -> nn.Module:
    """A model whose caches can be trimmed."""
    return random_models.full_attention()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries wait a fifth of the usual time to be written."""
    monkeypatch.setattr(ssd_tier, "DEBOUNCE_S", DEBOUNCE_S)
