"""Servers that say exactly what a test wants, byte by byte, and resolvers that answer by script."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any

from fireside_agent.tools.tool import Call, Tool, ToolResult
from fireside_agent.tools.web import Opening, WebSettings

Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]
"""A whole HTTP response, or something that writes one."""


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Site:
    """A web server: `pages` by target without the query. Everything that reaches it is in `requests`."""

    port: int = 0
    pages: dict[str, Answer] = field(default_factory=dict)
    connections: int = 0
    requests: list[Request] = field(default_factory=list)
    handlers: set[asyncio.Task[Any]] = field(default_factory=set, repr=False)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.handlers.add(task)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has gone
        finally:
            self.handlers.discard(task)
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        raw = dict(line.split(": ", 1) for line in lines if line)
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.requests.append(Request(method, target, {k.lower(): v for k, v in raw.items()}, body))
        answer = self.pages.get(target.partition("?")[0], response(b"not here", status="404 Not Found"))
        if callable(answer):
            await answer(writer)
        else:
            writer.write(answer)
            await writer.drain()


def response(body: bytes | str, kind: str = "text/html", status: str = "200 OK", **headers: str) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    fields = {"Content-Type": kind, "Content-Length": str(len(data))} if kind else {}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + data


def redirect(location: str, status: str = "302 Found") -> bytes:
    return response("moved", status=status, Location=location)


@asynccontextmanager
async def site(
    pages: dict[str, Answer] | None = None, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Site]:
    running = Site(pages=pages or {})
    server = await asyncio.start_server(running.handle, host, 0, ssl=tls)
    running.port = server.sockets[0].getsockname()[1]
    try:
        yield running
    finally:
        server.close()
        handlers = list(running.handlers)
        for handler in handlers:
            handler.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)


@dataclass
class Names:
    """A resolver by script: for each name the answers to the first, second, … question; the last stays."""

    answers: dict[str, list[list[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def resolve(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        answers = self.answers.get(host)
        if answers is None:
            raise OSError(f"no such name: {host}")
        return answers.pop(0) if len(answers) > 1 else answers[0]


def names(*hosts: str, **answers: list[list[str]]) -> Names:
    """Each host leads to 127.0.0.1."""
    return Names({**{host: [["127.0.0.1"]] for host in hosts}, **answers})


def opened(*ports: int, network: str = "127.0.0.1/32") -> tuple[Opening, ...]:
    return (Opening(ip_network(network), frozenset(ports)),)


def local_settings(running: Site, *hosts: str, **changes: Any) -> WebSettings:
    """Settings that lead these hosts to a site of this machine, through the real guard."""
    settings = {
        "resolver": names(*(hosts or ("site.example",))),
        "allowed_addresses": opened(running.port),
        "tls": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # reading the real authorities takes a while
        **changes,
    }
    return WebSettings(**settings)


async def run_tool(tool: Tool, **arguments: Any) -> ToolResult:
    return await tool.run(Call("call-1", "session-1", arguments, lambda _: None))
