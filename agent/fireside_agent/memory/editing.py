"""What a person changes in the vault by way of the page: each change is one commit."""

from collections.abc import Callable
from typing import NoReturn

import msgspec

from fireside_agent.memory.errors import ArticleChanged, EditConflict
from fireside_agent.memory.folder import check_text
from fireside_agent.memory.names import check_name
from fireside_agent.memory.proposal import diff_of, hash_of
from fireside_agent.memory.vault import Vault


class Saved(msgspec.Struct, frozen=True):
    """What stands on disk now. `commit` is None where nothing had to be committed."""

    name: str
    hash: str
    commit: str | None


async def save(vault: Vault, name: str, text: str, before_hash: str) -> Saved:
    """Put the person's text into the article that they saw; an empty `before_hash`: into a new one.

    Raises:
        EditConflict: the article is another one now; nothing was written.
        GitError: the text is on disk and not committed. Saving again commits it.
    """
    return await vault.exclusive(lambda: _save(vault, name, text, before_hash))


async def remove(vault: Vault, name: str, before_hash: str) -> Saved:
    """Delete the article that the person saw; the history keeps it. The answer's `hash` is empty.

    Raises:
        ArticleNotFound: it is not there.
        EditConflict: it is another one now; nothing was deleted.
        GitError: it is deleted, and that is not committed.
    """
    return await vault.exclusive(lambda: _remove(vault, name, before_hash))


def _save(vault: Vault, name: str, text: str, before_hash: str) -> Saved:
    check_text(text)
    current = vault.folder.read_or_none(name)
    name = check_name(name) if current is None else current.name
    verb = "Add" if current is None else "Edit"
    try:
        commit = vault.write_now(name, text, f"{verb} {name}", only_if=_same(before_hash, text))
    except ArticleChanged as error:
        _refuse(vault, name, text, before_hash, error)
    return Saved(name, hash_of(text), commit)


def _remove(vault: Vault, name: str, before_hash: str) -> Saved:
    name = vault.folder.read(name).name
    try:
        commit = vault.remove_now(name, f"Delete {name}", only_if=_same(before_hash))
    except ArticleChanged as error:
        _refuse(vault, name, "", before_hash, error)
    return Saved(name, "", commit)


def _same(before_hash: str, text: str | None = None) -> Callable[[str | None], bool]:
    """Whether the article is the one that the person saw, or holds what they want already."""
    return lambda now: hash_of(now) == before_hash or (text is not None and now == text)


def _refuse(vault: Vault, name: str, text: str, seen: str, error: ArticleChanged) -> NoReturn:
    now = vault.folder.read_or_none(name)
    before = None if now is None else now.text
    if seen:
        words = f"{name} {'was deleted' if before is None else 'has changed'} since you opened it."
    else:
        words = f"There is an article {name} already."
    raise EditConflict(
        f"{words} Nothing was written. Look at the difference, then decide.",
        before,
        diff_of(before, text, name),
        hash_of(before),
    ) from error
