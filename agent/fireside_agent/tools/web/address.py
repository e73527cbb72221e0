"""A URL, read once and strictly: what two programs could read differently is refused.

Only the parts found here are used afterwards, so that what was checked and shown is what is sent.
"""

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import quote, urljoin, urlsplit

from fireside_agent.tools.tool import BlockedError

MAX_URL_CHARACTERS = 2_000
DEFAULT_PORTS = {"http": 80, "https": 443}
FIRST_FREE_PORT = 1024

# Above 1024 these are what browsers refuse, because other protocols live there (Fetch standard, “bad port”).
BAD_PORTS = frozenset(
    [1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, *range(6665, 6670), 6679, 6697, 10080]
)
LOCAL_NAMES = ("localhost", "local", "internal", "home.arpa", "onion")
"""Names, with all below them, that public name servers never answer for (RFC 6761, 6762, 8375)."""

_NAME = re.compile(
    r"(?=.{1,253}\Z)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
)
_NETLOC = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:]+)(:[0-9]{0,5})?")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_PATH_SAFE = "/:@!$&'()*+,;=-._~%[]|"
_QUERY_SAFE = _PATH_SAFE + "?"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a request goes.

    Attributes:
        scheme: `http` or `https`.
        host: a name in ASCII and lower case, or an IP address without brackets.
        port: always given.
        target: path and query, percent-encoded.
        literal: the host as an IP address, None for a name.
    """

    scheme: str
    host: str
    port: int
    target: str
    literal: IPv4Address | IPv6Address | None = None

    @property
    def authority(self) -> str:
        """Host and, unless it is the scheme's own, port: the `Host` header."""
        return self.host_and_port(self.host)

    def host_and_port(self, host: str) -> str:
        name = f"[{host}]" if ":" in host else host
        return name if self.port == DEFAULT_PORTS[self.scheme] else f"{name}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse_address(url: str) -> Address:
    """Read an http(s) URL. Two URLs give the same value only if they send the same request.

    Raises:
        BlockedError: it is no such URL, or one that is spelled in a way that hides where it leads.
    """
    if len(url) > MAX_URL_CHARACTERS:
        raise BlockedError(f"The URL is longer than {MAX_URL_CHARACTERS:,} characters.")
    if any(character.isspace() or not character.isprintable() for character in url) or "\\" in url:
        raise BlockedError(
            "The URL holds a space, a backslash or an invisible character. Encode them as %XX."
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BlockedError(f"This is no URL that can be read: {error}.") from error
    if parts.scheme not in DEFAULT_PORTS:
        raise BlockedError(
            f"Only http and https addresses can be reached, not {parts.scheme[:20] or 'relative'} ones."
        )
    if "@" in parts.netloc:
        raise BlockedError("The URL carries a user name or password. Leave out everything up to the @.")
    if not _NETLOC.fullmatch(parts.netloc):
        raise BlockedError(f"“{parts.netloc[:60]}” is no host that can be read. Expected: name or name:port.")
    host, literal = _host(parts.netloc, parts.hostname or "")
    port = _port(port, parts.scheme)
    query = f"?{quote(parts.query, safe=_QUERY_SAFE)}" if parts.query else ""
    return Address(parts.scheme, host, port, (quote(parts.path, safe=_PATH_SAFE) or "/") + query, literal)


def redirected(address: Address, location: str) -> Address:
    """Where a redirect leads. Raises BlockedError as `parse_address` does."""
    return parse_address(urljoin(str(address), location.strip().replace(" ", "%20")))


def same_address(address: Address, url: str) -> bool:
    """Whether `url` sends this very request."""
    try:
        return parse_address(url) == address
    except BlockedError:
        return False


def _host(netloc: str, host: str) -> tuple[str, IPv4Address | IPv6Address | None]:
    if netloc.startswith("["):
        return _ipv6(host)
    if not host.isascii():
        host = _ascii_name(host)
    last = host.rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        try:
            address = IPv4Address(host)
        except AddressValueError as error:
            raise BlockedError(
                f"“{host[:60]}” is an odd spelling of an IP address. Expected: four numbers, as in 1.2.3.4."
            ) from error
        return str(address), address
    if any(host == name or host.endswith("." + name) for name in LOCAL_NAMES):
        raise BlockedError(
            f"“{host}” is a name of this machine or network. Only public addresses can be reached."
        )
    if not _NAME.fullmatch(host):
        raise BlockedError(
            f"“{host[:60]}” is no public host name. Expected: a full name such as www.example.org, "
            "without a dot at its end."
        )
    return host, None


def _ipv6(host: str) -> tuple[str, IPv6Address]:
    try:
        address = IPv6Address(host)
    except AddressValueError as error:
        raise BlockedError(f"“[{host[:60]}]” is no IPv6 address: {error}.") from error
    return address.compressed, address


def _ascii_name(host: str) -> str:
    import idna

    try:
        return idna.encode(host, uts46=True, std3_rules=True).decode("ascii")
    except (idna.IDNAError, UnicodeError) as error:
        raise BlockedError(f"“{host[:60]}” is no valid host name: {error}.") from error


def _port(port: int | None, scheme: str) -> int:
    if port is None:
        return DEFAULT_PORTS[scheme]
    if port not in DEFAULT_PORTS.values() and (port < FIRST_FREE_PORT or port in BAD_PORTS):
        raise BlockedError(
            f"Port {port} belongs to something else than the web. Use 80, 443 or one above 1023."
        )
    return port
