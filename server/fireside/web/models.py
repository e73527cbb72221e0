"""`/api/library`, `/api/hub/local`, `/api/fit` and `/api/models/recommended`: the models on this machine.

They need no loaded model and no network.
"""

from __future__ import annotations

import msgspec
from quart import Blueprint, Response, request

from fireside.catalog.fit_report import MachineFacts
from fireside.catalog.library import Library, LibraryRow
from fireside.catalog.query import AmbiguousModelError, UnknownModelError
from fireside.catalog.recommend import Recommendation
from fireside.catalog.scan import Kind
from fireside.http.answers import json_answer
from fireside.http.errors import BadRequest, NotFound

MOST_CONTEXT = 1 << 24


class LibraryAnswer(msgspec.Struct, frozen=True):
    """The models on this machine, by name."""

    models: list[LibraryRow]


class HubLocalRow(msgspec.Struct, frozen=True, kw_only=True):
    """A local model as the hub's panel shows it, with the names that search results have.

    Attributes:
        id: `owner/name`, or a folder's name.
        name: the part of it after the slash.
        downloads_missing: what is still to be fetched or mended, in words; empty for a complete model.
        fits: whether it can be started here.
        summary: why, or why not.
    """

    id: str
    name: str
    revision: str | None
    kind: Kind
    size_bytes: int
    parameters: int | None
    quant_bits: int | None
    licence: str | None
    downloads_missing: tuple[str, ...]
    usable: bool
    serving: bool
    fits: bool
    summary: str
    decode_tps: float | None


class HubLocal(msgspec.Struct, frozen=True):
    """The models on this machine, by name, and the bytes of all of them together."""

    models: list[HubLocalRow]
    size_bytes: int


class Recommended(msgspec.Struct, frozen=True):
    """Models that suit this machine, the largest first. None of them is fetched unasked."""

    machine: MachineFacts
    models: list[Recommendation]


def create_blueprint(library: Library) -> Blueprint:
    """The routes over a library."""
    blueprint = Blueprint("library", __name__)

    @blueprint.get("/api/library")
    async def rows() -> Response:
        return json_answer(LibraryAnswer(await library.rows()))

    @blueprint.get("/api/hub/local")
    async def local() -> Response:
        found = [_hub_row(row) for row in await library.rows()]
        return json_answer(HubLocal(found, sum(row.size_bytes for row in found)))

    @blueprint.get("/api/fit")
    async def fit() -> Response:
        model = request.args.get("model") or library.serving
        if model is None:
            raise BadRequest("Say which model, since none is served: /api/fit?model=NAME", param="model")
        try:
            return json_answer(await library.fit(model, _context()))
        except UnknownModelError as error:
            raise NotFound(str(error), param="model", code="model_not_found") from error
        except AmbiguousModelError as error:
            raise BadRequest(str(error), param="model", code="model_ambiguous") from error

    @blueprint.get("/api/models/recommended")
    async def recommended() -> Response:
        return json_answer(Recommended(await library.machine(), await library.recommended()))

    return blueprint


def _context() -> int | None:
    text = request.args.get("context")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= MOST_CONTEXT):
        raise BadRequest(
            f"context must be a whole number from 1 to {MOST_CONTEXT}, not {text[:40]!r}.", param="context"
        )
    return int(text)


def _hub_row(row: LibraryRow) -> HubLocalRow:
    return HubLocalRow(
        id=row.repo_id,
        name=row.repo_id.rpartition("/")[2],
        revision=row.revision,
        kind=row.kind,
        size_bytes=row.size_bytes,
        parameters=row.parameters,
        quant_bits=row.quant_bits,
        licence=row.licence,
        downloads_missing=row.missing,
        usable=row.usable,
        serving=row.serving,
        fits=row.assessment.fits,
        summary=row.assessment.reason,
        decode_tps=row.assessment.decode_tps,
    )
