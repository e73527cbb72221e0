from __future__ import annotations

from pathlib import Path

import pytest

from fireside.catalog.embedded import ensure_embedded_model


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model, converted once. Tests only read it."""
    return ensure_embedded_model(tmp_path_factory.mktemp("models"), lambda _done, _total: None)
