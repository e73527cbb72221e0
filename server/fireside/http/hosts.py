"""The names and origins that are Fireside's own."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True)
class HostPolicy:
    """The names under which Fireside may be asked: loopback names, and those that were allowed.

    Attributes:
        allowed: lower-case host names or addresses without port or brackets.
    """

    allowed: frozenset[str] = field(default_factory=frozenset[str])

    @classmethod
    def of(cls, names: Iterable[str]) -> HostPolicy:
        return cls(frozenset(name.lower().strip("[]") for name in names))

    def allows(self, host_header: str, reached: str | None = None) -> bool:
        """Whether a `Host` header names us. Any port: a port cannot be rebound to another machine.

        Args:
            reached: the address of ours that the connection came to; an address, unlike a name, cannot be
                rebound either.
        """
        name = split_host(host_header)
        if name is None:
            return False
        return is_loopback(name) or name in self.allowed or _same_address(name, reached)


def split_host(header: str) -> str | None:
    """The lower-case name in a `Host` header, or None if the header is malformed."""
    if not header or any(c in header for c in "@/\\?# \t"):
        return None
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname or None


def is_loopback(name: str) -> bool:
    """Whether a host name or address can only mean this machine."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_any_address(name: str) -> bool:
    """Whether listening there means listening on every address of this machine."""
    try:
        return ipaddress.ip_address(name).is_unspecified
    except ValueError:
        return False


def same_origin(origin: str, host_header: str) -> bool:
    """Whether an `Origin` is the page that we served under this `Host`."""
    scheme, _, rest = origin.partition("://")
    return scheme in ("http", "https") and rest.lower() == host_header.lower()


def _same_address(name: str, reached: str | None) -> bool:
    try:
        return reached is not None and ipaddress.ip_address(name) == ipaddress.ip_address(reached)
    except ValueError:
        return False
