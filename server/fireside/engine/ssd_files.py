"""The SSD tier's files, seen without MLX: whose they are."""

from __future__ import annotations

import re
import struct
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import msgspec

_NAME = re.compile(r"[0-9a-f]{32}-[0-9]{1,9}-[0-9a-f]{32}\.safetensors")
_LENGTH = struct.Struct("<Q")
_MOST_HEADER = 64 << 20


class _Facts(msgspec.Struct):
    model: str
    owner: str = ""


def model_of(path: Path) -> str | None:
    """The folder of the model that a file of the tier was written for; None where the file does not say."""
    facts = _facts(path)
    return facts and facts.model


def owner_of_file(path: Path) -> str | None:
    """Whose chat a file of the tier is of, see `wire.Submit`; None where the file does not say."""
    facts = _facts(path)
    return facts and facts.owner


def _facts(path: Path) -> _Facts | None:
    try:
        with path.open("rb") as stream:
            length = _LENGTH.unpack(stream.read(_LENGTH.size))[0]
            header = msgspec.json.decode(stream.read(min(length, _MOST_HEADER)))
        return msgspec.json.decode(header["__metadata__"]["fireside"], type=_Facts)
    except (OSError, struct.error, msgspec.MsgspecError, KeyError, TypeError, ValueError):
        return None


def orphaned_files(folder: Path, going: Collection[Path] = ()) -> list[tuple[Path, int]]:
    """The files of models that are gone, with their sizes in bytes.

    Args:
        folder: of the tier; need not be there.
        going: folders of models that are about to be removed.
    """
    leaving = {str(path) for path in going}
    found: list[tuple[Path, int]] = []
    for path, size in tier_files(folder):
        model = model_of(path)
        if model is not None and (model in leaving or not Path(model).exists()):
            found.append((path, size))
    return found


def tier_files(folder: Path) -> list[tuple[Path, int]]:
    """The finished files of the tier, with their sizes in bytes; cores may be removing some meanwhile.

    Args:
        folder: of the tier; need not be there.
    """
    found: list[tuple[Path, int]] = []
    for path in folder.glob("*.safetensors"):
        if _NAME.fullmatch(path.name):
            with suppress(FileNotFoundError):
                found.append((path, path.stat().st_size))
    return found
