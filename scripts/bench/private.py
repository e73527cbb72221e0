"""`python -m bench.private serve …`: a Fireside whose private listener can be used from outside.

Interactive requests are the page's own: they come through a listener with an address and a key that nobody
else knows. Here the key is fixed, and the address is written into `FIRESIDE_HOME/private`.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from fireside import serve
from fireside.cli import main
from fireside.paths import Home

KEY = "a key that the measurement knows"
HEADERS = {"Authorization": f"Bearer {KEY}"}


def address(home: Path) -> str:
    """Where the private listener of the Fireside in this home is."""
    return (home / "private").read_text("utf-8")


def _run() -> None:
    create_app = serve.create_app

    def noted(config: Any, address: tuple[str, int]) -> Any:
        host, port = address
        (Home.from_environment().root / "private").write_text(f"http://{host}:{port}", "utf-8")
        return create_app(config, address)

    serve.create_app = noted
    secrets.token_urlsafe = lambda nbytes=None: KEY
    main()


if __name__ == "__main__":
    _run()
