"""Sockets to listen on, and who has them if we cannot."""

from __future__ import annotations

import errno
import http.client
import json
import os
import socket
import ssl
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypercorn.config import Config

from fireside.http.access import REALM
from fireside.http.hosts import is_any_address
from fireside.http.tls import Certificate

BACKLOG = 512
_BODY_LIMIT_WS = 8 * 1024 * 1024
_MOST_PATH = 103
"""Bytes of a Unix socket's path: what macOS takes; Linux takes four more."""


class CannotListen(Exception):
    """The address cannot be had; the message says why and what to do."""


@dataclass(frozen=True)
class Listener:
    """A bound, listening socket.

    Attributes:
        url: where a browser or client finds it; None for a Unix socket.
        shown: the address as people read it.
        link: that opens the page once, where it needs one.
        certificate: of https; None for plain http.
    """

    sock: socket.socket
    url: str | None
    shown: str
    link: str | None = None
    certificate: Certificate | None = None


def listen_tcp(host: str, port: int, certificate: Certificate | None = None) -> Listener:
    """Listen on one address; port 0 takes a free one.

    Args:
        certificate: for https instead of http.

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
    url = f"{'https' if certificate else 'http'}://{_name(host, family)}:{bound}"
    return Listener(sock, url, url, certificate=certificate)


def listen_unix(path: Path, *, private: bool = True) -> Listener:
    """Listen on a Unix socket that its owner alone may use; a stale one is replaced.

    Args:
        private: whether the folder must be its owner's alone too, and is made so where there is none.

    Raises:
        CannotListen: another process answers there, or the path is too long or taken by something else, or
            others may use the folder.
    """
    if (length := len(os.fsencode(path))) > _MOST_PATH:
        raise CannotListen(
            f"--unix-socket {path} has {length} bytes; a socket's path may have {_MOST_PATH} at most. "
            "Choose a shorter one."
        )
    if private:
        _check_folder(path.parent)
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


def _check_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise CannotListen(f"Cannot use the folder {folder}: {error.strerror or error}") from error
    if found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise CannotListen(
            f"Others may use {folder}, the folder of the socket (mode {stat.S_IMODE(found.st_mode):04o}). "
            "Choose one that is yours alone for --unix-socket (chmod 700), or start Fireside with --api-key."
        )


def _name(host: str, family: socket.AddressFamily) -> str:
    """How this machine names the address in a URL: what listens everywhere listens on loopback too."""
    if is_any_address(host):
        host = "127.0.0.1" if family == socket.AF_INET else "::1"
    return f"[{host}]" if ":" in host else host


def hypercorn_config(listeners: list[Listener]) -> Config:
    """Hypercorn's settings, each of them on purpose.

    An answer may take hours, so nothing here ends a slow stream; what bounds a request is the body
    limit, and what bounds the shutdown is the caller.
    """
    config = Config()
    # Hypercorn makes a socket of the number and closes it in the end: it is no longer ours.
    plain = [f"fd://{each.sock.detach()}" for each in listeners if each.certificate is None]
    config.bind = plain
    for listener in listeners:
        if (certificate := listener.certificate) is not None:
            config.certfile, config.keyfile = str(certificate.chain), str(certificate.key)
            # With a certificate, `bind` is https alone.
            config.bind, config.insecure_bind = [f"fd://{listener.sock.detach()}"], plain
            config.alpn_protocols = ["http/1.1"]
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
    # Nothing is told to the other side: whether its certificate is good does not matter.
    anybody = ssl._create_unverified_context()  # pyright: ignore[reportPrivateUsage]
    return _says_fireside(http.client.HTTPConnection(host, port, timeout=1)) or _says_fireside(
        http.client.HTTPSConnection(host, port, timeout=1, context=anybody)
    )


def _says_fireside(connection: http.client.HTTPConnection) -> bool:
    try:
        connection.request("GET", "/api/status")
        answer = connection.getresponse()
        if answer.status == 401:
            return REALM in answer.getheader("WWW-Authenticate", "")
        known = json.loads(answer.read(1 << 20))
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
