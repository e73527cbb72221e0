"""What the clients of others need beside the shared server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.embedders import make_decoder
from support.server import Server, prepared_home, serving


@pytest.fixture(scope="session")
def embedder(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Fireside that serves a small embedder."""
    model = make_decoder(tmp_path_factory.mktemp("models") / "tiny-embedder")
    home = prepared_home(tmp_path_factory.mktemp("embedder"), server.home)
    with serving(home, "--api-only", model=model) as running:
        yield running.wait_ready()
