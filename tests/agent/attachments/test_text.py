"""What a file is, told by its content."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireside_agent.attachments.text import MAX_SIDE_PIXELS, UnsupportedFileError, inspect


def png(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def jpeg(width: int, height: int) -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", 10) + b"Exif\0\0\xff\xc0"
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\1\x11\0"
    return b"\xff\xd8" + exif + b"\xff" + frame + b"\xff\xd9"


def webp(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 12 + len(rest)) + b"WEBP" + kind + struct.pack("<I", len(rest)) + rest


def webp_lossy(width: int, height: int) -> bytes:
    return webp(b"VP8 ", b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", width, height))


def webp_lossless(width: int, height: int) -> bytes:
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14))


def webp_extended(width: int, height: int) -> bytes:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return webp(b"VP8X", b"\0\0\0\0" + sides)


IMAGES = {
    "image/png": png, "image/gif": gif, "image/jpeg": jpeg,
    "image/webp": webp_lossy, "lossless": webp_lossless, "extended": webp_extended,
}  # fmt: skip


@pytest.mark.parametrize("kind", IMAGES)
def test_images_by_signature_and_size(kind: str) -> None:
    make = IMAGES[kind]
    content = inspect(make(640, 480), "x.txt", "text/plain")
    assert content.media_type == (kind if "/" in kind else "image/webp")
    assert content.text == ""
    with pytest.raises(UnsupportedFileError, match="9000 by 9001 pixels"):
        inspect(make(9000, 9001), "x")
    if kind in ("image/png", "image/jpeg", "image/gif", "extended"):
        with pytest.raises(UnsupportedFileError, match="20000 by 1 pixels"):
            inspect(make(20_000, 1), "x")
    if "less" not in kind and kind != "extended":
        with pytest.raises(UnsupportedFileError, match="0 by 5 pixels"):
            inspect(make(0, 5), "x")
    assert MAX_SIDE_PIXELS < 20_000


@pytest.mark.parametrize("kind", IMAGES)
def test_cut_images_are_refused(kind: str) -> None:
    whole = IMAGES[kind](640, 480)
    for end in range(6, 10) if kind == "image/gif" else range(12, 24):
        with pytest.raises(UnsupportedFileError):
            inspect(whole[:end], "x.png")


@pytest.mark.parametrize(
    ("data", "name", "declared", "media_type", "text"),
    [
        (b"", "empty", "", "text/plain", ""),
        (b"hi", "a.unknown", "application/octet-stream", "text/plain", "hi"),
        (b"hi", "a.py", "", "text/x-python", "hi"),
        (b"# hi", "a.md", "", "text/markdown", "# hi"),
        (b"{}", "a.json", "application/json; charset=utf-8", "application/json", "{}"),
        (b"<svg/>", "a.svg", "image/svg+xml", "text/plain", "<svg/>"),
        (b"x", "a.png", "image/png", "text/plain", "x"),
        ("grün".encode("cp1252"), "a.txt", "", "text/plain", "grün"),
        ("\ufeffgrün".encode(), "a.txt", "", "text/plain", "grün"),
        ("grün".encode("utf-16"), "a.txt", "", "text/plain", "grün"),
        ("grün".encode("utf-32"), "a.txt", "", "text/plain", "grün"),
        (b"\x1b[31mred\x1b[0m\r\n\x07", "log", "", "text/plain", "\x1b[31mred\x1b[0m\r\n\x07"),
        (b"%PDF-1.7\n%\xe2\xe3\0", "a.txt", "text/plain", "application/pdf", ""),
        (b"by mail:\r\n%PDF-1.7\n%\xe2\xe3\0", "a.pdf", "", "application/pdf", ""),
        (b"A PDF begins with %PDF-1.7", "a.txt", "", "text/plain", "A PDF begins with %PDF-1.7"),
    ],
)  # fmt: skip
def test_text_and_pdf(data: bytes, name: str, declared: str, media_type: str, text: str) -> None:
    content = inspect(data, name, declared)
    assert (content.media_type, content.text) == (media_type, text)


@pytest.mark.parametrize(
    "data",
    [b"\x7fELF\2\1", b"PK\3\4\0\0", b"a\0b", b"\xff\xfe\0", b"BM\0\0", b"\x81\x8d\x8f", b"\x01\x02text"],
)
def test_everything_else_is_refused(data: bytes) -> None:
    with pytest.raises(UnsupportedFileError, match="only those can be attached"):
        inspect(data, "a.txt", "text/plain")


@given(st.binary() | st.binary().map(lambda data: b"\xff\xd8\xff" + data) | st.text().map(str.encode))
def test_any_bytes_are_taken_or_refused_and_what_is_taken_stays_what_it_is(data: bytes) -> None:
    try:
        content = inspect(data, "a.md")
    except UnsupportedFileError:
        return
    assert inspect(data, "a.md", content.media_type) == content
    content.text.encode()
