"""Which host names and origins may ask, from the headers alone."""

import pytest

from fireside.http.hosts import HostPolicy, same_origin


@pytest.mark.parametrize(
    "host",
    [
        "localhost:8080",
        "127.0.0.1:8080",
        "[::1]:8080",
        "LOCALHOST:8080",
        "localhost",
        "127.0.0.2",
        "nas.local:1",
    ],
)
def test_loopback_and_allowed_names_are_good(host: str) -> None:
    assert HostPolicy.of(["NAS.local"]).allows(host)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8080",
        "127.0.0.1.evil.example:8080",
        "localhost.evil.example",
        ":8080",
        "",
        "evil.example@127.0.0.1",
        "127.0.0.1@evil.example",
        "localhost:port",
        "localhost/evil.example",
        "localhost evil.example",
        "[::1",
        "0.0.0.0",
        "2130706433",
        "192.168.0.7",
        "[::ffff:127.0.0.1.evil.example]",
    ],
)
def test_other_names_are_bad(host: str) -> None:
    assert not HostPolicy.of([]).allows(host)


@pytest.mark.parametrize(
    ("origin", "host", "same"),
    [
        ("http://localhost:8080", "localhost:8080", True),
        ("https://localhost:8080", "localhost:8080", True),
        ("http://LOCALHOST:8080", "localhost:8080", True),
        ("http://localhost:3000", "localhost:8080", False),
        ("http://evil.example", "localhost:8080", False),
        ("null", "localhost:8080", False),
        ("", "localhost:8080", False),
        ("file://localhost:8080", "localhost:8080", False),
        ("http://localhost:8080.evil.example", "localhost:8080", False),
    ],
)
def test_only_our_own_page_is_of_the_same_origin(origin: str, host: str, same: bool) -> None:
    assert same_origin(origin, host) is same
