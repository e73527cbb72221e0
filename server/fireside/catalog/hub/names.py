"""Names that come from a request or from a hub, checked before they become a URL or a path."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from fireside.catalog.hub.errors import NotUsable
from fireside.http.errors import BadRequest

_REPO_ID = re.compile(r"(?P<owner>[A-Za-z0-9][\w.-]*/)?(?P<name>[A-Za-z0-9_][\w.-]*)", re.ASCII)
_REVISION = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)*", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MAX_LENGTH = 200


def is_repo_id(text: str) -> bool:
    """Whether it is a name or `owner/name`."""
    bad = len(text) > _MAX_LENGTH or ".." in text or "--" in text or text.endswith((".", ".git"))
    return not bad and _REPO_ID.fullmatch(text) is not None


def check_repo_id(text: str) -> str:
    """A name or `owner/name`, and so never an address or a path.

    Raises:
        BadRequest: it is something else.
    """
    if not is_repo_id(text):
        raise BadRequest(
            f"{text[:_MAX_LENGTH]!r} is not the name of a model on a hub. Write one such as "
            "mlx-community/Qwen3-4B-4bit.",
            param="repo_id",
        )
    return text


def check_revision(text: str) -> str:
    """A branch, a tag or a commit.

    Raises:
        BadRequest: it is something else.
    """
    if len(text) > _MAX_LENGTH or ".." in text or not _REVISION.fullmatch(text):
        raise BadRequest(
            f"{text[:_MAX_LENGTH]!r} is not a revision. Write a branch, a tag or a commit, or leave it out.",
            param="revision",
        )
    return text


def is_commit(text: str) -> bool:
    """Whether it is the full id of a commit."""
    return _COMMIT.fullmatch(text) is not None


def check_commit(text: object) -> str:
    """The commit that a hub reports; it becomes the name of a folder.

    Raises:
        NotUsable: it is none.
    """
    if not isinstance(text, str) or not is_commit(text):
        raise NotUsable(f"The hub reports no valid commit: {text!r:.80}.", code="unsafe_repository")
    return text


def check_digest(text: object) -> str:
    """The checksum that a hub reports for a file; it becomes the name of a blob.

    Raises:
        NotUsable: it is none.
    """
    if not isinstance(text, str) or not _DIGEST.fullmatch(text):
        raise NotUsable(f"The hub reports no valid checksum: {text!r:.80}.", code="unsafe_repository")
    return text


def check_file_name(text: str) -> str:
    """The path of a file in a repository: relative, and never out of its folder.

    Raises:
        NotUsable: it leads elsewhere.
    """
    parts = text.split("/")
    bad = any(part in ("", ".", "..") for part in parts) or "\\" in text or not text.isprintable()
    if len(text) > _MAX_LENGTH or any(len(part.encode("utf-8", "replace")) > _MAX_LENGTH for part in parts):
        raise NotUsable(
            f"The repository has a file with a name of {len(text)} characters; it is not downloaded.",
            code="unsafe_repository",
        )
    if bad or PurePosixPath(text).is_absolute():
        raise NotUsable(
            f"The repository has a file named {text[:_MAX_LENGTH]!r}, which leads out of its folder; it is "
            "not downloaded.",
            code="unsafe_repository",
        )
    return text
