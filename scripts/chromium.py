"""Find a Chromium for the browser tests, or get one.

Used by `scripts/setup.py --test`, so the same rules hold: standard library, old syntax.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Callable, Dict, Optional, Sequence

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PLAYWRIGHT = {"PLAYWRIGHT_BROWSERS_PATH": str(Path(__file__).resolve().parent.parent / ".venv" / "browsers")}
"""Environment in which Playwright keeps a Chromium of its own: in the checkout, not in the home folder."""
OPT_OUT = "FIRESIDE_TEST_NO_BROWSER"


class NoChromiumError(Exception):
    """There is no Chromium and none could be had; the message says what to do."""


def opted_out() -> bool:
    return os.environ.get(OPT_OUT) == "1"


def find() -> Optional[str]:
    """The Chromium on PATH; None where Playwright's own is to be used."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def provide(python: Path, say: Callable[[str], None]) -> None:
    """Have a Chromium: the one on PATH, Debian's package as root, or Playwright's own.

    Raises NoChromiumError when none can be had and the browser tests were not opted out of.
    """
    if opted_out() or find():
        return
    if is_debian() and os.geteuid() == 0:
        say("installing Debian's chromium")
        debian = {"DEBIAN_FRONTEND": "noninteractive"}
        run(["apt-get", "update", "-qq"], debian)
        packages = ["chromium", "libatomic1"]  # the second for Playwright's Node.js
        run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], debian)
    if find():
        return
    say("installing Playwright's Chromium in .venv/browsers")
    if not run([str(python), "-m", "playwright", "install", "chromium"], PLAYWRIGHT):
        raise NoChromiumError(
            "the browser tests need a Chromium and none could be installed; the reason is above. Install one "
            f"so that `chromium` is on PATH, or set {OPT_OUT}=1 to leave the browser tests out."
        )


def is_debian() -> bool:
    """Debian itself: Ubuntu's package of that name only points to a snap, which tests cannot drive."""
    try:
        lines = Path("/etc/os-release").read_text().splitlines()
    except OSError:
        return False
    return "ID=debian" in lines and shutil.which("apt-get") is not None


def run(command: Sequence[str], variables: Dict[str, str]) -> bool:
    environment = {**os.environ, **variables}
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL).returncode == 0
