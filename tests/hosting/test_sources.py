"""Where a model is that has run before: it may have changed, moved or gone since."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fireside.catalog.resolve import ModelNotFoundError
from fireside.config import ServeConfig
from fireside.hosting.sources import Sources
from fireside.paths import Home
from support.local_models import COMMIT, OTHER_COMMIT, write_cached, write_model


@pytest.fixture
def sources(tmp_path: Path, hub_cache: Path) -> Sources:
    return Sources(ServeConfig(Home(tmp_path / "home"), models_dirs=(tmp_path / "models",)))


async def test_an_update_is_what_runs_next_and_what_is_gone_is_not_found(
    sources: Sources, hub_cache: Path
) -> None:
    write_cached(hub_cache, "org/model")
    assert (await sources.find("org/model")).path.name == COMMIT
    write_cached(hub_cache, "org/model", {"rope_theta": 5.0}, commit=OTHER_COMMIT)
    shutil.rmtree(hub_cache / "models--org--model/snapshots" / COMMIT)
    assert (await sources.find("org/model")).path.name == OTHER_COMMIT
    # Nothing that merely has the words in its name takes the place of a model that has run.
    write_cached(hub_cache, "org/model-large")
    shutil.rmtree(hub_cache / "models--org--model")
    with pytest.raises(ModelNotFoundError, match="gone"):
        await sources.find("org/model")
    assert list(sources) == []


async def test_a_folder_from_anywhere_keeps_the_name_it_had(sources: Sources, tmp_path: Path) -> None:
    write_model(tmp_path / "models" / "owner" / "mine")
    folder = write_model(tmp_path / "elsewhere" / "mine")
    by_path = await sources.find(str(folder))
    assert (by_path.id, by_path.path) == ("mine", folder)
    assert await sources.find("mine") == by_path
    shutil.rmtree(folder)
    with pytest.raises(ModelNotFoundError):
        await sources.find("mine")


async def test_a_snapshot_that_was_named_by_its_path_stays_that_one(
    sources: Sources, hub_cache: Path
) -> None:
    old = write_cached(hub_cache, "org/model")
    write_cached(hub_cache, "org/model", {"rope_theta": 5.0}, commit=OTHER_COMMIT)
    assert (await sources.find(str(old))).id == "org/model"
    assert (await sources.find("org/model")).path == old
