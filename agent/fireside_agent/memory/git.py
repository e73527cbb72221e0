"""The git program on the vault's own repository: commits of one file, history, diffs, reverts.

Neither the person's global settings nor the environment decide what happens, and none are changed. Hooks
and settings of the vault's own repository count. All calls block: use them in a thread.
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from fireside_agent.memory.diffs import unified_diff
from fireside_agent.memory.errors import ArticleNotFound, GitError, GitLocked, GitMissing, UndoConflict

RUN_SECONDS = 60.0
LOCK_SECONDS = 5.0
OTHERS_SECONDS = 30.0
LOCK_PAUSE_SECONDS = 0.05
MAX_COMMITS = 500

IDENTITY = ("Fireside", "fireside@localhost")
SETTINGS = ("core.quotepath=off", "color.ui=false", "log.showSignature=false", "advice.statusHints=false")

LOCKED = re.compile(r"Unable to create '(?P<lock>[^\n]*\.lock)': File exists")
COMMIT = re.compile(r"[0-9a-f]{4,64}")
DIFF_OPTIONS = (
    *("--text", "--no-ext-diff", "--no-textconv", "--no-renames"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
COMMITTING = ("commit", "--quiet", "--cleanup=whitespace", "--file=-")
HISTORY = "--format=%H%x1f%at%x1f%an%x1f%s"


class Commit(msgspec.Struct, frozen=True):
    """One commit of an article. `time` is in seconds since the epoch."""

    commit: str
    time: float
    subject: str
    author: str


class Git:
    """The repository `root/.git` with the work tree `root`; an outer repository is never looked at."""

    def __init__(self, root: Path, lock_seconds: float = LOCK_SECONDS) -> None:
        self._root = root
        self._lock_seconds = lock_seconds

    @property
    def available(self) -> bool:
        """There is a git program."""
        return shutil.which("git") is not None

    @property
    def exists(self) -> bool:
        """The vault has a repository of its own."""
        return (self._root / ".git").exists()

    def init(self) -> None:
        """Make the repository."""
        root = str(self._root)
        self._run("init", "--quiet", "--template=", "--initial-branch=main", "--", root, bound=False)

    def commit(self, path: str, message: str) -> str | None:
        """Commit the file at `path`, relative to the root, and nothing else; the new commit's hash.

        None: the file is as it was committed last. The file stays as it is when a hook refuses.
        """
        self._run("add", "--force", "--", path)
        if not self.changed(path):
            return None
        try:
            self._run(
                "commit",
                "--quiet",
                "--only",
                "--cleanup=whitespace",
                "--file=-",
                "--",
                path,
                given=_message(message),
            )
        except GitError:
            if self.changed(path):
                raise
            return None  # a person has just committed it
        return self._run("log", "-1", "--format=%H", "--", path).decode().strip()

    def commit_rename(self, old: str, new: str, others: Sequence[str], message: str) -> str:
        """Commit that the file `old` is `new` now, with what has changed in `others`; the commit's hash.

        Raises GitError: nothing is committed, and the index is as before.
        """
        # An index of its own: `commit --only` would take a name for both where case does not count.
        with TemporaryDirectory(prefix="fireside-") as folder:
            index = Path(folder) / "index"
            try:
                self._run("read-tree", "HEAD", index=index)
                for each in (None, index):
                    self._run("update-index", "--force-remove", "--", old, index=each)
                    self._run("update-index", "--add", "--", new, *others, index=each)
                self._run(*COMMITTING, given=_message(message), index=index)
            except GitError:
                self._run("reset", "--quiet", "--", old, new, *others)
                raise
        return self._run("rev-parse", "HEAD").decode().strip()

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keeps other Firesides from writing, such as the command line beside the app."""
        if not (self._root / ".git").is_dir():
            yield
            return
        with (self._root / ".git" / "fireside.lock").open("ab") as file:
            end = time.monotonic() + OTHERS_SECONDS
            while not _locked(file.fileno()):
                if time.monotonic() > end:
                    raise GitLocked("Another Fireside is writing to this memory. Wait until it is done.")
                time.sleep(LOCK_PAUSE_SECONDS)
            yield

    def changed(self, path: str) -> bool:
        """The file differs from its last commit, or has none."""
        return bool(self._run("status", "--porcelain", "-z", "--ignored", "--", path))

    def revert(self, path: str, commit: str) -> str:
        """Undo a commit of the file at `path` by another, whose hash is returned.

        Raises UndoConflict when later changes are in the way; files and index are as before then.
        """
        if self._under_way():
            raise GitError("A revert of somebody else is under way in the vault. Finish or abort it first.")
        if self.changed(path):
            raise UndoConflict(f"This cannot be undone: {path} has changes that are not committed.")
        try:
            self._run("revert", "--no-edit", commit)
        except GitError as error:
            if self._under_way():
                self._run("revert", "--abort")
            elif self.changed(path):
                # A hook that refuses leaves the reverted text, and no revert to abort.
                self._run("restore", "--source=HEAD", "--staged", "--worktree", "--", path)
            if isinstance(error, GitLocked):
                raise
            raise UndoConflict(
                "This cannot be undone: what it changed has changed again, or git refused. "
                f"Edit the article instead. {error}"
            ) from error
        return self._run("rev-parse", "HEAD").decode().strip()

    def find(self, path: str, line: str) -> str | None:
        """The newest commit of a file whose message has `line`, of plain words, as one of its lines."""
        if not self._has("HEAD"):
            return None
        pattern = f"--grep=^{line}$"
        found = self._run("log", "-1", "--format=%H", "--basic-regexp", pattern, "--", path)
        return found.decode().strip() or None

    def log(self, path: str) -> list[Commit]:
        """A file's commits, newest first, at most `MAX_COMMITS`; also those before it got its name."""
        if not (self.exists and self._has("HEAD")):
            return []
        commits: list[Commit] = []
        for name, span in self._lives(path):
            out = self._run("log", f"--max-count={MAX_COMMITS}", "-z", HISTORY, span, "--", name)
            records = [record.split("\x1f") for record in out.decode(errors="replace").split("\0") if record]
            commits += (Commit(commit, float(at), words, author) for commit, at, author, words in records)
        return commits[:MAX_COMMITS]

    def diff(self, path: str, commit: str) -> str:
        """What one commit changed in a file. Raises ArticleNotFound for a commit that is not there."""
        self._check(commit)
        path = self._name_at(path, commit)
        show = ("show", "--format=", "--diff-merges=first-parent", *DIFF_OPTIONS)
        if (before := self._renamed_from(path, commit)) is None:
            return self._run(*show, commit, "--", path).decode(errors="replace")
        return self._run(*show, "--find-renames", commit, "--", before, path).decode(errors="replace")

    def text(self, path: str, commit: str, param: str = "commit") -> str | None:
        """A file as it was after a commit; None where there was none. Raises ArticleNotFound as `diff`."""
        self._check(commit, param)
        path = self._name_at(path, commit)
        if not self._has_file(path, commit):
            return None
        return self._run("cat-file", "blob", f"{commit}:{path}").decode(errors="replace")

    def diff_between(self, path: str, base: str, commit: str) -> str:
        """From a file after one commit to the same after another. Raises ArticleNotFound as `diff`."""
        self._check(base, "base")
        self._check(commit)
        before, after = self._name_at(path, base), self._name_at(path, commit)
        if before != after:
            return unified_diff(self.text(path, base), self.text(path, commit) or "", path)
        path = after
        return self._run("diff", *DIFF_OPTIONS, base, commit, "--", path).decode(errors="replace")

    def diff_since(self, path: str, text: str) -> str:
        """What has changed in a file, which now holds `text`, since its last commit."""
        if self._has("HEAD") and self._run("ls-files", "-z", "--", path):
            return self._run("diff", *DIFF_OPTIONS, "HEAD", "--", path).decode(errors="replace")
        return unified_diff(None, text, path)

    def _lives(self, path: str) -> Iterator[tuple[str, str]]:
        """The names that a file has had, newest first, each with the commits in which it had it."""
        end = "HEAD"
        while True:
            added = self._run("log", "-1", "--no-renames", "--diff-filter=A", "--format=%H", end, "--", path)
            commit = added.decode().strip()
            before = self._renamed_from(path, commit) if commit else None
            if before is None:
                yield path, end
                return
            yield path, f"{commit}^..{end}"
            path, end = before, f"{commit}^"

    def _renamed_from(self, path: str, commit: str) -> str | None:
        """The file's name before that commit, where it got this one by it."""
        show = ("show", "--format=", "--diff-merges=first-parent", "--find-renames", "--name-status", "-z")
        words = iter(self._run(*show, "--diff-filter=R", commit).decode(errors="replace").split("\0"))
        renamed = {new: old for _, old, new in zip(words, words, words, strict=False)}
        return renamed.get(path)

    def _name_at(self, path: str, commit: str) -> str:
        """The file's name after a commit; the present one where it was not there then."""
        if self._has_file(path, commit):
            return path
        return next((name for name, _ in self._lives(path) if self._has_file(name, commit)), path)

    def _has_file(self, path: str, commit: str) -> bool:
        return bool(self._run("ls-tree", "-z", commit, "--", path))

    def check_available(self) -> None:
        """Raises GitMissing where there is no git program."""
        self._program()

    def _check(self, commit: str, param: str = "commit") -> None:
        if COMMIT.fullmatch(commit) and self._has(f"{commit}^{{commit}}"):
            return
        raise ArticleNotFound("There is no such commit. Take its hash from the article's history.", param)

    def _under_way(self) -> bool:
        return self._has("REVERT_HEAD")

    def _has(self, revision: str) -> bool:
        return self._call(["rev-parse", "--verify", "--quiet", revision], b"", bound=True)[0] == 0

    def _run(
        self, *arguments: str, given: bytes = b"", bound: bool = True, index: Path | None = None
    ) -> bytes:
        """Git's output. A lock of another program is waited for, up to `lock_seconds` in all.

        Args:
            index: in place of the repository's own.
        """
        end = time.monotonic() + self._lock_seconds
        while True:
            status, out, words = self._call(arguments, given, bound=bound, index=index)
            if status == 0:
                return out
            locked = LOCKED.search(words)
            if locked is None:
                raise GitError(f"git {arguments[0]} failed: {words.strip() or f'exit status {status}'}")
            if time.monotonic() > end:
                raise GitLocked(
                    f"Another git program holds {locked['lock']}. "
                    "Wait until it is done; if none is running, delete that file. Then try again."
                )
            time.sleep(LOCK_PAUSE_SECONDS)

    def _call(
        self, arguments: Sequence[str], given: bytes, *, bound: bool, index: Path | None = None
    ) -> tuple[int, bytes, str]:
        program = self._program()
        settings = [word for setting in SETTINGS for word in ("-c", setting)]
        pipe = subprocess.PIPE
        try:
            # A session of its own, so that the hooks of a stuck git end with it.
            process = subprocess.Popen(
                [program, *settings, *arguments],
                cwd=self._root,
                env=self._environment(bound=bound, index=index),
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
            )
        except OSError as error:
            raise GitError(f"git could not be started: {error}") from error
        with process:
            try:
                out, words = process.communicate(given, RUN_SECONDS)
            except subprocess.TimeoutExpired as error:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                raise GitError(
                    f"git {arguments[0]} took more than {RUN_SECONDS:.0f} s and was ended. Is a hook waiting?"
                ) from error
        return process.returncode, out, (words or out).decode(errors="replace")

    def _program(self) -> str:
        program = shutil.which("git")
        if program is None:
            raise GitMissing("There is no git program. Install git; until then memory can only be read.")
        return program

    def _environment(self, *, bound: bool, index: Path | None) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        name, address = IDENTITY
        kept |= {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_EDITOR": "true",
            "GIT_PAGER": "cat",
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": address,
            "GIT_COMMITTER_NAME": name,
            "GIT_COMMITTER_EMAIL": address,
            "LC_ALL": "C",
        }
        if bound:
            kept |= {"GIT_DIR": str(self._root / ".git"), "GIT_WORK_TREE": str(self._root)}
        if index is not None:
            kept["GIT_INDEX_FILE"] = str(index)
        return kept


def _message(text: str) -> bytes:
    return text.encode(errors="replace").replace(b"\0", b"")


def _locked(descriptor: int) -> bool:
    """Take the lock, which ends with the open file."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
