"""`/api/settings/mcp`: the MCP servers, as the settings page lists and changes them."""

import msgspec
from quart import Blueprint, Response

from fireside_agent.answers import RefusedError, answer_errors, error_answer, json_answer, read_json
from fireside_agent.tools.mcp.config import ConfigError, Entry, EntryError
from fireside_agent.tools.mcp.servers import McpServers, ServerState

MAX_NAME = 64


class ServerList(msgspec.Struct, frozen=True):
    """`problem` says why `mcp.json` cannot be used; null when it can."""

    servers: list[ServerState]
    problem: str | None


def create_blueprint(servers: McpServers) -> Blueprint:
    """The routes of `servers`. Starting is never waited for: what comes of it is in the list."""
    blueprint = Blueprint("mcp", __name__, url_prefix="/api/settings/mcp")

    answer_errors(blueprint)

    @blueprint.errorhandler(EntryError)
    async def refuse_entry(error: EntryError) -> Response:  # pyright: ignore[reportUnusedFunction]
        return error_answer(400, "invalid_mcp_server", str(error))

    @blueprint.errorhandler(ConfigError)
    async def refuse_config(error: ConfigError) -> Response:  # pyright: ignore[reportUnusedFunction]
        return error_answer(409, "mcp_config_unusable", str(error))

    @blueprint.get("")
    async def list_servers() -> Response:  # pyright: ignore[reportUnusedFunction]
        await servers.reload()
        return _listing(servers)

    @blueprint.put("/<path:name>")
    async def put_server(name: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        _check_name(name)
        await servers.put(name, await read_json(Entry))
        return _listing(servers)

    @blueprint.delete("/<path:name>")
    async def delete_server(name: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        if not await servers.remove(name):
            raise RefusedError(404, "unknown_mcp_server", f"There is no MCP server {name!r}.", "name")
        return _listing(servers)

    @blueprint.post("/<path:name>/restart")
    async def restart_server(name: str) -> Response:  # pyright: ignore[reportUnusedFunction]
        if not await servers.restart(name):
            message = f"There is no MCP server {name!r} that is switched on."
            raise RefusedError(404, "unknown_mcp_server", message, "name")
        return _listing(servers)

    return blueprint


def _listing(servers: McpServers) -> Response:
    return json_answer(ServerList(servers.states(), servers.problem or None))


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable() or "/" in name:
        message = (
            f"A server's name has 1 to {MAX_NAME} printable characters and no slash; this is {name[:80]!r}."
        )
        raise RefusedError(400, "invalid_mcp_server", message, "name")
