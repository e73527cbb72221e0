"""Telling text from everything else, and bringing it into UTF-8."""

import codecs
import io
import re
from typing import BinaryIO

SAMPLE_BYTES = 8_192
MAX_RECODED_BYTES = 5_000_000
"""A file in UTF-16 is read as a whole; larger ones count as binary."""

_KINDS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a zip archive or an office document",
    b"\x1f\x8b": "gzip data",
    b"\x7fELF": "a program",
    b"\xcf\xfa\xed\xfe": "a program",
    b"SQLite format 3\0": "a SQLite database",
}
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SURROGATE = re.compile("[\ud800-\udfff]")


def binary_kind(sample: bytes) -> str | None:
    """What a file that begins with `sample` is, if not text."""
    for start, kind in _KINDS.items():
        if sample.startswith(start):
            return kind
    return "binary data" if b"\0" in sample and not sample.startswith(_UTF16) else None


def as_utf8(file: BinaryIO) -> BinaryIO | str:
    """The file at its start, without a byte-order mark and in UTF-8; or what it is, where it is no text."""
    sample = file.read(SAMPLE_BYTES)
    file.seek(0)
    if kind := binary_kind(sample):
        return kind
    if sample.startswith(codecs.BOM_UTF8):
        file.seek(len(codecs.BOM_UTF8))
    elif sample.startswith(_UTF16):
        content = file.read(MAX_RECODED_BYTES + 1)
        if len(content) > MAX_RECODED_BYTES:
            return "a large text in UTF-16"
        return io.BytesIO(content.decode("utf-16", "replace").encode())
    return file


def clean(text: str) -> str:
    """Text that can be sent on: halves of surrogate pairs, which no encoding takes, are replaced."""
    return _SURROGATE.sub("\ufffd", text)
