"""The catalog's file: what is read again, what is forgotten, and that it may be lost at any time."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from fireside.catalog import registry
from fireside.catalog.places import Roots
from fireside.catalog.registry import Catalog
from fireside.catalog.scan import ModelFacts
from fireside.paths import Home
from support.local_models import COMMIT, OTHER_COMMIT, write_cached, write_model


class Watched(Catalog):
    """Counts what it reads."""

    def read(self, *, everything: bool = False) -> tuple[list[str], list[str]]:
        """Names of the models that are there, and of those that were read for it."""
        seen: list[str] = []
        found = self.refresh(lambda _done, _total, name: seen.append(name), everything=everything)
        return [model.repo_id for model in found], [name for name in seen if name]


@pytest.fixture
def catalog(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "catalog.db", Roots(tmp_path / "hub", (tmp_path / "models",)))


@pytest.fixture
def three(catalog: Watched, tmp_path: Path) -> Watched:
    write_cached(tmp_path / "hub", "org/b")
    write_cached(tmp_path / "hub", "org/a")
    write_model(tmp_path / "models" / "own")
    assert catalog.read() == (["org/a", "org/b", "own"], ["org/a", "org/b", "own"])
    return catalog


def test_without_any_folder_there_are_no_models(catalog: Watched) -> None:
    assert catalog.read() == ([], [])


def test_only_what_has_changed_is_read_again(three: Watched, tmp_path: Path) -> None:
    names = ["org/a", "org/b", "own"]
    assert three.read() == (names, [])
    os.utime(tmp_path / "models" / "own" / "config.json", (1, 1))
    assert three.read() == (names, ["own"])
    (tmp_path / "hub" / "models--org--a" / "blobs" / "x.incomplete").touch()
    assert three.read() == (names, ["org/a"])
    assert three.read(everything=True) == (names, names)
    other = Watched(tmp_path / "catalog.db", three.roots)
    assert other.read() == (names, [])


def test_a_replaced_file_of_the_same_size_and_time_is_noticed(three: Watched, tmp_path: Path) -> None:
    config = tmp_path / "models" / "own" / "config.json"
    stat = config.stat()
    other = config.with_name("other")
    other.write_bytes(config.read_bytes().replace(b"4096", b"2048"))
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.rename(config)
    assert config.stat().st_size == stat.st_size
    (row,) = (model for model in three.refresh() if model.repo_id == "own")
    assert row.context_window == 2048


def test_models_that_are_gone_are_forgotten(three: Watched, tmp_path: Path) -> None:
    (tmp_path / "models" / "own").rename(tmp_path / "elsewhere")
    assert three.read() == (["org/a", "org/b"], [])
    assert paths_in(tmp_path) == {"hub"}


def paths_in(tmp_path: Path) -> set[str]:
    with sqlite3.connect(tmp_path / "catalog.db") as database:
        rows = database.execute("SELECT path FROM models").fetchall()
    database.close()
    return {Path(path).relative_to(tmp_path).parts[0] for (path,) in rows}


def test_models_below_roots_of_others_stay_as_long_as_they_are_there(three: Watched, tmp_path: Path) -> None:
    narrow = Watched(tmp_path / "catalog.db", Roots(tmp_path / "hub"))
    assert narrow.read() == (["org/a", "org/b"], [])
    assert three.read() == (["org/a", "org/b", "own"], [])
    (tmp_path / "models" / "own").rename(tmp_path / "elsewhere")
    narrow.read()
    assert paths_in(tmp_path) == {"hub"}


def test_of_a_repository_with_several_snapshots_there_is_one_row(catalog: Watched, tmp_path: Path) -> None:
    write_cached(tmp_path / "hub", "org/m", commit=OTHER_COMMIT)
    assert [model.revision for model in catalog.refresh()] == [OTHER_COMMIT]
    write_cached(tmp_path / "hub", "org/m", {"max_position_embeddings": 7})
    assert [model.revision for model in catalog.refresh()] == [COMMIT]


def test_of_two_models_of_a_name_the_complete_one_counts(catalog: Watched, tmp_path: Path) -> None:
    snapshot = write_cached(tmp_path / "hub", "org/m")
    write_model(tmp_path / "models" / "org" / "m")
    assert [model.origin for model in catalog.refresh()] == ["hub"]
    (snapshot / "config.json").unlink()
    assert [model.origin for model in catalog.refresh()] == ["folder"]


@pytest.mark.parametrize("damage", ["nonsense", "cut", "other tables", "other rows", "gone"])
def test_a_damaged_file_is_made_anew(damage: str, three: Watched, tmp_path: Path) -> None:
    file = tmp_path / "catalog.db"
    three.record_rate("own", 5)
    if damage == "nonsense":
        file.write_bytes(b"not a database" * 500)
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:5000])
    elif damage == "gone":
        file.unlink()
    else:
        with sqlite3.connect(file) as database:
            if damage == "other tables":
                database.execute("ALTER TABLE models RENAME COLUMN facts TO others")
            else:
                database.execute("UPDATE models SET facts = '[]'")
        database.close()
    names = ["org/a", "org/b", "own"]
    assert three.read()[0] == names
    assert three.read() == (names, [])
    assert three.rates() == {}


@pytest.mark.parametrize("trouble", ["a folder", "a view", "a lock"])
def test_models_are_told_where_the_file_cannot_be_used(
    trouble: str, three: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "catalog.db"
    monkeypatch.setattr(registry, "_BUSY_S", 0.05)
    three.record_rate("own", 5)
    if trouble != "a lock":
        file.unlink()
    if trouble == "a folder":
        file.mkdir()
    with closing(sqlite3.connect(":memory:" if trouble == "a folder" else file)) as database:
        if trouble == "a view":
            database.executescript("CREATE VIEW models AS SELECT 1")
        elif trouble == "a lock":
            database.execute("BEGIN EXCLUSIVE")
        for _ in range(2):
            assert three.read()[0] == ["org/a", "org/b", "own"]
        three.record_rate("own", 7)
    if trouble == "a lock":
        assert three.rates() == {"own": 5}


def test_a_file_of_other_code_is_made_anew(
    three: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_layout", lambda: 7)
    assert three.read()[1] == ["org/a", "org/b", "own"]
    assert three.read()[1] == []


def test_rates_are_kept_and_follow_what_is_measured(three: Watched, tmp_path: Path) -> None:
    three.record_rate("org/a", 10)
    assert three.rates() == {"org/a": 10}
    three.record_rate("org/a", 20)
    assert 10 < three.rates()["org/a"] < 20
    for _ in range(30):
        three.record_rate("org/a", 20)
    assert Watched(tmp_path / "catalog.db", three.roots).rates() == {"org/a": pytest.approx(20, rel=0.01)}


def test_many_threads_and_two_catalogs_at_once_agree(three: Watched, tmp_path: Path) -> None:
    other = Catalog(tmp_path / "catalog.db", three.roots)
    found: list[list[ModelFacts]] = []

    def look(catalog: Catalog) -> None:
        for _ in range(3):
            found.append(catalog.refresh(everything=True))
            catalog.record_rate("own", 1)

    threads = [threading.Thread(target=look, args=(catalog,)) for catalog in (three, other) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    assert all(each == found[0] for each in found)


def test_the_catalog_of_a_home_has_its_models_and_the_cache_that_the_environment_names(
    tmp_path: Path, hub_cache: Path
) -> None:
    write_cached(hub_cache, "org/a")
    home = Home(tmp_path / "home")
    home.create()
    write_model(home.models / "own")
    write_model(tmp_path / "more" / "third")
    found = Catalog.of_home(home, [tmp_path / "more"]).refresh()
    assert [model.repo_id for model in found] == ["org/a", "own", "third"]
    assert home.catalog.is_file()
