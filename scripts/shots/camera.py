"""Takes a page's picture at every width, light and dark."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page

HEIGHTS = {1440: 900, 768: 820, 360: 740}
WIDTHS = tuple(HEIGHTS)
PHONE = 360
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
QUALITY = 28
LIMIT_BYTES = 300_000
SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"


class TooLargeError(Exception):
    """A picture is larger than the folder is to hold."""


class Camera:
    """Writes WebP files into a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def frames(
        self, page: Page, name: str, widths: tuple[int, ...] = WIDTHS, *, settle: bool = True
    ) -> Iterator[int]:
        """Give each width to the caller, who may bring the page into its state, then take the pictures.

        The page has a touch screen afterwards, as that of a phone.

        Args:
            settle: wait for two frames first; not where the page's clock stands still.
        """
        devtools = page.context.new_cdp_session(page)
        for width in widths:
            page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
            if width == PHONE:
                devtools.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
            page.mouse.move(0, 0)
            yield width
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                if settle:
                    page.evaluate(SETTLED)
                shot = devtools.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
                self._write(f"{name}-{width}-{scheme}.webp", base64.b64decode(shot["data"]))
        devtools.detach()

    def take(self, page: Page, name: str, widths: tuple[int, ...] = WIDTHS, *, settle: bool = True) -> None:
        for _ in self.frames(page, name, widths, settle=settle):
            pass

    def _write(self, name: str, data: bytes) -> None:
        if len(data) > LIMIT_BYTES:
            raise TooLargeError(f"{name} has {len(data):,} bytes; the limit is {LIMIT_BYTES:,}")
        (self._folder / name).write_bytes(data)
