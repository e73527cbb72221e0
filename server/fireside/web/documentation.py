"""`/openapi.json`, and the page that shows it, `/docs`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
from quart import Blueprint, Response, current_app
from quart import send_from_directory as send  # pyright: ignore[reportUnknownVariableType]

from fireside import __version__
from fireside.http.openapi import document, path_of
from fireside.http.operations import Operation

_IMPLIED = frozenset({"HEAD", "OPTIONS"})


def create_blueprint(operations: Sequence[Operation], keys: bool) -> Blueprint:
    """The route of the description.

    Args:
        operations: all that the app may have; what it has is looked up in its routes.
        keys: whether requests need a key.
    """
    blueprint = Blueprint("openapi", __name__)
    made: list[bytes] = []

    @blueprint.get("/openapi.json")
    async def openapi() -> Response:
        if not made:
            served = routes()
            made.append(await asyncio.to_thread(_encoded, operations, served, keys))
        return Response(made[0], content_type="application/json", headers={"Cache-Control": "no-cache"})

    return blueprint


def create_page(frontend: Path) -> Blueprint:
    """The route of the page.

    Args:
        frontend: the folder that `/assets` serves too.
    """
    blueprint = Blueprint("docs", __name__)

    @blueprint.get("/docs")
    async def docs() -> Response:
        response = await send(frontend, "docs.html", conditional=True, cache_timeout=0)
        response.headers["Cache-Control"] = "no-cache"
        return response

    return blueprint


def routes() -> frozenset[tuple[str, str]]:
    """Methods and paths of the app that is asked, as OpenAPI writes them."""
    return frozenset(
        (method, path_of(rule.rule))
        for rule in current_app.url_map.iter_rules()
        for method in (rule.methods or set()) - _IMPLIED
        if not rule.websocket
    )


def _encoded(operations: Sequence[Operation], served: frozenset[tuple[str, str]], keys: bool) -> bytes:
    return msgspec.json.encode(document(operations, version=__version__, served=served, keys=keys))
