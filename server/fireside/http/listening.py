"""Sockets to listen on, and who has them if we cannot."""

from __future__ import annotations

import errno
import http.client
import json
import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypercorn.config import Config

BACKLOG = 512
_BODY_LIMIT_WS = 8 * 1024 * 1024


class CannotListen(Exception):
    """The address cannot be had; the message says why and what to do."""


@dataclass(frozen=True)
class Listener:
    """A bound, listening socket.

    Attributes:
        url: where a browser or client finds it; None for a Unix socket.
        shown: the address as people read it.
    """

    sock: socket.socket
    url: str | None
    shown: str


def listen_tcp(host: str, port: int) -> Listener:
    """Listen on one address; port 0 takes a free one.

    Raises:
        CannotListen: somebody has the port, or the address is not this machine's.
    """
    host = host.strip("[]")
    family, address = _resolve(host, port)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise CannotListen(_why_not(host, port, error)) from error
    sock.setblocking(False)
    bound = sock.getsockname()[1]
    name = f"[{host}]" if ":" in host else host
    url = f"http://{name}:{bound}"
    return Listener(sock, url, url)


def listen_unix(path: Path) -> Listener:
    """Listen on a Unix socket that its owner alone may use; a stale one is replaced.

    Raises:
        CannotListen: another process answers there, or the path is taken by something else.
    """
    if path.exists():
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise CannotListen(f"{path} exists and is not a socket; choose another path for --unix-socket.")
        if _answers(path):
            raise CannotListen(f"Another process listens on {path}; stop it or choose another path.")
        path.unlink()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old_mask = os.umask(0o177)
    try:
        sock.bind(str(path))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise CannotListen(f"Cannot listen on {path}: {error.strerror or error}") from error
    finally:
        os.umask(old_mask)
    sock.setblocking(False)
    return Listener(sock, None, str(path))


def hypercorn_config(listeners: list[Listener]) -> Config:
    """Hypercorn's settings, each of them on purpose.

    An answer may take hours, so nothing here ends a slow stream; what bounds a request is the body
    limit, and what bounds the shutdown is the caller.
    """
    config = Config()
    # Hypercorn makes a socket of the number and closes it in the end: it is no longer ours.
    config.bind = [f"fd://{listener.sock.detach()}" for listener in listeners]
    config.backlog = BACKLOG
    config.keep_alive_timeout = 75
    config.graceful_timeout = 2
    config.shutdown_timeout = 3
    config.h11_max_incomplete_size = 64 * 1024
    config.websocket_max_message_size = _BODY_LIMIT_WS
    config.websocket_ping_interval = 20
    config.include_server_header = False
    config.accesslog = None
    config.loglevel = "WARNING"
    return config


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise CannotListen(f"--host {host} is no address of this machine: {error.strerror}") from error
    family, _, _, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    return family, address


def _why_not(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        holder = "Fireside itself" if _is_fireside(host, port) else "another program"
        return (
            f"Port {port} on {host} is taken by {holder}. "
            "Stop it, or choose another with --port (0 picks a free one)."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} needs more rights than Fireside has; choose one above 1023 with --port."
    return f"Cannot listen on {host} port {port}: {error.strerror}"


def _is_fireside(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=1)
    try:
        connection.request("GET", "/api/status")
        known = json.loads(connection.getresponse().read(1 << 20))
        return isinstance(known, dict) and "epoch" in known and "engine" in known
    except (OSError, ValueError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError:
            return True  # somebody is there who does not answer, or not to us
    return True
