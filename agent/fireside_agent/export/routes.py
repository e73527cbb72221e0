"""`/api/sessions/export` and `/api/sessions/import`."""

import time
from collections.abc import Callable
from typing import get_args

from quart import Blueprint, Response, request

from fireside_agent.answers import RefusedError, answer_errors, json_answer
from fireside_agent.attachments.names import disposition, file_name
from fireside_agent.attachments.uploads import read_uploads
from fireside_agent.export.archive import FALLBACK_NAME
from fireside_agent.export.exporting import SUFFIXES, Exporter, Format, Wanted
from fireside_agent.export.importing import MAX_BYTES, Importer
from fireside_agent.export.json_format import UnreadableFileError
from fireside_agent.export.markdown import Options

CONTENT_TYPES: dict[Format, str] = {
    "markdown": "text/markdown; charset=utf-8",
    "json": "application/json",
}

READABLE = frozenset(
    {"application/json", "application/zip", "application/x-zip-compressed", "multipart/form-data"}
)
"""What a form on a foreign page cannot send, and forms, which the check of the origin keeps out."""


def create_blueprint(exporter: Exporter, importer: Importer, changed: Callable[[], None]) -> Blueprint:
    """The routes that turn chats into files and back.

    Args:
        changed: called when there are new chats in the list.
    """
    blueprint = Blueprint("export", __name__)
    answer_errors(blueprint)

    @blueprint.get("/api/sessions/export")
    async def export() -> Response:  # pyright: ignore[reportUnusedFunction]
        wanted = _wanted()
        everything = _flag("all")
        ids = list(dict.fromkeys(request.args.getlist("id")))
        if everything:
            ids = await exporter.all_ids()
        elif not ids:
            raise RefusedError(
                400, "missing_id", "Say which chats: `id`, as often as needed, or `all=1`.", "id"
            )
        elif unknown := await exporter.unknown(ids):
            raise _unknown(unknown[0])
        if len(ids) == 1 and not everything:
            return await _single(exporter, ids[0], wanted)
        name = time.strftime("fireside-%Y-%m-%d.zip", time.gmtime())
        response = Response(exporter.zip(ids, wanted), headers=_headers(name), content_type="application/zip")
        response.timeout = None  # as long as it is taken
        return response

    @blueprint.post("/api/sessions/import")
    async def import_() -> Response:  # pyright: ignore[reportUnusedFunction]
        if request.mimetype not in READABLE:
            message = "Send JSON, a zip, or a form with files, and say so in `Content-Type`."
            raise RefusedError(415, "unsupported_media_type", message)
        uploads = await read_uploads(MAX_BYTES)
        try:
            outcome = await importer.load([upload.data for upload in uploads])
        except UnreadableFileError as error:
            raise RefusedError(400, "unreadable_file", str(error), "file") from error
        if outcome.imported:
            changed()
        return json_answer(outcome)

    return blueprint


async def _single(exporter: Exporter, session_id: str, wanted: Wanted) -> Response:
    file = await exporter.one(session_id, wanted)
    if file is None:
        raise _unknown(session_id)
    name = file_name(file.title, FALLBACK_NAME) + SUFFIXES[wanted.format]
    return Response(file.data, headers=_headers(name), content_type=CONTENT_TYPES[wanted.format])


def _wanted() -> Wanted:
    asked = request.args.get("format", "markdown")
    branches = request.args.get("branches", "current")
    if branches not in ("current", "all"):
        raise RefusedError(400, "invalid_branches", "`branches` is `current` or `all`.", "branches")
    for known in get_args(Format):
        if asked == known:
            return Wanted(known, Options(_flag("reasoning"), branches == "all"))
    raise RefusedError(400, "invalid_format", f"`format` is `markdown` or `json`, not {asked!r}.", "format")


def _flag(name: str) -> bool:
    value = request.args.get(name, "0")
    if value not in ("0", "1"):
        raise RefusedError(400, "invalid_flag", f"`{name}` is 0 or 1.", name)
    return value == "1"


def _headers(name: str) -> dict[str, str]:
    return {
        "Content-Disposition": disposition("attachment", name),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }


def _unknown(session_id: str) -> RefusedError:
    message = f"There is no chat with the id {session_id[:200]!r} on the disk; temporary ones never are."
    return RefusedError(404, "unknown_session", message, "id")
