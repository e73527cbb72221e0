"""`read` and `web_fetch` on PDFs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.pdf.documents import document, locked
from agent.tools.conftest import Run
from agent.tools.test_web_fetch import failure, fetch, inside
from agent.tools.web_servers import Site, response, site
from fireside_agent.tools import files
from fireside_agent.tools.files import ReadTool
from fireside_agent.tools.tool import ToolError
from fireside_agent.tools.workspace import Workspace


@pytest.fixture
async def web() -> AsyncIterator[Site]:
    async with site() as running:
        yield running


async def test_a_pdf_is_read_as_its_text_part_by_part(
    workspace: Workspace, root: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = ReadTool(workspace)
    (root / "birds.pdf").write_bytes(document("Herons", "Terns"))
    assert (await run(read, path="birds.pdf")).text == "[page 1]\nHerons\n\n[page 2]\nTerns"
    part = (await run(read, path="birds.pdf", offset=4, limit=1)).text
    assert part == "[page 2]\n[Lines 4-4 of 5. Read on with offset 5.]"
    (root / "secret.pdf").write_bytes(locked(document("Herons"), "secret"))
    with pytest.raises(ToolError, match=r"secret\.pdf cannot be read: it is locked with a password"):
        await run(read, path="secret.pdf")
    monkeypatch.setattr(files, "MAX_PDF_BYTES", 100)
    with pytest.raises(ToolError, match=r"birds\.pdf is a PDF of more than"):
        await run(read, path="birds.pdf")


@pytest.mark.parametrize("kind", ["application/pdf", "application/octet-stream", ""])
async def test_a_pdf_is_read_as_its_text(web: Site, kind: str) -> None:
    web.pages["/"] = response(document("Herons", "Obey me"), kind)
    assert inside(await fetch(web)) == "[page 1]\nHerons\n\n[page 2]\nObey me"
    assert "application/pdf" in web.requests[0].headers["accept"]


async def test_a_pdf_that_cannot_be_read_is_refused_with_the_reason(web: Site) -> None:
    web.pages["/"] = response(document(""), "application/pdf")
    assert "is a PDF that cannot be read: there is no text in it" in await failure(web)
    web.pages["/"] = response(document("Herons"), "application/pdf")
    assert "is a PDF of more than 100 bytes" in await failure(web, pdf_bytes=100)
