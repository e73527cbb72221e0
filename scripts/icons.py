"""Draw the page's PNG icons from its SVG ones, with the tests' Chromium: `python scripts/icons.py`.

Browsers on desktops take the SVG. Phones want pixels: Android's launchers, and iOS, which rounds the corners.
"""

import os
from pathlib import Path

from playwright.sync_api import sync_playwright

import chromium

FRONTEND = Path(__file__).resolve().parent.parent / "frontend"
ICONS = {
    "icon_192.png": ("icon.svg", 192),
    "icon_512.png": ("icon.svg", 512),
    "icon_apple.png": ("icon_maskable.svg", 180),
}
"""By the name of each PNG: what it is drawn from, and its width and height in pixels."""


def main() -> None:
    os.environ.update({name: os.environ.get(name, value) for name, value in chromium.PLAYWRIGHT.items()})
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find())
        for name, (source, size) in ICONS.items():
            page = browser.new_page(viewport={"width": size, "height": size})
            svg = (FRONTEND / source).read_text(encoding="utf-8")
            page.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block }}</style>{svg}")
            page.screenshot(path=FRONTEND / name, omit_background=True)
        browser.close()


if __name__ == "__main__":
    main()
