"""Builds the app and wires its rooms together, nothing else."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from quart import Quart

from fireside.api import (
    chat,
    completions,
    embeddings,
    messages,
    models,
    request_lines,
    responses,
    tokens,
    upstream,
)
from fireside.api import operations as api_operations
from fireside.api.responses_store import ResponseStore
from fireside.api.served import Serving
from fireside.config import ServeConfig
from fireside.engine.status import StatusBoard
from fireside.http.access import Access
from fireside.http.cors import OriginPolicy
from fireside.http.errors import install_error_handlers
from fireside.http.guesses import GuessLimit
from fireside.http.hosts import HostPolicy, is_any_address
from fireside.http.keys import KeyRing
from fireside.http.login import LoginCodes
from fireside.http.operations import Operation, operation_of
from fireside.http.security import Gate, install_headers
from fireside.http.sessions import SessionStore
from fireside.runtime import LocalEngine
from fireside.web import documentation, help, keys, login, metrics, page, requests, status
from fireside.web import operations as web_operations
from fireside_agent import described
from fireside_agent import routes as agent_routes
from fireside_agent.agent import Agent, AgentConfig
from fireside_agent.assembly import AgentFolders
from fireside_agent.tools.web import search_settings

_MAX_BODY = 64 * 1024 * 1024


@dataclass(frozen=True)
class Application:
    """An app that can be served.

    Attributes:
        asgi: the app behind its gate.
        run: starts everything behind the routes; to be run beside the server.
        close: ends all of it, so that open streams and sockets end too. Idempotent.
        kill: ends the core without waiting.
        login_link: a link that opens the page at this address once; None where none is needed.
    """

    asgi: Any
    run: Callable[[], Coroutine[Any, Any, None]]
    close: Callable[[], Awaitable[None]]
    kill: Callable[[], None]
    login_link: Callable[[str], str] | None = None


def create_app(config: ServeConfig, private_address: tuple[str, int]) -> Application:
    """The whole app.

    Args:
        private_address: where the listener for the agent is bound.
    """
    board = StatusBoard()
    epoch = secrets.token_hex(8)
    private_key = secrets.token_urlsafe(32)
    quart = _quart()
    local = other = store = None
    if config.upstream is None:
        serving = Serving(board)
        store = ResponseStore()
        local = LocalEngine(config, board, serving)
        quart.register_blueprint(chat.create_blueprint(serving))
        quart.register_blueprint(completions.create_blueprint(serving))
        quart.register_blueprint(embeddings.create_blueprint(serving))
        quart.register_blueprint(messages.create_blueprint(serving))
        quart.register_blueprint(models.create_blueprint(serving))
        quart.register_blueprint(responses.create_blueprint(serving, store))
        quart.register_blueprint(tokens.create_blueprint(serving))
        quart.register_blueprint(metrics.create_blueprint(local.metrics))
    else:
        key = upstream.read_key(config.home.upstream_key)
        other = upstream.Upstream(
            upstream.UpstreamConfig(upstream.check_url(config.upstream), key, config.model), board
        )
        quart.register_blueprint(upstream.create_blueprint(other))
    mode = "core" if local else "upstream"
    source = status.StatusSource(
        board, mode, epoch, lambda: local.engine if local else None, store.stats if store else None
    )
    quart.register_blueprint(status.create_blueprint(source))
    quart.register_blueprint(requests.create_blueprint(source.engine))
    quart.register_blueprint(request_lines.create_blueprint(config.home.logs))
    quart.register_blueprint(documentation.create_blueprint(operations(config), keys=config.needs_keys))
    access = _access(config)
    agent = codes = None
    if not config.api_only:
        codes = LoginCodes(config.home.login_secret) if access.required else None
        quart.register_blueprint(login.create_blueprint(access, codes, page.frontend_folder()))
        quart.register_blueprint(keys.create_blueprint(access.keys, access.required))
        agent = _agent(config, private_address, private_key, epoch)
        for blueprint in agent_routes.create_blueprints(agent):
            quart.register_blueprint(blueprint)
        quart.register_blueprint(page.create_blueprint(page.frontend_folder()))
        quart.register_blueprint(help.create_blueprint(page.docs_folder()))
        quart.register_blueprint(documentation.create_page(page.frontend_folder()))
    bound = () if is_any_address(config.host.strip("[]")) else (config.host,)
    hosts = HostPolicy.of((*config.allow_hosts, *bound))
    origins = OriginPolicy.of(config.allow_origins)
    gate = Gate(quart, hosts, origins, access, private_address, private_key)

    # In the order in which they are closed: the agent's turns end before what they ask.
    parts = [part for part in (agent, local, other) if part is not None]

    async def run() -> None:
        board.update(phase="importing", detail="Loading Fireside")
        await asyncio.gather(*(part.start() for part in parts), access.keys.keep_times())

    async def close() -> None:
        board.update(phase="stopping", detail="Stopping")
        for part in parts:
            await part.close()
        await access.keys.close()

    kill = local.kill if local else _nothing
    return Application(gate, run, close, kill, codes.link if codes else None)


def _access(config: ServeConfig) -> Access:
    ring = KeyRing(config.api_keys, config.home.keys)
    sessions = SessionStore(config.home.sessions, ring, config.api_keys)
    return Access(config.needs_keys, ring, sessions, GuessLimit())


def operations(config: ServeConfig) -> list[Operation]:
    """The descriptions of all routes that an app has, and of some that this one may not have."""
    own = config.upstream is None
    return [
        *(api_operations.OPERATIONS if own else api_operations.UPSTREAM_OPERATIONS),
        *web_operations.OPERATIONS,
        api_operations.LOGS,
        *map(operation_of, described.ROUTES),
    ]


def _agent(config: ServeConfig, address: tuple[str, int], key: str, epoch: str) -> Agent:
    host, port = address
    folders = AgentFolders(config.home.root, config.home.wiki, page.docs_folder(), config.workspace)
    return Agent(
        AgentConfig(
            database=config.home.database,
            base_url=f"http://{host}:{port}/v1",
            api_key=key,
            epoch=epoch,
            folders=folders,
            own_server=config.upstream is None,
            web=search_settings(os.environ),
            max_steps=config.max_steps,
            trace=config.agent_debug,
        )
    )


def _quart() -> Quart:
    app = Quart("fireside", static_folder=None)
    # An answer or an upload may take longer than any fixed limit; what bounds a body is its size.
    app.config.update(RESPONSE_TIMEOUT=None, BODY_TIMEOUT=600, MAX_CONTENT_LENGTH=_MAX_BODY)
    install_error_handlers(app)
    install_headers(app)
    return app


def _nothing() -> None:
    """There is no core to kill."""
