"""From a configuration to a running server, and back down again."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fireside.app import Application, create_app
from fireside.config import ServeConfig
from fireside.http.connections import serve
from fireside.http.keys import KeyRing
from fireside.http.listening import CannotListen, Listener, hypercorn_config, listen_tcp, listen_unix
from fireside.http.tls import Certificate
from fireside.instance import InstanceLock

_STOP_WITHIN_S = 4.0
_PRIVATE_HOST = "127.0.0.1"
_GOOD_KEY = 16

log = logging.getLogger(__name__)


def run(config: ServeConfig, announce: Callable[[Listener], None]) -> None:
    """Serve until a signal says stop.

    Args:
        announce: told the public listener as soon as connections to it succeed.

    Raises:
        AlreadyRunning: another app has this home.
        CannotListen: the address cannot be had.
        BadCertificate: https cannot be served with the files that were given.
        UnsafeFile: others may use a file with secrets, or it is not what it should be.
    """
    logging.basicConfig(
        level=config.log_level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr
    )
    config.home.create()
    lock = InstanceLock(config.home.lock)
    lock.acquire()
    try:
        public = _listen(config)
        try:
            private = listen_tcp(_PRIVATE_HOST, 0)
            lock.announce(public.shown)
            app = create_app(config, private.sock.getsockname())
            _warn_of_short_keys(config)
            link = app.login_link(public.url) if app.login_link and public.url else None
            announce(replace(public, link=link))
            asyncio.run(_serve(app, [public, private]))
        finally:
            config.home.login_secret.unlink(missing_ok=True)
            if config.unix_socket is not None:
                config.unix_socket.unlink(missing_ok=True)
    finally:
        lock.release()


def open_browser(url: str) -> None:
    """Show a page where there is a desktop; never waits, and never starts a browser in the terminal."""
    if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _listen(config: ServeConfig) -> Listener:
    if config.unix_socket is not None:
        return listen_unix(config.unix_socket, private=not config.needs_keys)
    if not config.is_local and KeyRing(config.api_keys, config.home.keys).empty:
        raise CannotListen(
            f"--host {config.host} opens Fireside to other machines, which needs API keys. Give one with "
            "--api-key @FILE (a file of mode 0600 with a key in it: umask 077; openssl rand -hex 24 > FILE), "
            "or create one in the page first. Without --host only this machine can reach Fireside."
        )
    certificate = None
    if config.tls_cert is not None and config.tls_key is not None:
        certificate = Certificate(config.tls_cert, config.tls_key)
        certificate.check()
    return listen_tcp(config.host, config.port, certificate)


def _warn_of_short_keys(config: ServeConfig) -> None:
    if not config.is_local and any(len(key) < _GOOD_KEY for key in config.api_keys):
        log.warning(
            "Other machines can reach Fireside, and an API key with fewer than %d characters may be guessed. "
            "Make one with: openssl rand -hex 24",
            _GOOD_KEY,
        )


async def _serve(app: Application, listeners: list[Listener]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, _on_signal, app, stop)

    async def shutdown() -> None:
        await stop.wait()
        loop.set_exception_handler(_on_leftover)
        _leave_later(app)
        await app.close()

    behind = asyncio.create_task(app.run(), name="run")
    behind.add_done_callback(lambda task: _on_run_ended(task, stop))
    try:
        await serve(app.asgi, hypercorn_config(listeners), shutdown)
    finally:
        behind.cancel()
        await asyncio.wait({behind})
        await app.close()
    if not behind.cancelled() and (error := behind.exception()) is not None:
        raise error


def _on_signal(app: Application, stop: asyncio.Event) -> None:
    if stop.is_set():
        _leave(app, 130)
    stop.set()


def _on_run_ended(task: asyncio.Task[None], stop: asyncio.Event) -> None:
    if not task.cancelled() and task.exception() is not None:
        stop.set()


def _on_leftover(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A connection that did not end in time is cancelled; that is no error worth a traceback."""
    if not isinstance(context.get("exception"), asyncio.CancelledError):
        loop.default_exception_handler(context)


def _leave_later(app: Application) -> None:
    """Bound the shutdown. A thread, since a client that stops reading, or a text that is still being
    tokenized, can outlast the event loop.
    """
    _leave_after(app, _STOP_WITHIN_S)


def _leave_after(app: Application, seconds: float) -> None:
    timer = threading.Timer(seconds, _leave_unless_writing, (app,))
    timer.daemon = True
    timer.start()


def _leave_unless_writing(app: Application) -> None:
    """End, or wait for as long as the caches of the core may still need to be written."""
    if (seconds := app.writing_until() - time.monotonic()) > 0:
        _leave_after(app, seconds)
    else:
        _leave(app, 0)


def _leave(app: Application, status: int) -> None:
    """End now: what is worth keeping is on disk, and somebody does not want to wait any longer."""
    app.kill()
    os._exit(status)
