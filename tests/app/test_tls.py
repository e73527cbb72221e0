"""https, with a certificate of one's own."""

from __future__ import annotations

import json
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from fireside.cli import main
from fireside.http.listening import CannotListen, listen_tcp
from fireside.http.tls import BadCertificate, Certificate
from support.server import Server, refused_start, serving

KEY = "first-key-0123456789abcdef"
NOBODY = ("--upstream", "http://127.0.0.1:9")


@dataclass(frozen=True)
class Pair:
    chain: Path
    key: Path

    @property
    def flags(self) -> tuple[str, ...]:
        return ("--tls-cert", str(self.chain), "--tls-key", str(self.key))


def made(folder: Path, *arguments: str) -> Pair:
    pair = Pair(folder / "cert.pem", folder / "key.pem")
    folder.mkdir(exist_ok=True)
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2 -subj /CN=localhost"
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    full = [*command.split(), "-addext", names, "-keyout", str(pair.key), "-out", str(pair.chain)]
    subprocess.run([*full, *(arguments or ("-nodes",))], check=True, capture_output=True)
    return pair


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return made(tmp_path_factory.mktemp("pair"))


@pytest.fixture(scope="module")
def secure(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("secure"), *NOBODY, *pair.flags, "--api-key", KEY) as server:
        yield server


@pytest.fixture
def client(secure: Server, pair: Pair) -> Iterator[httpx.Client]:
    trusting = ssl.create_default_context(cafile=pair.chain)
    with httpx.Client(base_url=secure.url, verify=trusting) as opened:
        yield opened


def test_https_is_announced_and_spoken_and_http_is_not(secure: Server, client: httpx.Client) -> None:
    assert secure.url.startswith("https://127.0.0.1:")
    assert json.loads((secure.home / "fireside.lock").read_text())["address"] == secure.url
    assert client.get("/health/live").json() == {"status": "ok"}
    with pytest.raises(httpx.HTTPError):
        httpx.get(secure.url.replace("https", "http", 1) + "/health/live")
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{secure.url}/health/live")


def test_the_link_and_the_cookie_are_for_https(secure: Server, client: httpx.Client) -> None:
    assert secure.process.stdout
    link = secure.process.stdout.readline().rpartition(" ")[2].strip()
    assert link.startswith(f"{secure.url}/login?code=")
    answer = client.get(link)
    assert answer.status_code == 303
    assert "; Secure" in answer.headers["Set-Cookie"]
    assert client.get("/api/status").status_code == 200
    assert client.post("/api/keys", json={"name": "a"}, headers={"Origin": secure.url}).status_code == 201
    assert (
        client.post("/api/keys", json={"name": "a"}, headers={"Origin": "https://x.example"}).status_code
        == 403
    )


def test_the_socket_is_encrypted_too(secure: Server, pair: Pair) -> None:
    trusting = ssl.create_default_context(cafile=pair.chain)
    url = secure.url.replace("https", "wss", 1) + "/ws"
    headers = {"Authorization": f"Bearer {KEY}"}
    with connect(url, ssl=trusting, additional_headers=headers, origin=Origin(secure.url)) as socket:
        assert json.loads(socket.recv())["type"] == "hello"
    with (
        pytest.raises(InvalidStatus) as caught,
        connect(url, ssl=trusting, additional_headers=headers, origin=Origin("https://evil.example")),
    ):
        pass
    assert caught.value.response.status_code == 403


def test_old_protocols_are_refused(secure: Server) -> None:
    host, port = secure.url.removeprefix("https://").split(":")
    old = subprocess.run(
        ["openssl", "s_client", "-connect", f"{host}:{port}", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=20,
    )
    assert old.returncode != 0


def test_a_second_start_names_the_secure_address(secure: Server) -> None:
    second = refused_start(secure.home, "--port", "0")
    assert second.returncode == 1
    assert secure.url in second.stderr
    host, _, port = secure.url.removeprefix("https://").rpartition(":")
    with pytest.raises(CannotListen, match="Fireside itself"):
        listen_tcp(host, int(port))


def test_files_that_cannot_be_used_are_named(pair: Pair, tmp_path: Path) -> None:
    other = made(tmp_path / "other")
    encrypted = made(tmp_path / "encrypted", "-passout", "pass:secret")
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("nothing of the kind")
    absent = tmp_path / "absent.pem"
    for wrong, flag, path, word in (
        (Pair(absent, pair.key), "--tls-cert", absent, "Cannot read"),
        (Pair(pair.chain, absent), "--tls-key", absent, "Cannot read"),
        (Pair(pair.chain, tmp_path), "--tls-key", tmp_path, "Cannot read"),
        (Pair(nonsense, pair.key), "--tls-cert", nonsense, "no PEM certificate"),
        (Pair(pair.chain, nonsense), "--tls-key", nonsense, "no PEM key"),
        (Pair(pair.chain, other.key), "--tls-key", other.key, "is not the key of"),
        (encrypted, "--tls-key", encrypted.key, "needs a password"),
    ):
        with pytest.raises(BadCertificate, match=word) as caught:
            Certificate(wrong.chain, wrong.key).check()
        assert f"{flag} {path}" in str(caught.value)
    refused = refused_start(tmp_path / "home", "--port", "0", *Pair(pair.chain, other.key).flags)
    assert refused.returncode == 1
    assert str(other.key) in refused.stderr


@pytest.mark.parametrize("flag", ["--tls-cert", "--tls-key"])
def test_one_file_alone_is_refused(pair: Pair, flag: str) -> None:
    result = CliRunner().invoke(main, ["serve", flag, str(pair.chain)])
    assert result.exit_code == 2
    assert "go together" in result.output
