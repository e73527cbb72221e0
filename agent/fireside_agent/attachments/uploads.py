"""Files out of a request's body, with limits that hold whatever the request says of itself."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from urllib.parse import unquote

from quart import request
from quart.formparser import MultiPartParser
from werkzeug.exceptions import HTTPException, RequestTimeout

from fireside_agent.answers import RefusedError

MAX_FORM_PARTS = 1000
FORM_OVERHEAD_BYTES = 64 * 1024
"""What the headers of a form's parts may take beside the files."""

SPOOLED_BYTES = 1024 * 1024
"""A form's file beyond this waits on disk until the form is complete."""

DRAIN_BYTES = 256 * 1024 * 1024
DRAIN_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it was sent. Nothing of it is checked but its size."""

    name: str
    media_type: str
    data: bytes


async def read_uploads(limit: int) -> list[Upload]:
    """The files of a multipart form, or the whole body as one file, named by `X-File-Name`.

    Args:
        limit: bytes that all of them may have together.

    Raises:
        RefusedError: there are none, they are too large, or the form is damaged.
        RequestTimeout: the rest of the body does not come.
    """
    try:
        return await _read(limit)
    except RefusedError as error:
        if error.status == 413:
            await _let_it_finish()
        raise


async def _read(limit: int) -> list[Upload]:
    if (request.content_length or 0) > limit + FORM_OVERHEAD_BYTES:
        raise _too_large(limit)
    try:
        async with asyncio.timeout(request.body_timeout):
            if request.mimetype == "multipart/form-data":
                uploads = await _from_form(limit)
            else:
                uploads = [await _from_body(limit)]
    except TimeoutError as error:
        raise RequestTimeout from error
    if not uploads:
        raise RefusedError(400, "no_file", "There is no file in the form.", "file")
    if sum(len(upload.data) for upload in uploads) > limit:
        raise _too_large(limit)
    return uploads


async def _from_body(limit: int) -> Upload:
    data = bytearray()
    async for piece in _pieces(limit):
        data += piece
    # A header is Latin-1 on the wire, so that other names come percent-encoded.
    name = unquote(request.headers.get("X-File-Name", ""))
    return Upload(name, request.mimetype, bytes(data))


async def _from_form(limit: int) -> list[Upload]:
    boundary = request.mimetype_params.get("boundary", "").encode("ascii", "replace")
    with ExitStack() as spooled:

        def spool(*_: object) -> IO[bytes]:
            return spooled.enter_context(SpooledTemporaryFile(SPOOLED_BYTES, "rb+"))

        # The parser's own limits bound its buffer and the fields; `_pieces` bounds the files.
        parser: Any = MultiPartParser(
            max_form_memory_size=FORM_OVERHEAD_BYTES, max_form_parts=MAX_FORM_PARTS, stream_factory=spool
        )
        try:
            if not boundary:
                raise ValueError("it has no boundary")
            _, files = await parser.parse(_pieces(limit), boundary, request.content_length or 0)
        except ValueError as error:
            raise RefusedError(400, "invalid_form", f"The form is damaged: {error}.") from error
        return [await asyncio.to_thread(_taken, part) for _, part in files.items(multi=True)]


def _taken(part: Any) -> Upload:
    return Upload(part.filename or "", (part.mimetype or "").lower(), part.stream.read())


async def _pieces(limit: int) -> AsyncIterator[bytes]:
    seen = 0
    async for piece in request.body:
        seen += len(piece)
        if seen > limit + FORM_OVERHEAD_BYTES:
            raise _too_large(limit)
        yield piece


async def _let_it_finish() -> None:
    """Throw away the rest of the body, within bounds: who still writes does not read the answer."""
    seen = 0
    with suppress(TimeoutError, HTTPException):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for piece in request.body:
                seen += len(piece)
                if seen > DRAIN_BYTES:
                    return


def _too_large(limit: int) -> RefusedError:
    return RefusedError(413, "too_large", f"That is too large: {limit // 1_000_000} MB is the most.")
