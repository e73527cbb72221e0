"""What comes back: a body within limits, unpacked within limits, as text in the right character set."""

import codecs
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fireside_agent.tools.tool import ToolError

if TYPE_CHECKING:
    import httpx

# What the web is written in, by Python's names. Others are codecs too, among them slow and surprising ones.
_CHARSETS = frozenset(
    "utf-8 utf-16 utf-16-le utf-16-be ascii iso8859-1 iso8859-2 iso8859-3 iso8859-4 iso8859-5 "
    "iso8859-6 iso8859-7 iso8859-8 iso8859-9 iso8859-10 iso8859-13 iso8859-14 iso8859-15 iso8859-16 "
    "koi8-r koi8-u mac-roman cp866 cp874 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 "
    "cp1258 gbk gb2312 gb18030 big5 big5hkscs euc_jp shift_jis cp932 iso2022_jp euc_kr cp949".split()
)
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META_BYTES = 2_048
_META = re.compile(rb"""<meta\b[^>]{0,200}?charset\s*=\s*["']?\s*([\w-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""^\s*<\?xml\b[^>]{0,100}?encoding\s*=\s*["']([\w-]{1,40})""")


@dataclass(frozen=True, slots=True)
class Body:
    """A body, unpacked. `cut`: there was more than the limit."""

    data: bytes
    cut: bool = False


async def read_body(response: "httpx.Response", limit: int) -> Body:
    """Read at most `limit` bytes, before and after unpacking.

    Raises:
        ToolError: it is packed in a way that was not asked for, or damaged.
    """
    unpack = _unpacker(response.headers.get("content-encoding", ""))
    data, received = bytearray(), 0
    # `aiter_bytes` would unpack whole pieces: 64 KB of a bomb are 64 MB.
    async for piece in response.aiter_raw():
        received += len(piece)
        data += unpack(piece, limit + 1 - len(data))
        if len(data) > limit or received > limit:
            return Body(bytes(data[:limit]), cut=True)
    if received and not unpack.complete:
        raise ToolError("The page's compression is damaged: its end is missing.")
    return Body(bytes(data))


def decode_text(body: Body, declared: str | None) -> str:
    """The body as text: by its byte order mark, else as declared in the header or inside, else as UTF-8.

    A declaration that the bytes contradict is passed over; what nothing fits is read as Windows-1252.
    """
    for mark, charset in _BYTE_ORDER_MARKS:
        if body.data.startswith(mark):
            return body.data[len(mark) :].decode(charset, "replace")
    inside = _XML.search(body.data[:_META_BYTES]) or _META.search(body.data[:_META_BYTES])
    for label in (declared, inside and inside[1].decode("ascii", "replace"), "utf-8"):
        charset = _charset(label) if label else None
        if charset is None:
            continue
        try:
            # A cut body may end within a character.
            return codecs.getincrementaldecoder(charset)().decode(body.data, final=not body.cut)
        except UnicodeDecodeError:
            continue
    return body.data.decode("cp1252", "replace")


def _charset(label: str) -> str | None:
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name
    except (LookupError, ValueError):
        return None
    # Pages that say Latin-1 or ASCII mean the superset of both (Encoding standard).
    return "cp1252" if name in ("iso8859-1", "ascii") else name if name in _CHARSETS else None


class _Unpacker:
    """Undoes one compression, never giving more than was asked for. `or_bits`: if it does not begin so."""

    def __init__(self, window_bits: int, or_bits: int | None = None) -> None:
        self._inflater = zlib.decompressobj(window_bits)
        self._or_bits = or_bits

    @property
    def complete(self) -> bool:
        return self._inflater.eof

    def __call__(self, piece: bytes, limit: int) -> bytes:
        try:
            unpacked = self._inflater.decompress(piece, limit)
        except zlib.error as error:
            if self._or_bits is None:
                raise ToolError(f"The page's compression is damaged: {error}.") from error
            self._inflater, self._or_bits = zlib.decompressobj(self._or_bits), None
            return self(piece, limit)
        self._or_bits = None
        return unpacked


def _unpacker(encoding: str) -> "_Unpacker | _Plain":
    match encoding.strip().lower():
        case "" | "identity":
            return _Plain()
        case "gzip" | "x-gzip":
            return _Unpacker(zlib.MAX_WBITS | 16)
        case "deflate":
            # Sent both with and without zlib's wrapping.
            return _Unpacker(zlib.MAX_WBITS, or_bits=-zlib.MAX_WBITS)
        case other:
            name = other if re.fullmatch(r"[a-z0-9-]{1,20}", other) else "something unknown"
            raise ToolError(f"The page is packed as {name}, which was not asked for and cannot be read.")


class _Plain:
    complete = True

    def __call__(self, piece: bytes, limit: int) -> bytes:
        return piece[:limit]
