"""PDF documents made on the spot, well-formed ones and others."""

from __future__ import annotations

import io
import zlib
from typing import Any

from pypdf import PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject

SHOWN = "BT /F1 12 Tf 20 100 Td (%s) Tj ET"
BOMB_BYTES = 200_000_000


def document(*texts: str, kids: int | None = None) -> bytes:
    """A document with a page for each text; with `kids`, so many times the same page."""
    return written([(SHOWN % text).encode("cp1252") if text else b"" for text in texts], kids=kids)


def written(
    contents: list[bytes], filters: str = "", kids: int | None = None, encoding: str = "/WinAnsiEncoding"
) -> bytes:
    """A document with a page for each content stream, by hand and without a compression of ours."""
    pages = [3 + 2 * number for number in range(len(contents))]
    listed = pages if kids is None else pages * kids
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Count {len(listed)} /Kids [{' '.join(f'{n} 0 R' for n in listed)}] >>".encode(),
    }
    for number, content in zip(pages, contents, strict=True):
        font = f"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding {encoding} >>"
        objects[number] = (
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] "
            f"/Resources << /Font << /F1 {font} >> >> /Contents {number + 1} 0 R >>"
        ).encode()
        head = f"<< /Length {len(content)} {filters} >>\nstream\n".encode()
        objects[number + 1] = head + content + b"\nendstream"
    data, places = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", dict[int, int]()
    for number, content in objects.items():
        places[number] = len(data)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places.values())
    count = len(objects) + 1
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (count, table, count, len(data))
    )


def form(data: bytes, *fields: dict[str, Any]) -> bytes:
    """The document with fields on its first page, each of what its parents say and what it says itself."""
    writer = PdfWriter(clone_from=io.BytesIO(data))
    listed = ArrayObject()
    for field in fields:
        made = DictionaryObject({NameObject("/Subtype"): NameObject("/Widget")})
        made.update({NameObject(name): value for name, value in field.items()})
        listed.append(writer._add_object(made))
    writer.pages[0][NameObject("/Annots")] = listed
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def locked(data: bytes, password: str, algorithm: str = "AES-256") -> bytes:
    """The document, encrypted; an empty password opens it for everybody."""
    writer = PdfWriter(clone_from=io.BytesIO(data))
    writer.encrypt(user_password=password, owner_password="the owner's", algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def bomb() -> bytes:
    """Two pages; the first one's content is 200 kB that become 200 MB."""
    filters = "/Filter /FlateDecode"
    packer = zlib.compressobj(9)
    swollen = b"".join(packer.compress(b" " * 1_000_000) for _ in range(BOMB_BYTES // 1_000_000))
    return written(
        [swollen + packer.flush(), zlib.compress((SHOWN % "after the bomb").encode())], filters=filters
    )


def endless(times: int = 500) -> bytes:
    """A page that is soon read and one that takes seconds, in turn, so many times."""
    many = b"BT /F1 12 Tf " + b"(a) Tj 1 0 Td " * 1_000_000 + b"ET"
    contents = [zlib.compress((SHOWN % "the first page").encode()), zlib.compress(many)]
    return written(contents, "/Filter /FlateDecode", times)
