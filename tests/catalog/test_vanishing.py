"""Folders that come and go while they are looked at."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from fireside.catalog.hub.clean_up import Surroundings, plan
from fireside.catalog.hub.converted import staging, target
from fireside.catalog.places import Roots
from fireside.catalog.registry import Catalog
from fireside.catalog.resolve import ModelNotFoundError, resolve_model
from support.local_models import write_cached, write_model
from support.meanwhile import meanwhile

LASTING_S = 1.5


@contextmanager
def restless(hub: Path, models: Path) -> Iterator[None]:
    """Models are made and removed all the time until the block ends."""
    built = staging(target(models, "org/odd", 4))

    def churn(over: threading.Event) -> None:
        while not over.is_set():
            write_model(models / "odd")
            write_cached(hub, "org/odd")
            (hub / "models--org--odd" / "blobs" / f"{'a' * 64}.incomplete").write_text("x")
            write_model(built / "model")
            for folder in (models / "odd", hub / "models--org--odd", built):
                shutil.rmtree(folder)

    with meanwhile(churn):
        yield


def test_what_vanishes_meanwhile_is_no_failure(tmp_path: Path) -> None:
    hub, models = tmp_path / "hub", tmp_path / "models"
    write_model(models / "good")
    write_cached(hub, "org/good")
    catalog = Catalog(tmp_path / "catalog.db", Roots(hub, (models,)))

    def resolve() -> None:
        for name in ("odd", "org/odd"):
            with contextlib.suppress(ModelNotFoundError):
                resolve_model(name, models, hub)

    def look(once: Callable[[], object]) -> int:
        begin, count = time.monotonic(), 0
        while time.monotonic() - begin < LASTING_S:
            once()
            count += 1
        return count

    def refresh() -> None:
        assert {"good", "org/good"} <= {model.repo_id for model in catalog.refresh()}

    looks = (refresh, resolve, lambda: plan(Surroundings(hub, models), force=True))
    with restless(hub, models), ThreadPoolExecutor(len(looks)) as pool:
        counts = list(pool.map(look, looks))
    assert min(counts) > 0
