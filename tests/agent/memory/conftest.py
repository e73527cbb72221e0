"""A new vault and its proposals."""

from __future__ import annotations

import asyncio
import shutil
import threading
from pathlib import Path

import pytest

from fireside_agent.memory.proposals import Proposals
from fireside_agent.memory.vault import Vault


@pytest.fixture(autouse=True)
def no_identity(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without any git settings, and an environment that would lead git astray."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GIT_DIR", str(home / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(home / "index"))
    return home


@pytest.fixture(scope="session")
def new_vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault as `init` makes it, to be copied."""
    root = tmp_path_factory.mktemp("new") / "wiki"
    thread = threading.Thread(target=lambda: asyncio.run(Vault(root).init()))
    thread.start()
    thread.join()
    return root


@pytest.fixture
def vault(new_vault: Path, tmp_path: Path) -> Vault:
    shutil.copytree(new_vault, tmp_path / "wiki")
    return Vault(tmp_path / "wiki", lock_seconds=0.3)


@pytest.fixture
def proposals(vault: Vault, tmp_path: Path) -> Proposals:
    return Proposals(vault, tmp_path / "proposals")
