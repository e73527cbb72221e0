"""What the hub has: search, and all about one model. Everything here blocks, for seconds at the most."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from fireside.catalog.hub.asking import ask
from fireside.catalog.hub.errors import endpoint, told
from fireside.catalog.hub.names import check_commit, is_repo_id
from fireside.http.errors import Forbidden, NotFound

T = TypeVar("T")

Sort = Literal["downloads", "likes", "updated", "created", "trending", "size"]
Gated = Literal["no", "auto", "manual"]

MAX_LIMIT = 100
MAX_CARD = 512 * 1024
"""Bytes of a model card that are shown."""

_SORTS: Mapping[Sort, str] = {
    "downloads": "downloads",
    "likes": "likes",
    "updated": "lastModified",
    "created": "createdAt",
    "trending": "trendingScore",
    "size": "downloads",
}
_EXPAND = [
    "downloads",
    "likes",
    "lastModified",
    "gated",
    "safetensors",
    "pipeline_tag",
    "tags",
    "library_name",
]
_BITS = {
    "F64": 64,
    "I64": 64,
    "U64": 64,
    "F32": 32,
    "I32": 32,
    "U32": 32,
    "BF16": 16,
    "F16": 16,
    "I16": 16,
    "U16": 16,
}
_LOOKED_THROUGH = 100
"""So many results are asked for where sizes are compared, which the hub does not do."""
_PREAMBLE = "---"


class _Lfs(msgspec.Struct):
    size: int


class _Sibling(msgspec.Struct):
    rfilename: str
    size: int | None = None
    lfs: _Lfs | None = None


class _Safetensors(msgspec.Struct):
    parameters: dict[str, int] | None = None


class _Row(msgspec.Struct, rename={"last_modified": "lastModified"}):
    """What is read of the hub's own words about a model."""

    id: str = ""
    sha: str | None = None
    tags: list[str] = []
    library_name: str | None = None
    pipeline_tag: str | None = None
    gated: bool | str | None = None
    downloads: int | None = None
    likes: int | None = None
    last_modified: str | None = None
    safetensors: _Safetensors | None = None
    siblings: list[_Sibling] | None = None


class Found(msgspec.Struct, frozen=True):
    """A model on the hub.

    Attributes:
        mlx: its weights are laid out for MLX.
        gated: whether its page asks for an agreement, and whether somebody reads it.
        size: bytes of its weights; None where the hub does not know.
        parameters: None where the hub does not know. Packed ones count as they
            are stored.
        updated_at: ISO 8601.
    """

    repo_id: str
    mlx: bool
    gated: Gated
    downloads: int
    likes: int
    size: int | None
    parameters: int | None
    task: str | None
    license: str | None
    updated_at: str | None


class HubFile(msgspec.Struct, frozen=True):
    """A file of a repository; its size in bytes."""

    name: str
    size: int | None


class HubModel(msgspec.Struct, frozen=True):
    """All about one model.

    Attributes:
        commit: that its revision is at.
        files: all of them, also those that a download leaves out.
        size: bytes of all files.
        card_html: the model card, rendered; None where there is none, or it may not be read.
        endpoint: the address of the hub.
    """

    model: Found
    commit: str
    files: list[HubFile]
    size: int
    card_html: str | None
    endpoint: str


def search(
    text: str,
    *,
    mlx_only: bool = True,
    sort: Sort = "downloads",
    limit: int = 20,
    max_bytes: int | None = None,
) -> list[Found]:
    """Models whose name has the words.

    Args:
        sort: greatest or newest first, but the smallest first by `size`, of the most downloaded ones.
        max_bytes: leave out larger ones, and those whose size the hub does not know.

    Raises:
        FiresideError: the hub cannot be reached, or refuses.
    """
    by_size = sort == "size" or max_bytes is not None
    query: dict[str, Any] = {
        "search": text,
        "sort": _SORTS[sort],
        "direction": -1,
        "limit": max(limit, _LOOKED_THROUGH) if by_size else limit,
        "expand": _EXPAND,
    }
    if mlx_only:
        query["filter"] = ["mlx"]
    rows = _decoded(ask("/api/models", query), list[_Row])
    found = [_found(row, row.id) for row in rows if is_repo_id(row.id)]
    if max_bytes is not None:
        found = [each for each in found if each.size is not None and each.size <= max_bytes]
    if sort == "size":
        found.sort(key=lambda each: (each.size is None, each.size))
    return found[:limit]


def model(repo_id: str, revision: str, render: Callable[[str], str]) -> HubModel:
    """All about one model.

    Args:
        render: makes safe HTML of Markdown.

    Raises:
        FiresideError: the hub cannot be reached, or refuses, or has no such model.
    """
    from urllib.parse import quote

    path = f"/api/models/{repo_id}/revision/{quote(revision, safe='')}"
    row = _decoded(ask(path, {"blobs": True}, repo_id), _Row)
    commit = check_commit(row.sha)
    files = [HubFile(each.rfilename, each.lfs.size if each.lfs else each.size) for each in row.siblings or []]
    card = _card(repo_id, commit) if any(file.name == "README.md" for file in files) else None
    return HubModel(
        model=_found(row, repo_id),
        commit=commit,
        files=files,
        size=sum(file.size or 0 for file in files),
        card_html=None if card is None else render(card),
        endpoint=endpoint(),
    )


def _card(repo_id: str, commit: str) -> str | None:
    """The text of the model card without its preamble; that of a gated model may not be readable."""
    try:
        body = ask(f"/{repo_id}/resolve/{commit}/README.md", {}, repo_id, MAX_CARD)
    except (Forbidden, NotFound):
        return None
    return _without_preamble(body.decode("utf-8", "replace").replace("\r\n", "\n"))


def _without_preamble(text: str) -> str:
    lines = text.split("\n")
    if lines[0].strip() == _PREAMBLE and _PREAMBLE in (rest := [line.strip() for line in lines[1:]]):
        return "\n".join(lines[rest.index(_PREAMBLE) + 2 :])
    return text


def _decoded(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise told(error) from error


def _found(row: _Row, repo_id: str) -> Found:
    counts = (row.safetensors.parameters if row.safetensors else None) or {}
    return Found(
        repo_id=repo_id,
        mlx="mlx" in row.tags or row.library_name == "mlx",
        gated="no" if not row.gated else "manual" if row.gated == "manual" else "auto",
        downloads=row.downloads or 0,
        likes=row.likes or 0,
        size=sum(count * _BITS.get(kind, 8) // 8 for kind, count in counts.items()) or None,
        parameters=sum(counts.values()) or None,
        task=row.pipeline_tag,
        license=next((tag.partition(":")[2] for tag in row.tags if tag.startswith("license:")), None),
        updated_at=row.last_modified,
    )
