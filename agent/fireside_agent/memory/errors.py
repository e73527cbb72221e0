"""What can go wrong with the vault, and what the routes answer for it.

VaultError
    InvalidName             400  no article can have this name
    InvalidQuery            400  another parameter is missing or cannot be used
    ArticleNotFound         404  no article, section or commit of that name
    VaultMissing            404  there is no vault yet
    ProposalNotFound        404
    ProposalSettled         409  accepted, dropped or undone before
    NameTaken               409  another article has that name
    ArticleChanged          409  the article is no longer what the writer saw
    EditConflict            409  the same, with the article as it is now
    ProposalConflict        409  the same, with what the proposal would change now
    GitError                409  git refused or failed; what was written is on disk
        GitMissing              409  there is no git program
        GitLocked               409  another git program held the repository for too long
        UndoConflict            409  later changes touch the same lines
    VaultUnusable           500  the disk or its permissions
"""

from collections.abc import Sequence
from typing import ClassVar

from fireside_agent.errors import AgentError


class VaultError(AgentError):
    """Base of the vault's errors. The text is for the person and the model.

    Attributes:
        status: HTTP status of the answer.
        code: for programs.
        param: the parameter at fault.
    """

    status: ClassVar[int] = 409
    code: ClassVar[str] = "memory_failed"

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class InvalidName(VaultError):
    """No article can have this name."""

    status = 400
    code = "invalid_name"

    def __init__(self, message: str, param: str = "name") -> None:
        super().__init__(message, param)


class InvalidQuery(VaultError):
    """A parameter is missing or cannot be used."""

    status = 400
    code = "invalid_parameter"


class ArticleNotFound(VaultError):
    """There is no article, section or commit of that name.

    Attributes:
        near: names of articles that may be meant, best first.
    """

    status = 404
    code = "article_not_found"

    def __init__(self, message: str, param: str | None = None, near: Sequence[str] = ()) -> None:
        super().__init__(message, param)
        self.near = list(near)


class VaultMissing(VaultError):
    """There is no vault yet, or it has no repository of its own."""

    status = 404
    code = "memory_not_initialized"


class ProposalNotFound(VaultError):
    """There is no proposal with that id."""

    status = 404
    code = "proposal_not_found"


class ProposalSettled(VaultError):
    """The proposal cannot be settled again."""

    code = "proposal_settled"


class NameTaken(VaultError):
    """Another article has that name; nothing was written."""

    code = "name_taken"


class ArticleChanged(VaultError):
    """The article is no longer what the writer saw; nothing was written."""

    code = "article_changed"


class ProposalConflict(ArticleChanged):
    """The article has changed since the proposal; nothing was written.

    Attributes:
        diff: what the proposal would change now.
        before_hash: of the article as it is now; accepting with it accepts that diff.
    """

    code = "proposal_conflict"

    def __init__(self, message: str, diff: str, before_hash: str) -> None:
        super().__init__(message)
        self.diff = diff
        self.before_hash = before_hash


class EditConflict(ArticleChanged):
    """The article has changed since the person read it; nothing was written.

    Attributes:
        text: of the article as it is now; None where there is none any more.
        diff: from that to what the person wrote.
        before_hash: of the article as it is now; saving with it overwrites that.
    """

    def __init__(self, message: str, text: str | None, diff: str, before_hash: str) -> None:
        super().__init__(message)
        self.text = text
        self.diff = diff
        self.before_hash = before_hash


class GitError(VaultError):
    """Git refused or failed. Carries git's own words."""

    code = "git_failed"


class GitMissing(GitError):
    """There is no git program on this machine."""

    code = "git_missing"


class GitLocked(GitError):
    """Another git program held the repository for too long, or died and left its lock."""

    code = "git_locked"


class UndoConflict(GitError):
    """Later changes touch the same lines; nothing was undone."""

    code = "undo_conflict"


class VaultUnusable(VaultError):
    """A file could not be read or written."""

    status = 500
    code = "storage_failed"
