"""Proposals: nothing is written without a yes, one commit each, undone by one revert."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
from pathlib import Path

import pytest

from agent.memory.vaults import commits, git, hook, is_clean, put
from fireside_agent.memory.diffs import unified_diff
from fireside_agent.memory.errors import (
    GitError,
    InvalidName,
    ProposalConflict,
    ProposalNotFound,
    ProposalSettled,
    UndoConflict,
    VaultError,
    VaultMissing,
)
from fireside_agent.memory.proposal import Proposal
from fireside_agent.memory.proposals import Proposals
from fireside_agent.memory.vault import Vault

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"


async def propose(
    proposals: Proposals, name: str, text: str | None = None, *, call: str = "call-1", **passage: str
) -> Proposal:
    return await proposals.create(
        name, reason="You said so.", session_id="session-1", call_id=call, text=text, **passage
    )


async def test_a_proposal_writes_nothing(vault: Vault, proposals: Proposals, tmp_path: Path) -> None:
    before = commits(vault.root)
    proposal = await propose(proposals, "New/Bread", "flour\n")
    assert (proposal.status, proposal.before, proposal.before_hash, proposal.commit) == (
        "open",
        None,
        "",
        None,
    )
    assert proposal.diff == "--- /dev/null\n+++ b/articles/New/Bread.md\n@@ -0,0 +1 @@\n+flour\n"
    assert await vault.summaries() == []
    assert commits(vault.root) == before
    assert is_clean(vault.root)
    (kept,) = (tmp_path / "proposals").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(kept.read_text())["after"] == "flour\n"
    again = Proposals(vault, tmp_path / "proposals")
    assert await again.of_status("open") == [proposal] == [await again.get(proposal.id)]


async def test_accepting_is_one_commit_that_names_reason_and_session(
    vault: Vault, proposals: Proposals
) -> None:
    await vault.write("A", TEXT, "Write A")
    proposal = await propose(proposals, "a", old="five\n", new="FIVE\n")
    assert proposal.article == "A"
    accepted = await proposals.accept(proposal.id)
    assert accepted.status == "accepted"
    assert commits(vault.root, "articles/A.md")[0] == accepted.commit
    assert len(commits(vault.root, "articles/A.md")) == 2
    message = git(vault.root, "show", "--no-patch", "--format=%B", str(accepted.commit))
    assert "You said so." in message
    assert "session-1" in message
    assert (await vault.read("A")).text == TEXT.replace("five", "FIVE")
    assert is_clean(vault.root)
    with pytest.raises(ProposalSettled, match="accepted"):
        await proposals.accept(proposal.id)
    with pytest.raises(ProposalSettled):
        await proposals.drop(proposal.id)


async def test_an_edited_text_is_written_in_place_of_the_proposed_one(
    vault: Vault, proposals: Proposals
) -> None:
    proposal = await propose(proposals, "A", "flour\n")
    edited = await proposals.accept(proposal.id, "rye flour\n")
    assert (edited.status, edited.after) == ("edited", "rye flour\n")
    assert "+rye flour" in edited.diff
    assert (await vault.read("A")).text == "rye flour\n"


async def test_a_dropped_proposal_writes_nothing(vault: Vault, proposals: Proposals) -> None:
    proposal = await propose(proposals, "A", "flour\n")
    assert (await proposals.drop(proposal.id)).status == "dropped"
    assert (await proposals.drop(proposal.id)).status == "dropped"
    with pytest.raises(ProposalSettled):
        await proposals.accept(proposal.id)
    with pytest.raises(ProposalSettled):
        await proposals.undo(proposal.id)
    assert await vault.summaries() == []


async def test_undo_is_one_revert(vault: Vault, proposals: Proposals) -> None:
    await vault.write("A", TEXT, "Write A")
    accepted = await proposals.accept((await propose(proposals, "A", old="two", new="2")).id)
    await vault.write("A", TEXT.replace("two", "2").replace("nine", "9"), "Later")
    before = len(commits(vault.root))
    undone = await proposals.undo(accepted.id)
    assert undone.status == "undone"
    assert len(commits(vault.root)) == before + 1
    message = git(vault.root, "show", "--no-patch", "--format=%B", str(undone.undo_commit))
    assert f"This reverts commit {accepted.commit}" in message
    assert (await vault.read("A")).text == TEXT.replace("nine", "9")
    assert is_clean(vault.root)
    with pytest.raises(ProposalSettled):
        await proposals.undo(accepted.id)


async def test_undoing_a_new_article_removes_it(vault: Vault, proposals: Proposals) -> None:
    accepted = await proposals.accept((await propose(proposals, "Deep/A", "text")).id)
    await proposals.undo(accepted.id)
    assert await vault.summaries() == []
    assert is_clean(vault.root)


@pytest.mark.parametrize("committed", [True, False])
async def test_an_undo_in_conflict_changes_nothing(
    vault: Vault, proposals: Proposals, committed: bool
) -> None:
    await vault.write("A", TEXT, "Write A")
    accepted = await proposals.accept((await propose(proposals, "A", old="two", new="2")).id)
    put(vault, "A", TEXT.replace("two", "zwei"))
    if committed:
        git(vault.root, "commit", "--quiet", "-am", "By hand")
    before = commits(vault.root), git(vault.root, "status", "--porcelain")
    with pytest.raises(UndoConflict, match="cannot be undone"):
        await proposals.undo(accepted.id)
    assert (commits(vault.root), git(vault.root, "status", "--porcelain")) == before
    assert (await vault.read("A")).text == TEXT.replace("two", "zwei")
    assert not (vault.root / ".git" / "REVERT_HEAD").exists()
    assert (await proposals.get(accepted.id)).status == "accepted"
    await vault.write("B", "text", "Write B")


@pytest.mark.parametrize("name", ["commit-msg", "prepare-commit-msg"])
async def test_an_undo_that_a_hook_refuses_changes_nothing(
    vault: Vault, proposals: Proposals, name: str
) -> None:
    await vault.write("A", TEXT, "Write A")
    accepted = await proposals.accept((await propose(proposals, "A", old="two", new="2")).id)
    hook(vault.root, name, "exit 1")
    head = commits(vault.root)
    try:
        await proposals.undo(accepted.id)
    except GitError:
        assert commits(vault.root) == head
        assert (await vault.read("A")).text == TEXT.replace("two", "2")
    assert is_clean(vault.root)


async def test_a_person_s_own_revert_is_left_alone(vault: Vault, proposals: Proposals) -> None:
    await vault.write("A", TEXT, "Write A")
    accepted = await proposals.accept((await propose(proposals, "A", old="two", new="2")).id)
    git(vault.root, "update-ref", "REVERT_HEAD", "HEAD")
    with pytest.raises(GitError, match="under way"):
        await proposals.undo(accepted.id)
    assert (vault.root / ".git" / "REVERT_HEAD").exists()


async def test_hand_edits_survive_an_undo(vault: Vault, proposals: Proposals) -> None:
    await vault.write("A", TEXT, "Write A")
    put(vault, "A", TEXT.replace("nine", "by hand"))
    accepted = await proposals.accept((await propose(proposals, "A", old="two", new="2")).id)
    await proposals.undo(accepted.id)
    assert (await vault.read("A")).text == TEXT.replace("nine", "by hand")
    assert is_clean(vault.root)


async def test_a_changed_article_is_a_conflict_with_the_diff_of_now(
    vault: Vault, proposals: Proposals
) -> None:
    await vault.write("A", TEXT, "Write A")
    proposal = await propose(proposals, "A", old="two", new="2")
    put(vault, "A", TEXT.replace("nine", "9"))
    before = commits(vault.root)
    with pytest.raises(ProposalConflict, match="has changed"):
        await proposals.accept(proposal.id)
    with pytest.raises(ProposalConflict, match="has changed") as conflict:  # a second click is no consent
        await proposals.accept(proposal.id)
    assert commits(vault.root) == before
    assert (await proposals.get(proposal.id)).status == "open"
    assert "+2\n" in conflict.value.diff
    assert "nine" not in conflict.value.diff
    accepted = await proposals.accept(proposal.id, before_hash=conflict.value.before_hash)
    assert (await vault.read("A")).text == TEXT.replace("nine", "9").replace("two", "2")
    assert accepted.status == "accepted"
    assert accepted.diff == conflict.value.diff


async def test_conflicts_of_articles_that_came_or_went(vault: Vault, proposals: Proposals) -> None:
    new = await propose(proposals, "New", "proposed\n", call="1")
    put(vault, "New", "by hand\n")
    with pytest.raises(ProposalConflict) as conflict:
        await proposals.accept(new.id)
    assert "-by hand" in conflict.value.diff
    await vault.write("Old", "old\n", "Write")
    gone = await propose(proposals, "Old", "changed\n", call="2")
    (vault.root / "articles" / "Old.md").unlink()
    with pytest.raises(ProposalConflict) as conflict:
        await proposals.accept(gone.id)
    assert conflict.value.diff.startswith("--- /dev/null")
    await proposals.accept(gone.id, before_hash=conflict.value.before_hash)
    assert (await vault.read("Old")).text == "changed\n"


async def test_a_refusing_hook_keeps_text_and_proposal(vault: Vault, proposals: Proposals) -> None:
    proposal = await propose(proposals, "A", "flour\n")
    hook(vault.root, "pre-commit", "echo no >&2; exit 1")
    with pytest.raises(GitError, match="not committed"):
        await proposals.accept(proposal.id)
    assert (await vault.read("A")).text == "flour\n"
    assert (await proposals.get(proposal.id)).status == "open"
    (vault.root / ".git" / "hooks" / "pre-commit").unlink()
    accepted = await proposals.accept(proposal.id)
    assert commits(vault.root, "articles/A.md") == [accepted.commit]


async def test_a_crash_after_the_commit_is_made_good(
    vault: Vault, proposals: Proposals, tmp_path: Path
) -> None:
    proposal = await propose(proposals, "A", "flour\n")
    path = tmp_path / "proposals" / f"{proposal.id}.json"
    still_open = path.read_bytes()
    accepted = await proposals.accept(proposal.id)
    path.write_bytes(still_open)
    assert await proposals.accept(proposal.id) == accepted
    still_accepted = path.read_bytes()
    undone = await proposals.undo(proposal.id)
    path.write_bytes(still_accepted)
    assert await proposals.undo(proposal.id) == undone
    assert len(commits(vault.root, "articles/A.md")) == 2


async def test_a_reason_cannot_forge_the_message(vault: Vault, proposals: Proposals) -> None:
    first = await propose(proposals, "A", "one\n", call="1")
    accepted = await proposals.accept(first.id)
    reason = f"x\n\nThis reverts commit {accepted.commit}.\n\nProposal: {first.id}\nSession: other\0"
    second = await proposals.create("A", reason=reason, session_id="s", call_id="2", text="one\ntwo\n")
    await proposals.accept(second.id)
    assert vault.find_commit_now("A", f"Proposal: {first.id}") == accepted.commit
    assert vault.find_commit_now("A", f"This reverts commit {accepted.commit}[.]") is None


async def test_proposals_that_could_not_be_carried_out_are_refused(
    vault: Vault, proposals: Proposals
) -> None:
    await vault.write("A", "one one\n", "Write A")
    for passage in (
        {"old": "one", "new": "1"},
        {"old": "two", "new": "2"},
        {"old": "", "new": "x"},
        {"old": "one "},
        {},
    ):
        with pytest.raises(VaultError):
            await propose(proposals, "A", **passage)
    with pytest.raises(VaultError, match="changes nothing"):
        await propose(proposals, "A", "one one\n")
    with pytest.raises(VaultError, match="no article"):
        await propose(proposals, "B", old="one", new="two")
    with pytest.raises(VaultError, match="surrogate"):
        await propose(proposals, "B", "\ud800")
    with pytest.raises(InvalidName):
        await propose(proposals, "../B", "text")
    assert await proposals.of_status() == []


async def test_the_same_call_twice_is_one_proposal(proposals: Proposals) -> None:
    first, second = await asyncio.gather(propose(proposals, "A", "text"), propose(proposals, "A", "text"))
    assert first == second
    assert len(await proposals.of_status()) == 1


async def test_proposals_are_listed_newest_first(vault: Vault, tmp_path: Path) -> None:
    times = iter(range(10))
    proposals = Proposals(vault, tmp_path / "proposals", now=lambda: float(next(times)))
    made = [await propose(proposals, f"N{n}", "text", call=str(n)) for n in range(3)]
    await proposals.drop(made[1].id)
    assert [each.article for each in await proposals.of_status()] == ["N2", "N1", "N0"]
    assert [each.article for each in await proposals.of_status("open")] == ["N2", "N0"]


@pytest.mark.parametrize("proposal_id", ["", "x", "../secret", "0" * 16, "0123456789ABCDEF", "0" * 16 + "\n"])
async def test_unknown_ids_are_not_found(proposals: Proposals, proposal_id: str) -> None:
    for act in (proposals.get, proposals.accept, proposals.drop, proposals.undo):
        with pytest.raises(ProposalNotFound):
            await act(proposal_id)


async def test_there_is_nothing_to_propose_without_a_vault(tmp_path: Path) -> None:
    with pytest.raises(VaultMissing):
        await propose(Proposals(Vault(tmp_path / "none"), tmp_path / "proposals"), "A", "text")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\n", "a\nc\n"),
        ("a", "a\n"),
        ("a\n", "a"),
        ("", "x"),
        ("x\u2028y\r\n", "x\x0by\r\n"),
        ("a\n\n\n", "\n"),
    ],
)
def test_diffs_are_what_git_applies(tmp_path: Path, before: str, after: str) -> None:
    target = tmp_path / 'a "b" ü.md'
    target.write_bytes(before.encode())
    diff = unified_diff(before, after, target.name)
    (tmp_path / "patch").write_bytes(diff.encode())
    command = ["git", "apply", "--unsafe-paths", "--whitespace=nowarn", "patch"]
    subprocess.run(command, cwd=tmp_path, check=True, env={"GIT_DIR": "/nonexistent"})
    assert target.read_bytes() == after.encode()
