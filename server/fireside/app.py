"""Builds the app and wires its rooms together, nothing else."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from quart import Quart

from fireside.api import (
    chat,
    completions,
    embeddings,
    messages,
    models,
    prompt_cache,
    request_lines,
    responses,
    tokens,
    upstream,
)
from fireside.api import operations as api_operations
from fireside.api.responses_store import ResponseStore
from fireside.api.served import Available, Serving
from fireside.catalog.assess import Terms
from fireside.catalog.hub.downloads import Downloads
from fireside.catalog.library import Library
from fireside.catalog.places import full_path, is_folder
from fireside.catalog.query import usable_chat_models
from fireside.catalog.registry import Catalog
from fireside.config import ServeConfig
from fireside.engine.engine import Engine
from fireside.engine.garbage import spare_what_stays
from fireside.engine.ssd_files import orphaned_files
from fireside.engine.status import Phase, StatusBoard
from fireside.hosting.host import ModelHost, Shelf
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
from fireside.web import (
    admin,
    documentation,
    help,
    hub_operations,
    keys,
    login,
    metrics,
    page,
    requests,
    status,
)
from fireside.web import hub as hub_routes
from fireside.web import models as library_routes
from fireside.web import operations as web_operations
from fireside.web import serving as switching
from fireside_agent import described
from fireside_agent import routes as agent_routes
from fireside_agent.agent import Agent, AgentConfig
from fireside_agent.assembly import AgentFolders
from fireside_agent.markdown import render_blocks
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
        writing_until: until when `close` may have to wait for the disk, on the monotonic clock.
        login_link: a link that opens the page at this address once; None where none is needed.
    """

    asgi: Any
    run: Callable[[], Coroutine[Any, Any, None]]
    close: Callable[[], Awaitable[None]]
    kill: Callable[[], None]
    writing_until: Callable[[], float]
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
    library = _library(config, board, lambda: local.engine if local else None)
    if config.upstream is None:
        local = _host(config, board, library)
        serving = Serving(board, local)
        store = ResponseStore()
        quart.register_blueprint(chat.create_blueprint(serving))
        quart.register_blueprint(completions.create_blueprint(serving))
        quart.register_blueprint(embeddings.create_blueprint(serving))
        quart.register_blueprint(messages.create_blueprint(serving))
        quart.register_blueprint(models.create_blueprint(serving))
        quart.register_blueprint(prompt_cache.create_blueprint(partial(_engines, local), config.ssd_folder))
        quart.register_blueprint(responses.create_blueprint(serving, store))
        quart.register_blueprint(tokens.create_blueprint(serving))
        quart.register_blueprint(metrics.create_blueprint(local.metrics))
        quart.register_blueprint(switching.create_blueprint(local.switch))
    else:
        key = upstream.read_key(config.home.upstream_key)
        other = upstream.Upstream(
            upstream.UpstreamConfig(upstream.check_url(config.upstream), key, config.model), board
        )
        quart.register_blueprint(upstream.create_blueprint(other))
    mode = "core" if local else "upstream"
    source = status.StatusSource(
        board,
        mode,
        epoch,
        lambda: local.engine if local else None,
        home=str(config.home.root),
        login=config.needs_keys and not config.api_only,
        response_store=store.stats if store else None,
    )
    quart.register_blueprint(status.create_blueprint(source))
    engines = partial(_engines, local)
    quart.register_blueprint(requests.create_blueprint(engines))
    if config.unix_socket is not None:
        quart.register_blueprint(admin.create_blueprint(engines))
    quart.register_blueprint(library_routes.create_blueprint(library))
    quart.register_blueprint(request_lines.create_blueprint(config.home.logs))
    quart.register_blueprint(documentation.create_blueprint(operations(config), keys=config.needs_keys))
    hub = _hub(config, local, library.invalidate)
    quart.register_blueprint(hub_routes.create_blueprint(hub))
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
    parts = [part for part in (agent, local, other, hub.downloads) if part is not None]

    async def run() -> None:
        board.update(phase="importing", detail="Loading Fireside")
        work = [*(part.start() for part in parts), spare_what_stays(board)]
        if agent is not None:
            work.append(_tell_of_models(board, agent))
        await asyncio.gather(*work, access.keys.keep_times())

    async def close() -> None:
        board.update(phase="stopping", detail="Stopping")
        for part in parts:
            await part.close()
        await access.keys.close()

    def writing_until() -> float:
        return local.writing_until if local else 0.0

    kill = local.kill if local else _nothing
    return Application(gate, run, close, kill, writing_until, codes.link if codes else None)


def _engines(host: ModelHost | None) -> list[Engine]:
    return host.engines if host else []


def _library(config: ServeConfig, board: StatusBoard, engine: Callable[[], Engine | None]) -> Library:
    """The models on this machine, the one that was named by its folder among them."""
    named = full_path(Path(config.model)) if config.model and config.upstream is None else None
    folders = [*config.models_dirs, *([named] if named is not None and is_folder(named) else [])]

    def terms() -> Terms:
        running = engine()
        plan = running.admission.plan if running and running.admission else None
        return Terms(config.memory_budget, config.max_rows, plan.weights_bytes if plan else 0)

    def serving() -> str | None:
        return _served_model(board) if config.upstream is None else None

    return Library(Catalog.of_home(config.home, folders), serving, terms)


def _host(config: ServeConfig, board: StatusBoard, library: Library) -> ModelHost:
    """Keeps the models running that `library` knows."""

    async def local() -> list[Available]:
        return [
            Available(model.repo_id, int(model.modified), model.context_window or 0, model.thinking)
            for model in usable_chat_models(await library.models())
        ]

    async def objection(name: str) -> str | None:
        row = next((row for row in await library.rows() if row.repo_id == name), None)
        return None if row is None or row.assessment.fits else row.assessment.reason

    return ModelHost(config, board, Shelf(local, objection, library.record_rate))


def _hub(config: ServeConfig, host: ModelHost | None, changed: Callable[[], None]) -> hub_routes.HubSide:
    """The hub, the downloads from it, and what may be removed again.

    Args:
        changed: called when models have come or gone.
    """
    return hub_routes.HubSide(
        Downloads(config.home.root / "downloads.db", config.home.models, changed=changed),
        config.home.models,
        render=lambda text: "\n".join(render_blocks(text)),
        # While they load, too.
        serving=lambda: frozenset(source.id for source in host.in_use) if host else frozenset(),
        in_use=lambda: frozenset(source.path for source in host.in_use) if host else frozenset(),
        orphans=partial(orphaned_files, config.ssd_folder),
        changed=changed,
    )


def _served_model(board: StatusBoard) -> str | None:
    status = board.current
    return status.model.id if status.model and status.phase in ("ready", "restarting") else None


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
        *([switching.OPERATION] if own else []),
        *([admin.OPERATION] if config.unix_socket is not None else []),
        *hub_operations.OPERATIONS,
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


async def _tell_of_models(board: StatusBoard, agent: Agent) -> None:
    """Let the agent look whenever a model becomes ready; by itself it does so only now and then."""
    was: tuple[Phase, str | None] | None = None
    async with aclosing(board.follow()) as statuses:
        async for status in statuses:
            now = (status.phase, status.model and status.model.id)
            if now != was and status.phase == "ready":
                agent.look_at_model()
            was = now


def _quart() -> Quart:
    app = Quart("fireside", static_folder=None)
    # An answer or an upload may take longer than any fixed limit; what bounds a body is its size.
    app.config.update(RESPONSE_TIMEOUT=None, BODY_TIMEOUT=600, MAX_CONTENT_LENGTH=_MAX_BODY)
    install_error_handlers(app)
    install_headers(app)
    return app


def _nothing() -> None:
    """There is no core to kill."""
