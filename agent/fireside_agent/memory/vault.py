"""The vault: `articles/`, `Reference/`, `Meta/` and a README, plain Markdown in a git repository of its own.

People and other programs may change any of it at any time; every call looks at the disk. Writes of this
process go one after the other, and each is one commit of one article.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from fireside_agent.memory.articles import Article
from fireside_agent.memory.diffs import unified_diff
from fireside_agent.memory.errors import (
    ArticleChanged,
    ArticleNotFound,
    GitError,
    VaultError,
    VaultMissing,
    VaultUnusable,
)
from fireside_agent.memory.folder import Folder, replace_file
from fireside_agent.memory.git import LOCK_SECONDS, Commit, Git
from fireside_agent.memory.links import Links, links_of, names_of
from fireside_agent.memory.names import SUFFIX, Names, check_name
from fireside_agent.memory.pages import Page, page_of
from fireside_agent.memory.records import README, Imported, Status, Summary, summarize
from fireside_agent.memory.search import Results, search

T = TypeVar("T")

RECENT = 8


class Vault:
    """The vault at `root`; there may be none yet.

    Attributes:
        folder: its articles.
    """

    def __init__(self, root: Path, lock_seconds: float = LOCK_SECONDS) -> None:
        """`lock_seconds`: how long a write waits for another git program."""
        self.root = root.expanduser().absolute()
        self.folder = Folder(self.root / "articles")
        self._references = Folder(self.root / "Reference")
        self._git = Git(self.root, lock_seconds)
        self._lock = asyncio.Lock()
        self._writes: set[asyncio.Task[object]] = set()

    @property
    def exists(self) -> bool:
        """There is a vault. One look at the disk."""
        # Git keeps no empty folder: in a vault without articles there may be none for them.
        return (self.root / "articles").is_dir() or self._git.exists

    def check_exists(self) -> None:
        """Raises VaultMissing where there is no vault."""
        if not self.exists:
            raise VaultMissing(f"There is no memory at {self.root} yet. `fireside memory init` makes it.")

    async def init(self) -> Status:
        """Make the vault, or what is missing of it; what is there stays as it is.

        Raises:
            VaultUnusable: the folder cannot be made.
            GitError: git failed. Without a git program the vault is made all the same, for reading.
        """
        await self.exclusive(self._init)
        return await self.status()

    async def status(self) -> Status:
        """The state of the vault, also where there is none."""
        return await asyncio.to_thread(self._status)

    async def summaries(self) -> list[Summary]:
        """All articles by name. Raises VaultMissing, as all below."""
        return [summarize(each) for each in (await self.articles()).values()]

    async def articles(self) -> dict[str, Article]:
        """All articles by name, as they are now."""
        return await self._read(self.folder.articles)

    async def search(self, query: str) -> Results:
        """See `search.search`."""
        return await self._read(lambda: search(self.folder.articles(), query))

    async def read(self, name: str) -> Article:
        """The article. Raises InvalidName and ArticleNotFound."""
        return await self._read(lambda: self.folder.read(name))

    async def locate(self, name: str) -> Path:
        """The article's file. Raises InvalidName and ArticleNotFound."""
        return await self._read(lambda: self.folder.find(name).path)

    async def links(self, name: str) -> Links:
        """The article's links, both ways."""
        return await self._read(lambda: self._links(name))

    async def history(self, name: str) -> list[Commit]:
        """The article's commits, newest first; also of one that has been deleted."""
        return await self._read(lambda: self._history(name))

    async def diff(self, name: str, commit: str | None = None, base: str | None = None) -> str:
        """What a commit changed in the article; without one, what has changed since the last commit.

        With `base`, another commit: from the article after that one to the article after `commit`, or to the
        article as it is now.
        """
        return await self._read(lambda: self._diff(name, commit, base))

    async def version(self, name: str, commit: str) -> str:
        """The article's text after a commit. Raises ArticleNotFound, also where it was not there then."""
        return await self._read(lambda: self._version(name, commit))

    async def page(self, name: str) -> Page:
        """The article as a person reads it, found as a link would find it: also by its title or alias.

        Raises InvalidName and ArticleNotFound.
        """
        return await self._read(lambda: self._page(name))

    async def write(self, name: str, text: str, message: str) -> str | None:
        """Put `text` into the article and commit it; the commit's hash, None where nothing changed.

        Raises:
            VaultError: nothing was written.
            GitError: the text is on disk, and not committed; or what stood there before could not be.
        """
        return await self.exclusive(lambda: self.write_now(name, text, message))

    async def import_articles(self, source: Path) -> Imported:
        """Take over the articles of another vault, or of a folder of notes; those that exist are skipped."""
        return await self.exclusive(lambda: self._import(source))

    async def exclusive(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread while nothing else writes. It is not broken off when the caller is."""

        def run_alone() -> T:
            with self._git.alone():
                return work()

        async def run() -> T:
            async with self._lock:
                return await asyncio.to_thread(run_alone)

        task = asyncio.create_task(run())
        self._writes.add(task)
        task.add_done_callback(self._finished)
        return await asyncio.shield(task)

    def write_now(
        self, name: str, text: str, message: str, *, only_if: Callable[[str | None], bool] | None = None
    ) -> str | None:
        """`write` for work inside `exclusive`. Blocks.

        What a person has changed by hand is committed first, so that undoing this commit leaves it.

        Raises:
            ArticleChanged: `only_if`, which gets the article's text now, says no.
        """
        self._check_writable()
        current = self.folder.read_or_none(name)
        path = self._path(name)
        if current is not None and current.text != text and self._git.changed(path):
            self._keep_hand_edits(path, current.name)
            current = self.folder.read_or_none(name)
        before = None if current is None else current.text
        if only_if is not None and not only_if(before):
            raise ArticleChanged(f"{name} has changed in the meantime. Read it again.")
        if before != text:
            self.folder.write(name, text)
        try:
            return self._git.commit(path, message)
        except GitError as error:
            error.args = (f"{name} is written but not committed. {error}",)
            raise

    def remove_now(self, name: str, message: str, *, only_if: Callable[[str | None], bool]) -> str | None:
        """Take the article away and commit that, for work inside `exclusive`. Blocks.

        What was changed by hand is committed first, so that the history has it.

        Raises:
            ArticleChanged: `only_if`, which gets the article's text now, says no.
            GitError: the article is gone and that is not committed; or see `write_now`.
        """
        self._check_writable()
        article = self.folder.read(name)
        path = self._path(name)
        if not only_if(article.text):
            raise ArticleChanged(f"{name} has changed in the meantime. Read it again.")
        if self._git.changed(path):
            self._keep_hand_edits(path, article.name)
        self.folder.remove(name)
        try:
            return self._git.commit(path, message)
        except GitError as error:
            error.args = (f"{name} is deleted, which is not committed. {error}",)
            raise

    def rename_now(self, name: str, new_name: str, texts: Mapping[str, str], message: str) -> str:
        """Give the article another name and put `texts` into the articles that have those names then.

        All of it is one commit, for work inside `exclusive`. Blocks.

        Raises VaultError: nothing has changed, or the error says what has.
        """
        before = {each: self.folder.read(name if each == new_name else each).text for each in texts}
        old = self._path(name)
        try:
            self.folder.move(name, new_name)
            for each, text in texts.items():
                self.folder.write(each, text)
            others = [self._path(each) for each in texts if each != new_name]
            return self._git.commit_rename(old, self._path(new_name), others, message)
        except VaultError as error:
            try:
                self._take_back(name, new_name, before)
            except VaultError as again:
                error.args = (f"{name} is renamed in part, and that is not committed. {again} {error}",)
            raise

    def _take_back(self, name: str, new_name: str, texts: Mapping[str, str]) -> None:
        if self.folder.find_or_none(name) is None:
            self.folder.move(new_name, name)
        for each, text in texts.items():
            self.folder.write(name if each == new_name else each, text)

    def keep_hand_edits_now(self, names: Iterable[str]) -> None:
        """Commit what was changed in these articles by hand, for work inside `exclusive`. Blocks."""
        self._check_writable()
        for name in names:
            if self._git.changed(path := self._path(name)):
                self._keep_hand_edits(path, name)

    def _keep_hand_edits(self, path: str, name: str) -> None:
        try:
            self._git.commit(path, f"Keep changes made by hand to {name}")
        except GitError as error:
            error.args = (f"{name} has changes made by hand that could not be committed first. {error}",)
            raise

    def revert_now(self, name: str, commit: str) -> str:
        """Undo a commit of the article by another, for work inside `exclusive`. Blocks.

        Raises UndoConflict.
        """
        self._check_writable()
        return self._git.revert(self._path(name), commit)

    def find_commit_now(self, name: str, line: str) -> str | None:
        """The newest commit of the article with this line in its message. Blocks."""
        return self._git.find(self._path(name), line)

    async def _read(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(self._look, work)

    def _look(self, work: Callable[[], T]) -> T:
        self.check_exists()
        return work()

    def _finished(self, task: "asyncio.Task[object]") -> None:
        self._writes.discard(task)
        if not task.cancelled():
            task.exception()  # its caller may have gone away

    def _check_writable(self) -> None:
        if not self.exists or (self._git.available and not self._git.exists):
            raise VaultMissing(
                f"There is no memory with a git repository at {self.root}. `fireside memory init` makes it."
            )
        self._git.check_available()

    def _init(self) -> None:
        readme = self.root / "README.md"
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in ("articles", "Reference", "Meta"):
                (self.root / name).mkdir(exist_ok=True)
            if not readme.exists():
                replace_file(readme, README.encode())
        except OSError as error:
            raise VaultUnusable(
                f"The memory {self.root} cannot be made: {error.strerror or error}."
            ) from error
        if not self._git.available:
            return
        if not self._git.exists:
            self._git.init()
        if not self._git.log("README.md"):
            self._git.commit("README.md", "Begin this memory")

    def _status(self) -> Status:
        articles = self.folder.articles()
        recent = sorted(articles.values(), key=lambda article: -article.modified)[:RECENT]
        return Status(
            root=str(self.root),
            exists=self.exists,
            git=self._git.exists,
            git_program=self._git.available,
            articles=len(articles),
            references=len(self._references.scan()),
            recent=[summarize(article) for article in recent],
        )

    def _page(self, name: str) -> Page:
        try:
            article = self.folder.read(name)
        except ArticleNotFound:
            articles = self.folder.articles()
            meant = names_of(articles).find(name)
            if meant is None:
                raise
            article = articles[meant]
        return page_of(article, self._links_of(article))

    def _links(self, name: str) -> Links:
        return self._links_of(self.folder.read(name))

    def _links_of(self, article: Article) -> Links:
        articles = self.folder.articles()
        beside = ("Reference", "Meta")
        others = [f"{folder}/{each}" for folder in beside for each in Folder(self.root / folder).scan()]
        return links_of(article, articles, names_of(articles), Names([*others, "README"]))

    def _history(self, name: str) -> list[Commit]:
        commits = self._git.log(self._path(name)) if self._git.available else []
        if not commits:
            self.folder.find(name)
        return commits

    def _diff(self, name: str, commit: str | None, base: str | None) -> str:
        path = self._versioned(name)
        if base is not None and commit is not None:
            return self._git.diff_between(path, base, commit)
        if base is not None:
            return unified_diff(self._git.text(path, base, "base"), self.folder.read(name).text, path)
        if commit is None:
            return self._git.diff_since(path, self.folder.read(name).text)
        return self._git.diff(path, commit)

    def _version(self, name: str, commit: str) -> str:
        text = self._git.text(self._versioned(name), commit)
        if text is None:
            raise ArticleNotFound(f"{name} was not there after that commit.", "commit")
        return text

    def _versioned(self, name: str) -> str:
        """The article's file as git names it. Raises VaultMissing where there is no repository."""
        path = self._path(name)
        if not self._git.exists:
            raise VaultMissing(f"{self.root} has no git repository. `fireside memory init` makes it.")
        return path

    def _path(self, name: str) -> str:
        """The article's file as git names it."""
        try:
            return self.folder.find(name).path.relative_to(self.root).as_posix()
        except ArticleNotFound:
            return f"articles/{check_name(name)}{SUFFIX}"

    def _import(self, source: Path) -> Imported:
        self._check_writable()
        source = source / "articles" if (source / "articles").is_dir() else source
        if not source.is_dir():
            raise VaultError(f"{source} is no folder. Name a vault or a folder of notes.", "source")
        own, folder = Names(self.folder.scan()), Folder(source)
        done = Imported([], [], {})
        for name in sorted(folder.scan()):
            if own.same_file(name):
                done.skipped.append(name)
                continue
            try:
                text = folder.read(name).text
                self.write_now(name, text, f"Import {name}")
            except GitError:
                raise
            except VaultError as error:
                done.failed[name] = str(error)
            else:
                done.added.append(name)
        return done
