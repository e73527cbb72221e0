"""Real shells whose every program is a stub that notes how it was called."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

STUB = """#!/bin/sh
printf '%s\\0' "$#" "${0##*/}" "$@" >> "$STUB_LOG"
"""
SHELLS = [path for name in ("bash", "dash", "zsh") if (path := shutil.which(name))]
PROGRAMS = "ls git touch sh env lsof find npm sort cat xargs time sudo nohup".split()


@dataclass(frozen=True)
class Ran:
    """What a command did: the programs with their arguments, and the files that it left behind."""

    programs: list[list[str]]
    files: set[str]
    status: int


class Shell:
    """`shell -c` in an empty folder, with nothing but stubs in PATH."""

    def __init__(self, folder: Path) -> None:
        self._bin, self._cwd, self._log = folder / "bin", folder / "cwd", folder / "log"
        self._bin.mkdir()
        self._cwd.mkdir()
        for name in PROGRAMS:
            stub = self._bin / name
            stub.write_text(STUB)
            stub.chmod(0o755)

    def run(self, command: str, shell: str = SHELLS[0]) -> Ran:
        self._log.write_bytes(b"")
        environment = {
            "PATH": str(self._bin), "HOME": str(self._cwd), "STUB_LOG": str(self._log), "LC_ALL": "C.UTF-8"
        }  # fmt: skip
        ended = subprocess.run(
            [shell, "-c", command], cwd=self._cwd, env=environment, stdin=subprocess.DEVNULL, timeout=10,
            capture_output=True, check=False,
        )  # fmt: skip
        files = {path.name for path in self._cwd.iterdir()}
        for name in files:
            (self._cwd / name).unlink()
        return Ran(_calls(self._log.read_bytes().decode().split("\0")[:-1]), files, ended.returncode)


def _calls(fields: list[str]) -> list[list[str]]:
    calls: list[list[str]] = []
    while fields:
        end = int(fields[0]) + 2
        calls.append(fields[1:end])
        fields = fields[end:]
    return calls
