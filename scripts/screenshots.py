"""Take the pictures in docs/screenshots: every view and state, at three widths, light and dark.

The content is invented and the page's clock stands still, so that a picture changes only with the page. With
`--fonts FOLDER` the texts are set in Inter, and in what else is in the folder, whatever this machine has.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]

from playwright.sync_api import Browser, expect, sync_playwright  # noqa: E402

import chromium  # noqa: E402
from shots.camera import Camera  # noqa: E402
from shots.gallery import write_index  # noqa: E402
from shots.plays import Scene  # noqa: E402
from shots.scenes import SCENES  # noqa: E402
from shots.stage import ORIGIN, Model, Stage  # noqa: E402
from support.server import Server, serving  # noqa: E402

PATIENCE_MS = 20_000
FOLDER = ROOT / "docs" / "screenshots"
NAMED = "proposal-in-chat", "What the model wants to remember, where it says so"
"""A picture that another scene takes by the way."""

FONTCONFIG = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include>/etc/fonts/fonts.conf</include>
  <dir>{folder}</dir>
  {aliases}
</fontconfig>
"""
ALIAS = """<match target="pattern"><test name="family"><string>{family}</string></test>
<edit name="family" mode="assign" binding="strong"><string>Inter</string></edit></match>"""


def main() -> None:
    """Take all pictures, or those of the scenes that are named."""
    names = [scene.name for scene in SCENES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--fonts", type=Path, help="a folder with Inter, such as Debian's fonts-inter")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    wanted = [scene for scene in SCENES if not options.only or scene.name in options.only]
    camera = Camera(options.folder)
    with tempfile.TemporaryDirectory() as scratch, Model() as model:
        fonts = _fonts(options.fonts, Path(scratch)) if options.fonts else {}
        with (
            serving(Path(scratch) / "home", "--upstream", model.upstream.base_url) as server,
            _browser(server, fonts) as browser,
        ):
            _play(Stage(browser, server.wait_ready(), model), camera, wanted)
    write_index(options.folder, [*((scene.name, scene.words) for scene in SCENES), NAMED])


def _play(stage: Stage, camera: Camera, scenes: list[Scene]) -> None:
    for scene in (scene for scene in scenes if scene.first):
        print(scene.name, flush=True)
        scene.play(stage, camera, scene.name)
    stage.fill()
    for scene in (scene for scene in scenes if not scene.first):
        print(scene.name, flush=True)
        scene.play(stage, camera, scene.name)


@contextmanager
def _browser(server: Server, environment: dict[str, str]) -> Iterator[Browser]:
    """A Chromium that finds the server at the address that users have."""
    os.environ.update(chromium.PLAYWRIGHT)
    port = server.url.rsplit(":", 1)[1]
    arguments = [
        f"--host-resolver-rules=MAP {ORIGIN.removeprefix('http://')} 127.0.0.1:{port}",
        "--disable-gpu",
        "--hide-scrollbars",
    ]
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        options = {"executable_path": chromium.find(), "args": arguments}
        browser = playwright.chromium.launch(**options, env={**os.environ, **environment})
        yield browser
        browser.close()


def _fonts(folder: Path, scratch: Path) -> dict[str, str]:
    """What makes Chromium take Inter for the texts."""
    families = ("system-ui", "sans-serif", "sans", "DejaVu Sans")
    aliases = "\n  ".join(ALIAS.format(family=family) for family in families)
    config = scratch / "fonts.conf"
    config.write_text(FONTCONFIG.format(folder=folder.resolve(), aliases=aliases))
    return {"FONTCONFIG_FILE": str(config)}


if __name__ == "__main__":
    main()
