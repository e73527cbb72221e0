"""A request that is refused before its body was read is still told why."""

from __future__ import annotations

import asyncio
import http.client
import importlib
import inspect
import json
import socket
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypercorn.protocol.h11 import H11Protocol

from fireside.http import unread
from support.asgi import IDLE_S, connections_served, serving
from support.server import Server

BIG = b"x" * 5_000_000
JSON = {"Content-Type": "application/json"}
REFUSED = [
    ("/v1/chat/completions", {"Content-Type": "text/plain"}, 415),
    ("/v1/chat/completions", {**JSON, "Host": "evil.example"}, 403),
    ("/v1/nothing", JSON, 404),
    ("/health", JSON, 405),
]


def connected(host: str) -> socket.socket:
    name, _, port = host.partition(":")
    return socket.create_connection((name, int(port)), timeout=10)


@pytest.mark.parametrize(("path", "headers", "status"), REFUSED)
def test_a_client_that_sends_all_first_sees_the_refusal(
    server: Server, path: str, headers: dict[str, str], status: int
) -> None:
    """`http.client` reads nothing before it has sent everything, and fails if it cannot."""
    for _ in range(5):
        client = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=10)
        client.request("POST", path, BIG, headers)
        answer = client.getresponse()
        assert answer.status == status
        assert json.loads(answer.read())["error"]["message"]
        assert answer.getheader("Connection") == "close"
        assert client.sock is None, "it has understood that the connection is over"


@pytest.mark.parametrize(("path", "headers", "status"), REFUSED)
def test_a_client_that_keeps_connections_sees_it_each_time(
    server: Server, path: str, headers: dict[str, str], status: int
) -> None:
    with httpx.Client(base_url=server.url) as client:
        for _ in range(5):
            assert client.post(path, content=BIG, headers=headers).status_code == status
            assert client.get("/health").status_code == 200


def test_a_small_body_costs_nobody_the_connection(server: Server) -> None:
    client = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=10)
    client.connect()
    port = client.sock.getsockname()[1]
    for _ in range(5):
        client.request("POST", "/v1/nothing", b"{}", JSON)
        answer = client.getresponse()
        assert (answer.status, answer.getheader("Connection")) == (404, None)
        answer.read()
        assert client.sock.getsockname()[1] == port
    client.close()


def test_what_follows_a_dropped_body_is_answered(server: Server) -> None:
    host = urlsplit(server.url).netloc
    head = f"POST /v1/nothing HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000\r\n\r\n".encode()
    get = f"GET /health HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    with connected(host) as client:
        client.sendall(head)
        got = client.recv(1 << 16)
        assert got.startswith(b"HTTP/1.1 404")
        client.sendall(bytes(1000) + get)
        while not got.endswith(b'{"status":"ok"}'):
            got += client.recv(1 << 16)
    assert got.count(b"HTTP/1.1 ") == 2


async def write_for_ever(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(bytes(100_000))
        await writer.drain()
        await asyncio.sleep(0)


async def test_a_body_that_does_not_come_or_does_not_end_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unread, "DROPPING_S", 0.2)
    monkeypatch.setattr(unread, "DROPPED_BYTES", 1_000_000)

    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})

    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n"
    async with serving(refuse) as port, asyncio.timeout(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head)
        assert (await reader.read()).endswith(b"no\r\n0\r\n\r\n")
        writer.close()
        monkeypatch.setattr(unread, "DROPPING_S", 60)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head)
        with pytest.raises(ConnectionError):
            await write_for_ever(writer)
        await asyncio.sleep(IDLE_S / 2)
        assert connections_served() == 0


def test_chunks_are_dropped_too_and_broken_ones_end_it(server: Server) -> None:
    host = urlsplit(server.url).netloc
    head = f"POST /v1/nothing HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    piece = b"10000\r\n" + bytes(0x10000) + b"\r\n"
    for end in (b"0\r\n\r\n", b"no number\r\n"):
        with connected(host) as client:
            client.sendall(head + piece)
            got = client.recv(1 << 16)
            client.sendall(piece * 40 + end)
            while more := client.recv(1 << 16):
                got += more
        assert got.startswith(b"HTTP/1.1 404")
        assert got.endswith(b"}}")


def test_hypercorn_still_has_what_that_relies_on() -> None:
    protocol: Any = importlib.import_module("hypercorn.protocol")
    assert protocol.H11Protocol is H11Protocol, "left replaced, or no longer there"
    assert "self.protocol = H11Protocol(" in inspect.getsource(protocol)
    for name in (
        "stream_send",
        "handle",
        "_handle_events",
        "_create_stream",
        "_maybe_recycle",
        "_close_stream",
    ):
        assert inspect.iscoroutinefunction(getattr(H11Protocol, name))
    assert "await self._maybe_recycle()" in inspect.getsource(H11Protocol.stream_send)
