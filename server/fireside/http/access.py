"""Who has a key: which requests need one, and whether they show one that is good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from werkzeug.http import parse_cookie

from fireside.http.errors import FiresideError, TooBusy, Unauthorized
from fireside.http.guesses import GuessLimit
from fireside.http.headers import header
from fireside.http.keys import KeyRing, digest
from fireside.http.sessions import SessionStore

_OPEN = frozenset(
    {"/", "/health", "/health/live", "/help/phone", "/login", "/manifest.webmanifest", "/sw.js"}
)
_OPEN_BELOW = "/assets/"
_MOST_KEYS = 4

REALM = 'realm="fireside"'
"""Of the challenge in a refusal."""


class Access:
    """Checks the key or the session of each request.

    Args:
        required: whether a request needs one.
    """

    def __init__(self, required: bool, keys: KeyRing, sessions: SessionStore, guesses: GuessLimit) -> None:
        self.required = required
        self.keys = keys
        self.sessions = sessions
        self.guesses = guesses

    def refusal(self, scope: Any, *, with_cookie: bool) -> FiresideError | None:
        """Why a request may not be answered, or None.

        Args:
            with_cookie: whether a session counts; it is our page's own, and no other origin's.
        """
        if not self.required or is_open(scope["path"]):
            return None
        if with_cookie and self._has_session(scope):
            return None
        shown = _keys_shown(scope)
        if not shown:
            return Unauthorized(
                "This Fireside needs an API key: send `Authorization: Bearer KEY`, or `x-api-key: KEY`. "
                "The page needs a link instead; `fireside login` prints one."
            )
        refusals = [self.try_key(scope, key)[1] for key in shown]
        return None if None in refusals else refusals[0]

    def opens(self, scope: Any, *, with_cookie: bool) -> bool:
        """Whether what a request showed is good now. Counts neither as a use nor as a guess."""
        if with_cookie and self._has_session(scope):
            return True
        return any(self.keys.find(key) for key in _keys_shown(scope))

    def try_key(self, scope: Any, key: str) -> tuple[str | None, FiresideError | None]:
        """The id of the key that was shown, or why it does not open anything."""
        address = client_of(scope)
        shown = digest(key)
        wrong = Unauthorized("This is not one of the API keys of this Fireside.")
        if self.guesses.is_known(address, shown):
            return None, wrong
        if wait := self.guesses.wait_s(address):
            message = f"Too many wrong keys came from {address}; the next is looked at in {wait} s."
            return None, TooBusy(message, code="too_many_wrong_keys", retry_after_s=wait)
        key_id = self.keys.find(key)
        if key_id is None:
            self.guesses.count(address, shown)
            return None, wrong
        self.keys.used(key_id)
        return key_id, None

    def _has_session(self, scope: Any) -> bool:
        return any(self.sessions.good(token) for token in self.tokens(scope))

    def tokens(self, scope: Any) -> Iterator[str]:
        """What the cookie of a session says."""
        for text in header(scope, b"cookie"):
            yield from parse_cookie(text).getlist(self.sessions.cookie)


def is_open(path: str) -> bool:
    """Whether a path needs no key: what says that Fireside lives, and the files of the page, which are
    everybody's.
    """
    return path in _OPEN or path.startswith(_OPEN_BELOW)


def client_of(scope: Any) -> str:
    """The address that a request comes from."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def _keys_shown(scope: Any) -> list[str]:
    shown: list[str] = []
    for value in header(scope, b"authorization"):
        scheme, _, key = value.partition(" ")
        if scheme.lower() == "bearer" and key.strip():
            shown.append(key.strip())
    shown += (key for key in header(scope, b"x-api-key") if key)
    return shown[:_MOST_KEYS]
