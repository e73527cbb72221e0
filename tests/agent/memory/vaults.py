"""Vaults for tests, and git run independently of the code under test."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from fireside_agent.memory.vault import Vault


def git(root: Path, *arguments: str) -> str:
    """The git program's output, run as a person would in `root`."""
    plain = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    person = {
        f"GIT_{role}_{what}": "person@example.org"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["git", "-c", "core.quotepath=off", *arguments],
        cwd=root,
        env=plain | person | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


def commits(root: Path, *names: str) -> list[str]:
    """Hashes of the commits, newest first, that touch any of these files."""
    return git(root, "log", "--format=%H", "--", *names).split()


def is_clean(root: Path) -> bool:
    return git(root, "status", "--porcelain") == ""


def put(vault: Vault, name: str, text: str) -> Path:
    """An article written by hand."""
    path = vault.root / "articles" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def hook(root: Path, name: str, script: str) -> None:
    path = root / ".git" / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
