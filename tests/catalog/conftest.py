from __future__ import annotations

from pathlib import Path

import pytest

from fireside.catalog.embedded import ensure_embedded_model, find_gguf
from support.gguf_reference import GgufFile


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model, converted once. Tests only read it."""
    return ensure_embedded_model(tmp_path_factory.mktemp("models"), lambda _done, _total: None)


@pytest.fixture(scope="session")
def gguf() -> GgufFile:
    """The file that it is converted from, read by other code."""
    return GgufFile(find_gguf())
