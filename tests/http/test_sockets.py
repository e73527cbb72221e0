"""Compressing is for sockets that leave this machine."""

from __future__ import annotations

import importlib
import inspect
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypercorn.protocol.ws_stream import WSStream
from websockets.sync.client import connect

from support.server import Server


@pytest.mark.parametrize(
    ("headers", "compressed"),
    [({}, False), ({"X-Forwarded-For": "192.0.2.7"}, True), ({"Forwarded": "for=192.0.2.7"}, True)],
    ids=["here", "behind a proxy", "behind another"],
)
def test_a_socket_is_compressed_only_for_who_is_elsewhere(
    server: Server, headers: dict[str, str], compressed: bool
) -> None:
    url = f"ws://{urlsplit(server.url).netloc}/ws"
    with connect(url, additional_headers=headers, compression="deflate") as socket:
        assert bool(socket.protocol.extensions) is compressed
        assert '"hello"' in str(socket.recv(timeout=10))


def test_hypercorn_still_has_what_that_relies_on() -> None:
    h11: Any = importlib.import_module("hypercorn.protocol.h11")
    assert h11.WSStream is WSStream, "left replaced, or no longer there"
    assert "self.stream = WSStream(" in inspect.getsource(h11)
