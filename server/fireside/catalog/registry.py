"""The models on this machine, kept in SQLite: only those are read again whose files have changed.

The file may be deleted at any time. It is made anew where it is damaged, or was written by other code, and
done without where the disk is full or it may not be written.
"""

import logging
import sqlite3
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import TypeVar

import msgspec

from fireside.catalog.database_errors import is_damage
from fireside.catalog.families import Families
from fireside.catalog.places import Place, Roots, default_hub_cache, full_path, locate
from fireside.catalog.scan import ModelFacts, fingerprint, scan
from fireside.catalog.scan_weights import WeightFacts
from fireside.paths import Home

log = logging.getLogger(__name__)

T = TypeVar("T")

Progress = Callable[[int, int, str], None]
"""Called with models done, models in all, and the one that is read next."""

_LAYOUT = 1
"""Raised when a scan comes to other values for the same files."""

_BUSY_S = 10.0
_NEWEST_SHARE = 0.3
"""Of the newest answer in a measured rate: the latest few count most."""

_TABLES = """
DROP TABLE IF EXISTS models;
DROP TABLE IF EXISTS measured;
CREATE TABLE models (path TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, facts BLOB NOT NULL);
CREATE TABLE measured (
    repo_id TEXT PRIMARY KEY, tps REAL NOT NULL, answers INTEGER NOT NULL, at REAL NOT NULL
);
"""


class Catalog:
    """What is known of the models below some roots. Everything here blocks, and any thread may call it."""

    def __init__(self, database: Path, roots: Roots) -> None:
        """
        Args:
            database: made on the first use, in a folder that is there.
        """
        self._database = database
        self._roots = roots
        self._lock = Lock()
        self._without_file = False
        self._spare: sqlite3.Connection | None = None

    @classmethod
    def of_home(cls, home: Home, folders: Sequence[Path] = ()) -> "Catalog":
        """That of one Fireside: the Hugging Face cache, the models that it made, and further folders."""
        return cls(home.catalog, Roots(folders=(home.models, *folders)))

    @property
    def roots(self) -> Roots:
        """Where it looks."""
        return self._roots

    def refresh(self, progress: Progress | None = None, *, everything: bool = False) -> list[ModelFacts]:
        """Look what is there now; one row a name, sorted by name.

        Args:
            everything: read also the models whose files are as they were.
        """
        with self._lock:
            return self._retried(lambda: self._refresh(progress, everything))

    def record_rate(self, repo_id: str, tps: float) -> None:
        """Note how fast a model wrote an answer, in tokens a second.

        Of a long answer that was alone, so that it says what the machine can do.
        """
        with self._lock:
            self._retried(lambda: self._record(repo_id, tps))

    def rates(self) -> dict[str, float]:
        """Measured tokens a second, by the model's name."""
        with self._lock:
            return self._retried(self._rates)

    def _refresh(self, progress: Progress | None, everything: bool) -> list[ModelFacts]:
        places = locate(self._roots)
        prints = {place: fingerprint(place) for place in places}
        with self._connected() as database:
            known = {} if everything else _known(database)
            stale = [place for place in places if known.get(str(place.path), ("",))[0] != prints[place]]
            fresh = _scanned(stale, progress)
            with database:
                _reap(database, places, self._roots)
                database.executemany(
                    "INSERT OR REPLACE INTO models VALUES (?, ?, ?)",
                    [(str(p.path), prints[p], msgspec.json.encode(facts)) for p, facts in fresh.items()],
                )
        rows = [
            fresh.get(place) or msgspec.json.decode(known[str(place.path)][1], type=ModelFacts)
            for place in places
        ]
        return _one_a_name(
            msgspec.structs.replace(row, repo_id=place.repo_id)
            for row, place in zip(rows, places, strict=True)
        )

    def _record(self, repo_id: str, tps: float) -> None:
        with self._connected() as database, database:
            database.execute(
                "INSERT INTO measured VALUES (?1, ?2, 1, ?3) ON CONFLICT (repo_id) DO UPDATE SET"
                " tps = tps * (1 - ?4) + ?2 * ?4, answers = answers + 1, at = ?3",
                (repo_id, tps, time.time(), _NEWEST_SHARE),
            )

    def _rates(self) -> dict[str, float]:
        with self._connected() as database:
            return dict(database.execute("SELECT repo_id, tps FROM measured").fetchall())

    def _retried(self, work: Callable[[], T]) -> T:
        """Run something; once more with a new file where the old one turns out to be damaged.

        Without a file where there can be none: all that is known can be found out again.
        """
        try:
            return work()
        except (sqlite3.Error, msgspec.DecodeError) as error:
            log.warning("%s cannot be used: %s", self._database, error)
            damaged = not isinstance(error, sqlite3.Error) or is_damage(error)
        try:
            if damaged:
                self._database.unlink(missing_ok=True)
                self._database.with_name(f"{self._database.name}-journal").unlink(missing_ok=True)
                return work()
        except (OSError, sqlite3.Error) as error:
            log.warning("%s cannot be made anew: %s", self._database, error)
        self._without_file = True
        try:
            return work()
        finally:
            self._without_file = False

    @contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        if self._without_file:
            if self._spare is None:
                self._spare = sqlite3.connect(":memory:", check_same_thread=False)
                _prepare(self._spare)
            yield self._spare
            return
        # Immediate: whoever asks for the lock only after reading is refused where two do so at once.
        opened = sqlite3.connect(self._database, timeout=_BUSY_S, isolation_level="IMMEDIATE")
        with closing(opened) as database:
            # What a loss of power may do to the file costs no more than another scan.
            database.execute("PRAGMA synchronous = OFF")
            _prepare(database)
            yield database


@cache
def _layout() -> int:
    """A number for what rows mean: other code, or another mlx-lm, makes other rows of the same files."""
    try:
        mlx_lm = version("mlx-lm")
    except PackageNotFoundError:
        mlx_lm = ""
    fields = (ModelFacts.__struct_fields__, tuple(WeightFacts.__dataclass_fields__))
    return zlib.crc32(repr((_LAYOUT, mlx_lm, fields)).encode()) & 0x7FFFFFFF


def _prepare(database: sqlite3.Connection) -> None:
    layout = _layout()
    if database.execute("PRAGMA user_version").fetchone()[0] != layout:
        database.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {layout}; COMMIT;")


def _known(database: sqlite3.Connection) -> dict[str, tuple[str, bytes]]:
    rows = database.execute("SELECT path, fingerprint, facts FROM models")
    return {path: (print_, facts) for path, print_, facts in rows}


def _scanned(places: list[Place], progress: Progress | None) -> dict[Place, ModelFacts]:
    families = Families.installed() if places else None
    found: dict[Place, ModelFacts] = {}
    for done, place in enumerate(places):
        if progress is not None:
            progress(done, len(places), place.repo_id)
        if families is not None:
            found[place] = scan(place, families)
    if progress is not None and places:
        progress(len(places), len(places), "")
    return found


def _reap(database: sqlite3.Connection, places: list[Place], roots: Roots) -> None:
    """Forget models that are gone. Those below other roots, which somebody else named, stay."""
    here = {str(place.path) for place in places}
    tops = [full_path(top) for top in (roots.hub_cache or default_hub_cache(), *roots.folders)]
    for (path,) in database.execute("SELECT path FROM models").fetchall():
        below = any(Path(path).is_relative_to(top) for top in tops)
        if path not in here and (below or not Path(path).exists()):
            database.execute("DELETE FROM models WHERE path = ?", (path,))


def _one_a_name(rows: Iterable[ModelFacts]) -> list[ModelFacts]:
    """Of several models of a name the first one that is complete, else the first one."""
    found: dict[str, ModelFacts] = {}
    for row in rows:
        if row.repo_id not in found or (row.complete and not found[row.repo_id].complete):
            found[row.repo_id] = row
    return sorted(found.values(), key=lambda row: row.repo_id.lower())
