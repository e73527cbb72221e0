"""`/api/hub`, `/api/downloads` and `/api/gc`: models from elsewhere, on their way, and what may go again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
from quart import Blueprint, Response, request

from fireside.catalog.hub import clean_up, converted, search
from fireside.catalog.hub.clean_up import Orphans, Surroundings
from fireside.catalog.hub.downloads import Downloads
from fireside.catalog.hub.jobs_kept import Bits, Download
from fireside.catalog.hub.names import check_repo_id, check_revision
from fireside.http.answers import json_answer
from fireside.http.errors import BadRequest
from fireside.http.security import json_body
from fireside.http.validation import decode

T = TypeVar("T")


class SearchQuery(msgspec.Struct, frozen=True):
    """What is searched for; see `fireside.catalog.hub.search.search`."""

    q: Annotated[str, msgspec.Meta(max_length=200)] = ""
    mlx: bool = True
    sort: search.Sort = "downloads"
    limit: Annotated[int, msgspec.Meta(ge=1, le=search.MAX_LIMIT)] = 20
    max_bytes: Annotated[int, msgspec.Meta(ge=1)] | None = None


class ModelQuery(msgspec.Struct, frozen=True):
    """A model of the hub."""

    repo: str
    revision: str = "main"


class GcQuery(msgspec.Struct, frozen=True):
    """How a plan is made."""

    force: bool = False


class HubResults(msgspec.Struct, frozen=True):
    """What a search found."""

    models: list[search.Found]


class Conversion(msgspec.Struct, frozen=True):
    """A conversion after the download; 16 bits are bfloat16."""

    bits: Bits


class NewDownload(msgspec.Struct, frozen=True):
    """The body of a request for a download."""

    repo_id: str
    revision: str = "main"
    convert: Conversion | None = None


class DownloadList(msgspec.Struct, frozen=True):
    """The downloads that have not ended, then the last few that have."""

    downloads: list[Download]


class GcOrder(msgspec.Struct, frozen=True):
    """The body that lets a plan be carried out."""

    token: str
    yes: bool = False
    force: bool = False


@dataclass(frozen=True)
class HubSide:
    """What the routes work on.

    Attributes:
        models: the folder of converted models.
        render: makes safe HTML of Markdown.
        serving: the names of the models that are being served; nothing of their repositories is removed.
        in_use: the folders of models that a core has loaded.
        orphans: finds the files of the caches on disk that no model needs any more.
        changed: called when models have gone.
    """

    downloads: Downloads
    models: Path
    render: Callable[[str], str]
    serving: Callable[[], frozenset[str]] = frozenset
    in_use: Callable[[], frozenset[Path]] = frozenset
    orphans: Orphans = lambda _going: []
    changed: Callable[[], None] = lambda: None


def create_blueprint(side: HubSide) -> Blueprint:
    """The routes over the hub and what comes from it."""
    blueprint = Blueprint("hub", __name__)
    downloads = side.downloads
    removing = asyncio.Lock()

    @blueprint.get("/api/hub/search")
    async def find() -> Response:
        query = _query(SearchQuery)
        found = await asyncio.to_thread(
            search.search,
            query.q,
            mlx_only=query.mlx,
            sort=query.sort,
            limit=query.limit,
            max_bytes=query.max_bytes,
        )
        return json_answer(HubResults(found))

    @blueprint.get("/api/hub/model")
    async def model() -> Response:
        query = _query(ModelQuery)
        repo_id, revision = check_repo_id(query.repo), check_revision(query.revision)
        return json_answer(await asyncio.to_thread(search.model, repo_id, revision, side.render))

    @blueprint.post("/api/hub/download")
    async def download() -> Response:
        wanted = decode(await json_body(), NewDownload)
        bits = wanted.convert.bits if wanted.convert else None
        names = check_repo_id(wanted.repo_id), check_revision(wanted.revision)
        return json_answer(await downloads.add(*names, bits), 202)

    @blueprint.get("/api/downloads")
    async def listing() -> Response:
        return json_answer(DownloadList(downloads.listing()))

    @blueprint.post("/api/downloads/<download_id>/pause")
    async def pause(download_id: str) -> Response:
        return json_answer(await downloads.pause(download_id))

    @blueprint.post("/api/downloads/<download_id>/resume")
    async def resume(download_id: str) -> Response:
        return json_answer(await downloads.resume(download_id))

    @blueprint.post("/api/downloads/<download_id>/cancel")
    async def cancel(download_id: str) -> Response:
        return json_answer(await downloads.cancel(download_id))

    @blueprint.get("/api/gc/plan")
    async def plan() -> Response:
        force = _query(GcQuery).force
        return json_answer(await asyncio.to_thread(clean_up.plan, _surroundings(side), force=force))

    @blueprint.post("/api/gc/execute")
    async def execute() -> Response:
        order = decode(await json_body(), GcOrder)
        if not order.yes:
            raise BadRequest(
                "This removes files. Look at GET /api/gc/plan, then send its token with `yes: true`.",
                param="yes",
            )
        async with removing:
            around = _surroundings(side)
            done = await asyncio.to_thread(clean_up.execute, around, order.token, force=order.force)
        side.changed()
        return json_answer(done)

    return blueprint


def _surroundings(side: HubSide) -> Surroundings:
    live = side.downloads.live()
    return Surroundings(
        cache=side.downloads.cache,
        models=side.models,
        in_use=side.in_use(),
        live=frozenset(job.repo_id for job in live) | side.serving(),
        building=frozenset(
            converted.staging(converted.target(side.models, job.repo_id, job.bits))
            for job in live
            if job.bits is not None
        ),
        orphans=side.orphans,
    )


def _query(kind: type[T]) -> T:
    """The query of the current request.

    Raises:
        BadRequest: a parameter is missing or wrong.
    """
    given = {name: value for name, value in request.args.items() if value}
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest(f"The query is wrong: {error}") from error
