"""Where Fireside keeps its state."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Home:
    """The folder of one Fireside: `FIRESIDE_HOME`, by default `~/.fireside`."""

    root: Path

    @classmethod
    def from_environment(cls) -> Home:
        return cls(Path(os.environ.get("FIRESIDE_HOME") or Path.home() / ".fireside").expanduser().absolute())

    @property
    def database(self) -> Path:
        return self.root / "fireside.db"

    @property
    def catalog(self) -> Path:
        """What is known of the models on this machine; made anew where it is gone."""
        return self.root / "catalog.db"

    @property
    def wiki(self) -> Path:
        """The memory vault; `FIRESIDE_WIKI` puts it elsewhere."""
        elsewhere = os.environ.get("FIRESIDE_WIKI")
        return Path(elsewhere).expanduser().absolute() if elsewhere else self.root / "wiki"

    @property
    def lock(self) -> Path:
        return self.root / "fireside.lock"

    @property
    def upstream_key(self) -> Path:
        return self.root / "upstream.key"

    @property
    def keys(self) -> Path:
        """API keys that were created in the page, by their digests."""
        return self.root / "keys.json"

    @property
    def sessions(self) -> Path:
        """Browsers that have logged in, by digests."""
        return self.root / "sessions.json"

    @property
    def login_secret(self) -> Path:
        """What links to the page are signed with; there while a Fireside runs that needs them."""
        return self.root / "login.secret"

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def ssd_cache(self) -> Path:
        """What conversations have left in the prompt cache, by model."""
        return self.root / "ssd-cache"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def create(self) -> None:
        """Make the folder, readable by its owner alone."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
