"""A connection is given back when its client has left, and not before."""

from __future__ import annotations

import asyncio
import http.client
import importlib
import inspect
import json
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import AsyncioSingleTask
from hypercorn.protocol.ws_stream import WSStream
from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from fireside.http.connections import Connection
from fireside.text.mlxlm import load_tokenizer
from support.asgi import IDLE_S, connections_served, serving
from support.chat import LONG
from support.completions import ROUTE, body_of, rows, wait_idle, wait_until
from support.server import POCKET, Server

CLIENTS = 50
GONE_WITHIN_S = 2.0
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with no time: closing sends a reset."""


class Client:
    """A client that says exactly what it is told to."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.port = self.socket.getsockname()[1]
        self._host = f"Host: 127.0.0.1:{port}\r\n"

    def get(self, path: str) -> None:
        self.socket.sendall(f"GET {path} HTTP/1.1\r\n{self._host}\r\n".encode())

    def post(self, path: str, body: bytes, length: int | None = None) -> None:
        """Send JSON, or as much of it as `body` has of a `length`."""
        kind = f"Content-Type: application/json\r\nContent-Length: {length or len(body)}\r\n"
        self.socket.sendall(f"POST {path} HTTP/1.1\r\n{self._host}{kind}\r\n".encode() + body)

    def read_until(self, end: bytes) -> bytes:
        got = b""
        while not got.endswith(end):
            more = self.socket.recv(1 << 16)
            assert more, f"the server closed after {got!r}"
            got += more
        return got


@contextmanager
def client(server: Server) -> Iterator[Client]:
    it = Client(port_of(server))
    try:
        yield it
    finally:
        it.socket.close()


def port_of(server: Server) -> int:
    port = urlsplit(server.url).port
    assert port
    return port


def held(server: Server) -> set[int]:
    """The clients' ports of the connections that the server has a descriptor for, whatever their state."""
    mine = psutil.Process(server.process.pid).net_connections("tcp")
    return {c.raddr.port for c in mine if c.raddr and c.laddr.port == port_of(server)}


def drain(it: ClientConnection) -> None:
    """Read what a WebSocket is sent until it is closed."""
    while True:
        it.recv(timeout=GONE_WITHIN_S)


def descriptors(server: Server) -> int:
    return psutil.Process(server.process.pid).num_fds()


@pytest.fixture(autouse=True)
def leaves_no_connection(request: pytest.FixtureRequest) -> Iterator[None]:
    """After a test with a real server, that has no connection of ours any more and no new complaint."""
    if "server" not in request.fixturenames:
        yield
        return
    server: Server = request.getfixturevalue("server")
    wait_until(lambda: not held(server), GONE_WITHIN_S)
    complaints = server.log.read_text()
    yield
    wait_until(lambda: not held(server), GONE_WITHIN_S)
    assert server.log.read_text() == complaints


@pytest.mark.parametrize("asks", [True, False])
def test_clients_that_leave_hold_no_descriptor(server: Server, asks: bool) -> None:
    before = descriptors(server)
    with ExitStack() as stack:
        clients = [stack.enter_context(client(server)) for _ in range(CLIENTS)]
        for it in clients:
            if asks:
                it.get("/health")
                assert it.read_until(b'{"status":"ok"}').startswith(b"HTTP/1.1 200")
        wait_until(lambda: {it.port for it in clients} <= held(server), GONE_WITHIN_S)
        assert descriptors(server) >= before + CLIENTS
    wait_until(lambda: not held(server) and descriptors(server) <= before, GONE_WITHIN_S)


@pytest.mark.parametrize("path", [ROUTE, "/nothing"])
def test_a_client_that_leaves_in_its_own_body_holds_none(server: Server, path: str) -> None:
    for _ in range(5):
        with client(server) as it:
            it.post(path, b'{"messages": [', length=10_000)


def test_a_dropped_web_socket_holds_none(server: Server) -> None:
    for _ in range(5):
        with connect(f"ws://127.0.0.1:{port_of(server)}/ws") as it:
            it.socket.shutdown(socket.SHUT_WR)
            with pytest.raises(ConnectionClosed):
                drain(it)


def test_clients_that_stay_use_their_connection_again(server: Server) -> None:
    stays = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=10)
    ports: set[int] = set()
    for path in ("/health", "/v1/models", "/nothing", "/health"):
        stays.request("GET", path)
        stays.getresponse().read()
        ports.add(stays.sock.getsockname()[1])
        with client(server) as other:
            other.get("/health")
            other.read_until(b"}")
    assert len(ports) == 1
    assert ports <= held(server)
    stays.close()


def test_a_streamed_answer_ends_and_leaves_the_connection_usable(server: Server) -> None:
    with client(server) as it:
        it.post(ROUTE, json.dumps(body_of(LONG, max_tokens=200, stream=True)).encode())
        assert b"data: [DONE]" in it.read_until(b"\r\n0\r\n\r\n")
        it.get("/health")
        it.read_until(b'{"status":"ok"}')


def test_a_client_that_only_ends_its_sending_still_gets_its_answer(server: Server) -> None:
    with client(server) as it:
        it.get("/health")
        it.socket.shutdown(socket.SHUT_WR)
        assert it.read_until(b'{"status":"ok"}').startswith(b"HTTP/1.1 200")
        assert it.socket.recv(1) == b""


@pytest.fixture(scope="module")
def endless() -> dict[str, Any]:
    """Fields of a request whose answer the model cannot end."""
    stops = load_tokenizer(POCKET, None).eos_token_ids
    return {"max_tokens": 4000, "logit_bias": {str(token): -100 for token in stops}}


@pytest.mark.parametrize("stream", [False, True])
def test_nothing_is_answered_to_clients_that_leave_with_their_question(
    server: Server, endless: dict[str, Any], stream: bool
) -> None:
    body = json.dumps(body_of(LONG, stream=stream, **endless)).encode()
    for _ in range(10):
        with client(server) as it:
            it.post(ROUTE, body)
    wait_idle(server, GONE_WITHIN_S)


@pytest.mark.parametrize("reset", [False, True])
def test_an_answer_ends_with_a_client_that_leaves_in_the_middle(
    server: Server, endless: dict[str, Any], reset: bool
) -> None:
    with client(server) as it:
        it.post(ROUTE, json.dumps(body_of(LONG, stream=True, **endless)).encode())
        while b'"content"' not in it.socket.recv(1 << 16):
            pass
        assert rows(server) == (1, 0)
        if reset:
            it.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            it.socket.close()
        else:
            it.socket.shutdown(socket.SHUT_WR)
        wait_idle(server, GONE_WITHIN_S)


async def start(send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


async def ask(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    return reader, writer


async def test_idle_clients_are_sent_away_and_slow_answers_are_not() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await start(send)
            for _ in range(4):
                await asyncio.sleep(IDLE_S / 2)
                await send({"type": "http.response.body", "body": b"piece", "more_body": True})
            await send({"type": "http.response.body"})

    async with serving(app) as port, asyncio.timeout(10):
        reader, writer = await ask(port)
        assert (await reader.readuntil(b"\r\n0\r\n\r\n")).count(b"piece") == 4
        begin = asyncio.get_running_loop().time()
        assert await reader.read() == b""
        assert asyncio.get_running_loop().time() - begin > IDLE_S / 2
        writer.close()
        await writer.wait_closed()


async def test_a_reset_in_the_last_piece_leaves_no_timer() -> None:
    """The app does not notice, so that its answer ends as if all had gone well."""
    sent = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await start(send)
            await send({"type": "http.response.body", "body": bytes(64 << 20)})
            sent.set()

    async with serving(app) as port, asyncio.timeout(10):
        reader, writer = await ask(port)
        await reader.read(1)
        assert connections_served() == 1
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.transport.abort()
        await sent.wait()
        await asyncio.sleep(IDLE_S / 6)
        assert connections_served() == 0


async def test_a_web_socket_that_was_closed_does_not_sleep_until_its_next_ping() -> None:
    """Fireside waits for each connection when it stops."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            await receive()
            await receive()
            await send({"type": "websocket.close"})

    async with serving(app) as port, asyncio.timeout(10):
        async with connect_async(f"ws://127.0.0.1:{port}/") as socket:
            assert connections_served() == 1
            await socket.send("the end")
        await asyncio.sleep(IDLE_S / 2)
        assert connections_served() == 0


def test_hypercorn_still_has_what_the_connection_relies_on() -> None:
    worker: Any = importlib.import_module("hypercorn.asyncio.run")
    assert worker.TCPServer is TCPServer, "left replaced, or no longer there"
    assert "await TCPServer(" in inspect.getsource(worker.worker_serve)
    for name in ("_read_data", "protocol_send"):
        assert inspect.iscoroutinefunction(getattr(TCPServer, name))
        assert inspect.signature(getattr(TCPServer, name)) == inspect.signature(getattr(Connection, name))
    assert "self._read_data()" in inspect.getsource(TCPServer.run)
    assert "self.idle_task = AsyncioSingleTask()" in inspect.getsource(TCPServer.__init__)
    assert inspect.iscoroutinefunction(AsyncioSingleTask.stop)
    assert "await self.context.sleep(" in inspect.getsource(WSStream)
