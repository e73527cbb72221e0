"""Writes become commits, whatever the machine's git is like; and failures are told, with the text kept."""

from __future__ import annotations

import asyncio
import fcntl
import subprocess
import time
from pathlib import Path

import pytest

from agent.memory.vaults import commits, git, hook, is_clean, put
from fireside_agent.memory import git as git_module
from fireside_agent.memory.errors import GitError, GitLocked, GitMissing, VaultMissing
from fireside_agent.memory.folder import Found
from fireside_agent.memory.vault import Vault


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def process_state(pid: str) -> str:
    return subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True).stdout.strip()


async def test_init_makes_a_vault_with_a_repository_of_its_own(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "deep" / "wiki")
    assert not (await vault.status()).exists
    status = await vault.init()
    assert (status.root, status.exists, status.git, status.git_program) == (str(vault.root), True, True, True)
    for folder in ("articles", "Reference", "Meta"):
        assert (vault.root / folder).is_dir()
    assert len(commits(vault.root)) == 1
    assert is_clean(vault.root)


async def test_init_again_changes_nothing(vault: Vault) -> None:
    (vault.root / "README.md").write_text("mine")
    await vault.write("A", "text", "Write A")
    before = commits(vault.root)
    await vault.init()
    assert commits(vault.root) == before
    assert (vault.root / "README.md").read_text() == "mine"


async def test_sixteen_writes_at_once_are_all_in_the_log(vault: Vault, no_identity: Path) -> None:
    # Two objects of two sessions, each with its own lock: git's own locks decide between them.
    other = Vault(vault.root)
    vaults = [Vault(vault.root), other]
    different = [vaults[n % 2].write(f"note {n}", f"text {n}", f"Write {n}") for n in range(12)]
    same = [vaults[n % 2].write("same", f"version {n}", f"Same {n}") for n in range(4)]
    made = await asyncio.gather(*different, *same)
    log = git(vault.root, "log", "--format=%s").splitlines()
    assert {f"Write {n}" for n in range(12)} <= set(log)
    for n in range(12):
        assert git(vault.root, "show", f"{made[n]}:articles/note {n}.md") == f"text {n}"
    assert is_clean(vault.root)
    assert files(no_identity) == {}


async def test_writes_of_one_vault_to_one_note_are_each_a_commit(vault: Vault) -> None:
    made = await asyncio.gather(*(vault.write("same", f"version {n}", f"Same {n}") for n in range(4)))
    assert len(set(made)) == 4
    assert set(commits(vault.root, "articles/same.md")) == set(made)
    for n, commit in enumerate(made):
        assert git(vault.root, "show", f"{commit}:articles/same.md") == f"version {n}"
        assert git(vault.root, "show", "--format=", "--name-only", str(commit)).split() == [
            "articles/same.md"
        ]
    assert is_clean(vault.root)


async def test_a_commit_holds_its_own_article_alone(vault: Vault) -> None:
    put(vault, "draft", "not yet")
    put(vault, "staged", "not yet either")
    git(vault.root, "add", "articles/staged.md")
    commit = await vault.write("A", "text", "Write A")
    assert git(vault.root, "show", "--format=", "--name-only", str(commit)).split() == ["articles/A.md"]
    assert git(vault.root, "status", "--porcelain").splitlines() == [
        "A  articles/staged.md",
        "?? articles/draft.md",
    ]


async def test_the_same_text_again_is_no_commit(vault: Vault) -> None:
    await vault.write("A", "text", "Write A")
    assert await vault.write("A", "text", "Write A") is None
    assert len(commits(vault.root, "articles/A.md")) == 1


async def test_odd_names_are_committed(vault: Vault) -> None:
    await vault.write("x", "another", "Write x")
    for name in ("-x", "--help", "*", ":(top)x", "Käse/日本", "'; rm x", 'a"b', "#1"):
        commit = await vault.write(name, f"text of {name}", f"Write {name}")
        assert [each.commit for each in await vault.history(name)] == [commit]
        assert git(vault.root, "show", f"{commit}:articles/{name}.md") == f"text of {name}"
        assert (await vault.read(name)).text == f"text of {name}"
    assert is_clean(vault.root)


async def test_a_note_that_git_ignores_is_committed(vault: Vault) -> None:
    (vault.root / ".gitignore").write_text("*.md\n")
    assert await vault.write("A", "text", "Write A") is not None
    assert await vault.write("A", "text 2", "Write A") is not None


async def test_a_leftover_lock_is_an_error_in_bounded_time_with_the_text_on_disk(vault: Vault) -> None:
    lock = vault.root / ".git" / "index.lock"
    lock.touch()
    began = time.monotonic()
    with pytest.raises(GitLocked, match=r"index\.lock.*delete that file"):
        await vault.write("A", "text", "Write A")
    assert 0.3 <= time.monotonic() - began < 5
    assert (vault.root / "articles" / "A.md").read_text() == "text"
    assert (await vault.read("A")).text == "text"
    lock.unlink()
    assert await vault.write("A", "text", "Write A") is not None
    assert is_clean(vault.root)


async def test_a_lock_that_goes_away_is_waited_for(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "wiki", lock_seconds=10)
    await vault.init()
    lock = vault.root / ".git" / "index.lock"
    lock.touch()
    write = asyncio.create_task(vault.write("A", "text", "Write A"))
    await asyncio.sleep(0.2)
    assert not write.done()
    lock.unlink()
    assert await write in commits(vault.root)


async def test_an_outer_repository_stays_untouched(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "code.py").write_text("x = 1\n")
    git(tmp_path, "add", "code.py")
    git(tmp_path, "commit", "--quiet", "-m", "Begin")
    untouched = files(tmp_path / ".git")
    vault = Vault(tmp_path / "wiki")
    with pytest.raises(VaultMissing):
        await vault.write("A", "text", "Write A")
    (vault.root / "articles").mkdir(parents=True)
    with pytest.raises(VaultMissing, match="memory init"):
        await vault.write("A", "text", "Write A")
    assert not (await vault.status()).git
    await vault.init()
    assert await vault.write("A", "text", "Write A") in commits(vault.root)
    assert files(tmp_path / ".git") == untouched


async def test_a_hook_that_refuses_is_an_error_with_its_words_and_the_text_on_disk(vault: Vault) -> None:
    await vault.write("A", "old", "Write A")
    hook(vault.root, "pre-commit", "echo 'spelling is wrong' >&2; exit 1")
    with pytest.raises(GitError, match=r"A is written but not committed.*spelling is wrong"):
        await vault.write("A", "new", "Change A")
    assert (await vault.read("A")).text == "new"
    assert len(commits(vault.root, "articles/A.md")) == 1
    (vault.root / ".git" / "hooks" / "pre-commit").unlink()
    await vault.write("A", "new", "Change A")
    assert len(commits(vault.root, "articles/A.md")) == 2
    assert is_clean(vault.root)


async def test_a_hook_that_hangs_is_ended_with_all_it_started(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook(vault.root, "pre-commit", "sleep 60 & echo $! > child.pid; wait")
    monkeypatch.setattr(git_module, "RUN_SECONDS", 0.5)
    with pytest.raises(GitError, match="Is a hook waiting"):
        await vault.write("A", "text", "Write A")
    child = (vault.root / "child.pid").read_text().strip()
    state = process_state(child)
    assert state == "" or state.startswith("Z")
    assert (await vault.read("A")).text == "text"


async def test_a_cancelled_write_is_finished(vault: Vault) -> None:
    write = asyncio.create_task(vault.write("A", "text", "Write A"))
    await asyncio.sleep(0.01)
    write.cancel()
    with pytest.raises(asyncio.CancelledError):
        await write
    await vault.write("B", "text", "Write B")
    assert git(vault.root, "log", "--format=%s").splitlines()[:2] == ["Write B", "Write A"]
    assert is_clean(vault.root)


async def test_hand_edits_are_committed_by_themselves_first(vault: Vault) -> None:
    await vault.write("A", "one\n", "Write A")
    put(vault, "A", "one\nby hand\n")
    commit = await vault.write("A", "one\nby hand\ntwo\n", "Change A")
    changed = git(vault.root, "diff", f"{commit}^", str(commit))
    assert "+two" in changed
    assert "+by hand" not in changed
    assert len(commits(vault.root, "articles/A.md")) == 3


async def test_without_git_reading_works_and_writing_says_why_not(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await vault.write("A", "text", "Write A")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    status = await vault.status()
    assert (status.git_program, status.articles) == (False, 1)
    assert (await vault.read("A")).text == "text"
    assert await vault.history("A") == []
    with pytest.raises(GitMissing, match="Install git"):
        await vault.write("A", "new", "Change A")
    assert (await vault.read("A")).text == "text"
    with pytest.raises(GitMissing):
        await vault.diff("A")
    bare = Vault(tmp_path / "bare")
    assert (await bare.init()).exists
    assert not (await bare.status()).git


async def test_history_and_diff_are_those_of_git(vault: Vault) -> None:
    for text in ("one\n", "one\ntwo\n", "two\nthree"):
        await vault.write("Käse", text, f"Now {text!r}")
    await vault.write("B", "other", "Write B")
    history = await vault.history("Käse")
    expected = git(vault.root, "log", "--format=%H|%at|%s|%an", "--", "articles/Käse.md").splitlines()
    assert [f"{c.commit}|{c.time:.0f}|{c.subject}|{c.author}" for c in history] == expected
    assert len(history) == 3
    for commit in history[:-1]:
        expected = git(vault.root, "diff", f"{commit.commit}^", commit.commit, "--", "articles/Käse.md")
        assert await vault.diff("Käse", commit.commit) == expected
    assert "+one" in await vault.diff("Käse", history[-1].commit)
    assert await vault.diff("Käse") == ""
    put(vault, "Käse", "by hand\n")
    assert await vault.diff("Käse") == git(vault.root, "diff", "HEAD", "--", "articles/Käse.md") != ""
    put(vault, "New", "line\n")
    assert "+line" in await vault.diff("New")


async def test_history_of_a_deleted_article_is_kept(vault: Vault) -> None:
    commit = await vault.write("A", "text", "Write A")
    (vault.root / "articles" / "A.md").unlink()
    assert [each.commit for each in await vault.history("A")] == [commit]
    assert "+text" in await vault.diff("A", commit)


async def test_external_edits_and_commits_are_seen(vault: Vault) -> None:
    await vault.write("A", "aaaa", "Write A")
    assert (await vault.articles())["A"].text == "aaaa"
    for text in ("bbbb", "cccc", "dddd"):  # same size, within one tick of the clock
        put(vault, "A", text)
        assert (await vault.read("A")).text == text
        assert (await vault.articles())["A"].text == text
    git(vault.root, "commit", "--quiet", "-am", "By hand")
    assert (await vault.history("A"))[0].subject == "By hand"
    git(vault.root, "checkout", "--quiet", "HEAD~1", "--", ".")
    assert (await vault.read("A")).text == "aaaa"
    (vault.root / "articles" / "A.md").unlink()
    assert await vault.articles() == {}
    assert (await vault.status()).articles == 0


async def test_an_edit_within_one_tick_of_the_disk_s_clock_is_seen(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Found, "stamp", (0, 0, 4))
    for text in ("aaaa", "bbbb"):
        put(vault, "A", text)
        assert (await vault.articles())["A"].text == text


async def test_another_fireside_that_writes_is_waited_for(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (vault.root / ".git" / "fireside.lock").open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with monkeypatch.context() as patience:
            patience.setattr(git_module, "OTHERS_SECONDS", 0.1)
            with pytest.raises(GitLocked, match="Another Fireside"):
                await vault.write("A", "text", "Write A")
        write = asyncio.create_task(vault.write("A", "text", "Write A"))
        await asyncio.sleep(0.1)
        assert not write.done()
    assert await write in commits(vault.root)


async def test_settings_of_the_vault_do_not_confuse(vault: Vault) -> None:
    for setting in (
        "color.ui=always",
        "diff.noprefix=true",
        "commit.cleanup=strip",
        "diff.external=false",
        "log.showSignature=true",
        "core.pager=false",
    ):
        git(vault.root, "config", *setting.split("="))
    commit = await vault.write("A", "text", "Write A")
    assert [each.commit for each in await vault.history("A")] == [commit]
    diff = await vault.diff("A", commit)
    assert "\x1b" not in diff
    assert "+++ b/articles/A.md" in diff
