"""The way to other machines: a host is resolved once, judged, and reached at exactly what was judged.

Everything that the web tools send goes through `Guard.send`. The URL of the request on the wire names the
checked IP address, with the host's name in the `Host` header and in the TLS handshake, so that nothing
below asks the name servers again: a name that resolves differently the second time changes nothing.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING

from fireside_agent.tools.tool import BlockedError, ToolError
from fireside_agent.tools.web.address import Address
from fireside_agent.tools.web.settings import WebSettings

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 5.0
MAX_ADDRESSES = 4
"""Of one host that are tried."""

# IANA's special-purpose registries, with the relays of 6to4, multicast and the reserved space. `ipaddress`
# knows most of them, which ones depends on the version of Python.
_NOT_PUBLIC_4 = [
    IPv4Network(network)
    for network in (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 "
        "192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 "
        "224.0.0.0/4 240.0.0.0/4"
    ).split()
]
_GLOBAL_6 = IPv6Network("2000::/3")
# Teredo, benchmarks and other protocols; documentation twice; 6to4.
_NOT_PUBLIC_6 = [IPv6Network(network) for network in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")]
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether the address belongs to the open internet, and to another machine than this one."""
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return False
        if address in _NAT64:  # what networks without IPv4 give for every host that has only IPv4
            return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
        refused = address not in _GLOBAL_6 or any(address in network for network in _NOT_PUBLIC_6)
    else:
        refused = any(address in network for network in _NOT_PUBLIC_4)
    return not refused and address.is_global and not is_own(address)


def is_own(address: IPv4Address | IPv6Address) -> bool:
    """Whether a public address is one of this machine: there Fireside itself may listen.

    Nothing is sent: for its own addresses a kernel chooses that same address as the sender's.
    """
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return ip_address(str(probe.getsockname()[0])) == address
    except OSError:  # no way there: then the connection fails too
        return False


class Guard:
    """Sends requests to public addresses and to nothing else."""

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings
        self._tls = settings.tls

    async def check(self, address: Address) -> list[IPv4Address | IPv6Address]:
        """Resolve the host, once: the addresses where it may be reached.

        Raises:
            BlockedError: one of them is not public.
            ToolError: there is none.
        """
        found = [address.literal] if address.literal else await self._resolve(address)
        for ip in found:
            opened = any(opening.covers(ip, address.port) for opening in self._settings.allowed_addresses)
            if not opened and not is_public(ip):
                raise BlockedError(
                    f"{address.host} leads to a private or reserved address. "
                    "Only public addresses can be reached."
                )
        return found[:MAX_ADDRESSES]

    @asynccontextmanager
    async def send(
        self, method: str, address: Address, headers: Mapping[str, str], content: bytes | None = None
    ) -> "AsyncGenerator[httpx.Response]":
        """Send one request; gives the response with its body still to be read. Follows no redirect.

        Raises:
            BlockedError: the host is not public.
            ToolError: it cannot be reached, or breaks off while the body is read.
        """
        ips = await self.check(address)
        self._tls = tls = await asyncio.to_thread(_load, self._tls)
        import httpx

        # No proxy and no kept connection: one opened under another host's name must not be used again.
        transport = httpx.AsyncHTTPTransport(
            verify=tls, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
        )
        async with transport:
            try:
                response = await self._reach(transport, ips, method, address, headers, content)
                try:
                    yield response
                finally:
                    await response.aclose()
            except httpx.TimeoutException as error:
                raise ToolError(f"{address.host} does not answer.") from error
            except httpx.ProtocolError as error:  # whose text quotes what was sent, as if it were ours
                raise ToolError(
                    f"The connection to {address.host} failed: it broke off, or what came is not HTTP."
                ) from error
            except httpx.HTTPError as error:
                raise ToolError(f"The connection to {address.host} failed: {error}") from error

    async def _resolve(self, address: Address) -> list[IPv4Address | IPv6Address]:
        try:
            found = await self._settings.resolver.resolve(address.host, address.port)
        except OSError as error:
            raise ToolError(f"The host {address.host} is not known ({error.strerror or error}).") from error
        if not found:
            raise ToolError(f"The host {address.host} has no address.")
        try:
            return [ip_address(text) for text in found]
        except ValueError as error:
            raise BlockedError(f"{address.host} leads to no address that can be checked: {error}.") from error

    async def _reach(
        self,
        transport: "httpx.AsyncHTTPTransport",
        ips: list[IPv4Address | IPv6Address],
        method: str,
        address: Address,
        headers: Mapping[str, str],
        content: bytes | None,
    ) -> "httpx.Response":
        import httpx

        timeout = httpx.Timeout(None, connect=CONNECT_SECONDS).as_dict()
        for ip in ips:
            request = httpx.Request(
                method,
                f"{address.scheme}://{address.host_and_port(str(ip))}/",
                headers={
                    "Host": address.authority,
                    "User-Agent": self._settings.user_agent,
                    "Accept-Encoding": "gzip, deflate",
                    "Connection": "close",
                    **headers,
                },
                content=content,
                # The target as it was shown, which httpx would spell in its own way.
                extensions={
                    "sni_hostname": address.host,
                    "target": address.target.encode("ascii"),
                    "timeout": timeout,
                },
            )
            try:
                return await transport.handle_async_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if ip is ips[-1]:
                    raise
        raise ToolError(f"The host {address.host} has no address.")


def _load(tls: ssl.SSLContext | None) -> ssl.SSLContext:
    """Runs in a thread: importing `httpx` and reading the authorities take a fifth of a second."""
    import httpx

    return tls or httpx.create_ssl_context(trust_env=False)
