"""`/api/attachments`: files come in before the message that carries them, and are shown from there."""

import asyncio
import mimetypes

from quart import (
    Blueprint,
    Response,
    request,
    send_file,  # pyright: ignore[reportUnknownVariableType]
)

from fireside_agent.answers import RefusedError, answer_errors, json_answer
from fireside_agent.attachments.names import clean_name, disposition
from fireside_agent.attachments.store import MAX_BYTES, AttachmentStore
from fireside_agent.attachments.text import IMAGES, UnsupportedFileError
from fireside_agent.attachments.uploads import read_uploads

SANDBOX = "default-src 'none'; sandbox"
"""A file that is opened by itself runs nothing and loads nothing, and has no part in our origin."""

NO_TEXT = "There is no text in this file."


def create_blueprint(store: AttachmentStore) -> Blueprint:
    """The routes of the attachments in `store`."""
    blueprint = Blueprint("attachments", __name__)
    answer_errors(blueprint)

    @blueprint.post("/api/attachments")
    async def add() -> Response:  # pyright: ignore[reportUnusedFunction]
        uploads = await read_uploads(MAX_BYTES)
        if len(uploads) != 1:
            raise RefusedError(400, "one_file", f"Send one file at a time, not {len(uploads)}.", "file")
        (upload,) = uploads
        if not upload.data:
            raise RefusedError(415, "empty", f"{upload.name} is empty.", "file")
        try:
            attachment = await store.add(upload.data, upload.name, upload.media_type)
        except UnsupportedFileError as error:
            raise RefusedError(415, "unsupported_media_type", str(error), "file") from error
        return json_answer(attachment, 201)

    @blueprint.get("/api/attachments/<sha256>")
    async def show(sha256: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        try:
            path = store.path(sha256)
        except ValueError:
            raise _unknown(sha256) from None
        attachments = await store.describe([sha256])
        if not attachments or not await asyncio.to_thread(path.is_file):
            raise _unknown(sha256)
        media_type = attachments[0].media_type
        response = await send_file(path, mimetype=media_type)
        kind = "inline" if media_type in IMAGES else "attachment"
        fallback = sha256[:12] + (mimetypes.guess_extension(media_type) or "")
        name = clean_name(request.args.get("name", ""), fallback)
        response.headers["Content-Disposition"] = disposition(kind, name)
        response.headers["Cache-Control"] = "no-store"  # a browser's copy would outlive the chat
        return _sandboxed(response)

    @blueprint.get("/api/attachments/<sha256>/text")
    async def text(sha256: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        found = (await store.texts([sha256])).get(sha256)
        if not found:
            raise _unknown(sha256) if found is None else RefusedError(404, "no_text", NO_TEXT, "sha256")
        response = Response(found, content_type="text/plain; charset=utf-8")
        response.headers["Content-Disposition"] = disposition("inline", f"{sha256[:12]}.txt")
        response.headers["Cache-Control"] = "no-store"
        return _sandboxed(response)

    @blueprint.get("/api/attachments/<sha256>/reading")
    async def reading(sha256: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        found = await store.reading(sha256)
        if found is None:
            raise _unknown(sha256)
        return json_answer(found)

    return blueprint


def _sandboxed(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = SANDBOX
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _unknown(sha256: str) -> RefusedError:
    return RefusedError(404, "not_found", f"There is no attachment {sha256[:64]!r}.", "sha256")
