"""What all parts of one response have in common."""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass

from fireside import __version__
from fireside.api.generation import Served


@dataclass(frozen=True)
class Identity:
    """What OpenAI's responses begin with.

    Attributes:
        created: seconds since 1970.
        fingerprint: changes with the model and with Fireside's version: whoever asks again with a seed can
            tell whether the same answer is to be expected.
    """

    id: str
    created: int
    model: str
    fingerprint: str

    @classmethod
    def of(cls, served: Served, prefix: str) -> Identity:
        """A fresh one; its id begins with `prefix`."""
        seen = hashlib.sha256(f"{__version__}\n{served.model_id}".encode()).hexdigest()
        return cls(f"{prefix}-{secrets.token_hex(12)}", int(time.time()), served.model_id, f"fp_{seen[:10]}")
