"""Slows down those who try keys."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

BURST = 20
PER_SECOND = 1.0
_ADDRESSES = 1024
_REMEMBERED = 64


@dataclass
class _Guesser:
    left: float
    at: float
    wrong: OrderedDict[bytes, None] = field(default_factory=OrderedDict[bytes, None])


class GuessLimit:
    """How many different wrong keys an address may try: some at once, then one a second.

    A key that is tried again teaches nothing and costs nothing, so that a program with an old key does not
    lock out the others on its machine.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._guessers: OrderedDict[str, _Guesser] = OrderedDict()

    def wait_s(self, address: str) -> int:
        """Seconds until an address may try a key; 0 for now."""
        guesser = self._guessers.get(_network(address))
        if guesser is None:
            return 0
        self._refill(guesser)
        return 0 if guesser.left >= 1 else max(1, round((1 - guesser.left) / PER_SECOND))

    def is_known(self, address: str, shown: bytes) -> bool:
        """Whether an address has tried this key, given by its digest, and it was wrong."""
        guesser = self._guessers.get(_network(address))
        return guesser is not None and shown in guesser.wrong

    def count(self, address: str, shown: bytes) -> None:
        """A key, given by its digest, was wrong."""
        network = _network(address)
        guesser = self._guessers.setdefault(network, _Guesser(BURST, self._now()))
        self._guessers.move_to_end(network)
        self._refill(guesser)
        guesser.left -= 1
        guesser.wrong[shown] = None
        if len(guesser.wrong) > _REMEMBERED:
            guesser.wrong.popitem(last=False)
        if len(self._guessers) > _ADDRESSES:
            self._guessers.popitem(last=False)

    def _refill(self, guesser: _Guesser) -> None:
        now = self._now()
        guesser.left = min(BURST, guesser.left + (now - guesser.at) * PER_SECOND)
        guesser.at = now


def _network(address: str) -> str:
    """A household has a whole /64 of IPv6 addresses to guess from."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else str(found)
