"""Host, Origin and content type, checked on every route of a running server."""

import http.client
import json
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from support.server import Server

ROUTES = [
    ("GET", "/"),
    ("GET", "/assets/js/main.js"),
    ("GET", "/manifest.webmanifest"),
    ("GET", "/health"),
    ("GET", "/stats"),
    ("GET", "/api/status"),
    ("GET", "/v1/models"),
    ("POST", "/v1/chat/completions"),
]
BODY = json.dumps({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1})
BAD_HOSTS = [
    "evil.example:{port}",
    "127.0.0.1.evil.example:{port}",
    "localhost.evil.example",
    ":{port}",
    "evil.example@127.0.0.1",
]
GOOD_HOSTS = ["localhost:{port}", "127.0.0.1:{port}", "[::1]:{port}", "LOCALHOST:{port}"]


def ask(server: Server, method: str, path: str, headers: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
    """One request with exactly these headers and, for POST, a good JSON body."""
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
    body = BODY if method == "POST" else None
    full = {"Content-Type": "application/json"} if body else {}
    try:
        connection.request(method, path, body, {**full, **headers})
        reply = connection.getresponse()
        return reply.status, reply.read(), dict(reply.getheaders())
    finally:
        connection.close()


def port(server: Server) -> int:
    found = urlsplit(server.url).port
    assert found
    return found


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_loopback_names_are_served_and_others_refused(server: Server, method: str, path: str) -> None:
    for host in GOOD_HOSTS:
        assert ask(server, method, path, {"Host": host.format(port=port(server))})[0] == 200, host
    for host in BAD_HOSTS:
        name = host.format(port=port(server))
        for origin in ({}, {"Origin": f"http://{name}"}):
            status, body, _ = ask(server, method, path, {"Host": name, **origin})
            assert status == 403, name
            assert json.loads(body)["error"]["code"] == "host_not_allowed"


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_a_socket_under_a_foreign_name_is_refused(server: Server, host: str) -> None:
    name = host.format(port=port(server))
    with (
        pytest.raises(InvalidStatus) as caught,
        connect(f"ws://127.0.0.1:{port(server)}/ws", additional_headers={"Host": name}),
    ):
        pass
    assert caught.value.response.status_code in (400, 403)


def test_a_socket_opened_by_a_foreign_page_is_refused(server: Server) -> None:
    with (
        pytest.raises(InvalidStatus) as caught,
        connect(f"ws://127.0.0.1:{port(server)}/ws", origin=Origin("http://evil.example")),
    ):
        pass
    assert caught.value.response.status_code == 403


def test_a_socket_opened_by_our_page_is_accepted(server: Server) -> None:
    with connect(
        f"ws://127.0.0.1:{port(server)}/ws", origin=Origin(f"http://127.0.0.1:{port(server)}")
    ) as socket:
        assert json.loads(socket.recv())["type"] == "hello"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "file://"])
def test_a_foreign_page_cannot_change_anything(server: Server, origin: str) -> None:
    status, body, _ = ask(server, "POST", "/v1/chat/completions", {"Origin": origin})
    assert (status, json.loads(body)["error"]["code"]) == (403, "origin_not_allowed")


def test_our_own_page_may_ask(server: Server) -> None:
    assert ask(server, "POST", "/v1/chat/completions", {"Origin": server.url})[0] == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_a_body_that_a_form_could_send_is_refused(server: Server, kind: str) -> None:
    status, body, _ = ask(server, "POST", "/v1/chat/completions", {"Content-Type": kind})
    assert (status, json.loads(body)["error"]["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "path",
    ["/", "/docs", "/sw.js", "/assets/icon.svg", "/assets/nothing.js", "/health", "/nothing", "/v1/models"],
)
def test_every_answer_has_the_security_headers(server: Server, path: str) -> None:
    headers = ask(server, "GET", path, {})[2]
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/assets/js/main.js", "/assets/page.css"])
def test_parts_of_a_page_have_only_those_that_mean_something_there(server: Server, path: str) -> None:
    status, _, headers = ask(server, "GET", path, {})
    assert status == 200
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["x-content-type-options"] == "nosniff"
    assert not headers.keys() & {"content-security-policy", "cross-origin-opener-policy", "referrer-policy"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/v1/nothing", 404),
        ("DELETE", "/v1/models", 405),
        ("GET", "/assets/../pyproject.toml", 404),
        ("GET", "/assets/%2e%2e/pyproject.toml", 404),
        ("GET", "/assets/" + "a" * 300, 404),
    ],
)
def test_errors_have_one_shape(server: Server, method: str, path: str, status: int) -> None:
    found, body, _ = ask(server, method, path, {})
    assert found == status
    assert json.loads(body)["error"].keys() == {"message", "type", "code", "param"}
