"""What is planned for removal, and that nothing else goes: on caches written by hand."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from fireside.catalog.hub import converted
from fireside.catalog.hub.cache_layout import RepoFolder
from fireside.catalog.hub.clean_up import GcPlan, Surroundings, execute, plan
from fireside.catalog.hub.errors import DownloadConflict

OLD, NEW, OTHER = ("1" * 40, "2" * 40, "3" * 40)


class Cache:
    """A Hugging Face cache with one repository."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.repo = RepoFolder.of(root / "hub", "org/model")
        self.repo.blobs.mkdir(parents=True)

    def blob(self, body: bytes) -> str:
        digest = hashlib.sha256(body).hexdigest()
        self.repo.blob(digest).write_bytes(body)
        return digest

    def snapshot(self, commit: str, files: dict[str, bytes]) -> Path:
        for name, body in files.items():
            self.repo.link(commit, name, self.blob(body))
        return self.repo.snapshots / commit

    def around(self, **more: frozenset[Path] | frozenset[str]) -> Surroundings:
        return replaced(Surroundings(self.root / "hub", self.root / "models"), **more)


def replaced(around: Surroundings, **more: object) -> Surroundings:
    return Surroundings(**{**vars(around), **more})  # type: ignore[arg-type]


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """Two commits with a file in common; the branch has moved to the second."""
    made = Cache(tmp_path)
    made.snapshot(OLD, {"config.json": b"{}", "model.safetensors": b"old" * 100})
    made.snapshot(NEW, {"config.json": b"{}", "model.safetensors": b"new" * 100})
    made.repo.write_ref("main", NEW)
    return made


def removed(made: GcPlan) -> tuple[list[str], int]:
    return [commit for each in made.superseded for commit in each.prune_snapshots], made.reclaim_bytes


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


def test_a_superseded_snapshot_goes_and_what_it_shares_stays(cache: Cache) -> None:
    made = plan(cache.around())
    assert removed(made) == ([OLD], 300)
    assert made.ok
    done = execute(cache.around(), made.token)
    assert (done.snapshots, done.blobs, done.reclaimed_bytes, done.failed) == (1, 1, 300, [])
    new = cache.repo.snapshots / NEW
    assert (new / "config.json").read_bytes() == b"{}"
    assert (new / "model.safetensors").read_bytes() == b"new" * 100
    assert [path.name for path in cache.repo.snapshots.iterdir()] == [NEW]
    assert removed(plan(cache.around())) == ([], 0)


def test_a_plan_removes_nothing(cache: Cache) -> None:
    before = files(cache.root)
    plan(cache.around(), force=True)
    assert files(cache.root) == before


def test_every_ref_keeps_its_snapshot(cache: Cache) -> None:
    cache.repo.write_ref("refs/pr/1", OLD)
    assert removed(plan(cache.around())) == ([], 0)


def test_what_a_core_has_loaded_stays(cache: Cache) -> None:
    used = frozenset({cache.repo.snapshots / OLD})
    assert removed(plan(cache.around(in_use=used))) == ([], 0)


def test_nothing_of_a_download_that_goes_on_is_touched(cache: Cache) -> None:
    cache.repo.partial("a" * 64).write_bytes(b"half")
    made = plan(cache.around(live=frozenset({"org/model"})))
    assert (removed(made), made.partials) == (([], 0), [])


def test_a_snapshot_with_a_file_that_no_other_has_stays_unless_forced(cache: Cache) -> None:
    cache.snapshot(OTHER, {"config.json": b"{}", "adapter.safetensors": b"only here"})
    made = plan(cache.around())
    assert removed(made) == ([OLD], 300)
    assert made.superseded[0].skipped_snapshots == [OTHER]
    execute(cache.around(), made.token)
    assert (cache.repo.snapshots / OTHER / "adapter.safetensors").read_bytes() == b"only here"
    forced = plan(cache.around(), force=True)
    assert removed(forced) == ([OTHER], 9)
    execute(cache.around(), forced.token, force=True)
    assert not (cache.repo.snapshots / OTHER).exists()


@pytest.mark.parametrize("ref", [None, OTHER])
def test_a_repository_without_a_usable_ref_is_left_alone(cache: Cache, ref: str | None) -> None:
    (cache.repo.refs / "main").unlink()
    if ref is not None:
        cache.repo.write_ref("main", ref)
    cache.blob(b"in no snapshot")
    assert plan(cache.around()).superseded == []


def test_dead_contents_go_but_not_one_that_is_being_written(cache: Cache) -> None:
    cache.repo.write_ref("old", OLD)
    dead, written = cache.blob(b"dead"), cache.blob(b"being written")
    with cache.repo.locked(written):
        made = plan(cache.around())
    assert made.superseded[0].dead_blobs == [dead]
    assert made.reclaim_bytes == 4


def test_partial_files_go_but_not_one_that_is_being_written(cache: Cache) -> None:
    cache.repo.write_ref("old", OLD)
    dead, written = "a" * 64, "b" * 64
    # The library gives each attempt a name of its own, and locks by the first part of it.
    cache.repo.partial(dead).write_bytes(b"half")
    (cache.repo.blobs / f"{written}.0123abcd.incomplete").write_bytes(b"half")
    lock = cache.repo.lock_file(written)
    lock.parent.mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        made = plan(cache.around())
    assert [Path(each.path).name for each in made.partials] == [f"{dead}.incomplete"]
    assert execute(cache.around(), plan(cache.around()).token).partials == 2


def test_conversions_that_do_not_go_on_go(cache: Cache) -> None:
    cache.repo.write_ref("old", OLD)
    models = cache.root / "models"
    dead, alive = (converted.prepare(converted.target(models, "org/model", bits)) for bits in (4, 8))
    (dead / "model").mkdir()
    (dead / "model" / "model.safetensors").write_bytes(b"12345")
    whole = converted.target(models, "org/model", 6)
    whole.mkdir()
    around = cache.around(building=frozenset({alive}))
    made = plan(around)
    assert [(each.path, each.bytes) for each in made.converted] == [(str(dead), 5)]
    assert execute(around, made.token).converted == 1
    assert sorted(models.iterdir()) == sorted([alive, whole])


def test_cache_files_of_models_that_are_gone_go(cache: Cache) -> None:
    orphan = cache.root / "orphan.safetensors"
    orphan.write_bytes(b"123")

    def orphans(going: Collection[Path]) -> list[tuple[Path, int]]:
        # Of a model that goes with the same plan.
        return [(orphan, 3)] if orphan.exists() and cache.repo.snapshots / OLD in going else []

    around = replaced(cache.around(), orphans=orphans)
    done = execute(around, plan(around).token)
    assert (done.snapshots, done.ssd_cache, orphan.exists()) == (1, 1, False)


def test_another_plan_by_then_is_refused(cache: Cache) -> None:
    token = plan(cache.around()).token
    before = files(cache.root)
    cache.blob(b"dead")
    with pytest.raises(DownloadConflict) as caught:
        execute(cache.around(), token)
    assert (caught.value.status, caught.value.error_code) == (409, "plan_changed")
    assert files(cache.root) >= before


def test_a_blob_that_is_a_link_into_a_shared_store_counts_nothing_and_leaves_the_store(cache: Cache) -> None:
    cache.repo.write_ref("old", OLD)
    store = cache.root / "hub" / "blobs" / "shared"
    store.parent.mkdir()
    store.write_bytes(b"shared")
    cache.repo.blob("c" * 64).symlink_to(os.path.relpath(store, cache.repo.blobs))
    made = plan(cache.around())
    assert (made.superseded[0].dead_blobs, made.reclaim_bytes) == (["c" * 64], 0)
    execute(cache.around(), made.token)
    assert store.read_bytes() == b"shared"


def test_an_empty_cache_has_an_empty_plan(tmp_path: Path) -> None:
    made = plan(Surroundings(tmp_path / "hub", tmp_path / "models"))
    assert (made.superseded, made.partials, made.reclaim_bytes) == ([], [], 0)


def test_what_another_process_has_said_to_use_stays(cache: Cache, tmp_path: Path) -> None:
    built = converted.prepare(converted.target(tmp_path / "models", "org/model", 4))
    folders = (str(cache.repo.snapshots / OLD), str(built))
    code = (
        "import sys, pathlib\n"
        "from fireside.catalog.in_use import hold\n"
        "held = [hold(pathlib.Path(each)) for each in sys.argv[1:]]\n"
        "print(flush=True), sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, *folders], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as user:
        assert user.stdout
        user.stdout.readline()
        made = plan(cache.around())
        assert (removed(made), made.converted) == (([], 0), [])
        with pytest.raises(DownloadConflict, match="another program"):
            converted.prepare(converted.target(tmp_path / "models", "org/model", 4))
        user.kill()
    made = plan(cache.around())
    assert (removed(made)[0], [each.path for each in made.converted]) == ([OLD], [str(built)])


def test_contents_of_a_snapshot_with_another_name_stay(cache: Cache) -> None:
    cache.snapshot("by-hand", {"model.safetensors": b"own" * 100})
    execute(cache.around(), plan(cache.around()).token)
    assert (cache.repo.snapshots / "by-hand" / "model.safetensors").read_bytes() == b"own" * 100
