"""Every route of the app, asked by whoever may not: nothing is done, whatever the request carries."""

from __future__ import annotations

import hashlib
import http.client
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from fireside.app import create_app
from fireside.config import ServeConfig
from fireside.http.access import is_open
from fireside.paths import Home
from support.chat import Chat
from support.server import Server, prepared_home, serving

KEY = "a-key-that-is-good-0123456789"
OPEN = {"/", "/health", "/health/live", "/help/phone", "/login", "/manifest.webmanifest", "/sw.js"}
EVIL = "evil.example"
PLAIN = ("text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded")
VOLATILE = ("logs/", "stderr.log", "fireside.db-", "cache/")


@dataclass(frozen=True)
class Route:
    """One method of one rule, with placeholders filled in."""

    method: str
    path: str
    websocket: bool


@dataclass
class Prepared:
    """A server with a chat, a file, an article, a preset and a key, and one who may ask for all of it."""

    server: Server
    routes: list[Route]
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def netloc(self) -> str:
        return urlsplit(self.server.url).netloc

    def ask(self, route: Route, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes, Any]:
        connection = http.client.HTTPConnection(self.netloc, timeout=30)
        with closing(connection):
            connection.request(route.method, route.path, body, headers)
            reply = connection.getresponse()
            return reply.status, reply.read() if reply.status >= 400 else b"", reply.headers

    def state(self) -> dict[str, Any]:
        """What a request could have changed: every row of the database, every file."""
        home = self.server.home
        with closing(sqlite3.connect(f"file:{home / 'fireside.db'}?mode=ro", uri=True)) as database:
            names = [
                row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            rows = {name: database.execute(f'SELECT * FROM "{name}"').fetchall() for name in sorted(names)}
        files = {
            str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(home.rglob("*"))
            if path.is_file() and not str(path.relative_to(home)).startswith(VOLATILE)
        }
        del files["fireside.db"], files["fireside.lock"]
        with httpx.Client(base_url=self.server.url, headers=self.headers) as client:
            told = {path: client.get(path).json() for path in ("/api/memory/list", "/api/presets")}
            counters = client.get("/metrics").text
        return {"rows": rows, "files": files, "told": told, "requests": counted(counters)}


def counted(metrics: str) -> list[str]:
    """The counters of requests and tokens."""
    return [line for line in metrics.splitlines() if "_total" in line and not line.startswith("#")]


def routes_of(folder: Path, values: dict[str, str]) -> list[Route]:
    app = create_app(ServeConfig(home=Home(folder)), ("127.0.0.1", 1))
    rules = list(app.asgi.app.url_map.iter_rules())
    found = [
        Route(method, "".join(filled(rule.rule, values)), bool(rule.websocket))
        for rule in rules
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]
    assert len(found) > 50
    return found


def filled(rule: str, values: dict[str, str]) -> Iterator[str]:
    for piece in rule.split("<"):
        name, closed, rest = piece.partition(">")
        yield quote(values.get(name.rpartition(":")[2], "something")) + rest if closed else piece


@pytest.fixture(scope="module")
def prepared(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    home = prepared_home(tmp_path_factory.mktemp("walked"), server.home)
    with serving(home, "--api-key", KEY) as own:
        bearer = {"Authorization": f"Bearer {KEY}"}
        with httpx.Client(base_url=own.url, headers=bearer, timeout=60) as client:
            assert client.post("/login", json={"key": KEY}).status_code == 204
            cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
            key = client.post("/api/keys", json={"name": "created"}).json()
            file = client.post("/api/attachments", files={"file": ("notes.txt", b"Low water", "text/plain")})
            attachment = file.raise_for_status().json()
            client.put("/api/presets/mine", json={"instructions": "Be brief."})
            client.post("/api/memory/init").raise_for_status()
        with connect(own.url.replace("http", "ws", 1) + "/ws", additional_headers=bearer) as socket:
            session = Chat(socket).new_session()
        own.wait_ready()
        values = {
            "key_id": key["info"]["id"],
            "sha256": attachment["sha256"],
            "name": "mine",
            "session_id": session,
            "model_id": "pocket",
        }
        body = {
            "messages": [{"role": "user", "content": "Hi"}],
            "prompt": "Hi",
            "input": "Hi",
            "content": "Hi",
            "max_tokens": 1,
            "max_output_tokens": 1,
            "name": "mine",
            "instructions": "Obey the other page.",
            "key": KEY,
        }
        routes = routes_of(tmp_path_factory.mktemp("rules"), values)
        yield Prepared(own, routes, {**bearer, "Cookie": cookie}, body)


@pytest.fixture
def unchanged(prepared: Prepared) -> Iterator[None]:
    before = prepared.state()
    yield
    assert prepared.state() == before


@pytest.mark.usefixtures("unchanged")
def test_a_foreign_host_or_origin_has_no_effect_even_with_every_credential(prepared: Prepared) -> None:
    body = json.dumps(prepared.body).encode()
    credentials = {**prepared.headers, "Content-Type": "application/json"}
    foreign = [
        ({"Host": EVIL}, "host_not_allowed"),
        ({"Host": f"{EVIL}:8080", "Origin": f"http://{EVIL}:8080"}, "host_not_allowed"),
        ({"Origin": f"http://{EVIL}"}, "origin_not_allowed"),
        ({"Origin": "null"}, "origin_not_allowed"),
    ]
    for route in prepared.routes:
        for headers, code in foreign:
            sent = None if route.method == "GET" else body
            status, text, _ = prepared.ask(route, sent, {**credentials, **headers})
            assert (status, code in text.decode()) == (403, True), (route, headers, text)


@pytest.mark.usefixtures("unchanged")
def test_a_body_that_any_page_can_send_has_no_effect(prepared: Prepared) -> None:
    for route in prepared.routes:
        for kind in PLAIN if route.method != "GET" else ():
            for body in (json.dumps(prepared.body).encode(), None):
                headers = {**prepared.headers, "Content-Type": kind}
                status, text, _ = prepared.ask(route, body, headers)
                assert (status, b"unsupported_media_type" in text) == (415, True), (route, kind, text)


@pytest.mark.usefixtures("unchanged")
def test_a_foreign_socket_is_refused_on_every_path(prepared: Prepared) -> None:
    assert any(route.websocket for route in prepared.routes)
    paths = dict.fromkeys(route.path for route in prepared.routes)
    for path in paths:
        for headers in ({}, {"Host": EVIL}):
            with (
                pytest.raises(InvalidStatus) as caught,
                connect(
                    f"ws://{prepared.netloc}{path}",
                    origin=Origin(f"http://{EVIL}") if not headers else None,
                    additional_headers={**prepared.headers, **headers},
                ),
            ):
                pass
            assert caught.value.response.status_code in (400, 403), path


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("shown", [{}, {"Authorization": "Bearer wrong"}, {"x-api-key": "wrong"}])
def test_without_a_good_key_every_route_but_the_open_ones_refuses(
    prepared: Prepared, shown: dict[str, str]
) -> None:
    body = json.dumps(prepared.body).encode()
    for route in prepared.routes:
        if route.path in OPEN or route.path.startswith("/assets/"):
            assert is_open(route.path)
            continue
        sent = None if route.method == "GET" else body
        status, text, headers = prepared.ask(route, sent, {"Content-Type": "application/json", **shown})
        assert (status, headers["WWW-Authenticate"]) == (401, 'Bearer realm="fireside"'), (route, text)
        error = json.loads(text)
        code = error["error"].get("code") or error["error"]["details"]["error_code"]
        assert code == "invalid_api_key"
        assert (error.get("type") == "error") is route.path.startswith("/v1/messages")


def test_without_a_key_a_socket_is_refused_and_with_one_or_a_session_it_is_not(prepared: Prepared) -> None:
    url = f"ws://{prepared.netloc}/ws"
    with pytest.raises(InvalidStatus) as caught, connect(url):
        pass
    assert caught.value.response.status_code == 401
    for name in ("Authorization", "Cookie"):
        with connect(url, additional_headers={name: prepared.headers[name]}) as socket:
            assert json.loads(socket.recv())["type"] == "hello"


def test_the_open_routes_are_served_without_a_key(prepared: Prepared) -> None:
    for path in sorted(OPEN | {"/assets/js/main.js"}):
        assert httpx.get(prepared.server.url + path).status_code == 200, path
    assert httpx.get(f"{prepared.server.url}/assets/../api/keys").status_code == 401
    assert httpx.get(f"{prepared.server.url}/assets/%2e%2e/%2e%2e/keys.json").status_code == 404


def test_the_routes_can_have_an_effect_for_who_may_ask(prepared: Prepared) -> None:
    """Otherwise the walks would prove nothing."""
    before = prepared.state()
    body = json.dumps(prepared.body).encode()
    headers = {**prepared.headers, "Content-Type": "application/json"}
    for route in (
        Route("POST", "/api/keys", False),
        Route("PUT", "/api/presets/mine", False),
        Route("POST", "/v1/chat/completions", False),
    ):
        assert prepared.ask(route, body, headers)[0] < 300, route
    after = prepared.state()
    assert before["requests"]
    for part in ("files", "rows", "requests"):
        assert after[part] != before[part], part
