"""From a PDF to its text, page by page, with marks by which a page can be named."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field

import msgspec

from fireside_agent.errors import AgentError
from fireside_agent.pdf.frames import Finished, Frame, Limits, Opened, Page, Refused
from fireside_agent.workers import lines_of

SIGNATURE = b"%PDF-"

LIMITS = Limits()

_WORKER = "fireside_agent.pdf.worker"

_decode = msgspec.json.Decoder(Frame).decode

Progress = Callable[[int, int], None]
"""Told how many pages have been read, and how many there are."""


class UnreadablePdfError(AgentError):
    """There is no text to be had from a PDF. Says why, as half a sentence."""


@dataclass(frozen=True, slots=True)
class PdfText:
    """The text of a document.

    Attributes:
        text: with a mark before each page, and a note at the end where not all of it is there.
        pages: of the whole document.
    """

    text: str
    pages: int


@dataclass(slots=True)
class _Document:
    """What has come of a document so far. `broken`: why no more will come."""

    pages: int = 0
    read: list[Page] = field(default_factory=list[Page])
    finished: bool = False
    broken: str = ""


async def read_pdf(data: bytes, limits: Limits = LIMITS, progress: Progress | None = None) -> PdfText:
    """Read the text of a document, or of as much of it as the limits allow.

    Raises:
        UnreadablePdfError: it is locked, damaged, or has no text.
    """
    document = _Document()
    try:
        async with asyncio.timeout(limits.seconds):
            await _read(document, msgspec.json.encode(limits) + b"\n" + data, progress)
    except TimeoutError:
        document.broken = f"it takes longer than {limits.seconds:g} seconds to read"
    else:
        if not document.finished:
            document.broken = "reading it takes too much memory, or ended for another reason"
    _check(document)
    return PdfText(_text(document), document.pages)


async def _read(document: _Document, question: bytes, progress: Progress | None) -> None:
    async with aclosing(lines_of(_WORKER, question)) as lines:
        async for line in lines:
            match _decode(line):
                case Opened(pages):
                    document.pages = pages
                case Page() as page:
                    document.read.append(page)
                case Refused(why):
                    raise UnreadablePdfError(why)
                case Finished():
                    document.finished = True
            if progress is not None:
                progress(len(document.read), document.pages)


def _check(document: _Document) -> None:
    """Raises UnreadablePdfError where nothing can be read."""
    if any(page.text for page in document.read):
        return
    if document.broken:
        raise UnreadablePdfError(document.broken)
    if all(page.failed for page in document.read):
        raise UnreadablePdfError("none of its pages can be read; they are damaged, or hold too much")
    where = "in it" if len(document.read) == document.pages else f"on its first {len(document.read)} pages"
    raise UnreadablePdfError(f"there is no text {where}; it may be a scan, which holds only images")


def _text(document: _Document) -> str:
    parts = [f"[page {number}]\n{_shown(page)}" for number, page in enumerate(document.read, 1)]
    count, last = len(document.read), document.read[-1]
    if count < document.pages:
        why = document.broken or "it is too long"
        parts.append(f"[Pages 1 to {count} of {document.pages}; the rest was left out: {why}.]")
    elif last.cut:
        parts.append(f"[The rest of page {count} was left out: it is too long.]")
    return "\n\n".join(parts)


def _shown(page: Page) -> str:
    return "(This page cannot be read.)" if page.failed else page.text or "(no text)"
