"""What has been found out about this machine's BLAS libraries, kept from one start to the next."""

import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import cast

from fireside.core.machine import cpu_identity

Facts = dict[str, str | int | float | None]

_TELLING_ENVIRONMENT = ("OPENBLAS_", "GOTO_", "OMP_", "BLIS_", "MKL_")
_KEPT_S = 90 * 24 * 3600

_REFUSAL_KEPT_S = 24 * 3600
"""A library may have been refused because the machine was busy or short of memory."""

log = logging.getLogger(__name__)


def library_key(path: Path, *more: object) -> str:
    """Everything that a finding about a library depends on, as one short name.

    That is the file itself, wherever it lies, MLX, the CPU, the variables that steer such libraries,
    and `more`.

    Raises:
        OSError: there is no such file.
    """
    status = path.stat()
    return machine_key(path.name, status.st_size, status.st_mtime_ns, *more)


def machine_key(*more: object) -> str:
    """`library_key` without a library."""
    environment = sorted(item for item in os.environ.items() if item[0].startswith(_TELLING_ENVIRONMENT))
    parts = [version("mlx"), cpu_identity(), environment, *more]
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:32]


class BlasProofs:
    """A small JSON file of findings. Losing it costs a few seconds at the next start, no more."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, key: str) -> Facts | None:
        """The finding under `key`, or None if there is none that is recent enough."""
        facts = self._load().get(key)
        return facts if facts is not None and _is_recent(facts) else None

    def put(self, key: str, facts: Mapping[str, str | int | float | None]) -> None:
        """Keep a finding; a disk that cannot be written is only warned about."""
        kept = {name: old for name, old in self._load().items() if _is_recent(old)}
        kept[key] = {**facts, "found_at": int(time.time())}
        try:
            _replace(self._path, json.dumps(kept, indent=1))
        except OSError as error:
            log.warning(
                "%s cannot be written (%s): this is found out anew at every start.", self._path, error
            )

    def _load(self) -> dict[str, Facts]:
        try:
            loaded: object = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(loaded, dict):
            return {}
        entries = cast("dict[str, object]", loaded)
        return {key: cast("Facts", facts) for key, facts in entries.items() if isinstance(facts, dict)}


def _is_recent(facts: Facts) -> bool:
    """A finding without a time, or from the future, is not trusted."""
    found_at = facts.get("found_at")
    if not isinstance(found_at, int):
        return False
    return 0 <= time.time() - found_at < (_KEPT_S if facts.get("refused") is None else _REFUSAL_KEPT_S)


def _replace(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old or the new one, whoever else writes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
