"""Addresses: which are public, which are this machine's, and how many spellings one has."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.web_servers import (
    Names,
)
from fireside_agent.tools.tool import BlockedError
from fireside_agent.tools.web import Guard, WebSettings
from fireside_agent.tools.web.address import parse_address, same_address
from fireside_agent.tools.web.guard import is_own, is_public

PRIVATE_NETWORKS = [
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 "
        "192.0.2.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 "
        "255.255.255.255/32 ::/128 ::1/128 ::ffff:0:0/96 ::/96 100::/64 2001::/32 2001:2::/48 2001:db8::/32 "
        "2002::/16 3fff::/20 5f00::/16 64:ff9b:1::/48 fc00::/7 fe80::/10 fec0::/10 ff00::/8"
    ).split()
]
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700::1111",
    "2a00:1450::1",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_addresses_of_this_machine_are_known() -> None:
    assert is_own(ipaddress.ip_address("127.0.0.1"))
    assert not any(is_own(ipaddress.ip_address(address)) for address in PUBLIC)


def test_nat64_is_as_public_as_what_it_embeds() -> None:
    def embedded(address: str) -> ipaddress.IPv6Address:
        return ipaddress.IPv6Address(
            int(ipaddress.IPv6Address("64:ff9b::")) + int(ipaddress.IPv4Address(address))
        )

    assert is_public(embedded("8.8.8.8"))
    assert not any(is_public(embedded(address)) for address in ("127.0.0.1", "10.1.2.3", "169.254.169.254"))


def test_only_urls_of_the_same_request_are_the_same() -> None:
    address = parse_address("https://Example.org:443/a?q=1#part")
    assert same_address(address, "HTTPS://example.ORG/a?q=1")
    for other in (
        "https://example.org/a?q=2",
        "https://example.org/a",
        "https://example.org/a/?q=1",
        "https://example.org/A?q=1",
        "http://example.org/a?q=1",
        "https://example.org:444/a?q=1",
        "https://www.example.org/a?q=1",
        "no url",
    ):
        assert not same_address(address, other)


@pytest.mark.parametrize(
    "url",
    [
        "http://user@public.example/",
        "http://user:word@public.example/",
        "http://@public.example/",
        "http://[2606:4700::1111]other.example/",
        "http://public.example:80:80/",
        "http://public.example:８０/",
        "http://public.example./",
        "http://public..example/",
        "http://public.example\\@other.example/",
        "http://public.exam\u00adple/",
        "http://public.example/a b",
        "http://public.example/\r\nHost: other.example",
        "http://1.1/",
        "http://16843009/",
        "http://01.01.01.01/",
        "http://[::ffff:1.1.1.1]x/",
    ],
)
def test_what_can_be_read_in_two_ways_is_refused_for_public_hosts_too(url: str) -> None:
    with pytest.raises(BlockedError):
        parse_address(url)


def test_foreign_names_are_shown_as_they_are_sent() -> None:
    assert str(parse_address("http://Bücher.example/ü")) == "http://xn--bcher-kva.example/%C3%BC"
    assert str(parse_address("http://раураl.example/")).startswith("http://xn--")


private_addresses = st.one_of(
    [st.ip_addresses(network=network) for network in PRIVATE_NETWORKS]  # type: ignore[arg-type]
)
private_4 = st.sampled_from(["127.0.0.0/8", "10.0.0.0/8", "192.168.0.0/16", "169.254.0.0/16"]).flatmap(
    lambda network: st.ip_addresses(network=network)
)


@given(private_addresses)
def test_private_addresses_are_not_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    assert not is_public(address)


def number_spellings(value: int) -> st.SearchStrategy[str]:
    """The ways in which the C library reads a number."""
    zeros = st.integers(0, 4).map(lambda count: "0" * count)
    return st.one_of(
        st.just(str(value)),
        zeros.map(lambda padding: f"0x{padding}{value:x}"),
        zeros.map(lambda padding: f"0X{padding}{value:X}"),
        zeros.map(lambda padding: f"0{padding}{value:o}"),
    )


@st.composite
def spellings(draw: st.DrawFn) -> str:
    """One of the spellings of a private address that some program, somewhere, takes for it."""
    address = draw(private_4)
    octets = list(address.packed)
    kept = draw(st.integers(0, 3))
    rest = int.from_bytes(bytes(octets[kept:]), "big")
    parts = [draw(number_spellings(octet)) for octet in octets[:kept]] + [draw(number_spellings(rest))]
    number = int(address)
    host = draw(
        st.sampled_from(
            [
                ".".join(parts),
                ".".join(parts) + ".",
                str(address),
                f"[::ffff:{address}]",
                f"[::{address}]",
                f"[64:ff9b::{address}]",
                f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]",
                f"[{ipaddress.IPv6Address((0xFFFF << 32) + number).exploded}]",
                "[::1]",
                "[0:0:0:0:0:0:0:1]",
                "[0000::0001]",
            ]
        )
    )
    if not host.startswith("["):
        host = host.replace(
            ".", draw(st.sampled_from([".", "。", "．", "｡", "%2e"]))
        )  # dots of other scripts
        if draw(st.booleans()):
            host = host.translate({ord("0") + digit: 0xFF10 + digit for digit in range(10)})
    prefix = draw(st.sampled_from(["", "public.example@", "user:word@"]))
    port = draw(st.sampled_from(["", ":80", ":8080", ":443"]))
    return f"{draw(st.sampled_from(['http', 'HTTPS']))}://{prefix}{host}{port}/"


@given(spellings())
async def test_no_spelling_of_a_private_address_passes(url: str) -> None:
    resolver = Names()
    with pytest.raises(BlockedError):
        await Guard(WebSettings(resolver=resolver)).check(parse_address(url))
    assert resolver.asked == []


@given(st.text(max_size=40), st.sampled_from(["", "http://", "https://", "http://127.0.0.1", "http://[::1]"]))
async def test_any_text_is_refused_or_leads_to_a_name_that_is_judged(text: str, start: str) -> None:
    """Whatever parses is a public literal, or a name that goes through the resolver."""

    class Private:
        async def resolve(self, host: str, port: int) -> list[str]:
            return ["127.0.0.1"]

    try:
        await Guard(WebSettings(resolver=Private())).check(parse_address(start + text))
    except BlockedError:
        return
    literal = parse_address(start + text).literal
    assert literal is not None
    assert literal.is_global
