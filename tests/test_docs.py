"""What is generated is fresh, and nothing in the tree tells of the machine that it was written on."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import docs
from fireside.cli import main as fireside

ROOT = Path(__file__).resolve().parent.parent

MARKS = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME)\b")
HOME_PATHS = re.compile(r"(?<![\w.~/])/(?:root|work|home/\w+|Users/\w+)/")
INDEX_HOSTS = re.compile(r"(?:files\.pythonhosted|pypi|registry\.npmjs|npmjs|deb\.debian)\.(?:org|com)\b")
NOT_OURS = ("LICENSE", "frontend/vendor/")


def tree() -> list[Path]:
    """Every text file that git tracks or would track, but for what others wrote."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    ours = [ROOT / name for name in names if name and not name.startswith(NOT_OURS)]
    return [path for path in ours if path.is_file() and b"\0" not in path.read_bytes()]


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in tree()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]


@pytest.mark.parametrize("script", ["docs", "protocol", "requirements", "vendor"])
def test_what_a_script_generates_is_fresh(script: str) -> None:
    command = [sys.executable, str(ROOT / "scripts" / f"{script}.py"), "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_reference_has_every_option_with_its_help() -> None:
    reference = "".join(docs.reference(fireside))
    options = [option for command in fireside.commands.values() for option in command.params]
    assert options
    for option in options:
        assert f"`{option.opts[0]}" in reference
        assert getattr(option, "help", None), f"{option.name} has no help"


@pytest.mark.parametrize("pattern", [MARKS, HOME_PATHS, INDEX_HOSTS], ids=["marks", "paths", "hosts"])
def test_the_tree_holds_nothing_that_does_not_belong_there(pattern: re.Pattern[str]) -> None:
    assert lines_with(pattern) == []


def test_links_between_the_documents_lead_somewhere() -> None:
    documents = [path for path in tree() if path.suffix == ".md"]
    targets = [
        (path, target)
        for path in documents
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text())
    ]
    assert targets
    assert [f"{path.name}: {target}" for path, target in targets if not (path.parent / target).exists()] == []
