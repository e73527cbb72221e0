"""`web_fetch`: one page or PDF of the web as readable text."""

import asyncio
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar

from fireside_agent.pdf.reading import SIGNATURE, UnreadablePdfError, read_pdf
from fireside_agent.tools.tool import (
    Arguments,
    BlockedError,
    Call,
    ChatFacts,
    Preview,
    Subject,
    ToolError,
    ToolResult,
)
from fireside_agent.tools.web.address import (
    MAX_URL_CHARACTERS,
    Address,
    parse_address,
    redirected,
    same_address,
)
from fireside_agent.tools.web.base import WebTool, host_of
from fireside_agent.tools.web.readable import cleaned, framed, readable_html
from fireside_agent.tools.web.transfer import Body, decode_text, read_body

if TYPE_CHECKING:
    import httpx

MAX_REDIRECTS = 5
ACCEPT = (
    "text/html, application/xhtml+xml, text/markdown, text/plain, application/json, application/xml;q=0.9,"
    " application/pdf;q=0.9"
)
HTML_TYPES = ("text/html", "application/xhtml+xml")
TEXT_TYPES = frozenset(
    f"application/{name}"
    for name in "json xml javascript ecmascript yaml x-yaml toml x-ndjson rtf sql graphql x-sh".split()
)
PDF_TYPE = "application/pdf"
UNTYPED = ("", "application/octet-stream", "binary/octet-stream")
SNIFFED_BYTES = 1_024
_KIND = re.compile(r"[a-z0-9.+-]{1,40}/[a-z0-9.+-]{1,60}")


@dataclass(frozen=True, slots=True)
class Page:
    """What a server gave in the end.

    Attributes:
        address: after all redirects.
        kind: its media type, without parameters.
        charset: as the header declares it.
    """

    address: Address
    kind: str
    charset: str | None
    body: Body


class WebFetch(WebTool):
    """Fetch a page and give its readable text."""

    name: ClassVar[str] = "web_fetch"
    description: ClassVar[str] = "Read a web page, text file or PDF by its URL. Gives its readable text."
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "url": {
                "type": "string",
                "description": "full http or https address",
                "minLength": 1,
                "maxLength": MAX_URL_CHARACTERS,
            }
        },
        "required": ["url"],
        "additionalProperties": False,
    }
    carries: ClassVar[str] = "a request"

    def question(self, arguments: Arguments, facts: ChatFacts) -> str | None:
        if (why := super().question(arguments, facts)) is not None:
            return why
        try:
            address = parse_address(arguments["url"])
        except BlockedError:
            return "The address cannot be read."
        if any(same_address(address, url) for url in facts.urls):
            return None
        return "Nobody typed this address in this chat, and no search returned it."

    def subject(self, arguments: Arguments) -> Subject:
        return host_of(arguments["url"])

    async def preview(self, arguments: Arguments) -> Preview:
        # The host is not resolved yet: asking for a name already tells others about it.
        return Preview("request", f"GET {parse_address(arguments['url'])}")

    async def run(self, call: Call) -> ToolResult:
        asked = parse_address(call.arguments["url"])
        seconds = self._settings.fetch_seconds
        try:
            async with asyncio.timeout(seconds):
                page = await self._get(asked)
                is_pdf = page.body.data.startswith(SIGNATURE)
                text = "" if is_pdf else await _page_text(page)
        except TimeoutError as error:
            raise ToolError(f"{asked.host} did not deliver the page within {seconds:g} seconds.") from error
        if is_pdf:  # which has a time limit of its own
            text = await self._pdf_text(page)
        return ToolResult(self._report(asked, page, cleaned(text)))

    async def _pdf_text(self, page: Page) -> str:
        if page.body.cut:
            raise ToolError(f"{page.address} is a PDF of more than {len(page.body.data):,} bytes.")
        try:
            return (await read_pdf(page.body.data)).text
        except UnreadablePdfError as error:
            raise ToolError(f"{page.address} is a PDF that cannot be read: {error}.") from error

    async def _get(self, address: Address) -> Page:
        for _ in range(MAX_REDIRECTS + 1):
            async with self._guard.send("GET", address, {"Accept": ACCEPT}) as response:
                location = response.headers.get("location")
                if response.status_code not in (301, 302, 303, 307, 308) or not location:
                    return await self._page(address, response)
            address = redirected(address, location)
        raise ToolError(f"The page redirects more than {MAX_REDIRECTS} times.")

    async def _page(self, address: Address, response: "httpx.Response") -> Page:
        if not 200 <= response.status_code < 300:
            raise ToolError(f"{address.host} answered {_status(response.status_code)} for {address}.")
        kind, charset = _content_type(response.headers.get("content-type", ""))
        if not _is_text(kind):
            raise ToolError(f"{address} is not text: {kind}, {_size(response)}.")
        limit = self._settings.pdf_bytes if kind == PDF_TYPE else self._settings.body_bytes
        body = await read_body(response, limit)
        if not body.data.startswith(SIGNATURE) and _looks_binary(kind, body.data[:SNIFFED_BYTES]):
            raise ToolError(f"{address} is not text, but binary data of {len(body.data):,} bytes.")
        return Page(address, kind, charset, body)

    def _report(self, asked: Address, page: Page, text: str) -> str:
        limit = self._settings.text_characters
        moved = "" if page.address == asked else f" (redirected from {asked})"
        report = framed(f"Content of {page.address}{moved}", text[:limit] or "(no text)")
        if len(text) > limit:
            report += f"\n[The first {limit:,} of {len(text):,} characters.]"
        if page.body.cut:
            report += f"\n[The page was cut after {len(page.body.data):,} bytes.]"
        return report


async def _page_text(page: Page) -> str:
    text = decode_text(page.body, page.charset)
    start = text.lstrip()[:200].lower()
    untyped_html = page.kind in UNTYPED and start.startswith(("<!doctype html", "<html"))
    return await readable_html(text) if page.kind in HTML_TYPES or untyped_html else text


def _content_type(header: str) -> tuple[str, str | None]:
    kind, *parameters = header.split(";")
    kind = kind.strip().lower()
    if kind and not _KIND.fullmatch(kind):  # it is shown outside the frame
        kind = "unknown"
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip():
            return kind, value.strip()
    return kind, None


def _is_text(kind: str) -> bool:
    if kind.startswith("text/") or kind in TEXT_TYPES or kind in (*UNTYPED, PDF_TYPE):
        return True
    return kind.startswith(("application/", "image/", "message/")) and kind.endswith(
        ("+json", "+xml", "+yaml")
    )


def _looks_binary(kind: str, start: bytes) -> bool:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):  # UTF-16, where every other byte is zero
        return False
    return b"\0" in start or (kind in UNTYPED and start.startswith((b"PK\x03\x04", b"\x1f\x8b", b"\x89PNG")))


def _status(code: int) -> str:
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return str(code)


def _size(response: "httpx.Response") -> str:
    length = response.headers.get("content-length", "")
    return (
        f"{int(length):,} bytes"
        if length.isascii() and length.isdigit() and len(length) < 20
        else "unknown size"
    )
