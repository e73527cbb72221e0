"""What the web tools may be told: provider and key, resolver, openings in the guard, limits."""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Literal, Protocol

ProviderName = Literal["duckduckgo", "brave", "tavily"]

PROVIDER_URLS: dict[ProviderName, str] = {
    "duckduckgo": "https://html.duckduckgo.com/html/",
    "brave": "https://api.search.brave.com/res/v1/web/search",
    "tavily": "https://api.tavily.com/search",
}


KEYS: Mapping[str, ProviderName] = {"BRAVE_API_KEY": "brave", "TAVILY_API_KEY": "tavily"}
"""Environment variables with a search service's key; the first that is set counts."""


class Resolver(Protocol):
    """Turns a host name into addresses."""

    async def resolve(self, host: str, port: int) -> list[str]:
        """All addresses of `host`. Raises OSError if it has none."""
        ...


class SystemResolver:
    """Asks as the machine's other programs do."""

    async def resolve(self, host: str, port: int) -> list[str]:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(row[4][0]) for row in found))


def search_settings(environment: Mapping[str, str]) -> "WebSettings":
    """What the environment says: a key of a search service makes it the one that is asked."""
    for name, provider in KEYS.items():
        if key := environment.get(name, "").strip():
            return WebSettings(provider=provider, search_key=key)
    return WebSettings()


@dataclass(frozen=True, slots=True)
class Opening:
    """Addresses that may be reached although they are not public, on these ports alone."""

    network: IPv4Network | IPv6Network
    ports: frozenset[int]

    def covers(self, address: IPv4Address | IPv6Address, port: int) -> bool:
        return address in self.network and port in self.ports


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Settings of the web tools; the defaults need no key and open nothing.

    Attributes:
        provider: who searches.
        search_url: where the provider is reached; empty: at its own address.
        search_key: of a provider that wants one. Shown nowhere.
        places_url, weather_url: of a service that speaks Open-Meteo's format.
        resolver: of host names.
        allowed_addresses: openings for servers that the person runs, such as an own search server.
        user_agent: sent with every request.
        tls: for certificates; None: the common authorities.
        fetch_seconds, search_seconds: for a whole call.
        body_bytes, pdf_bytes: of a body, after decompression too.
        text_characters: of a page that are given to the model.

    Raises:
        ValueError: a limit is not above zero, or the key cannot be sent.
    """

    provider: ProviderName = "duckduckgo"
    search_url: str = ""
    search_key: str = field(default="", repr=False)
    places_url: str = "https://geocoding-api.open-meteo.com/v1/search"
    weather_url: str = "https://api.open-meteo.com/v1/forecast"
    resolver: Resolver = field(default_factory=SystemResolver)
    allowed_addresses: tuple[Opening, ...] = ()
    user_agent: str = "Mozilla/5.0 (compatible; Fireside)"
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    fetch_seconds: float = 20.0
    search_seconds: float = 15.0
    body_bytes: int = 5_000_000
    pdf_bytes: int = 20_000_000
    text_characters: int = 12_000

    def __post_init__(self) -> None:
        limits = (self.body_bytes, self.pdf_bytes, self.text_characters)
        if min(self.fetch_seconds, self.search_seconds, *limits) <= 0:
            raise ValueError("The limits of the web tools have to be above zero.")
        if not (self.search_key.isascii() and self.search_key.isprintable()) or " " in self.search_key:
            # Without the key in the text: errors are shown and logged.
            raise ValueError(
                "The search key holds characters that no key has, such as a space or a line break. "
                "Expected: the key alone, as the provider shows it."
            )

    @property
    def search_address(self) -> str:
        """Where searches go."""
        return self.search_url or PROVIDER_URLS[self.provider]
