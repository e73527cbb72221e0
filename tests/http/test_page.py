"""The page's files as the browser gets them."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import pytest
from quart import Quart
from quart.typing import TestClientProtocol as Client

from fireside.web import first_load
from fireside.web.page import create_blueprint, frontend_folder

GZIP = {"Accept-Encoding": "gzip, br"}
INDEX = """<head>
    <link rel="stylesheet" href="/assets/css/a.css" />
    <link rel="stylesheet" href="/assets/css/b.css" />
    <script type="module" src="/assets/js/main.js"></script>
</head>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "index.html": INDEX,
        "css/a.css": "a { color: red }",
        "css/b.css": "b { color: blue }",
        "js/main.js": 'import { x } from "./x.js";\nexport { y } from "./deep/y.js";\nimport("./late.js");',
        "js/x.js": 'import "./deep/y.js";import{a as z}from"./compact.js";const from="./late.js"',
        "js/compact.js": "",
        "js/deep/y.js": 'import {\n  x,\n} from "../x.js";\n' + "// so that it is worth it\n" * 40,
        "js/late.js": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def client(folder: Path) -> Client:
    app = Quart(__name__)
    app.register_blueprint(create_blueprint(folder))
    return app.test_client()


async def test_the_page_names_every_module_that_it_starts_with_and_one_stylesheet(
    client: Client,
) -> None:
    page = await (await client.get("/")).get_data(as_text=True)
    assert re.findall(r'rel="modulepreload" href="(.*?)"', page) == [
        "/assets/js/x.js",
        "/assets/js/deep/y.js",
        "/assets/js/compact.js",
    ]
    assert re.findall(r'rel="stylesheet" href="(.*?)"', page) == ["/assets/page.css"]
    styles = await client.get("/assets/page.css")
    assert styles.mimetype == "text/css"
    assert await styles.get_data(as_text=True) == "a { color: red }\nb { color: blue }"


def test_what_is_wanted_later_is_not_loaded_at_first() -> None:
    early = first_load.modules(frontend_folder(), "js/main.js")
    assert "js/ui/thread.js" in early
    views = [name for name in early if name.startswith(("js/ui/models/", "js/ui/memory/", "js/ui/settings/"))]
    late = {
        "js/ui/approval_card.js",
        "js/ui/call_body.js",
        "js/ui/chat/sampling.js",
        "js/ui/palette/palette.js",
    }
    assert not views
    assert not late & set(early)
    assert not [name for name in early if "highlight" in name]


async def test_a_changed_file_changes_what_is_made_of_it(client: Client, folder: Path) -> None:
    before = (await client.get("/assets/page.css")).headers["ETag"]
    (folder / "css" / "b.css").write_text("b { color: green }")
    os.utime(folder / "css" / "b.css", (1, 1))
    after = await client.get("/assets/page.css", headers={"If-None-Match": before})
    assert after.status_code == 200
    assert "green" in await after.get_data(as_text=True)


async def test_files_are_compressed_for_whom_can_read_it(client: Client, folder: Path) -> None:
    plain = await client.get("/assets/js/deep/y.js")
    packed = await client.get("/assets/js/deep/y.js", headers=GZIP)
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
    assert plain.headers["ETag"] != packed.headers["ETag"]
    content = (folder / "js/deep/y.js").read_bytes()
    assert (
        gzip.decompress(await packed.get_data(as_text=False))
        == await plain.get_data(as_text=False)
        == content
    )
    again = await client.get(
        "/assets/js/deep/y.js", headers={**GZIP, "If-None-Match": packed.headers["ETag"]}
    )
    assert (again.status_code, await again.get_data(as_text=False)) == (304, b"")
