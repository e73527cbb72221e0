"""One proposed change: its record, its text, its diff and the message of its commit."""

from typing import Literal

import msgspec

from fireside_agent.memory.diffs import text_hash, unified_diff
from fireside_agent.memory.errors import VaultError
from fireside_agent.memory.names import SUFFIX

ProposalStatus = Literal["open", "accepted", "edited", "dropped", "undone"]
STATUSES: tuple[ProposalStatus, ...] = ("open", "accepted", "edited", "dropped", "undone")

MAX_REASON = 2_000


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """One proposed change of one article.

    `before` is None and `before_hash` empty for an article that is not there yet. `old` and `new` are set
    where one passage is replaced. `after` and `diff` are what was written once it is accepted, or edited and
    accepted. `commit` is that change's, `undo_commit` its revert's. `created_at` is in seconds since the
    epoch.
    """

    id: str
    article: str
    reason: str
    session_id: str
    call_id: str
    created_at: float
    status: ProposalStatus = "open"
    before: str | None
    before_hash: str
    after: str
    old: str | None = None
    new: str | None = None
    diff: str
    commit: str | None = None
    undo_commit: str | None = None


def replace_passage(before: str | None, old: str | None, new: str | None, name: str) -> str:
    """`before` with `new` in place of `old`. Raises VaultError unless `old` is there exactly once."""
    if not old or new is None:
        raise VaultError("Give the passage to replace, and what is to stand there.")
    if before is None:
        raise VaultError(f"There is no article {name} in which to replace anything. Give `text`.")
    count = before.count(old)
    if count != 1:
        raise VaultError(
            f"The passage has to stand in {name} exactly once, letter by letter; it is there {count} times."
        )
    return before.replace(old, new)


def append(before: str | None, added: str) -> str:
    """An article with a paragraph more at its end; of a new article all of it. Raises VaultError."""
    if not added.strip():
        raise VaultError("`text` is empty: there is nothing to add.")
    kept = (before or "").rstrip()
    return f"{kept}\n\n{added.strip()}\n" if kept else f"{added.strip()}\n"


def carry_over(proposal: Proposal, current: str | None) -> str:
    """The proposal's text for an article that has changed: the passage alone, where it is still there."""
    if proposal.old and proposal.new is not None and current is not None and current.count(proposal.old) == 1:
        return current.replace(proposal.old, proposal.new)
    return proposal.after


def commit_message(proposal: Proposal) -> str:
    """What was changed, why, and in which session it was proposed."""
    subject = f"{'Add' if proposal.before is None else 'Change'} {proposal.article}"
    reason = " ".join(proposal.reason.split()) or "said in a chat"
    return f"{subject}\n\nReason: {reason}\n{mark(proposal)}\nSession: {proposal.session_id}\n"


def mark(proposal: Proposal) -> str:
    """A line of the commit's message. The model's words stand in another line, and cannot forge it."""
    return f"Proposal: {proposal.id}"


def hash_of(text: str | None) -> str:
    """Of an article's text; empty where there is no article."""
    return "" if text is None else text_hash(text)


def diff_of(before: str | None, after: str, name: str) -> str:
    """The unified diff of one article."""
    return unified_diff(before, after, f"articles/{name}{SUFFIX}")
