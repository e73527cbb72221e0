"""The page: static files, served as they are."""

from __future__ import annotations

from pathlib import Path

from quart import Blueprint, Response
from quart import send_from_directory as send  # pyright: ignore[reportUnknownVariableType]

from fireside.http.errors import NotFound

_REVALIDATE = "no-cache"


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

    async def file(name: str, cache: str = _REVALIDATE, mimetype: str | None = None) -> Response:
        try:
            response = await send(folder, name, mimetype=mimetype, conditional=True, cache_timeout=0)
        except OSError as error:
            # A name that no file system can hold.
            raise NotFound(f"There is no file {name[:80]!r}.") from error
        response.headers["Cache-Control"] = cache
        return response

    @blueprint.get("/")
    async def index() -> Response:
        return await file("index.html")

    @blueprint.get("/assets/<path:name>")
    async def asset(name: str) -> Response:
        return await file(name)

    @blueprint.get("/manifest.webmanifest")
    async def manifest() -> Response:
        return await file("manifest.webmanifest", mimetype="application/manifest+json")

    @blueprint.get("/sw.js")
    async def service_worker() -> Response:
        return await file("sw.js", cache="no-store", mimetype="text/javascript")

    return blueprint
