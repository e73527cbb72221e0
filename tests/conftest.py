"""Fixtures that any test may need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import chromium
from support.embedders import make_decoder
from support.server import Server, prepared_home, serving

os.environ.update({name: os.environ.get(name, value) for name, value in chromium.PLAYWRIGHT.items()})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not chromium.opted_out():
        return
    left_out = [item for item in items if item.get_closest_marker("browser")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def chromium_options() -> dict[str, Any]:
    """What `playwright.chromium.launch` must be given to start the Chromium of this machine.

    Playwright turns the sandbox off by itself (root has none) and keeps quiet on the network for the most
    part; the switches here are for what remains.
    """
    quiet = ["--disable-quic", "--disable-domain-reliability", "--disable-gpu"]
    return {"executable_path": chromium.find(), "args": quiet}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The Fireside that tests share as long as they neither kill nor reconfigure it; `pocket` answers."""
    with serving(tmp_path_factory.mktemp("shared")) as running:
        yield running.wait_ready()


@pytest.fixture(scope="session")
def default_server(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A shared Fireside with the model that users get by default, for answers that need knowledge.

    It answers the same each time, so that what it knows does not depend on the draw.
    """
    home = prepared_home(tmp_path_factory.mktemp("default"), server.home)
    with serving(home, "--temperature", "0", model=None) as running:
        yield running.wait_ready()


@pytest.fixture(scope="session")
def dying(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose core may be killed: it is there again for the next test."""
    with serving(prepared_home(tmp_path_factory.mktemp("dying"), server.home)) as running:
        yield running.wait_ready()


@pytest.fixture(scope="session")
def embedder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small decoder with random weights that embeds."""
    return make_decoder(tmp_path_factory.mktemp("models") / "tiny-embedder")


@pytest.fixture(scope="session")
def embedder(
    server: Server, embedder_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A shared Fireside that serves it."""
    home = prepared_home(tmp_path_factory.mktemp("embedder"), server.home)
    with serving(home, "--api-only", model=embedder_folder) as running:
        yield running.wait_ready()


@pytest.fixture
def home(server: Server, tmp_path: Path) -> Path:
    """A fresh home that starts quickly."""
    return prepared_home(tmp_path / "home", server.home)


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this process has its Hugging Face cache, which is not there yet."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"
