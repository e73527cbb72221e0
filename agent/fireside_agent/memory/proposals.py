"""Changes that the model proposes and the person decides on. Nothing is written without `accept`."""

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import msgspec

from fireside_agent.memory.errors import (
    ArticleChanged,
    ProposalConflict,
    ProposalNotFound,
    ProposalSettled,
    VaultError,
    VaultUnusable,
)
from fireside_agent.memory.folder import check_text, replace_file
from fireside_agent.memory.names import check_name
from fireside_agent.memory.proposal import (
    MAX_REASON,
    Proposal,
    ProposalStatus,
    append,
    carry_over,
    commit_message,
    diff_of,
    hash_of,
    mark,
    replace_passage,
)
from fireside_agent.memory.vault import Vault

MAX_OPEN = 200

_ID = re.compile(r"[0-9a-f]{16}")


class Proposals:
    """The proposals for one vault, each a JSON file in `folder`."""

    def __init__(self, vault: Vault, folder: Path, now: Callable[[], float] = time.time) -> None:
        self._vault = vault
        self._folder = folder
        self._now = now
        self._decoder = msgspec.json.Decoder(Proposal)

    async def create(
        self,
        article: str,
        *,
        reason: str,
        session_id: str,
        call_id: str,
        text: str | None = None,
        added: str | None = None,
        old: str | None = None,
        new: str | None = None,
    ) -> Proposal:
        """Store a proposal: the whole `text`, or what is `added` at the end, or `new` for the passage `old`.

        The same call of the same session asked for again gives the same proposal.

        Raises:
            VaultError: it could not be carried out, or changes nothing.
        """
        return await self._vault.exclusive(
            lambda: self._create(article, reason, session_id, call_id, text, added, old, new)
        )

    async def of_status(self, status: ProposalStatus | None = None) -> list[Proposal]:
        """Proposals, newest first; all, or those of one status."""
        return await asyncio.to_thread(self._list, status)

    async def get(self, proposal_id: str) -> Proposal:
        """One proposal. Raises ProposalNotFound."""
        return await asyncio.to_thread(self._load, proposal_id)

    async def accept(
        self, proposal_id: str, text: str | None = None, before_hash: str | None = None
    ) -> Proposal:
        """Carry the proposal out in one commit, or the person's own `text` in its place.

        `before_hash` says which article the person has seen, as a `ProposalConflict` named it; by default
        the one that the proposal was made for.

        Raises:
            ProposalConflict: the article is another one now; nothing was written.
            ProposalSettled: it has been settled before.
            GitError: the text is on disk and not committed; the proposal stays open.
        """
        return await self._vault.exclusive(lambda: self._accept(proposal_id, text, before_hash))

    async def drop(self, proposal_id: str) -> Proposal:
        """Refuse the proposal. Raises ProposalSettled when it has been settled otherwise."""
        return await self._vault.exclusive(lambda: self._drop(proposal_id))

    async def undo(self, proposal_id: str) -> Proposal:
        """Take an accepted proposal back by one revert.

        Raises:
            UndoConflict: the article has changed since, at the same place; nothing was undone.
            ProposalSettled: there is nothing to undo.
        """
        return await self._vault.exclusive(lambda: self._undo(proposal_id))

    async def forget(self, session_ids: Collection[str]) -> None:
        """Remove what was proposed in these chats, save what was accepted: that is the memory's.

        Raises:
            VaultUnusable: not everything could be removed.
        """
        if any(each.session_id in session_ids for each in await self.of_status()):
            await self._vault.exclusive(lambda: self._forget(session_ids))

    def _forget(self, session_ids: Collection[str]) -> None:
        for proposal in self._list(None):
            if proposal.session_id in session_ids and proposal.status not in ("accepted", "edited"):
                try:
                    (self._folder / f"{proposal.id}.json").unlink(missing_ok=True)
                except OSError as error:
                    raise VaultUnusable(f"The proposal {proposal.id} was not removed: {error}.") from error

    def _create(
        self,
        article: str,
        reason: str,
        session_id: str,
        call_id: str,
        text: str | None,
        added: str | None,
        old: str | None,
        new: str | None,
    ) -> Proposal:
        waiting = self._list("open")
        for proposal in waiting:
            if (proposal.session_id, proposal.call_id) == (session_id, call_id):
                return proposal
        if len(waiting) >= MAX_OPEN:
            raise VaultError(f"{MAX_OPEN} proposals wait already. Ask the person to decide on them first.")
        self._vault.check_exists()
        current = self._vault.folder.read_or_none(article)
        name = check_name(article) if current is None else current.name
        before = None if current is None else current.text
        if text is None:
            text = replace_passage(before, old, new, name) if added is None else append(before, added)
        check_text(text)
        if text == before:
            raise VaultError("This changes nothing: the article is already so.")
        proposal = Proposal(
            id=secrets.token_hex(8),
            article=name,
            reason=reason.strip()[:MAX_REASON],
            session_id=session_id,
            call_id=call_id,
            created_at=self._now(),
            before=before,
            before_hash=hash_of(before),
            after=text,
            old=old,
            new=new,
            diff=diff_of(before, text, name),
        )
        self._save(proposal)
        return proposal

    def _accept(self, proposal_id: str, text: str | None, before_hash: str | None) -> Proposal:
        proposal = self._load_open(proposal_id)
        if text is not None:
            check_text(text)
        current = self._vault.folder.read_or_none(proposal.article)
        before = None if current is None else current.text
        seen = proposal.before_hash if before_hash is None else before_hash
        after = proposal.after if text is None else text
        if hash_of(before) != seen and before != after:
            raise self._conflict(proposal, before, text)
        if before != after and text is None and hash_of(before) != proposal.before_hash:
            after = carry_over(proposal, before)
        try:
            message = commit_message(proposal)
            commit = self._vault.write_now(
                proposal.article, after, message, only_if=lambda now: now == before
            )
        except ArticleChanged as error:
            now = self._vault.folder.read_or_none(proposal.article)
            raise self._conflict(proposal, now and now.text, text) from error
        # None: it stood there already, perhaps because Fireside was killed after the commit.
        commit = commit or self._vault.find_commit_now(proposal.article, mark(proposal))
        if before == after:
            before = proposal.before
        return self._save(
            msgspec.structs.replace(
                proposal,
                status="accepted" if text is None or text == proposal.after else "edited",
                before=before,
                before_hash=hash_of(before),
                after=after,
                diff=diff_of(before, after, proposal.article),
                commit=commit,
            )
        )

    def _drop(self, proposal_id: str) -> Proposal:
        proposal = self._load(proposal_id)
        if proposal.status == "dropped":
            return proposal
        return self._save(msgspec.structs.replace(self._load_open(proposal_id), status="dropped"))

    def _undo(self, proposal_id: str) -> Proposal:
        proposal = self._load(proposal_id)
        if proposal.status not in ("accepted", "edited") or proposal.commit is None:
            raise ProposalSettled("There is no change of this proposal to undo.")
        # Fireside may have been killed after the revert.
        done = self._vault.find_commit_now(proposal.article, f"This reverts commit {proposal.commit}[.]")
        undo_commit = done or self._vault.revert_now(proposal.article, proposal.commit)
        return self._save(msgspec.structs.replace(proposal, status="undone", undo_commit=undo_commit))

    def _conflict(self, proposal: Proposal, current: str | None, text: str | None) -> ProposalConflict:
        after = carry_over(proposal, current) if text is None else text
        return ProposalConflict(
            f"{proposal.article} has changed since this was proposed. Look at what it would change now.",
            diff_of(current, after, proposal.article),
            hash_of(current),
        )

    def _load_open(self, proposal_id: str) -> Proposal:
        proposal = self._load(proposal_id)
        if proposal.status != "open":
            raise ProposalSettled(f"This proposal has been settled: it is {proposal.status}.")
        return proposal

    def _load(self, proposal_id: str) -> Proposal:
        if _ID.fullmatch(proposal_id):
            with suppress(FileNotFoundError):
                return self._read(self._folder / f"{proposal_id}.json")
        raise ProposalNotFound("There is no such proposal.", "id")

    def _list(self, status: ProposalStatus | None) -> list[Proposal]:
        paths = [path for path in self._folder.glob("*.json") if _ID.fullmatch(path.stem)]
        found = [proposal for proposal in map(self._read, paths) if status in (None, proposal.status)]
        return sorted(found, key=lambda proposal: (-proposal.created_at, proposal.id))

    def _read(self, path: Path) -> Proposal:
        try:
            return self._decoder.decode(path.read_bytes())
        except FileNotFoundError:
            raise
        except (OSError, msgspec.DecodeError) as error:
            raise VaultUnusable(f"The proposal {path} cannot be read: {error}. Move it away.") from error

    def _save(self, proposal: Proposal) -> Proposal:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._folder / f"{proposal.id}.json", msgspec.json.encode(proposal))
        except OSError as error:
            raise VaultUnusable(f"The proposal could not be stored: {error.strerror or error}.") from error
        return proposal
