"""What a worker says: one line of JSON on its standard output for each thing that happens."""

from __future__ import annotations

from typing import Literal

import msgspec

Phase = Literal["asking", "downloading", "verifying", "converting"]


class Part(msgspec.Struct, frozen=True):
    """A file of a download: its name, its size in bytes, and how many of them are here."""

    name: str
    size: int
    bytes: int = 0


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line. What a field says holds until another line says otherwise.

    Attributes:
        kind: `plan` comes first and says what there is to do, `done` or `failed` comes last.
        file: the one that is worked on.
        bytes, total: of all files, done and to be done.
        commit: that is downloaded.
        parts: all files, in the order in which they come.
        fresh: nothing of that commit was there before.
        path: the folder of the finished model.
        code, message: of the error.
    """

    kind: Literal["plan", "progress", "done", "failed"]
    phase: Phase = "downloading"
    file: str | None = None
    files_done: int = 0
    files: int = 0
    bytes: int = 0
    total: int = 0
    commit: str | None = None
    parts: list[Part] = []
    fresh: bool = False
    path: str | None = None
    code: str | None = None
    message: str | None = None
