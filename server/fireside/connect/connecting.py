"""From a program and a Fireside to the changes of files, and a record by which they can be undone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from fireside.connect.blocks import put_block, take_block
from fireside.connect.clients import PLACEHOLDER, SECRETS, BlockFile, JsonFile
from fireside.connect.files import CannotEdit, Change, read
from fireside.connect.json_values import Written, set_values, undo_values
from fireside.http.private_files import write_private


class Record:
    """What was set in whose JSON files, and what was there before: a private file of Fireside's.

    A TOML or YAML file needs no record: its block is marked.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._files = msgspec.json.decode(path.read_bytes(), type=dict[str, list[Written]])
        except FileNotFoundError:
            self._files = {}
        except (OSError, msgspec.DecodeError) as error:
            raise CannotEdit(f"{path}: {error}") from error

    def of(self, file: Path) -> list[Written]:
        return self._files.get(str(file), [])

    def note(self, file: Path, written: list[Written]) -> None:
        """Remember what was set in a file; nothing forgets the file."""
        self._files.pop(str(file), None)
        if written:
            self._files[str(file)] = written

    def save(self) -> None:
        if not self._files:
            self._path.unlink(missing_ok=True)
        else:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(self._path, msgspec.json.format(msgspec.json.encode(self._files)))


@dataclass(frozen=True)
class Plan:
    """What is to be done.

    Attributes:
        kept: names in JSON files that are not taken out, since somebody has changed them.
    """

    changes: list[Change]
    kept: list[str]


def connecting(files: Iterable[JsonFile | BlockFile], record: Record, key: str | None) -> Plan:
    """What to change so that a program asks Fireside. Nothing is written yet.

    Raises:
        CannotEdit: a file is not what it should be; the message names it.
    """
    changes: list[Change] = []
    for file in files:
        with _naming(file.path):
            before = read(file.path)
            secrets = frozenset(_keys_in(record.of(file.path)))
            if isinstance(file, BlockFile):
                after = put_block(before, file.body, file.check)
            else:
                after, written = set_values(before, file.values, record.of(file.path))
                record.note(file.path, written)
            changes.append(Change(file.path, before, after, secrets | frozenset([key] if key else [])))
    return Plan(_needed(changes), [])


def disconnecting(files: Iterable[JsonFile | BlockFile], record: Record) -> Plan:
    """What to change so that nothing of ours is left. Nothing is written yet.

    Raises:
        CannotEdit: a file is not what it should be; the message names it.
    """
    changes: list[Change] = []
    kept: list[str] = []
    for file in files:
        with _naming(file.path):
            before = read(file.path)
            secrets = frozenset(_keys_in(record.of(file.path)))
            if isinstance(file, BlockFile):
                after = take_block(before, file.check)
            else:
                after, changed = undo_values(before, record.of(file.path))
                kept += [f"{'.'.join(path)} in {file.path}" for path in changed]
                record.note(file.path, [])
            changes.append(Change(file.path, before, after, secrets))
    return Plan(_needed(changes), kept)


def _needed(changes: list[Change]) -> list[Change]:
    return [change for change in changes if change.before != change.after]


def _keys_in(written: list[Written]) -> Iterator[str]:
    """The keys that were set earlier."""
    for each in written:
        found: dict[str, Any] = each.value if isinstance(each.value, dict) else {each.path[-1]: each.value}
        for name, value in found.items():
            if name in SECRETS and isinstance(value, str) and value != PLACEHOLDER:
                yield value


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except CannotEdit as error:
        raise CannotEdit(f"{path}: {error}") from error
