"""Keys, links and sessions of a running server, as programs and browsers use them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from click.testing import CliRunner
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from fireside.cli import main
from fireside.http.listening import CannotListen, listen_tcp, listen_unix
from support.chat import LONG
from support.completions import ROUTE, body_of, wait_until
from support.server import COMMAND, Server, serving

KEY = "first-key-0123456789abcdef"
OTHER = "other-key-0123456789abcdef"
NOBODY = ("--upstream", "http://127.0.0.1:9")
"""A server that needs no model: nothing here asks one."""


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@contextmanager
def keyed(home: Path, *arguments: str, inherited: str = "") -> Iterator[Server]:
    """A server; `inherited` is a key of its environment."""
    with serving(home, *NOBODY, *arguments, FIRESIDE_API_KEY=inherited) as server:
        yield server


def drain(socket: ClientConnection) -> None:
    """Read until it is closed."""
    while True:
        socket.recv(timeout=10)


def line_with_link(server: Server) -> str:
    assert server.process.stdout
    line = server.process.stdout.readline()
    assert "Open the page with " in line
    return line.rpartition(" ")[2].strip()


def new_link(server: Server, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "FIRESIDE_HOME": str(server.home)}
    return subprocess.run(
        [*COMMAND, "login", *arguments], env=env, capture_output=True, text=True, timeout=60
    )


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with keyed(tmp_path_factory.mktemp("locked"), "--api-key", KEY, inherited=OTHER) as server:
        line_with_link(server)
        yield server


@pytest.mark.parametrize("key", [KEY, OTHER])
def test_a_key_opens_by_either_header(locked: Server, key: str) -> None:
    for headers in (bearer(key), {"Authorization": f"bearer  {key}"}, {"x-api-key": key}):
        assert httpx.get(f"{locked.url}/api/status", headers=headers).status_code == 200
    both = {"x-api-key": "not-this", **bearer(key)}
    assert httpx.get(f"{locked.url}/api/status", headers=both).status_code == 200


@pytest.mark.parametrize("headers", [
    {}, {"Authorization": KEY}, {"Authorization": f"Basic {KEY}"}, bearer(KEY + "0"), bearer(KEY[:-1]),
    {"Authorization": "Bearer"}, {"x-api-key": f"Bearer {KEY}"}, {"api-key": KEY}, {"Cookie": f"key={KEY}"},
])  # fmt: skip
def test_nothing_else_does(locked: Server, headers: dict[str, str]) -> None:
    answer = httpx.get(f"{locked.url}/api/status", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["error"]["code"] == "invalid_api_key"
    assert httpx.get(f"{locked.url}/api/status?key={KEY}&api_key={KEY}").status_code == 401


def test_the_sdks_see_an_authentication_error(locked: Server) -> None:
    message: Any = {"role": "user", "content": "Hi"}
    with openai.OpenAI(base_url=f"{locked.url}/v1", api_key="wrong") as client:
        with pytest.raises(openai.AuthenticationError) as caught:
            client.chat.completions.create(model="x", messages=[message])
        assert caught.value.code == "invalid_api_key"
    with (
        anthropic.Anthropic(base_url=locked.url, api_key="wrong") as client,
        pytest.raises(anthropic.AuthenticationError) as refused,
    ):
        client.messages.create(model="x", max_tokens=1, messages=[message])
    body: Any = refused.value.body
    assert (body["type"], body["error"]["type"]) == ("error", "authentication_error")


def test_who_guesses_is_slowed_and_who_has_a_session_is_not(tmp_path: Path) -> None:
    with keyed(tmp_path, "--api-key", KEY) as server, httpx.Client(base_url=server.url) as page:
        assert page.get(line_with_link(server).removeprefix(server.url)).status_code == 303
        with httpx.Client(base_url=server.url) as guesser:
            guesses = [guesser.post("/login", json={"key": f"guess-{n}"}) for n in range(25)]
            slowed = guesser.get("/api/status", headers=bearer("yet-another"))
        statuses = [answer.status_code for answer in guesses]
        assert statuses[:20] == [401] * 20
        assert 429 in statuses[20:]
        assert slowed.status_code == 429
        assert slowed.json()["error"]["code"] == "too_many_wrong_keys"
        assert int(slowed.headers["Retry-After"]) >= 1
        assert page.get("/api/status").status_code == 200


def test_the_same_wrong_key_does_not_lock_out_the_others(locked: Server) -> None:
    with httpx.Client(base_url=locked.url) as client:
        for _ in range(60):
            assert client.get("/api/status", headers=bearer("old-key")).status_code == 401
        assert client.get("/api/status", headers=bearer(KEY)).status_code == 200


def test_the_link_of_the_start_opens_the_page_once(locked: Server) -> None:
    link = new_link(locked).stdout.strip()
    with httpx.Client(base_url=locked.url) as browser:
        assert browser.get("/api/status").status_code == 401
        assert browser.head(link).status_code == 200, "a look at the headers must not use it up"
        answer = browser.get(link)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/#/chat")
        cookie = answer.headers["Set-Cookie"]
        for part in ("HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="):
            assert part in cookie
        assert "Secure" not in cookie
        assert browser.get("/api/status").status_code == 200
        assert "Set-Cookie" not in browser.get("/api/status").headers
    again = httpx.get(link)
    assert again.status_code == 401
    assert "Set-Cookie" not in again.headers
    assert "needs a link or a key" in again.text


def test_a_login_link_can_begin_with_another_address_and_needs_a_running_server(
    locked: Server, tmp_path: Path
) -> None:
    named = new_link(locked, "--url", "https://hearth.example").stdout.strip()
    assert named.startswith("https://hearth.example/login?code=")
    there = named.replace("https://hearth.example", locked.url)
    assert httpx.get(there).status_code == 303
    env = {**os.environ, "FIRESIDE_HOME": str(tmp_path)}
    nobody = subprocess.run([*COMMAND, "login"], env=env, capture_output=True, text=True, timeout=60)
    assert nobody.returncode == 1
    assert "No Fireside runs" in nobody.stderr


def test_a_session_lasts_over_a_restart_until_logout(tmp_path: Path) -> None:
    with httpx.Client() as browser:
        with keyed(tmp_path, "--api-key", KEY) as server:
            link = line_with_link(server)
            assert browser.post(f"{server.url}/login", json={"key": "wrong"}).status_code == 401
            assert not browser.cookies
            answer = browser.post(f"{server.url}/login", json={"key": KEY})
            assert answer.status_code == 204
        with keyed(tmp_path, "--api-key", KEY) as server:
            assert httpx.get(server.url + link[link.index("/login") :]).status_code == 401
            assert browser.get(f"{server.url}/api/status").status_code == 200
            headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in browser.cookies.items())}
            with connect(server.url.replace("http", "ws", 1) + "/ws", additional_headers=headers) as socket:
                assert json.loads(socket.recv())["type"] == "hello"
                assert browser.post(f"{server.url}/logout").status_code == 204
                assert not browser.cookies
                with pytest.raises(ConnectionClosed) as closed:
                    drain(socket)
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 1008
            assert httpx.get(f"{server.url}/api/status", headers=headers).status_code == 401
    assert stat.S_IMODE((tmp_path / "sessions.json").stat().st_mode) == 0o600
    assert not (tmp_path / "login.secret").exists()


def test_what_a_key_has_open_ends_when_it_is_deleted_and_nothing_else(tmp_path: Path) -> None:
    with (
        serving(tmp_path, "--api-key", KEY) as server,
        httpx.Client(base_url=server.url, headers=bearer(KEY), timeout=60) as owner,
    ):
        wait_until(lambda: owner.get("/health").status_code == 200, within_s=60)
        made = owner.post("/api/keys", json={"name": "phone"}).json()
        url = server.url.replace("http", "ws", 1) + "/ws"
        with (
            httpx.Client(base_url=server.url, headers=bearer(made["key"]), timeout=60) as phone,
            phone.stream("POST", ROUTE, json=body_of(LONG, stream=True)) as answer,
            phone.stream("GET", "/api/status/events") as events,
            connect(url, additional_headers=bearer(made["key"])) as socket,
            owner.stream("GET", "/api/status/events") as own_events,
            connect(url, additional_headers=bearer(KEY)) as own_socket,
        ):
            streams = [answer.iter_bytes(), events.iter_bytes()]
            assert all(next(stream) for stream in streams)
            assert len(owner.get("/api/requests").json()["requests"]) == 1
            deleting = phone.delete(f"/api/keys/{made['info']['id']}")
            assert deleting.status_code == 204, "of what ends it the answer is given"
            for stream in streams:
                with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
                    list(stream)
            with pytest.raises(ConnectionClosed) as closed:
                drain(socket)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1008
            wait_until(lambda: owner.get("/api/requests").json()["requests"] == [], within_s=10)
            assert next(own_events.iter_bytes())
            own_socket.send('{"type": "list_sessions"}')
            while json.loads(own_socket.recv(timeout=10))["type"] != "sessions":
                pass
        assert "Traceback" not in server.log.read_text()


@pytest.mark.parametrize(("path", "field"), [("/login", "key"), ("/api/keys", "name")])
def test_a_body_of_endless_nesting_is_refused(locked: Server, path: str, field: str) -> None:
    body = f'{{"{field}": "x", "more": {"[" * 100_000}{"]" * 100_000}}}'
    headers = {**bearer(KEY), "Content-Type": "application/json"}
    refused = httpx.post(f"{locked.url}{path}", content=body, headers=headers)
    assert (refused.status_code, refused.json()["error"]["type"]) == (400, "invalid_request_error")


def test_keys_are_created_used_listed_and_deleted_without_a_restart(locked: Server) -> None:
    with httpx.Client(base_url=locked.url, headers=bearer(KEY)) as owner:
        made = owner.post("/api/keys", json={"name": "phone"})
        assert made.status_code == 201
        assert made.headers["Cache-Control"] == "no-store"
        secret, info = made.json()["key"], made.json()["info"]
        assert secret.startswith(info["prefix"])
        with httpx.Client(base_url=locked.url, headers=bearer(secret)) as phone:
            assert phone.get("/api/status").status_code == 200
            assert phone.post("/login", json={"key": secret}).status_code == 204
            listed = owner.get("/api/keys")
            rows = {row["id"]: row for row in listed.json()["keys"]}
            assert secret not in listed.text
            assert KEY not in listed.text
            assert rows[info["id"]]["last_used"] >= info["created"]
            assert [row["name"] for row in rows.values()].count("given at start") == 2
            assert owner.delete(f"/api/keys/{info['id']}").status_code == 204
            assert owner.delete(f"/api/keys/{info['id']}").status_code == 404
            assert phone.get("/api/status").status_code == 401
            del phone.headers["Authorization"]
            assert phone.get("/api/status").status_code == 401, "its session has ended too"
        assert owner.delete("/api/keys/given-1").status_code == 400
        for body in ({}, {"name": ""}, {"name": 3}, {"name": "x" * 101}):
            refused = owner.post("/api/keys", json=body)
            assert (refused.status_code, refused.json()["error"]["param"]) == (400, "name")
    path = locked.home / "keys.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secret not in path.read_text()


def test_a_key_created_on_an_open_server_locks_nobody_out_and_opens_a_locked_one(tmp_path: Path) -> None:
    with keyed(tmp_path) as server:
        secret = server.post("/api/keys", {"name": "later"})["key"]
        assert server.get("/api/keys")["required"] is False
        assert server.get("/api/status")
        assert httpx.get(f"{server.url}/login").headers["Location"] == "/#/chat"
        assert "needs no login" in new_link(server).stderr
    with keyed(tmp_path, "--require-key", "--host", "0.0.0.0") as server:
        assert httpx.get(f"{server.url}/api/status").status_code == 401
        assert httpx.get(f"{server.url}/api/status", headers=bearer(secret)).status_code == 200
        assert httpx.get(line_with_link(server)).status_code == 303


def test_beyond_loopback_a_key_is_needed_and_the_own_address_is_a_good_name(tmp_path: Path) -> None:
    with keyed(tmp_path, "--host", "0.0.0.0", "--api-key", KEY) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert httpx.get(f"{server.url}/api/status").status_code == 401
        assert httpx.get(f"{server.url}/api/status", headers=bearer(KEY)).status_code == 200
        elsewhere = server.url.replace("127.0.0.1", "127.0.0.3")
        assert httpx.get(f"{elsewhere}/api/status", headers=bearer(KEY)).status_code == 200
        for host in ("192.0.2.7", "0.0.0.0", "hearth.local"):
            answer = httpx.get(f"{server.url}/api/status", headers={"Host": host, **bearer(KEY)})
            assert answer.json()["error"]["code"] == "host_not_allowed"


def usage(*arguments: str) -> str:
    """What a start that cannot mean anything is told."""
    result = CliRunner().invoke(main, ["serve", *arguments])
    assert result.exit_code == 2
    return result.output


@pytest.mark.parametrize("flags", [["--api-key", "@{}"], ["--api-key-file", "{}"]])
def test_a_file_of_keys_that_others_may_read_stops_the_start(tmp_path: Path, flags: list[str]) -> None:
    path = tmp_path / "k"
    path.write_text(KEY)
    path.chmod(0o644)
    assert f"chmod 600 {path}" in usage(*(flag.format(path) for flag in flags))


def test_a_second_start_knows_the_first_although_it_is_locked(locked: Server) -> None:
    with pytest.raises(CannotListen, match="Fireside itself"):
        listen_tcp("127.0.0.1", int(locked.url.rpartition(":")[2]))


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o711])
def test_the_folder_of_a_unix_socket_must_be_private_unless_there_are_keys(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(CannotListen, match=f"Others may use {folder}"):
        listen_unix(folder / "f.sock")
    listen_unix(folder / "f.sock", private=False).sock.close()


def test_keys_of_a_file_are_demanded_over_a_unix_socket_too(tmp_path: Path) -> None:
    keys = tmp_path / "k"
    keys.write_text(f"{KEY}\n{OTHER}\n")
    keys.chmod(0o600)
    path = tmp_path / "f.sock"
    path.parent.chmod(0o755)
    with (
        keyed(tmp_path / "home", "--unix-socket", str(path), "--api-key", f"@{keys}"),
        httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://localhost") as client,
    ):
        assert client.get("/api/status").status_code == 401
        assert client.get("/api/status", headers=bearer(OTHER)).status_code == 200


def test_the_folder_of_a_unix_socket_is_made_and_a_long_path_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new" / "f.sock"
    listen_unix(path).sock.close()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with pytest.raises(CannotListen, match="may have 103 at most"):
        listen_unix(tmp_path / ("x" * 110))


ORIGIN = "http://localhost:3000"


def test_an_allowed_origin_may_use_v1_and_nothing_else(tmp_path: Path) -> None:
    with (
        keyed(tmp_path, "--api-key", KEY, "--allow-origin", ORIGIN) as server,
        httpx.Client(base_url=server.url) as browser,
    ):
        assert browser.post("/login", json={"key": KEY}).status_code == 204
        asks = {
            "Origin": ORIGIN,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type,x-stainless-os",
            "Access-Control-Request-Private-Network": "true",
        }
        answer = browser.options("/v1/chat/completions", headers=asks)
        assert answer.status_code == 204
        assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
        assert answer.headers["Access-Control-Allow-Headers"] == asks["Access-Control-Request-Headers"]
        assert answer.headers["Access-Control-Allow-Private-Network"] == "true"
        assert "POST" in answer.headers["Access-Control-Allow-Methods"]
        assert "Access-Control-Allow-Credentials" not in answer.headers
        without = browser.get("/v1/models", headers={"Origin": ORIGIN})
        assert without.status_code == 401, "a session is our own page's alone"
        assert without.headers["Access-Control-Allow-Origin"] == ORIGIN
        used = browser.get("/v1/models", headers={"Origin": ORIGIN, **bearer(KEY)})
        assert used.status_code != 401
        assert used.headers["Access-Control-Expose-Headers"]
        assert "Origin" in used.headers["Vary"]
        assert "Origin" in browser.get("/v1/models").headers["Vary"]
        for path, origin in (("/api/status", ORIGIN), ("/", ORIGIN), ("/v1/models", "http://localhost:3001")):
            for method in ("GET", "OPTIONS"):
                refused = browser.request(method, path, headers={**asks, "Origin": origin, **bearer(KEY)})
                assert refused.status_code == 403
                assert "Access-Control-Allow-Origin" not in refused.headers
        with (
            pytest.raises(InvalidStatus),
            connect(
                server.url.replace("http", "ws", 1) + "/ws",
                additional_headers={"Origin": ORIGIN, **bearer(KEY)},
            ),
        ):
            pass


def test_without_the_flag_no_origin_is_told_anything(locked: Server) -> None:
    asks = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
    answer = httpx.options(f"{locked.url}/v1/chat/completions", headers=asks)
    assert answer.status_code == 403
    own = httpx.get(f"{locked.url}/v1/models", headers=bearer(KEY))
    for reply in (answer, own):
        assert not [name for name in reply.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize("origin", ["*", "null", "localhost:3000", "http://a.example/path"])
def test_an_origin_must_be_exact(origin: str) -> None:
    assert "scheme://host" in usage("--allow-origin", origin)
