"""Which paths tools may use, and that nothing leads out of the workspace in the moment of use either."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from agent.tools.conftest import open_descriptors
from fireside_agent.tools import opening
from fireside_agent.tools.credentials import secret_kind
from fireside_agent.tools.opening import open_regular, opened_folder, read_whole, replace_file
from fireside_agent.tools.tool import BlockedError, ToolError
from fireside_agent.tools.workspace import Workspace


def test_relative_paths_start_at_the_first_root_and_may_be_new(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    workspace = Workspace([root, other])
    assert workspace.resolve("a/../b.txt") == root / "b.txt"
    assert workspace.resolve("") == workspace.resolve(".") == root
    assert workspace.resolve(str(other / "new" / "file")) == other / "new" / "file"


def test_the_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    workspace = Workspace([Path("~/notes")])
    assert workspace.resolve("~/notes/today.md") == tmp_path / "notes" / "today.md"


@pytest.mark.parametrize(
    "path",
    [
        "../elsewhere/diary.txt",
        "a/../../elsewhere",
        "/etc/passwd",
        "/",
        "..",
        "~",
        "../project-2",
        "link",
        "in/diary.txt",
    ],
)
def test_paths_outside_are_blocked_and_the_roots_named(
    workspace: Workspace, root: Path, outside: Path, path: str
) -> None:
    (root / "link").symlink_to(outside / "diary.txt")
    (root / "in").symlink_to(outside)
    with pytest.raises(BlockedError, match="outside the workspace") as raised:
        workspace.resolve(path)
    assert str(root) in str(raised.value)


def test_links_within_the_workspace_are_followed(workspace: Workspace, root: Path) -> None:
    (root / "real").mkdir()
    (root / "link").symlink_to("real")
    assert workspace.resolve("link/file") == root / "real" / "file"


def test_a_root_that_is_a_link_stands_for_its_target(tmp_path: Path, root: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    workspace = Workspace([tmp_path / "link"])
    assert workspace.resolve("file") == workspace.resolve(str(tmp_path / "link" / "file")) == root / "file"


@pytest.mark.parametrize("path", ["a\0b", "\ud83d.txt", "~nobody-of-that-name/x"])
def test_what_is_no_path_is_an_error_for_the_model(workspace: Workspace, path: str) -> None:
    with pytest.raises(ToolError, match="is not a path"):
        workspace.resolve(path)


def test_a_circle_of_links_is_an_error_for_the_model(workspace: Workspace, root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    with pytest.raises((ToolError, OSError)):
        open_regular(workspace.resolve("a"))


SECRET = """
.env .env.local sub/.envrc server.pem tls/PRIVATE.KEY id_rsa id_ed25519.pub .ssh/config
.SSH/known_hosts .gnupg/trustdb.gpg .aws/config .netrc .git-credentials .npmrc .pypirc
.docker/config.json .kube/config upstream.key Library/Keychains/login.db .mozilla/firefox/x/prefs.js
.config/google-chrome/Default/History fireside.db fireside.db-wal backup/Fireside.DB.bak mcp.json
.Env .\u017fsh/config .s\u200bsh/x \uff0eenv
""".split()

HARMLESS = """
environment.py src/env.py keys.md keyboard.key.md docs/ssh.md docker/config.json config.json
my.netrc.md id_card.png pem fireside.toml README .github/workflows/ci.yml .gitignore token.py
password.txt
""".split()


@pytest.mark.parametrize("path", SECRET)
def test_credential_files_are_blocked_inside_too(workspace: Workspace, path: str) -> None:
    with pytest.raises(BlockedError, match="is blocked, because"):
        workspace.resolve(path)
    assert workspace.subject(path).path == ""


@pytest.mark.parametrize("path", HARMLESS)
def test_other_files_are_not(workspace: Workspace, root: Path, path: str) -> None:
    assert workspace.resolve(path).is_relative_to(root)


def test_links_neither_hide_a_secret_nor_unmask_one(workspace: Workspace, root: Path) -> None:
    (root / ".env").write_text("KEY=1")
    (root / "settings.txt").write_text("KEY=2")
    (root / "harmless.txt").symlink_to(".env")
    (root / "server.key").symlink_to("settings.txt")
    for name in ("harmless.txt", "server.key"):
        with pytest.raises(BlockedError, match="is blocked"):
            workspace.resolve(name)


def test_every_kind_of_secret_says_what_it_is() -> None:
    assert secret_kind("/w/.aws/x") == "credentials of a cloud or cluster"
    assert secret_kind("/w/a/fireside.db") == "Fireside's own data"
    assert secret_kind("/w/a/notes.md") is None


def test_checked_refuses_too_much(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "people" / "ann"
    (home / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "fire").mkdir()
    (tmp_path / "fire" / "fireside.db").touch()
    (tmp_path / "slash").symlink_to("/")
    (tmp_path / "file").touch()
    refused = [Path("/"), Path("~"), home, home.parent, tmp_path, Path("/home"), tmp_path / "slash"]
    refused += [home / ".ssh", tmp_path / "fire", tmp_path / "file", tmp_path / "missing"]
    for folder in refused:
        with pytest.raises(BlockedError, match="cannot be a folder of the workspace"):
            Workspace.checked([root, folder])
    (home / "code").mkdir()
    assert Workspace.checked([root, home / "code"]).roots == (root, home / "code")


def test_the_home_of_the_system_counts_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path(pwd.getpwuid(os.getuid()).pw_dir)
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    with pytest.raises(BlockedError, match="home folder"):
        Workspace.checked([real])


@pytest.mark.parametrize("swapped", ["file", "folder", "root"])
def test_a_link_put_there_after_the_check_leads_nowhere(
    workspace: Workspace, root: Path, outside: Path, swapped: str
) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "diary.txt").write_text("mine")
    path = workspace.resolve("sub/diary.txt")
    if swapped == "file":
        path.unlink()
        path.symlink_to(outside / "diary.txt")
    elif swapped == "folder":
        path.parent.rename(root / "gone")
        path.parent.symlink_to(outside)
    else:
        root.rename(root.with_name("gone"))
        (outside / "sub").mkdir()
        (outside / "diary.txt").rename(outside / "sub" / "diary.txt")
        root.symlink_to(outside)
    with pytest.raises(OSError, match=r"Not a directory|symbolic links|Too many levels"):
        open_regular(path)
    if swapped == "file":
        replace_file(path, b"new")  # takes the link's place
        assert (outside / "diary.txt").read_text() == "dear diary\n"
        return
    with pytest.raises(OSError, match=r"Not a directory|symbolic links|Too many levels"):
        replace_file(path, b"new")
    with (
        pytest.raises(OSError, match=r"Not a directory|symbolic links|Too many levels"),
        opened_folder(path.parent),
    ):
        pass
    assert {file.read_text() for file in outside.rglob("*.txt")} == {"dear diary\n"}


def test_a_folder_swapped_while_a_file_is_written_takes_nothing_out(
    workspace: Workspace, root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "sub").mkdir()
    path = workspace.resolve("sub/diary.txt")

    def swap(length: int) -> str:
        (root / "sub").rename(root / "moved")
        (root / "sub").symlink_to(outside)
        return "0" * length

    monkeypatch.setattr(opening.secrets, "token_hex", swap)
    replace_file(path, b"new")
    assert (root / "moved" / "diary.txt").read_bytes() == b"new"
    assert [file.read_text() for file in outside.iterdir()] == ["dear diary\n"]


def test_pipes_and_folders_are_no_files_and_do_not_hang(workspace: Workspace, root: Path) -> None:
    os.mkfifo(root / "pipe")
    for name, what in (("pipe", "not a file"), (".", "is a folder")):
        with pytest.raises(ToolError, match=what):
            open_regular(workspace.resolve(name))


def test_no_descriptor_stays_open(root: Path) -> None:
    (root / "file").write_text("x")
    before = open_descriptors()
    for _ in range(5):
        replace_file(root / "a" / "b", b"x")
        assert read_whole(root / "missing" / "x", 10) is None
        with pytest.raises(OSError, match="Not a directory"):
            replace_file(root / "file" / "x", b"")
        with pytest.raises(ToolError, match="larger than"):
            read_whole(root / "file", 0)
    assert open_descriptors() == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_folders_that_may_be_passed_but_not_listed_are_passed() -> None:
    code = (
        "import os, sys; from pathlib import Path; from fireside_agent.tools.opening import open_regular; "
        "os.setuid(65534); print(open_regular(Path(sys.argv[1])).read())"
    )
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        file = Path(folder, "file")
        file.write_text("hello")
        command = [sys.executable, "-c", code, str(file.resolve())]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "b'hello'\n", done.stderr
