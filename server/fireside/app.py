"""Builds the app and wires its rooms together, nothing else."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from quart import Quart

from fireside.api import chat, completions, models, upstream
from fireside.api.served import Serving
from fireside.config import ServeConfig
from fireside.engine.status import StatusBoard
from fireside.http.errors import install_error_handlers
from fireside.http.security import Gate, HostPolicy, install_headers
from fireside.runtime import LocalEngine
from fireside.web import metrics, page, status
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
    """

    asgi: Any
    run: Callable[[], Coroutine[Any, Any, None]]
    close: Callable[[], Awaitable[None]]
    kill: Callable[[], None]


def create_app(config: ServeConfig, private_address: tuple[str, int]) -> Application:
    """The whole app.

    Args:
        private_address: where the listener for the agent is bound.
    """
    board = StatusBoard()
    epoch = secrets.token_hex(8)
    private_key = secrets.token_urlsafe(32)
    quart = _quart()
    local = other = None
    if config.upstream is None:
        serving = Serving(board)
        local = LocalEngine(config, board, serving)
        quart.register_blueprint(chat.create_blueprint(serving))
        quart.register_blueprint(completions.create_blueprint(serving))
        quart.register_blueprint(models.create_blueprint(serving))
        quart.register_blueprint(metrics.create_blueprint(local.metrics))
    else:
        key = upstream.read_key(config.home.upstream_key)
        other = upstream.Upstream(
            upstream.UpstreamConfig(upstream.check_url(config.upstream), key, config.model), board
        )
        quart.register_blueprint(upstream.create_blueprint(other))
    mode = "core" if local else "upstream"
    source = status.StatusSource(board, mode, epoch, lambda: local.engine if local else None)
    quart.register_blueprint(status.create_blueprint(source))
    agent = None
    if not config.api_only:
        agent = _agent(config, private_address, private_key, epoch)
        for blueprint in agent_routes.create_blueprints(agent):
            quart.register_blueprint(blueprint)
        quart.register_blueprint(page.create_blueprint(page.frontend_folder()))
    hosts = HostPolicy.of((*config.allow_hosts, config.host))
    gate = Gate(quart, hosts, private_address, private_key)

    # In the order in which they are closed: the agent's turns end before what they ask.
    parts = [part for part in (agent, local, other) if part is not None]

    async def run() -> None:
        board.update(phase="importing", detail="Loading Fireside")
        await asyncio.gather(*(part.start() for part in parts))

    async def close() -> None:
        board.update(phase="stopping", detail="Stopping")
        for part in parts:
            await part.close()

    return Application(gate, run, close, local.kill if local else _nothing)


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
