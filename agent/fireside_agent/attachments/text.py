"""What a file is, by its content: text, an image or a PDF. The rest is refused."""

import codecs
import mimetypes
import re
import struct
from dataclasses import dataclass
from functools import cache

from fireside_agent.errors import AgentError
from fireside_agent.pdf.reading import SIGNATURE

MAX_SIDE_PIXELS = 16_384
MAX_PIXELS = 64_000_000
"""An image of a few kilobytes can claim billions of pixels, and whoever decodes it pays for them."""

PDF_STARTS_WITHIN = 1024
"""Bytes that may come before a document: some mailers and scanners leave some there."""

PLAIN_TEXT = "text/plain"
PDF = "application/pdf"
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

_TEXT_TYPE = re.compile(
    r"text/[\w.+-]+|application/(json|xml|yaml|toml|javascript|sql|x-[\w.-]+|[\w.-]+\+(json|xml|yaml))"
)
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NOT_IN_TEXT = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\ufffe\uffff]")
"""Control characters that no text holds; the bell to carriage return and the escape occur in logs."""

_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
"""Markers without a length."""


class UnsupportedFileError(AgentError):
    """A file that cannot be attached, and what can."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file turned out to be.

    Attributes:
        text: what can be searched for; empty for images, and for PDFs, whose text is read later.
    """

    media_type: str
    text: str


def inspect(data: bytes, name: str, declared: str = "") -> Content:
    """Find out what `data` is. The name and the declared type only tell kinds of text apart.

    Raises:
        UnsupportedFileError: it is none of what can be attached, or an image that is too large or broken.
    """
    image = _image_type(data)
    if image is not None:
        _check_dimensions(name, image, data)
        return Content(image, "")
    if data.startswith(SIGNATURE):
        return Content(PDF, "")
    text = _decoded(data)
    if text is None and SIGNATURE in data[:PDF_STARTS_WITHIN]:
        return Content(PDF, "")
    if text is None:
        raise UnsupportedFileError(
            f"{name} is neither text nor one of PNG, JPEG, GIF, WebP and PDF; only those can be attached."
        )
    return Content(_text_type(name, declared), text)


def _text_type(name: str, declared: str) -> str:
    for media_type in (declared.partition(";")[0].strip().lower(), _known_types().guess_type(name)[0] or ""):
        if media_type != PLAIN_TEXT and _TEXT_TYPE.fullmatch(media_type):
            return media_type
    return PLAIN_TEXT


@cache
def _known_types() -> mimetypes.MimeTypes:
    """Python's own table: what else a machine has installed must not change what is stored."""
    known = mimetypes.MimeTypes()
    known.add_type("text/markdown", ".md")
    return known


def _decoded(data: bytes) -> str | None:
    """The text, or None when it is not text. What is not UTF-8 and has no mark is read as Windows-1252."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _as_text(data, encoding)
    if b"\0" in data:
        return None
    for encoding in ("utf-8", "cp1252"):
        text = _as_text(data, encoding)
        if text is not None:
            return text
    return None


def _as_text(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if _NOT_IN_TEXT.search(text) else text


def _image_type(data: bytes) -> str | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def _check_dimensions(name: str, media_type: str, data: bytes) -> None:
    readers = {
        "image/png": _png_size,
        "image/jpeg": _jpeg_size,
        "image/gif": _gif_size,
        "image/webp": _webp_size,
    }
    try:
        width, height = readers[media_type](data)
    except (struct.error, ValueError) as error:
        raise UnsupportedFileError(
            f"{name} begins like {media_type}, but its header is cut or damaged."
        ) from error
    if not (0 < width <= MAX_SIDE_PIXELS and 0 < height <= MAX_SIDE_PIXELS and width * height <= MAX_PIXELS):
        raise UnsupportedFileError(
            f"{name} is {width} by {height} pixels; an image may have {MAX_SIDE_PIXELS} a side and "
            f"{MAX_PIXELS // 1_000_000} million in all. Make it smaller and attach it again."
        )


def _png_size(data: bytes) -> tuple[int, int]:
    kind, width, height = struct.unpack_from(">4sII", data, 12)
    if kind != b"IHDR":
        raise ValueError("the first chunk is not the header")
    return width, height


def _gif_size(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """From the first frame header (ITU-T T.81, B.2.2); the segments before it are skipped."""
    at = 2
    while True:
        lead, marker = struct.unpack_from(">BB", data, at)
        if lead != 0xFF:
            raise ValueError("a segment does not begin with a marker")
        if marker == 0xFF:  # fill byte
            at += 1
        elif marker in _JPEG_BARE:
            at += 2
        elif marker in _JPEG_SIZES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        else:
            (length,) = struct.unpack_from(">H", data, at + 2)
            at += 2 + length


def _webp_size(data: bytes) -> tuple[int, int]:
    """From the header of whichever of the three kinds of WebP it is (RFC 9649)."""
    kind = data[12:16]
    if kind == b"VP8X":
        low_width, high_width, low_height, high_height = struct.unpack_from("<HBHB", data, 24)
        return 1 + low_width + (high_width << 16), 1 + low_height + (high_height << 16)
    if kind == b"VP8L":
        signature, bits = struct.unpack_from("<BI", data, 20)
        if signature != 0x2F:
            raise ValueError("no lossless signature")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        start, width, height = struct.unpack_from("<3sHH", data, 23)
        if start != b"\x9d\x01\x2a":
            raise ValueError("no start code")
        return width & 0x3FFF, height & 0x3FFF
    raise ValueError("unknown kind of WebP")
