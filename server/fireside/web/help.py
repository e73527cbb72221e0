"""`/help/phone`: the page of the documentation that somebody needs who has only a phone at hand."""

from __future__ import annotations

import asyncio
from pathlib import Path

from quart import Blueprint, Response

from fireside.http.errors import NotFound

_PAGE = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>{title} · Fireside</title>
    <meta name="color-scheme" content="light dark" />
    <script src="/assets/js/theme_early.js"></script>
    <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="/assets/css/colors.css" />
    <link rel="stylesheet" href="/assets/css/base.css" />
    <link rel="stylesheet" href="/assets/css/markdown.css" />
    <link rel="stylesheet" href="/assets/css/code.css" />
    <link rel="stylesheet" href="/assets/css/help.css" />
  </head>
  <body>
    <main class="help markdown" tabindex="0">
{body}
    </main>
  </body>
</html>
"""


def create_blueprint(docs: Path | None) -> Blueprint:
    """The route of the page.

    Args:
        docs: the folder of the documentation; None where it is not installed.
    """
    blueprint = Blueprint("help", __name__)

    @blueprint.get("/help/phone")
    async def phone() -> Response:
        if docs is None:
            raise NotFound("The documentation is not installed.")
        text = await asyncio.to_thread(_rendered, docs / "phone.md")
        return Response(text, content_type="text/html; charset=utf-8", headers={"Cache-Control": "no-cache"})

    return blueprint


def _rendered(path: Path) -> str:
    from markdown_it import MarkdownIt

    text = path.read_text("utf-8")
    title = text.partition("\n")[0].lstrip("# ")
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return _PAGE.format(title=title, body=body)
