"""The page: static files, compressed, and hints for the browser in the page itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

from quart import Blueprint, Response, request

from fireside.web import first_load
from fireside.web.page_files import PageFiles, SentFile

_PAGE = "index.html"
_MAKE_UP = (".html", ".css", ".js")
"""Files that decide what the page and its stylesheet are like."""


def frontend_folder() -> Path:
    """The page's files: inside the installed package, or beside `server/` in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "frontend"
    return installed if installed.is_dir() else package.parents[1] / "frontend"


def docs_folder() -> Path | None:
    """Fireside's documentation: inside the installed package, or beside `server/` in a checkout."""
    package = Path(__file__).resolve().parents[1]
    found = (folder for folder in (package / "docs", package.parents[1] / "docs") if folder.is_dir())
    return next(found, None)


def create_blueprint(folder: Path) -> Blueprint:
    """`/`, `/assets/…`, the manifest and the service worker."""
    blueprint = Blueprint("page", __name__)
    files = PageFiles(folder)

    async def file(name: str, mimetype: str | None = None) -> Response:
        found = await asyncio.to_thread(files.read, name, mimetype)
        return await found.answer(request)

    @blueprint.get("/")
    async def index() -> Response:
        found = await asyncio.to_thread(_page, files)
        return await found.answer(request)

    @blueprint.get("/assets/<path:name>")
    async def asset(name: str) -> Response:
        if name == first_load.STYLES:
            found = await asyncio.to_thread(_styles, files)
            return await found.answer(request)
        return await file(name)

    @blueprint.get("/manifest.webmanifest")
    async def manifest() -> Response:
        return await file("manifest.webmanifest", "application/manifest+json")

    @blueprint.get("/sw.js")
    async def service_worker() -> Response:
        response = await file("sw.js", "text/javascript")
        response.headers["Cache-Control"] = "no-store"
        return response

    return blueprint


def _page(files: PageFiles) -> SentFile:
    def make() -> tuple[bytes, str]:
        source = (files.folder / _PAGE).read_text()
        return first_load.with_hints(files.folder, source).encode(), "text/html"

    return files.made("/", files.stamp(_MAKE_UP), make)


def _styles(files: PageFiles) -> SentFile:
    def make() -> tuple[bytes, str]:
        source = (files.folder / _PAGE).read_text()
        return first_load.styles(files.folder, source), "text/css"

    return files.made(f"/{first_load.STYLES}", files.stamp(_MAKE_UP), make)
