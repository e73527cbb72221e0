"""What a person changes in the vault by way of the page: each change is one commit."""

from collections.abc import Callable
from typing import NoReturn

import msgspec

from fireside_agent.memory.errors import ArticleChanged, EditConflict, InvalidName, NameTaken
from fireside_agent.memory.folder import check_text
from fireside_agent.memory.names import Names, check_name
from fireside_agent.memory.proposal import diff_of, hash_of
from fireside_agent.memory.relinking import relinked
from fireside_agent.memory.vault import Vault


class Saved(msgspec.Struct, frozen=True):
    """What stands on disk now. `commit` is None where nothing had to be committed."""

    name: str
    hash: str
    commit: str | None


class Renamed(Saved, frozen=True):
    """The article under its new name, and the other articles whose links to it were changed."""

    linked: list[str]


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


async def rename(vault: Vault, name: str, new_name: str, before_hash: str) -> Renamed:
    """Give the article that the person saw another name; links to it follow. One commit.

    Raises:
        ArticleNotFound: it is not there.
        NameTaken: another one has that name.
        EditConflict: it is another one now.
    """
    return await vault.exclusive(lambda: _rename(vault, name, new_name, before_hash))


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


def _rename(vault: Vault, name: str, new_name: str, before_hash: str) -> Renamed:
    article = vault.folder.read(name)
    name, new_name = article.name, _new_name(vault, article.name, new_name)
    if hash_of(article.text) != before_hash:
        words = f"{name} has changed since you opened it. Nothing was renamed. Read it again."
        raise EditConflict(words, article.text, "", hash_of(article.text))
    if new_name == name:
        return Renamed(name, before_hash, None, [])
    texts = relinked(vault.folder.articles(), name, new_name)
    others = sorted(texts.keys() - {new_name})
    vault.keep_hand_edits_now([name, *others])
    commit = vault.rename_now(name, new_name, texts, f"Rename {name} to {new_name}")
    return Renamed(new_name, hash_of(texts.get(new_name, article.text)), commit, others)


def _new_name(vault: Vault, name: str, new_name: str) -> str:
    try:
        new_name = check_name(new_name)
    except InvalidName as error:
        error.param = "new_name"
        raise
    taken = Names(vault.folder.scan()).same_file(new_name)
    if taken not in (None, name):
        raise NameTaken(f"There is an article {taken} already. Choose another name.", "new_name")
    return new_name


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
