"""`fireside memory` on the command line."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agent.memory.vaults import commits, is_clean, put
from fireside.memory_cli import memory
from fireside_agent.memory.vault import Vault


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FIRESIDE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FIRESIDE_WIKI", raising=False)
    return tmp_path / "home" / "wiki"


def run(*arguments: str, status: int = 0) -> str:
    result: Result = CliRunner().invoke(memory, arguments)
    assert result.exit_code == status, result.output
    return result.output


def test_nothing_is_there_before_init(root: Path) -> None:
    assert "not made yet" in run("status")
    for command in (["list"], ["search", "x"], ["read", "A"], ["links", "A"], ["open"], ["open", "A"]):
        assert "fireside memory init" in run(*command, status=1)
    assert not root.exists()


def test_a_memory_from_the_command_line(root: Path) -> None:
    made = run("init")
    assert str(root) in made
    assert "Git: yes" in made
    put(Vault(root), "Bread", "# Bread\nrye and [[Wheat]]\nno line end")
    put(Vault(root), "Rye", "[[Bread]]")
    assert run("list") == "Bread\nRye\n"
    assert run("search", "the", "rye") == "Rye: 0 × rye\nBread: 1 × rye\n    2: rye and [[Wheat]]\n"
    assert "Nothing was found" in run("search", "quinoa", status=1)
    assert run("read", "bread") == "# Bread\nrye and [[Wheat]]\nno line end"
    assert "Near it: Bread" in run("read", "Bred", status=1)
    assert "no `..`" in run("read", "../x", status=1)
    links = run("links", "Bread")
    assert "Wheat (broken: no such article)" in links
    assert "Rye, line 1" in links
    assert "Articles: 2, references: 0" in run("status")
    assert "Bread" in run("status")


def test_another_folder_can_be_named(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRESIDE_WIKI", str(tmp_path / "elsewhere"))
    run("init")
    assert (tmp_path / "elsewhere" / "articles").is_dir()
    assert not root.exists()


def test_open_starts_the_desktop_s_program(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("init")
    path = put(Vault(root), "A", "text")
    programs, opened = tmp_path / "programs", tmp_path / "opened"
    programs.mkdir()
    for name in ("xdg-open", "open"):
        (programs / name).write_text(f'#!/bin/sh\nprintf %s "$*" > {opened}\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    # A process of its own, for the desktop's program outlives the command.
    command = [sys.executable, "-c", "from fireside.memory_cli import memory; memory()", "open", "a"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(path)
    deadline = time.monotonic() + 5
    while not (opened.exists() and opened.read_text() == str(path)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert opened.read_text() == str(path)


def test_import_takes_what_is_not_there(root: Path, tmp_path: Path) -> None:
    run("init")
    put(Vault(root), "Kept", "mine")
    source = tmp_path / "notes"
    (source / "Deep").mkdir(parents=True)
    for name in ("kept", "New", "Deep/Other"):
        (source / f"{name}.md").write_text(f"text of {name}")
    (source / "bad.md").write_bytes(b"\xff")
    assert "2 imported, 1 skipped" in run("import", str(source), status=1)
    assert run("read", "Kept") == "mine"
    assert run("read", "Deep/Other") == "text of Deep/Other"
    assert len(commits(root, "articles/New.md", "articles/Deep/Other.md")) == 2
    (source / "bad.md").unlink()
    before = commits(root)
    assert "0 imported, 3 skipped" in run("import", str(source))
    assert commits(root) == before
    (root / "articles" / "Kept.md").unlink()
    assert is_clean(root)
