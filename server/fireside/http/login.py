"""Links that log a browser in: each works once, for ten minutes.

A running Fireside keeps a secret in a file that only its owner can read, made anew at each start. Whoever can
read it can make a link: `fireside login` does, without asking the running one. What it signs cannot be
guessed, and a link of an earlier start opens nothing.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from fireside.http.private_files import read_private, write_private

LIFETIME_S = 600


class LoginCodes:
    """Checks codes, and knows which were used.

    Args:
        path: where the secret is put for `fireside login`.
    """

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        secret = secrets.token_hex(32)
        write_private(path, secret.encode())
        self._secret = secret
        self._now = now
        self._used: dict[str, int] = {}

    def link(self, base: str) -> str:
        """A link to the page at `base`."""
        return _link(base, self._secret, self._now())

    def redeem(self, code: str) -> bool:
        """Whether a code is good; it is not for a second time."""
        expires, _, rest = code.partition(".")
        nonce, _, signature = rest.partition(".")
        # Always compared, whatever else is wrong.
        signed = hmac.compare_digest(signature.encode(), _sign(self._secret, f"{expires}.{nonce}").encode())
        if not signed or int(expires) < self._now() or nonce in self._used:
            return False
        self._used = {n: until for n, until in self._used.items() if until >= self._now()}
        self._used[nonce] = int(expires)
        return True


def login_link(base: str, path: Path) -> str:
    """A link for the Fireside that runs at `base` and has put its secret at `path`.

    Raises:
        UnsafeFile: the secret cannot be read.
    """
    return _link(base, read_private(path).decode(), time.time())


def _link(base: str, secret: str, now: float) -> str:
    what = f"{int(now) + LIFETIME_S}.{secrets.token_urlsafe(16)}"
    return f"{base.rstrip('/')}/login?code={what}.{_sign(secret, what)}"


def _sign(secret: str, what: str) -> str:
    return hmac.new(secret.encode(), what.encode("utf-8", "surrogatepass"), "sha256").hexdigest()
